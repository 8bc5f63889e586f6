"""Servers that speak OpenAI's protocol: OpenAI itself, vLLM, llama.cpp, SGLang, Ollama and many more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.extras import missing
from pfgen_rs.generate.engines.background import gathered
from pfgen_rs.generate.engines.backoff import Backoff
from pfgen_rs.generate.engines.openai_place import find_place
from pfgen_rs.generate.engines.openai_wire import Form
from pfgen_rs.generate.engines.protocol import Outcome, Parameters
from pfgen_rs.generate.prompts import Task

__all__ = ["OpenAIEngine"]


class OpenAIEngine:
    """Asks a server, many questions at a time; completions in mode `completion`, chats in the others.

    `base_url` and `api_key` come from `OPENAI_BASE_URL` and `OPENAI_API_KEY` unless given; a server in the
    local network needs no key. `timeout`: seconds that one attempt may take in all. `retries`: attempts after
    the first, spaced as `backoff` says (at most two minutes, whatever a server asks for); long waits are
    logged as warnings of `pfgen_rs.generate`. `omit`: options that are not sent (of `seed`, `stop`,
    `max_tokens`, `temperature`, `top_p`), for servers that refuse them. `max_tokens_name`: what the server
    calls that limit. `extra`: what else is sent with each request, but for what this sets
    itself.

    How it fails: what may pass (408, 409, 425, 429, 5xx, an attempt that takes too long, a connection that
    fails, a body that is cut) is tried again. When that is used up, and for other refusals and answers
    without text, the task is `Failed`. `GenerationError` says what all tasks would meet: no key or a wrong
    one, no such model or address, an option that the server says it does not support or refuses
    the first eight tasks for, an account without means, and
    no server: the first task to be given up, or eight in a row, had no response at all. The key is shown
    nowhere: not in errors, reasons, answers, logs, or the engine's `repr`.

    A request costs about half a millisecond where aiohttp is installed, otherwise about one.
    """

    name = "openai-api"  # as published runs call it

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 64,
        timeout: float = 600.0,
        retries: int = 6,
        backoff: Backoff | None = None,
        omit: str | Sequence[str] = (),
        max_tokens_name: str = "max_tokens",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Connect to nothing yet; raises `SettingsError`, and `GenerationError` without package or key."""
        _check(concurrency, timeout, retries)
        self._form = Form.checked(model, omit, max_tokens_name, extra)
        try:
            import openai  # noqa: F401
        except ImportError as error:
            raise missing("engine openai", "openai", error, GenerationError) from None
        self.model = model
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff or Backoff()
        self._place = find_place(base_url, api_key)

    def __repr__(self) -> str:
        return f"OpenAIEngine({self.model!r}, base_url={self._place.url!r})"

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """One outcome for each task, as soon as it is there.

        Tasks are begun in order. Closing the iterator cancels the requests under way.
        """
        workers = max(1, min(self.concurrency, len(tasks)))
        return gathered(tasks, partial(self._session, parameters), workers)

    def close(self) -> None:
        """Nothing is held: connections end with the iterator that opened them."""

    @asynccontextmanager
    async def _session(
        self, parameters: Parameters
    ) -> AsyncIterator[Callable[[Task], Awaitable[Outcome]]]:
        from pfgen_rs.generate.engines.openai_session import Session, connected

        async with connected(self._place, self.timeout) as client:
            session = Session(
                client,
                self._place,
                self._form,
                parameters,
                timeout=self.timeout,
                retries=self.retries,
                backoff=self.backoff,
            )
            yield session.outcome


def _check(concurrency: int, timeout: float, retries: int) -> None:
    if not 1 <= concurrency <= 1000:
        raise SettingsError(f"concurrency must be in 1…1000, not {concurrency}")
    if not timeout > 0:
        raise SettingsError(f"timeout must be positive, not {timeout}")
    if retries < 0:
        raise SettingsError(f"retries must be at least 0, not {retries}")
