"""What engines for servers share: settings, connections and concurrency."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from pfgen_rs import GenerationError, SettingsError, extras
from pfgen_rs.ask import protocol, retrying, server, wire
from pfgen_rs.ask.batch_forms import BatchForm
from pfgen_rs.ask.gathering import Gathered
from pfgen_rs.ask.protocol import Outcome, Parameters, Task
from pfgen_rs.ask.window import Window


class ServerEngine(protocol.Counting):
    """Sends concurrent requests to a server, in the form of its protocol.

    `service`: where such servers are. `batch_form`: how they take batches (see `pfgen_rs.ask.batches`).
    """

    name: str
    abilities: frozenset[str]
    rolling = True
    service: ClassVar[server.Service] = server.OPENAI
    batch_form: ClassVar[type[BatchForm]]

    def __init__(
        self,
        form: wire.Form,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int | None = None,
        timeout: float = 600.0,
        retries: int = 6,
        backoff: retrying.Backoff | None = None,
        optional: str | Sequence[str] = (),
    ) -> None:
        """Check the settings without connecting.

        Raises `SettingsError`, and `GenerationError` if the package or the key is missing.
        """
        _check(concurrency, timeout, retries)
        self.window = Window(concurrency, time.monotonic())
        self.optional = retrying.OptionalParameters(optional)
        try:
            import aiohttp  # noqa: F401
        except ImportError as error:
            what = f"engine {type(self).__module__.rpartition('.')[2]}"
            raise extras.missing(what, "openai", error, GenerationError) from None
        self.model = form.model
        self.place = server.find_place(base_url, api_key, self.service)
        self.form = form
        self._patience: dict[str, Any] = {
            "timeout": timeout,
            "retries": retries,
            "backoff": backoff or retrying.Backoff(),
            "waits": retrying.Waits(),
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self.place.url!r})"

    @property
    def connection(self) -> dict[str, Any]:
        """The arguments of a `Connection`."""
        return {"place": self.place, "form": self.form, **self._patience}

    def generate(self, tasks: Iterable[Task | None], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, as soon as it is available.

        Tasks are started in order, and taken at most twice as many ahead of the outcomes as
        were ever under way at once. Closing the
        iterator cancels the requests in progress.
        """
        from pfgen_rs.ask.client import Session

        def opened() -> Session:
            return Session(
                **self.connection,
                parameters=parameters,
                count=self.count,
                window=self.window,
                optional=self.optional,
            )

        return Gathered(tasks, opened, self.window)

    def notes(self) -> dict[str, Any]:
        """Returns what the engine did beside answering, as JSON: requests, retries, waits, concurrency.

        All of it since the engine was made. `waits`: seconds, summed over requests. `concurrency`: the most
        requests at a time, and the trace of the window (see `Window`).
        """
        waits, trace = self._patience["waits"], [list(change) for change in self.window.trace]
        return {
            "requests": self.usage.requests,
            "retries": waits.count,
            "waits": round(waits.seconds, 3),
            "concurrency": {"most": self.window.most, "trace": trace},
        }

    def close(self) -> None:
        """Do nothing: connections are closed with the iterator that opened them."""


def _check(concurrency: int | None, timeout: float, retries: int) -> None:
    if concurrency is not None and not 1 <= concurrency <= 1000:
        raise SettingsError(f"concurrency must be between 1 and 1000, not {concurrency}")
    if not timeout > 0:
        raise SettingsError(f"timeout must be positive, not {timeout}")
    if retries < 0:
        raise SettingsError(f"retries must be at least 0, not {retries}")
