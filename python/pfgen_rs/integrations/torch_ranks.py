"""Ranks of a distributed torch run: sharing work, failing together, and models that are spread over them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, partial
from typing import Any, TypeVar

import torch

from pfgen_rs.errors import GenerationError
from pfgen_rs.training.checks import CollectiveError, reason_of

T = TypeVar("T")
B = TypeVar("B")
_PATIENCE = 60.0  # seconds for the others to end what they generate in step with this rank
_INSTEAD = (
    "to keep training whatever happens, generate outside of it: pass `engine` to the callback, or evaluate "
    "checkpoints with `pfgen-rs watch`"
)


class Ranks:
    """All ranks, or this process alone if it is not part of a distributed run."""

    def __init__(self) -> None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.count = torch.distributed.get_world_size() if distributed else 1
        self.rank = torch.distributed.get_rank() if distributed else 0

    def gather(self, value: T, group: Any = None) -> list[T]:
        """Returns the values of all ranks, which must all call this; `group`: default is torch's own."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(values, value, group=group)
        return values

    def together(self, work: Callable[[], T], *, in_step: bool = False) -> T:
        """Returns what `work` returns here. If it fails on any rank, raises on all of them.

        `in_step`: whether ranks need each other while they work. One that fails then waits a minute for the
        others, which may have failed, too, or be done; if they wait for it, raises a `CollectiveError`.
        """
        group = _agreeing(torch.distributed.group.WORLD) if in_step else None
        result: list[T] = []
        error: Exception | None = None
        try:
            result.append(work())
        except Exception as raised:
            error = raised
        self._agree(error, group)
        return result[0]

    def are_in_step(self, model: Any) -> bool:
        """Whether all ranks are needed for each forward pass of a model."""
        return self.count > 1 and _is_sharded(model)

    def share(self, model: Any, batches: Sequence[B], work: Callable[[B], T]) -> list[T]:
        """Returns what `work` returns for each batch, in order, on all ranks; each does a share of the work.

        `model`: if it needs all ranks at once, some repeat a batch at the end. If `work` fails on any rank,
        raises on all of them or, if these wait for it, a `CollectiveError`.
        """
        mine: list[T] = []
        if self.are_in_step(model):
            for begin in range(0, len(batches), self.count):
                batch = batches[(begin + self.rank) % len(batches)]
                mine.append(self.together(partial(work, batch), in_step=True))
        else:
            mine = self.together(lambda: list(map(work, batches[self.rank :: self.count])))
        everyone = self.gather(mine)
        return [everyone[i % self.count][i // self.count] for i in range(len(batches))]

    def _agree(self, error: Exception | None, group: Any = None) -> None:
        """Raise if any rank has an error: its own, or a `GenerationError` that names the rank."""
        reason = None if error is None else reason_of(error)
        try:
            reasons = self.gather(reason, group)
        except RuntimeError as lost:
            if group is None:
                raise
            raise CollectiveError(
                f"rank {self.rank} {'is done' if reason is None else 'failed'} while the others generate, so "
                f"they would wait for it forever: {reason or reason_of(lost)}; {_INSTEAD}"
            ) from error
        if error is not None:
            raise error
        for rank, reason in enumerate(reasons):
            if reason is not None:
                raise GenerationError(f"rank {rank} failed: {reason}")


@cache
def _agreeing(_world: Any) -> Any:
    """Returns a group of all ranks for nothing but agreeing, which gives up after a while."""
    return torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=_PATIENCE))


def unwrapped(model: Any) -> Any:
    """Returns the model inside wrappers such as `DistributedDataParallel`."""
    while True:
        inner = getattr(model, "_orig_mod", None)  # of torch.compile
        if inner is None and not hasattr(type(model), "generate"):
            inner = model._modules.get("module") or model._modules.get("_fsdp_wrapped_module")
        if inner is None:
            return model
        model = inner


def enclosing(model: Any) -> Any:
    """Returns the FSDP1 module that wraps a model, or the model itself without one.

    Trainers may know it while their callbacks are given the model inside, which has no reference to it.
    """
    fsdp = _sharding_classes()[:1]
    for found in gc.get_objects() if fsdp else ():
        if type(found) in fsdp and unwrapped(found) is unwrapped(model):
            return found
    return model


def _is_sharded(model: Any) -> bool:
    """Whether the parameters are spread over ranks, so that all of them are needed for each forward pass."""
    fsdp = _sharding_classes()
    if fsdp and any(isinstance(module, fsdp) for module in model.modules()):
        return True
    # Those of FSDP2 and tensor parallelism, and those of DeepSpeed.
    return any(hasattr(p, "device_mesh") or hasattr(p, "ds_id") for p in model.parameters())


@contextmanager
def whole(model: Any) -> Iterator[None]:
    """Make the methods of a sharded model's inner modules usable, on all ranks at once.

    For FSDP1, gathers the parameters of its outermost module, whose own forward pass is bypassed. Those of
    FSDP2 that are left gathered are freed at the end.
    """
    fsdp = _sharding_classes()
    if fsdp and isinstance(model, fsdp[0]):
        with fsdp[0].summon_full_params(model, recurse=False, writeback=False):
            yield
        return
    try:
        yield
    finally:
        for module in model.modules():
            if len(fsdp) > 1 and isinstance(module, fsdp[1]):
                module.reshard()


def _sharding_classes() -> tuple[Any, ...]:
    """Returns the classes of FSDP1 and, if this version of torch has it, FSDP2."""
    if not torch.distributed.is_available():
        return ()
    from torch.distributed import fsdp

    names = ("FullyShardedDataParallel", "FSDPModule")
    return tuple(getattr(fsdp, name) for name in names if hasattr(fsdp, name))
