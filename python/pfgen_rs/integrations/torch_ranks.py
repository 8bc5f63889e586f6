"""Ranks of a distributed run: they work under a time limit, fail together and share work."""

import ctypes
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
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
_left: set[threading.Thread] = set()  # those given up that may still be running


class Ranks:
    """All ranks, or this process alone if it is not part of a distributed run.

    `limit`: seconds for each piece of work.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.count = torch.distributed.get_world_size() if distributed else 1
        self.rank = torch.distributed.get_rank() if distributed else 0
        self.limit = limit

    def together(self, work: Callable[[], T], *, in_step: bool = False) -> T:
        """Returns what `work` returns here. If it fails or hangs on any rank, raises on all of them.

        It runs in a thread of its own. Ranks agree without collectives, so one that is missing makes the
        others wait for a minute beyond the limit, and no longer. `in_step`: whether `work` has collectives.
        A rank that fails in it waits for a minute, and if the others wait for it, raises a `CollectiveError`.
        """
        error: Exception | None = None
        try:
            result = within(self.limit, work)
        except Exception as raised:
            error = raised
        try:
            reason = None if error is None else reason_of(error)
            reasons = self._agree(reason, _PATIENCE if in_step else self.limit + _PATIENCE)
            late = [rank for rank, found in enumerate(reasons) if found == ""]
            if in_step and (late or isinstance(error, LimitError)):
                raise CollectiveError(
                    f"rank {self.rank} {'failed' if reason else 'is done'} while the others generate, so "
                    f"they would wait for it forever: {reason or f'no answer from {late}'}; {INSTEAD}"
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

    def _agree(self, reason: str | None, patience: float) -> list[str | None]:
        """Returns why each rank failed, the same on all ranks: `None` if it did not, "" if it did not say.

        The last of them, or the first that has waited too long, decides what all of them take as said.
        """
        if self.count == 1:
            return [reason]
        # The store by which the process group began is not affected by ranks that do not come.
        store, at = (
            torch.distributed.distributed_c10d._get_default_store(),
            f"pfgen_rs/{next(_CALLS)}",
        )
        keys = [f"{at}/{rank}" for rank in range(self.count)]
        here, decided, seen = f"{at}/here", f"{at}/decided", f"{at}/seen"
        store.set(keys[self.rank], json.dumps(reason))
        if store.add(here, 1) < self.count:
            with suppress(RuntimeError):  # when time is over
                store.wait([decided], timedelta(seconds=patience))
        if not store.check([decided]):
            said = [store.get(key).decode() if store.check([key]) else '""' for key in keys]
            store.compare_set(decided, "", f"[{','.join(said)}]")
        reasons: list[str | None] = json.loads(store.get(decided))
        if store.add(seen, 1) == self.count:
            for key in (*keys, here, decided, seen):
                store.delete_key(key)
        return reasons


class LimitError(GenerationError):
    """Work was given up at its limit."""


class _Interrupt(SystemExit):
    """Ends a thread: nothing but `BaseException` catches it, and nothing is printed."""


def within(limit: float, work: Callable[[], T]) -> T:
    """Returns what `work` returns in a thread of its own; raises `LimitError` after `limit` seconds.

    The thread is then interrupted, which Python does when its current call of native code returns. One that
    never returns is left behind, and refuses other work as long as it runs.
    """
    _left.difference_update([thread for thread in _left if not thread.is_alive()])
    if _left:
        raise GenerationError("what was given up at an earlier step is still running")
    done: Future[T] = Future()
    state = _thread_state()
    thread = threading.Thread(target=_run, args=(done, work, state), daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        kind = ctypes.py_object(_Interrupt)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), kind)
        thread.join(_GRACE)
        if thread.is_alive():
            _left.add(thread)
        raise LimitError(f"not done within {limit:g} seconds: raise `limit` if it needs longer")
    return done.result()


def _run(done: "Future[T]", work: Callable[[], T], state: Callable[[ExitStack], None]) -> None:
    try:
        with ExitStack() as stack:
            state(stack)
            done.set_result(work())
    except BaseException as error:  # all of it is raised where `within` was called
        done.set_exception(error)


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
