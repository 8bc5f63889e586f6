"""Ranks of a distributed run: they work under a time limit, fail together and share work."""

import ctypes
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any, TypeVar

import torch

from pfgen_rs.errors import GenerationError
from pfgen_rs.training.background import CollectiveError, reason_of

T = TypeVar("T")
B = TypeVar("B")
LIMIT = 3600.0
"""Seconds that ranks work by themselves before a step is given up, by default."""
INSTEAD = (
    "to generate outside of training, pass `engine` to the callback, or evaluate checkpoints with "
    "`pfgen-rs watch`"
)
_PATIENCE = 60.0  # seconds that ranks wait for each other beyond the limit
_GRACE = 5.0  # seconds for a thread to end after it was interrupted
_CALLS = itertools.count()  # the same on all ranks, as they agree in the same order
# Threads given up that may still be running, and their work.
_left: list[tuple[int, "Future[Any]"]] = []


class Ranks:
    """All ranks, or this process alone if it is not part of a distributed run.

    `limit`: seconds for each piece of work.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.count = torch.distributed.get_world_size() if distributed else 1
        self.rank = torch.distributed.get_rank() if distributed else 0
        self.limit = limit

    def together(self, work: Callable[[], T], *, here: bool = False) -> T:
        """Returns what `work` returns here. If it fails or hangs on any rank, raises on all of them.

        It runs in a thread of its own. Ranks agree without collectives, so one that is missing makes the
        others wait for a minute beyond the limit, and no longer. `here`: whether `work` runs on the calling
        thread instead, without a limit, and may have collectives; then, a rank for which the others have
        waited that long makes them raise a `CollectiveError`, as it may itself wait for them.
        """
        error: Exception | None = None
        try:
            result = work() if here else within(self.limit, work)
        except Exception as raised:
            error = raised
        try:
            reason = None if error is None else reason_of(error)
            reasons = self._agree(reason)
            if here and "" in reasons:
                raise CollectiveError(
                    f"rank {reasons.index('')}, which may wait for others forever, gave {self._late}, but "
                    f"rank {self.rank} {'failed' if reason else 'is done'}: {reason or INSTEAD}"
                ) from error
            if error is not None:
                raise error
            for rank, reason in enumerate(reasons):
                if reason is not None:
                    raise GenerationError(f"rank {rank} failed: {reason or self._late}")
            return result
        finally:
            del error  # with what its traceback holds, such as a model

    def share(
        self, batches: Sequence[B], work: Callable[[list[B]], list[T]], *, alone: bool = False
    ) -> list[T]:
        """Returns what `work` returns for the batches, in order, on all ranks; each does a share of them.

        `alone`: rank 0 does all of it. Fails like `together`.
        """
        workers = 1 if alone else self.count
        mine = list(batches[self.rank :: workers]) if self.rank < workers else []
        everyone = self._gather(self.together(lambda: work(mine)))
        return [everyone[i % workers][i // workers] for i in range(len(batches))]

    @property
    def _late(self) -> str:
        return (
            f"no answer within {self.limit + _PATIENCE:.0f} seconds (the limit is {self.limit:g})"
        )

    def _gather(self, value: T) -> list[T]:
        """Returns the values of all ranks, which have agreed that all call this."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(values, value)
        return values

    def _agree(self, reason: str | None) -> list[str | None]:
        """Returns why each rank failed, the same on all ranks: `None` if it did not, "" if it did not say.

        The last of them, or the first that has waited too long, decides what all of them take as said.
        """
        if self.count == 1:
            return [reason]
        # The store by which the process group began is not affected by ranks that do not come.
        store = torch.distributed.distributed_c10d._get_default_store()
        at = f"pfgen_rs/{next(_CALLS)}"
        keys = [f"{at}/{rank}" for rank in range(self.count)]
        here, decided, seen = f"{at}/here", f"{at}/decided", f"{at}/seen"
        store.set(keys[self.rank], json.dumps(reason))
        if store.add(here, 1) < self.count:
            with suppress(RuntimeError):  # when time is over
                store.wait([decided], timedelta(seconds=self.limit + _PATIENCE))
        if not store.check([decided]):
            said = [store.get(key).decode() if store.check([key]) else '""' for key in keys]
            store.compare_set(decided, "", f"[{','.join(said)}]")
        reasons: list[str | None] = json.loads(store.get(decided))
        if store.add(seen, 1) == self.count:
            for key in (*keys, here, decided, seen):
                store.delete_key(key)
        return reasons


class _Interrupt(SystemExit):
    """Ends a thread: nothing but `BaseException` catches it, and nothing is printed."""


def within(limit: float, work: Callable[[], T]) -> T:
    """Returns what `work` returns in a thread of its own; raises `GenerationError` after `limit` seconds.

    The thread is then interrupted, as it is if the caller is (Ctrl-C). Python does so when the current call
    of native code returns; one that never does is left behind, and refuses other work as long as it runs.
    """
    _left[:] = [one for one in _left if not one[1].done()]
    if _left:
        raise GenerationError("what was given up at an earlier step is still running")
    done: Future[T] = Future()
    thread = threading.Thread(target=_run, args=(done, work, _thread_state()), daemon=True)
    thread.start()
    try:
        wait([done], limit)
        if done.done():
            return done.result()
        raise GenerationError(f"not done within {limit:g} seconds: raise `limit` if that is short")
    finally:
        if not done.done():
            _give_up(thread.ident or 0, done)
        del done  # an error would keep itself, and all that its traceback holds


def end_if_given_up(*_: Any, **__: Any) -> bool:
    """Interrupt this thread again if its work was given up: `except:` may have caught the first interrupt.

    Else returns `False`, as a criterion of transformers that never stops generation.
    """
    if threading.get_ident() in [ident for ident, _ in _left]:
        raise _Interrupt
    return False


def _give_up(ident: int, done: "Future[Any]") -> None:
    _left.append((ident, done))
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(_Interrupt))
    wait([done], _GRACE)
    _left[:] = [one for one in _left if not one[1].done()]


def _run(done: "Future[T]", work: Callable[[], T], state: Callable[[ExitStack], None]) -> None:
    try:
        with ExitStack() as stack:
            state(stack)
            done.set_result(work())
    except BaseException as error:  # all of it is raised where `within` was called
        if not done.done():
            done.set_exception(error)
    finally:
        del done  # as in `within`


def _thread_state() -> Callable[[ExitStack], None]:
    """Returns a function that gives another thread what torch keeps for this one."""
    grad = torch.is_grad_enabled()
    device = torch.cuda.current_device() if torch.cuda.is_initialized() else -1
    kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    casts = [(kind, torch.get_autocast_dtype(kind)) for kind in kinds]

    def enter(stack: ExitStack) -> None:
        stack.enter_context(torch.set_grad_enabled(grad))
        stack.enter_context(torch.cuda.device(device))
        for kind, dtype in casts:
            stack.enter_context(torch.autocast(kind, dtype))

    return enter
