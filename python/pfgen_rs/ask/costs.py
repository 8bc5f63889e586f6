"""What requests cost: tokens counted beforehand, prices from a file, and a budget."""

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.ask.request import Group, Request
from pfgen_rs.errors import InputError, SettingsError, unreadable

_PRICED = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million prompt tokens and a million completion tokens, in `currency`."""

    prompt: float
    completion: float
    currency: str = ""

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Returns the cost of these tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / _PRICED

    def shown(self, cost: float) -> str:
        """Returns a cost as text."""
        digits = 2 if cost >= 1 or not cost else 4
        return f"{cost:,.{digits}f} {self.currency}".strip()


def read_prices(path: str | os.PathLike[str], model: str) -> Prices:
    """Read a model's prices from a TOML file.

    The file has `currency` and, for each model, a table `[models."NAME"]` with `prompt` and `completion`:
    prices of a million tokens. Raises `InputError` for invalid files and models that are missing.
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
    return Prices(prompt, completion, str(table.get("currency", "")))


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


def prompt_tokens(request: Request, counter: TokenCounter) -> int:
    """Returns how many tokens a request has, with what chat templates add."""
    return sum(counter.count(text) + _PER_MESSAGE for _, text in request.messages)


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

    def reserve(self, number: int, request: Request, longest: int | None) -> bool:
        """Reserve the largest cost of a request; returns false if the budget does not allow it."""
        most = self._prices.cost(prompt_tokens(request, self._counter), longest or 0)
        if self.spent + sum(self._reserved.values()) + most > self.limit:
            return False
        self._reserved[number] = most
        return True

    def settle(self, number: int, tokens: tuple[int, int] | None) -> None:
        """Replace a reservation by the cost of the tokens that the server reported."""
        most = self._reserved.pop(number)
        self.spent += most if tokens is None else self._prices.cost(*tokens)

    def cancel(self, number: int) -> None:
        """Give back the reservation of a request that failed."""
        self._reserved.pop(number, None)
