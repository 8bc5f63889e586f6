"""Processes that train one model, spread in each way, whose evaluations fail; where torch is installed."""

from __future__ import annotations

import gc
import os
import signal
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch.distributed.fsdp import fully_shard  # noqa: E402
from transformers import TrainerControl, TrainerState  # noqa: E402

import rank_faults  # noqa: E402
import tiny_torch  # noqa: E402
from pfgen_rs import GenerationError, SettingsError  # noqa: E402
from pfgen_rs.integrations import torch_ranks, torch_sharding  # noqa: E402
from pfgen_rs.integrations.torch_generation import undisturbed  # noqa: E402
from pfgen_rs.integrations.torch_ranks import Ranks, end_if_given_up, within  # noqa: E402
from pfgen_rs.integrations.torch_sharding import unwrapped  # noqa: E402
from pfgen_rs.integrations.transformers import PfgenCallback  # noqa: E402
from pfgen_rs.training import CollectiveError, StepEvaluator, read_curve  # noqa: E402
from rank_faults import FAULTS, KINDS, generate, results, spread, start  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


def available(kind: str) -> str:
    if kind == "zero3":
        pytest.importorskip("deepspeed")
    return kind


def tasks() -> Any:
    from pfgen_rs.generate import Prompter, read_examples

    return Prompter(read_examples("mini"), num_examples=1).tasks(1)[:7]


# What the processes do, beside `rank_faults.train`.


def callback(kind: str, folder: str, rank: int) -> dict[str, Any]:
    """The callback of transformers is given the model inside, as its trainer does."""
    model, _ = spread(kind, 2)
    ours = PfgenCallback(
        "mini", every=1, questions=5, num_examples=1, folder=folder, max_new_tokens=6, batch_size=2
    )
    state = TrainerState(is_world_process_zero=rank == 0)
    given = {"model": unwrapped(model), "processing_class": tiny_torch.tokenizer()}
    ours.on_train_begin(None, state, TrainerControl(), **given)
    ours.on_train_end(None, state, TrainerControl())
    assert ours.evaluator is not None
    return {"steps": ours.evaluator.curve["step"].to_list(), "skipped": ours.evaluator.skipped}


def own(kind: str, folder: str, rank: int) -> dict[str, Any]:
    """A function of the user's with collectives, of which one rank fails."""
    from pfgen_rs.integrations import lightning

    torch_ranks._PATIENCE = 1.0
    model, _ = spread(kind, 2)
    ids = torch.arange(16).reshape(1, 16)

    def answers(module: Any, tasks: Any) -> list[str]:
        if rank == 1:
            raise ZeroDivisionError("oh")
        module(ids) if kind != "ddp" else torch.distributed.all_reduce(torch.ones(4))
        return [""] * len(tasks)

    ours = lightning.PfgenCallback("mini", answers, limit=2.0)
    try:
        ours._ours(answers, model, model, [])
    except CollectiveError as error:
        (Path(folder) / f"{rank}.told").write_text(str(error))
        os._exit(1)  # as training ends
    return {}


def late(kind: str, _: str, rank: int) -> dict[str, Any]:
    """A rank comes to the first evaluation when the other has given it up."""
    torch_ranks._PATIENCE = 1.0
    ours = generate(spread(kind, 2)[0])
    with StepEvaluator(
        "mini", ours, every=1, questions=5, num_examples=1, on_error="warn"
    ) as evaluator:
        for step, (limit, delay) in enumerate([(6.0, 16.0), (120.0, 0.0)]):
            ours.limit = limit
            time.sleep(delay if rank else 0.0)
            evaluator(step)
    return {"skipped": evaluator.skipped}


