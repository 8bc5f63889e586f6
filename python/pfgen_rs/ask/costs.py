"""What requests cost: tokens counted beforehand, prices from a file, and a budget."""

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pfgen_rs.ask.protocol import Usage
from pfgen_rs.ask.request import Group, Request
from pfgen_rs.ask.wire import count_of
from pfgen_rs.errors import InputError, SettingsError, unreadable

_PRICED = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million prompt tokens and a million completion tokens, in `currency`.

    `cached`: the price of those prompt tokens that the server had cached (`None`: as of the others).
    `batch`: the share of these prices that requests in batches cost (`None`: not stated).
    """

    prompt: float
    completion: float
    currency: str = ""
    cached: float | None = None
    batch: float | None = None

    def cost(
        self, prompt_tokens: float, completion_tokens: float, cached_tokens: float = 0
    ) -> float:
        """Returns the cost of these tokens; `cached_tokens` are part of `prompt_tokens`."""
        saved = 0.0 if self.cached is None else (self.prompt - self.cached) * cached_tokens
        return (prompt_tokens * self.prompt + completion_tokens * self.completion - saved) / _PRICED

    def in_batches(self) -> Self:
        """Returns the prices of requests in batches, which are these if nothing else is stated."""
        share = 1.0 if self.batch is None else self.batch
        cached = None if self.cached is None else self.cached * share
        return replace(
            self, prompt=self.prompt * share, completion=self.completion * share, cached=cached
        )

    def spent(self, records: Iterable[Mapping[str, Any]]) -> float:
        """Returns what the answers in a journal have cost, as far as their tokens were reported."""
        batches, total = self.in_batches(), 0.0
        for record in records:
            prices = self if record.get("batch") is None else batches
            used, kinds = record.get("usage"), ("prompt", "completion", "cached")
            total += prices.cost(*(count_of(used, f"{kind}_tokens") or 0 for kind in kinds))
        return total

    def shown(self, cost: float) -> str:
        """Returns a cost as text."""
        digits = 2 if cost >= 1 or not cost else 4
        return f"{cost:,.{digits}f} {self.currency}".strip()


def read_prices(path: str | os.PathLike[str], model: str) -> Prices:
    """Read a model's prices from a TOML file.

    The file has `currency` and, for each model, a table `[models."NAME"]` with `prompt` and `completion`:
    prices of a million tokens, and possibly `cached` and `batch` (see `Prices`). Raises `InputError` for
    invalid files and models that are missing.
    """
    file = Path(path)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(unreadable(error), path=file) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", path=file) from None
    models = table.get("models")
    if not isinstance(models, Mapping) or not isinstance(models.get(model), Mapping):
        known = ", ".join(models) if isinstance(models, Mapping) and models else "none"
        raise InputError(
            f'no prices of {model!r} (models: {known}): add [models."{model}"] with prompt and completion, '
            "for a million tokens each",
            path=file,
        )
    values = models[model]
    prompt, completion = (_price(values, key, file, model) for key in ("prompt", "completion"))
    optional = [
        _price(values, key, file, model) if key in values else None for key in ("cached", "batch")
    ]
    return Prices(prompt, completion, str(table.get("currency", "")), *optional)


def _price(values: Mapping[str, Any], key: str, path: Path, model: str) -> float:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InputError(
            f"{key!r} of {model!r} must be a number of at least 0, not {value!r}", path=path
        )
    return float(value)


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts the tokens of a text; `name` says how, such as `tiktoken o200k_base` or `characters`."""

    name: str
    count: Callable[[str], int]


def token_counter(model: str) -> TokenCounter:
    """Returns a counter for a model.

    By tiktoken if it is installed, knows the model and has its vocabulary at hand, else of characters (one
    token each: an upper bound for nearly all Japanese text).
    """
    try:
        import tiktoken

        encoding = tiktoken.encoding_for_model(model)
    # An unknown model, no network for the vocabulary: each has its own type.
    except Exception:
        return TokenCounter("characters", len)
    return TokenCounter(
        f"tiktoken {encoding.name}", lambda text: len(encoding.encode(text, disallowed_special=()))
    )


_PER_MESSAGE = 4  # what chat templates add around a message, in tokens


def prompt_tokens(texts: Iterable[str], counter: TokenCounter) -> int:
    """Returns how many tokens the messages of a request have, with what chat templates add."""
    return sum(counter.count(text) + _PER_MESSAGE for text in texts)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What requests take at most: their number, and tokens; `completion`: `None` without a limit."""

    requests: int
    prompt: int
    completion: int | None

    def cost(self, prices: Prices) -> float | None:
        """Returns the largest possible cost, `None` without a limit."""
        return None if self.completion is None else prices.cost(self.prompt, self.completion)


def estimate(groups: Iterable[Group], counter: TokenCounter) -> Estimate:
    """Returns what requests take at most, retries and repeated empty answers not counted."""
    parts = [
        estimate_of([request.texts for request in group.requests], group.respondent.limit, counter)
        for group in groups
    ]
    limits = [part.completion for part in parts if part.completion is not None]
    completion = sum(limits) if len(limits) == len(parts) else None
    return Estimate(sum(p.requests for p in parts), sum(p.prompt for p in parts), completion)


def estimate_of(
    requests: Sequence[Iterable[str]], limit: int | None, counter: TokenCounter
) -> Estimate:
    """Returns what requests take at most; they have these messages, and at most `limit` tokens of output."""
    count, prompt = len(requests), sum(prompt_tokens(texts, counter) for texts in requests)
    return Estimate(count, prompt, 0 if not count else limit and count * limit)


class Budget:
    """Stops requests before their cost could pass a limit.

    A request that is under way counts with its largest possible cost, and one that is answered with what the
    server reports, if it does. `spent`: the cost so far, earlier calls included. Raises `SettingsError` if
    `groups`, which are to be asked, have no limit on completion tokens.
    """

    def __init__(
        self,
        limit: float,
        prices: Prices,
        counter: TokenCounter,
        groups: Iterable[Group],
        spent: float = 0.0,
    ) -> None:
        if not limit > 0:
            raise SettingsError(f"the budget must be positive, not {limit}")
        if any(group.respondent.limit is None for group in groups):
            raise SettingsError("a budget needs a limit on the output: set max_tokens")
        self.limit, self.spent = limit, spent
        self._prices, self._counter = prices, counter
        self._reserved: dict[int, float] = {}
        self._held = 0.0  # their sum

    def reserve(self, number: int, request: Request, longest: int | None) -> bool:
        """Reserve the largest cost of a request; returns false if the budget does not allow it."""
        most = self._prices.cost(prompt_tokens(request.texts, self._counter), longest or 0)
        if self.spent + self._held + most > self.limit:
            return False
        self._reserved[number] = most
        self._held += most
        return True

    def settle(self, number: int, usage: Usage | None) -> None:
        """Replace a reservation by the cost of the tokens that the server reported."""
        most = self.cancel(number)
        if usage is not None:
            most = self._prices.cost(
                usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens
            )
        self.spent += most

    def cancel(self, number: int) -> float:
        """Give back the reservation of a request that failed; returns it."""
        most = self._reserved.pop(number, 0.0)
        self._held = self._held - most if self._reserved else 0.0
        return most
