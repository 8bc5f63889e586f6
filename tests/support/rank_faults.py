"""Ranks that train one model, spread in each way, while their evaluations fail in each way.

Run as a program, it prints what happened as a table of Markdown; `RANK` below is one of its processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KINDS = {
    "ddp": "DDP",
    "fsdp1": "FSDP1",
    "fsdp2": "FSDP2",
    "zero3": "ZeRO-3",
    "tp": "tensor parallel",
}
COUNTS = (2, 4)
TIMEOUT = 300
RANK = """
import sys, torch
import rank_faults as here
folder, work, kind, rank, count = sys.argv[1], *sys.argv[2:4], int(sys.argv[4]), int(sys.argv[5])
torch.set_num_threads(1)
store = torch.distributed.FileStore(folder + "/store", count)
torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=count)
here.told(work, kind, folder, rank)
torch.distributed.barrier()  # the process group has survived
"""


def never() -> None:
    """A loop of Python."""
    while True:
        pass


def memory() -> None:
    """The allocator's own error."""
    import torch

    torch.empty(1 << 55)


def error() -> None:
    """Any error."""
    raise ZeroDivisionError("oh")


# Which rank fails (-1: the last), before it gathers or while it generates, how, and the limit in seconds.
FAULTS: dict[str, tuple[tuple[int, ...], str, Callable[[], object], float]] = {
    "no failure": ((), "", error, 120),
    "error in one rank, before weights are gathered": ((-1,), "check", error, 120),
    "error in one rank, generating": ((0,), "_batch", error, 120),
    "error in all ranks": (tuple(range(max(COUNTS))), "check", error, 120),
    "out of memory in one rank, before weights are gathered": ((-1,), "check", memory, 120),
    "out of memory in one rank, generating": ((0,), "_batch", memory, 120),
    "endless loop in one rank, before weights are gathered": ((-1,), "check", never, 4),
    "endless loop in one rank, generating": ((0,), "_batch", never, 4),
    "no failure, after those": ((), "", error, 120),
    "native call that never returns": ((0,), "_batch", lambda: time.sleep(TIMEOUT), 4),
    "the step after that, as the call still runs": ((), "", error, 120),
}


def spread(kind: str, count: int) -> tuple[Any, Any]:
    """The tiny model, spread over the ranks, and its optimiser."""
    import torch

    import tiny_torch

    model = tiny_torch.model()
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model)
    elif kind == "fsdp1":
        model = _fsdp1(model)
    elif kind == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    elif kind == "tp":
        _parallel(model, count)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    if kind == "zero3":
        import deepspeed
        from transformers.integrations import HfDeepSpeedConfig

        settings = {
            "train_micro_batch_size_per_gpu": 1,
            "zero_optimization": {"stage": 3},
            "zero_allow_untested_optimizer": True,
        }
        model, optimizer, *_ = deepspeed.initialize(
            model=model, optimizer=optimizer, config=settings, dist_init_required=False
        )
        model.known = HfDeepSpeedConfig(
            settings
        )  # as long as it lives, to transformers; as its trainer does
    return model, optimizer


def _fsdp1(model: Any) -> Any:
    from functools import partial

    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    return FullyShardedDataParallel(
        model, auto_wrap_policy=policy, device_id=torch.device("cpu"), use_orig_params=True
    )