@pytest.mark.parametrize("count", rank_faults.COUNTS)
@pytest.mark.parametrize("kind", KINDS)
def test_training_goes_on_unchanged_whatever_fails(tmp_path: Path, kind: str, count: int) -> None:
    found = results(start("train", available(kind), tmp_path, count), tmp_path)
    for step, fault in enumerate(FAULTS):
        expected = "evaluated" if fault.startswith("no failure") else "skipped"
        assert rank_faults.verdict(found, step) == expected, (fault, found)
    assert found[0]["alone"][0] > found[0]["alone"][-1]
    first, last = found[0]["skipped"], found[-1]["skipped"]
    assert last["1"] == last["3"] == first["2"] == first["3"] == "ZeroDivisionError: oh"
    assert first["1"] == f"rank {count - 1} failed: {last['1']}"
    assert last["2"] == f"rank 0 failed: {first['2']}"
    assert first["7"] == "not done within 4 seconds: raise `limit` if that is short"
    assert first["10"] == "what was given up at an earlier step is still running"
    curve, _ = read_curve(tmp_path / "curve" / "curve.parquet")
    assert curve["step"].to_list() == [0, 8]
    # Before the first step of training all of them answer what one process answers.
    alone = generate(tiny_torch.model())
    with StepEvaluator("mini", alone, every=1, questions=5, num_examples=1) as evaluator:
        evaluator(0)
    assert curve["question_scores"][0].to_list() == evaluator.curve["question_scores"][0].to_list()
    assert curve["length"][0] == evaluator.curve["length"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_need_not_know_the_wrapper(tmp_path: Path, kind: str) -> None:
    work = "test_torch_ranks:callback"
    first, second = results(start(work, available(kind), tmp_path), tmp_path)
    assert first == {"steps": [0], "skipped": {}}
    assert second == {"steps": [], "skipped": {}}


@pytest.mark.parametrize("kind", ["ddp", "fsdp2"])
def test_a_rank_that_comes_late_skips_what_the_others_gave_up(tmp_path: Path, kind: str) -> None:
    first, second = results(start("test_torch_ranks:late", kind, tmp_path), tmp_path)
    assert first == second
    told = {"0": "rank 1 failed: no answer within 7 seconds (the limit is 6)"}
    assert first["skipped"] == told


@pytest.mark.parametrize("kind", ["ddp", "fsdp2"])
def test_functions_with_collectives_end_rather_than_wait(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("lightning")
    processes = start("test_torch_ranks:own", kind, tmp_path)
    try:
        for process in processes:
            process.wait(rank_faults.TIMEOUT)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    told = (tmp_path / "1.told").read_text()
    waited = "rank 0, which may wait for others forever, gave no answer within 3 seconds"
    assert told.startswith(waited)
    assert told.endswith("but rank 1 failed: ZeroDivisionError: oh")


# One process.


def test_wrappers_are_taken_off() -> None:
    model = tiny_torch.model()
    wrapper = torch.nn.Module()
    wrapper.module = model
    assert unwrapped(model) is model
    assert unwrapped(wrapper) is model
    assert unwrapped(torch.compile(wrapper)) is model
    assert unwrapped(torch.nn.DataParallel(model)) is model
    alone = generate(tiny_torch.model(), temperature=0.0)(tasks())
    assert generate(wrapper, temperature=0.0)(tasks()) == alone


def test_a_failure_of_one_process_is_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        Ranks().together(lambda: 1 / 0)
    with pytest.raises(SystemExit):
        Ranks().share([1], lambda _: exit(1))


def test_work_beside_is_like_work_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends at its limit, or is waited for by what comes next."""

    def state() -> Any:
        cast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        return torch.is_grad_enabled(), cast

    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert within(9.0, state) == state() == (False, (True, torch.bfloat16))
    assert within(9.0, state) == state()
    with pytest.raises(GenerationError, match=r"not done within 0\.1 seconds"):
        within(0.1, rank_faults.never)
    with pytest.raises(GenerationError, match="not done"):
        within(0.1, lambda: time.sleep(0.3))
    assert within(9.0, lambda: 1) == 1  # nothing is left of both
    monkeypatch.setattr(torch_ranks, "_GRACE", 0.1)
    with pytest.raises(GenerationError, match="not done"):
        within(0.1, lambda: time.sleep(1.5))
    with pytest.raises(GenerationError, match="earlier step is still running"):
        within(9.0, lambda: 1)
    time.sleep(1.8)
    assert within(9.0, lambda: 1) == 1


def test_work_is_interrupted_with_its_caller() -> None:
    Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        within(9.0, rank_faults.never)
    assert within(9.0, lambda: 1) == 1


def test_work_that_catches_the_interrupt_draws_no_random_numbers() -> None:
    """Between tokens it is interrupted again."""
    ours = generate(tiny_torch.model(), limit=0.2)
    made, drawn = ours.model.generate, []

    def swallow(**more: Any) -> Any:
        with suppress(BaseException):
            rank_faults.never()
        drawn.append(torch.get_rng_state())
        made(**more)

    ours.model.generate = swallow
    with pytest.raises(GenerationError, match=r"not done within 0\.2 seconds"):
        ours(tasks())
    assert within(9.0, end_if_given_up) is False  # nothing is left of it
    assert len(drawn) == 1


def test_failures_free_their_memory_at_once() -> None:
    kept = []

    def work() -> None:
        weights = torch.zeros(9)
        kept.append(weakref.ref(weights))
        raise MemoryError

    gc.disable()
    try:
        with pytest.raises(MemoryError) as told:
            Ranks().together(work)
        del told
        assert kept[0]() is None
    finally:
        gc.enable()


def test_random_states_of_all_devices_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds are set for all, so also for those that the model is not on."""
    forked: list[Any] = []

    @contextmanager
    def fork(devices: Any) -> Iterator[None]:
        forked.append(list(devices))
        yield

    monkeypatch.setattr(torch.random, "fork_rng", fork)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for started, devices in ((False, []), (True, [0, 1])):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda started=started: started)
        with undisturbed(tiny_torch.model()):
            assert forked.pop() == devices


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    """Of this process alone."""
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_models_of_which_there_can_be_no_copy(
    process_group: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharded = spread("fsdp2", 1)[0]
    ours = generate(sharded, temperature=0.0)
    assert ours(tasks()) == generate(tiny_torch.model(), temperature=0.0)(tasks())
    monkeypatch.setattr(torch_sharding, "_MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:       9 kB\n")
    with pytest.raises(GenerationError, match=r"copy of the model takes 0.0 GiB .* are free"):
        ours(tasks())
    (tmp_path / "meminfo").write_text("something else")
    monkeypatch.setattr(torch_sharding, "_GROUP", tmp_path)
    (tmp_path / "memory.current").write_text("9000000\n")
    (tmp_path / "memory.stat").write_text("inactive_file 99\nactive_file 90\nslab 1\n")
    for limit, fits in (("9000000", False), ("19000000", True), ("max", True)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        with nullcontext() if fits else pytest.raises(GenerationError, match="copy of the model"):
            assert len(ours(tasks())) == 7
    made = torch_sharding.skeleton(sharded, sharded)
    weights = torch_sharding.gathered(sharded, sharded)
    del weights["model.norm.weight"]
    with pytest.raises(GenerationError, match=r"no weights 'model\.norm\.weight'"):
        torch_sharding.whole(made, weights, sharded, "cpu")
    sharded.config = None
    with pytest.raises(SettingsError, match=r"^LlamaForCausalLM cannot be built again from"):
        torch_sharding.skeleton(sharded, sharded)


def _lora(model: Any) -> None:
    model.lm_head.register_parameter("lora_a", torch.nn.Parameter(torch.ones(2)))


def _tied(model: Any, apart: bool) -> None:
    """`apart`: only its configuration says so."""
    model.config.tie_word_embeddings = True
    if not apart:
        model.tie_weights()


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        (_lora, "lm_head.lora_a"),
        (lambda model: model.add_module("more", torch.nn.BatchNorm1d(3)), "more.bias"),
        (lambda model: model.lm_head.register_buffer("scale", torch.ones(1)), "lm_head.scale"),
        (partial(_tied, apart=True), "lm_head.weight"),
        (partial(_tied, apart=False), None),
    ],
)
def test_weights_that_the_configuration_does_not_know(
    process_group: None, change: Any, unknown: str | None
) -> None:
    """They are refused when training starts, as the copy would generate without them."""
    model = tiny_torch.model()
    change(model)
    alone = generate(model, temperature=0.0)(tasks())
    fully_shard(model)
    if unknown is None:
        assert generate(model, temperature=0.0)(tasks()) == alone
    else:
        with pytest.raises(SettingsError, match=f"shares with others: {unknown}"):
            generate(model).check(tasks())
    with pytest.raises(SettingsError, match="`wrapper` does not contain the model"):
        torch_sharding.skeleton(tiny_torch.model(), model)
