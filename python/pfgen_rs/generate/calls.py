"""The calls that generate a run, and its `generation.json`, which each of them writes at its end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pfgen_rs.ask.costs import Prices
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.protocol import LOG, Engine, Usage
from pfgen_rs.errors import PfgenError
from pfgen_rs.io import atomic, locks
from pfgen_rs.io.json_lines import journal_records
from pfgen_rs.io.run_files import GENERATION
from pfgen_rs.runs import generation

_KEPT = 50
"""Number of calls that are kept, the latest."""
_LARGEST_NOTES = 1 << 16  # characters


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Call:
    """A call of `generate` that appends to `journal`; `asks`: whether there is something to ask.

    `about`: what is noted of it: `failed` requests (`None`: it ended before that was known); `given_up`:
    those among them that were empty in all rounds; `error`: the kind of error that ended it.
    """

    def __init__(self, engine: Engine, journal: Journal, *, asks: bool) -> None:
        self._engine, self._journal = engine, journal
        self._asks, self._before = asks, _usage(engine)
        self.about: dict[str, Any] = {"engine": engine.name, "begun": _now()}
        self.about |= {"failed": None, "given_up": 0, "error": None}

    @property
    def usage(self) -> Usage | None:
        """The requests and tokens of this call, if the engine counts them."""
        now = _usage(self._engine)
        return None if now is None or self._before is None else now - self._before

    @contextmanager
    def noted(self, prices: Prices | None) -> Iterator[None]:
        """Write the folder's `generation.json` at the end of the block, also of one that fails.

        That it cannot be written is a warning.
        """
        try:
            yield
        except BaseException as error:
            self.about["error"] = type(error).__name__
            raise
        finally:
            try:
                self._write(prices)
            except (PfgenError, OSError) as error:
                LOG.warning("%s is not up to date: %s", GENERATION, error)

    def _write(self, prices: Prices | None) -> None:
        journal, folder = self._journal.path, self._journal.path.parent
        if not journal.exists():
            return
        with locks.locked(folder):
            old = generation.read_file(folder) or {"calls": []}
            # Before it is read: what is appended meanwhile makes the file out of date, not wrong.
            size = journal.stat().st_size
            found = generation.summarised(journal_records(journal))
            if prices := prices or _known_prices(old.get("prices")):
                cost = prices.spent(journal_records(journal))
                known = found["counted"]["prompt_tokens"]["known"]
                found["cost"] = {"amount": cost, "shown": prices.shown(cost), "answers": known}
            read = {"prices": None if prices is None else asdict(prices), "journal_bytes": size}
            calls = [*old["calls"], *([self._noted()] if self._asks else [])][-_KEPT:]
            if (new := {**found, **read, "calls": calls}) != old:
                text = json.dumps(new, indent=1, default=str) + "\n"
                atomic.write_atomic(folder / GENERATION, text.encode())

    def _noted(self) -> dict[str, Any]:
        """Returns what is kept of the call, with what the engine notes of all its requests."""
        used = None if (usage := self.usage) is None else asdict(usage)
        told = {"new": self._journal.added, "usage": used, "client": _notes(self._engine)}
        return {**self.about, **told, "ended": _now()}


def _usage(engine: Engine) -> Usage | None:
    usage = getattr(engine, "usage", None)
    return usage if isinstance(usage, Usage) else None


def _notes(engine: Any) -> Any:
    """Returns what an engine notes of its requests, if it does, and if that is short and JSON."""
    with suppress(Exception):  # whatever an engine does here, the answers count
        text = json.dumps(engine.notes(), allow_nan=False, default=str)
        return json.loads(text) if len(text) <= _LARGEST_NOTES else None
    return None


def _known_prices(values: Any) -> Prices | None:
    """Returns the prices that an earlier call was given."""
    with suppress(TypeError, ValueError):
        prices = Prices(**values)
        prices.shown(prices.spent([{"usage": {"prompt_tokens": 1}}]))
        return prices
    return None
