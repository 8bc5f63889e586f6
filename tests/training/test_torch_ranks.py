"""Two processes that train one model, wrapped in each way that torch has; where torch is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import TrainerControl, TrainerState  # noqa: E402

import helpers  # noqa: E402
import tiny_torch  # noqa: E402
from pfgen_rs.integrations import torch_generation  # noqa: E402
from pfgen_rs.integrations.torch_generation import ModelGenerate, Ranks, unwrapped  # noqa: E402
from pfgen_rs.integrations.transformers import PfgenCallback  # noqa: E402
from pfgen_rs.training import StepEvaluator, read_curve  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")

WRAPPINGS = ("ddp", "fsdp1", "fsdp2")
TIMEOUT = 180


def wrapped(kind: str) -> Any:
    """The tiny model, spread over the ranks: its layers, and what is around them."""
    model = tiny_torch.model()
    if kind == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    if kind == "fsdp1":
        return _fsdp1(model)
    if kind == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for layer in model.model.layers:
            fully_shard(layer)
        return fully_shard(model)
    return model


def _fsdp1(model: Any) -> Any:
    from functools import partial

    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    return FullyShardedDataParallel(
        model, auto_wrap_policy=policy, device_id=torch.device("cpu"), use_orig_params=True
    )


def generate(model: Any, **more: Any) -> ModelGenerate:
    # Some texts end early, so that ranks are done at different times.
    settings: dict[str, Any] = {
        "max_new_tokens": 6,
        "batch_size": 2,
        "stop": ["e", "a", "\n"],
        **more,
    }
    return ModelGenerate(model, tiny_torch.tokenizer(), **settings)


def train(kind: str, folder: Path, rank: int) -> dict[str, Any]:
    """The losses of training with and without evaluations."""
    return {name: _losses(kind, folder / name, rank) for name in ("evaluated", "alone")}


def _losses(kind: str, folder: Path, rank: int) -> list[float]:
    """Five steps of training, of which every second is evaluated; the losses that this rank saw."""
    model = wrapped(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    settings: dict[str, Any] = {"questions": 5, "num_examples": 1, "is_main": rank == 0}
    losses = []
    with StepEvaluator("mini", generate(model), every=2, folder=folder, **settings) as evaluator:
        for step in range(5):
            if folder.name == "evaluated":
                evaluator(step)
            ids = torch.arange(16).reshape(1, 16) * 7 % 256 + rank
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses


def fail(kind: str, folder: Path, rank: int) -> dict[str, Any]:
    """Ranks fail at their prompts, in a batch or behind it, alone or together; training goes on."""
    ours = generate(wrapped(kind), temperature=0.0)
    batch, now = ours._batch, ""

    def fails(at: str, *, alone: bool = True) -> None:
        if now == at and (rank == 1 or not alone):
            raise RuntimeError(at)

    def sometimes(*arguments: Any, **more: Any) -> list[str]:
        fails("before", alone=kind == "ddp")
        texts = batch(*arguments, **more)
        fails("after")
        return texts

    def check(tasks: Any) -> list[list[int]]:
        fails("check")
        return ModelGenerate.check(ours, tasks)

    layer = unwrapped(ours.model).model.layers[0]
    layer.register_forward_pre_hook(lambda *_: fails("within", alone=False))
    ours._batch, ours.check = sometimes, check  # type: ignore[method-assign]
    evaluator = StepEvaluator(
        "mini",
        ours,
        every=1,
        questions=5,
        num_examples=1,
        folder=folder,
        is_main=rank == 0,
        on_error="warn",
    )
    for step, now in enumerate(["", "check", "before", "within", "after", ""]):  # noqa: B007
        evaluator(step)
    evaluator.close()
    return {"skipped": evaluator.skipped}


def callback(kind: str, folder: Path, rank: int) -> dict[str, Any]:
    """The callback of transformers is given the model inside, as its trainer does."""
    model = wrapped(kind)
    ours = PfgenCallback(
        "mini", every=1, questions=5, num_examples=1, folder=folder, max_new_tokens=6, batch_size=2
    )
    state = TrainerState(is_world_process_zero=rank == 0)
    given = {"model": unwrapped(model), "processing_class": tiny_torch.tokenizer()}
    ours.on_train_begin(None, state, TrainerControl(), **given)
    ours.on_train_end(None, state, TrainerControl())
    assert ours.evaluator is not None
    return {"steps": ours.evaluator.curve["step"].to_list(), "skipped": ours.evaluator.skipped}


def crash(kind: str, _: Path, rank: int) -> dict[str, Any]:
    """One rank fails while the others are within a forward pass."""
    torch_generation._PATIENCE = 3.0
    ours = generate(wrapped(kind))
    if rank == 1:
        ours._batch = lambda *_, **__: 1 / 0  # type: ignore[method-assign, assignment]
    settings: dict[str, Any] = {"questions": 5, "num_examples": 1, "on_error": "warn"}
    with StepEvaluator("mini", ours, every=1, **settings) as evaluator:
        evaluator(0)
    return {}


def _tasks() -> Any:
    from pfgen_rs.generate import Prompter, read_examples

    return Prompter(read_examples("mini"), num_examples=1).tasks(1)[:7]


RANK = """
import json, sys, torch
from pathlib import Path
import test_torch_ranks as here
folder, work, kind, rank = Path(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4])
torch.set_num_threads(1)
store = torch.distributed.FileStore(str(folder / "store"), 2)
torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
print(json.dumps(getattr(here, work)(kind, folder, rank)))
torch.distributed.destroy_process_group()
"""


def ranks(work: str, kind: str, folder: Path) -> list[subprocess.Popen[str]]:
    """Two processes that do some of the work above."""
    places = [str(Path(__file__).parent), *sys.path]
    return [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", RANK, str(folder), work, kind, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=helpers.environment(PYTHONPATH=os.pathsep.join(places)),
        )
        for rank in range(2)
    ]


def results(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """What each of them printed last."""
    try:
        told = [process.communicate(timeout=TIMEOUT) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, told, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(out.splitlines()[-1]) for out, _ in told]


def alone() -> list[Any]:
    """The texts of one process."""
    return generate(tiny_torch.model(), temperature=0.0)(_tasks())


@pytest.mark.parametrize("kind", WRAPPINGS)
def test_training_is_evaluated_and_not_changed(tmp_path: Path, kind: str) -> None:
    for found in results(ranks("train", kind, tmp_path)):
        assert found["evaluated"] == found["alone"]
        assert found["alone"][0] > found["alone"][-1]
    curve, _ = read_curve(tmp_path / "evaluated" / "curve.parquet")
    assert curve["step"].to_list() == [0, 2, 4]
    # Before the first step of training all of them answer what one process answers.
    with StepEvaluator(
        "mini", generate(tiny_torch.model()), every=1, questions=5, num_examples=1
    ) as evaluator:
        evaluator(0)
    assert curve["question_scores"][0].to_list() == evaluator.curve["question_scores"][0].to_list()
    assert curve["length"][0] == evaluator.curve["length"][0]


@pytest.mark.parametrize("kind", WRAPPINGS)
def test_training_goes_on_where_all_ranks_can_agree_to_skip_a_step(
    tmp_path: Path, kind: str
) -> None:
    first, second = (found["skipped"] for found in results(ranks("fail", kind, tmp_path)))
    here = {"1": "check", "2": "before", "3": "within", "4": "after"}
    alone = ("1", "2", "4") if kind == "ddp" else ("1", "4")
    assert second == {step: f"RuntimeError: {at}" for step, at in here.items()}
    other = {step: f"rank 1 failed: {second[step]}" for step in alone}
    assert first == second | other
    curve, _ = read_curve(tmp_path / "curve.parquet")
    assert curve["step"].to_list() == [0, 5]


@pytest.mark.parametrize("kind", ["fsdp1", "fsdp2"])
def test_a_rank_that_leaves_the_others_ends(tmp_path: Path, kind: str) -> None:
    waiting, failed = ranks("crash", kind, tmp_path)
    try:
        _, errors = failed.communicate(timeout=TIMEOUT)
    finally:
        waiting.kill()
        failed.kill()
        waiting.communicate()
    assert failed.returncode == 1
    assert "CollectiveError: rank 1 failed while the others generate" in errors
    assert "evaluate checkpoints with `pfgen-rs watch`" in errors


@pytest.mark.parametrize("kind", WRAPPINGS)
def test_a_callback_need_not_know_the_wrapper(tmp_path: Path, kind: str) -> None:
    first, second = results(ranks("callback", kind, tmp_path))
    assert first == {"steps": [0], "skipped": {}}
    assert second == {"steps": [], "skipped": {}}


# One process.


def test_wrappers_are_taken_off() -> None:
    model = tiny_torch.model()
    wrapper = torch.nn.Module()
    wrapper.module = model
    assert unwrapped(model) is model
    assert unwrapped(wrapper) is model
    assert unwrapped(torch.compile(wrapper)) is model
    assert unwrapped(torch.nn.DataParallel(model)) is model
    assert generate(wrapper, temperature=0.0)(_tasks()) == alone()


def test_a_failure_of_one_process_is_its_own() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Ranks().together(fail)
    with pytest.raises(ZeroDivisionError):
        Ranks().share(tiny_torch.model(), [1], lambda _: 1 / 0)
