"""Servers with an OpenAI-compatible API: OpenAI, vLLM, llama.cpp, SGLang, Ollama and many more."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

from pfgen_rs import GenerationError, SettingsError, extras
from pfgen_rs.ask import Outcome, Parameters, Task, protocol, retrying, server, wire
from pfgen_rs.ask.engines import engine
from pfgen_rs.io.ahead import THREADS, Pipe

_MOST_LOGPROBS = 5
"""Alternatives that OpenAI reports for completions, at most."""


@engine("openai")
class OpenAIEngine(protocol.Counting):
    """Sends concurrent requests to a server: completions in mode `completion`, chats in the other modes.

    `base_url` and `api_key` default to `OPENAI_BASE_URL` and `OPENAI_API_KEY`; a server in the local network
    needs no key. `timeout`: seconds for one attempt, in total. `retries`: attempts after the first, spaced
    according to `backoff` (by default at most two minutes apart, even if a server asks for more); long waits
    and the first timeout are logged as warnings of `pfgen_rs.generate`. `omit`:
    options not to send (out of `seed`, `stop`, `max_tokens`, `temperature`, `top_p`, `logprobs`), for servers
    that reject them. `optional`: options (out of `logprobs`, `seed`, `temperature`, `top_p`) to leave out
    once the server has rejected them: the request is sent again at once without the option and, if that is
    answered, so are all later ones. This is logged once as a warning of `pfgen_rs.generate`, and answers say
    what was left out (`Details.left_out`). `max_tokens_name`: the server's name for that limit. `extra`:
    additional values for each request, which must not override those set here.

    Log probabilities (`Parameters.logprobs`) are read in the form of the chat API or in that of completions,
    whichever the server sends; OpenAI itself reports at most 5 alternatives for completions, and is asked for
    no more.

    Temporary failures (408, 409, 425, 429, 5xx, timeouts, failed connections, truncated bodies) are retried.
    If the last attempt fails, and for other rejections and answers without text, the task is `Failed`.
    Failures that affect all tasks raise `GenerationError`: a missing or invalid key, an unknown model or
    address, an option that the server does not support or for which it rejects the first eight tasks, an
    exhausted quota, an unreachable server (the first failed task, or eight in a row, received no response),
    and a server whose first three replies are not JSON, such as a web page. The key is never shown: not in
    errors, reasons, answers, logs or the engine's `repr`.

    The overhead per request is about 0.4 ms of CPU.
    """

    name = "openai-api"  # the name in published runs
    rolling = True
    abilities = protocol.ABILITIES
    thinking_off = 'extra={"chat_template_kwargs": {"enable_thinking": false}}'

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 64,
        timeout: float = 600.0,
        retries: int = 6,
        backoff: retrying.Backoff | None = None,
        omit: str | Sequence[str] = (),
        max_tokens_name: str = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        optional: str | Sequence[str] = (),
    ) -> None:
        """Check the settings without connecting.

        Raises `SettingsError`, and `GenerationError` if the package or the key is missing.
        """
        _check(concurrency, timeout, retries)
        form = wire.Form.checked(model, omit, max_tokens_name, extra)
        self._optional = retrying.OptionalParameters(optional)
        try:
            import aiohttp  # noqa: F401
        except ImportError as error:
            raise extras.missing("engine openai", "openai", error, GenerationError) from None
        self.model = model
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff or retrying.Backoff()
        self._place = server.find_place(base_url, api_key)
        self._form = replace(form, most_logprobs=_MOST_LOGPROBS if self._place.is_openai else None)
        self.abilities = protocol.ABILITIES - form.omit

    def __repr__(self) -> str:
        return f"OpenAIEngine({self.model!r}, base_url={self._place.url!r})"

    def generate(self, tasks: Iterable[Task | None], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, as soon as it is available.

        Tasks are started in order, and taken at most `2 * concurrency` ahead of the outcomes. Closing the
        iterator cancels the requests in progress.
        """
        from pfgen_rs.ask.client import Session

        def opened() -> Session:
            return Session(
                self._place,
                self._form,
                parameters,
                self.timeout,
                self.retries,
                self.backoff,
                self.count,
                self._optional,
            )

        return gathered(tasks, opened, self.concurrency)

    def close(self) -> None:
        """Do nothing: connections are closed with the iterator that opened them."""


def _check(concurrency: int, timeout: float, retries: int) -> None:
    if not 1 <= concurrency <= 1000:
        raise SettingsError(f"concurrency must be between 1 and 1000, not {concurrency}")
    if not timeout > 0:
        raise SettingsError(f"timeout must be positive, not {timeout}")
    if retries < 0:
        raise SettingsError(f"retries must be at least 0, not {retries}")


# Coroutines in a thread of their own, with their results as a plain iterator.


T = TypeVar("T")
R = TypeVar("R")
Opened = AbstractAsyncContextManager[Callable[[T], Awaitable[R]]]
"""A context that holds resources (connections) and returns the coroutine function that uses them."""

_GRACE = 5.0
"""Seconds to wait for connections to close."""


def gathered(
    items: Iterable[T | None], opened: Callable[[], Opened[T, R]], concurrency: int
) -> Iterator[R]:
    """Yield the result for each item in order of completion, processing at most `concurrency` at a time.

    Items are taken in the caller's thread, at most `2 * concurrency` ahead of the results that were consumed,
    and started in order; `None` means that no item is available until another result has been consumed. An
    error is raised after the results before it and cancels all other work, as does closing the iterator. Also
    works if the caller's thread runs an event loop.
    """
    source, begun, window = iter(items), 0, 2 * concurrency
    work = _ConcurrentWork(opened, concurrency)
    work.start()
    try:
        while True:
            # Waking the other thread costs more than counting.
            if (window - begun) * 4 >= concurrency:
                more = protocol.available(source, window - begun)
                begun += len(more)
                work.add(more)
            if not begun:
                return
            result = next(work.results)
            begun -= 1
            yield result
    finally:
        work.stop()


class _ConcurrentWork(Generic[T, R]):
    """One call of `gathered`: an event loop, its thread, and the pipe out of it."""

    def __init__(self, opened: Callable[[], Opened[T, R]], concurrency: int) -> None:
        self._opened = opened
        self._concurrency = concurrency
        self._items = asyncio.Queue[T]()
        # As many results may be ready as items were added, so putting one never blocks.
        self.results = Pipe[R](2 * concurrency)
        self._loop = asyncio.new_event_loop()
        self._main = self._loop.create_task(self._all())
        self._thread = threading.Thread(target=self._run, name=THREADS, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, items: Sequence[T]) -> None:
        """Queue items to be processed."""
        if items:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._put, items)

    def stop(self) -> None:
        """Cancel work in progress, and wait briefly for it to end."""
        self.results.stop()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(_GRACE)

    def _put(self, items: Sequence[T]) -> None:
        for item in items:
            self._items.put_nowait(item)

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._main)
        except BaseException as raised:
            error = raised
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        self.results.end(error)

    async def _all(self) -> None:
        async with self._opened() as work:
            workers = [asyncio.create_task(self._worker(work)) for _ in range(self._concurrency)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _worker(self, work: Callable[[T], Awaitable[R]]) -> None:
        while True:
            self.results.put(await work(await self._items.get()))