def _parallel(model: Any, count: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, parallel as by

    plan: dict[str, Any] = {"lm_head": by.ColwiseParallel(output_layouts=Replicate())}
    for i in range(len(model.model.layers)):
        mlp = f"model.layers.{i}.mlp."
        plan |= {mlp + "gate_proj": by.ColwiseParallel(), mlp + "up_proj": by.ColwiseParallel()}
        plan[mlp + "down_proj"] = by.RowwiseParallel()
    by.parallelize_module(model, init_device_mesh("cpu", (count,)), plan)


def generate(model: Any, **more: Any) -> Any:
    """Short texts, of which some end early."""
    import tiny_torch
    from pfgen_rs.integrations.torch_generation import ModelGenerate

    settings = {"max_new_tokens": 6, "batch_size": 2, "stop": ["e", "a", "\n"], **more}
    return ModelGenerate(model, tiny_torch.tokenizer(), **settings)


def train(kind: str, folder: str, rank: int) -> dict[str, Any]:
    """The losses of training without evaluations, and with one that fails in each way; and its reasons."""
    import torch

    from pfgen_rs.training import StepEvaluator

    count = torch.distributed.get_world_size()
    found: dict[str, Any] = {"alone": _losses(kind, rank, lambda _: None)}
    model, optimizer = spread(kind, count)
    ours = generate(model)
    current = ["no failure"]
    for place in ("check", "_batch"):
        _make_fail(ours, place, current, rank, count)
    settings: dict[str, Any] = {"questions": 5, "num_examples": 1, "on_error": "warn"}
    settings |= {"every": 1, "folder": Path(folder) / "curve", "is_main": rank == 0}
    with StepEvaluator("mini", ours, **settings) as evaluator:

        def evaluate(step: int) -> None:
            current[0] = list(FAULTS)[step]
            ours.limit = FAULTS[current[0]][3]
            evaluator(step)

        found["evaluated"] = _losses(kind, rank, evaluate, model, optimizer)
    return {**found, "skipped": evaluator.skipped}


def _make_fail(ours: Any, place: str, current: list[str], rank: int, count: int) -> None:
    method = getattr(ours, place)

    def sometimes(*arguments: Any) -> Any:
        ranks, where, fault, _ = FAULTS[current[0]]
        if where == place and rank in [one % count if one < 0 else one for one in ranks]:
            fault()
        return method(*arguments)

    setattr(ours, place, sometimes)


def _losses(
    kind: str, rank: int, evaluate: Callable[[int], None], model: Any = None, optimizer: Any = None
) -> list[float]:
    import torch

    if model is None:
        model, optimizer = spread(kind, torch.distributed.get_world_size())
    losses = []
    for step in range(len(FAULTS)):
        evaluate(step)
        ids = torch.arange(16).reshape(1, 16) * 7 % 256 + (0 if kind == "tp" else rank)
        loss = model(input_ids=ids, labels=ids).loss
        if kind == "zero3":
            model.backward(loss)
            model.step()
        else:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def told(work: str, kind: str, folder: str, rank: int) -> None:
    """Write what some work returns, which a function of another module may do (`module:function`)."""
    import importlib

    module, _, name = work.rpartition(":")
    done = getattr(importlib.import_module(module or "rank_faults"), name)(kind, folder, rank)
    (Path(folder) / f"{rank}.json").write_text(json.dumps(done))


def start(work: str, kind: str, folder: Path, count: int = 2) -> list[subprocess.Popen[str]]:
    """Processes that do some work, each as one rank."""
    import helpers

    folder.mkdir(exist_ok=True)
    places = [str(Path(__file__).parent), *sys.path]
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # ninja
    environment = {"DS_ACCELERATOR": "cpu", "LOCAL_RANK": "0", "PATH": beside}
    return [
        subprocess.Popen(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                RANK,
                str(folder),
                work,
                kind,
                str(rank),
                str(count),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=helpers.environment(PYTHONPATH=os.pathsep.join(places), **environment),
        )
        for rank in range(count)
    ]


def results(processes: list[subprocess.Popen[str]], folder: Path) -> list[dict[str, Any]]:
    """What each of them told."""
    try:
        errors = [process.communicate(timeout=TIMEOUT)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, error in zip(processes, errors, strict=True):
        assert process.returncode == 0, error
    return [json.loads((folder / f"{i}.json").read_text()) for i in range(len(processes))]


def verdict(found: list[dict[str, Any]], step: int) -> str:
    """What happened at a step: the same on all ranks, with the loss of training alone, or else "FAILED"."""
    same = all(one["alone"][step] == one["evaluated"][step] for one in found)
    skipped = {str(step) in one["skipped"] for one in found}
    if not same or len(skipped) != 1:
        return "FAILED"
    return "skipped" if skipped.pop() else "evaluated"


def main() -> None:
    """Print the table."""
    cells: dict[str, list[str]] = {fault: [] for fault in FAULTS}
    for kind in KINDS:
        happened: list[list[str]] = []
        for count in COUNTS:
            with tempfile.TemporaryDirectory() as folder:
                found = results(start("train", kind, Path(folder), count), Path(folder))
            happened.append([verdict(found, step) for step in range(len(FAULTS))])
            print(kind, count, [one["skipped"] for one in found], file=sys.stderr)
        for fault, *each in zip(FAULTS, *happened, strict=True):
            cells[fault].append(" / ".join(dict.fromkeys(each)))
    heads = [f"{name} {' / '.join(map(str, COUNTS))}" for name in KINDS.values()]
    rows = [["", *heads], ["---"] * (len(KINDS) + 1), *([fault, *c] for fault, c in cells.items())]
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
