"""Settings that define a score, together with the reference answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

from pfgen_rs import _native
from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.units import UNITS, Unit

Variant = Literal["pfgen-bench", "paper"]
Summation = Literal["plain", "compensated"]
SUMMATIONS: tuple[Summation, ...] = ("plain", "compensated")
SKIPPED = "^$、。・「」『』（）【】［］〈〉《》"
STATED = (
    "unit",
    "min_n",
    "max_n",
    "truthfulness_n",
    "threshold",
    "target_length",
    "zero_length",
    "max_length",
    "skipped",
)
"""Settings that a set may state in its question files."""
_MARKS = "^$"  # surround every answer in Truthfulness; no token maps to them


@dataclass(frozen=True)
class Settings:
    """Scoring settings; the defaults give the published scores.

    `min_n`, `max_n`: n-gram range of Fluency, in units. `truthfulness_n`, `threshold`: length of
    Truthfulness's windows, and the share of reference answers from which a window counts in full.
    `target_length`, `zero_length`: length in units up to which nothing is discounted, and from which the
    score is 0. `max_length`: units after which the rest of an answer is ignored. `skipped`: characters that
    Truthfulness skips.

    `unit`: `character` (a code point), `word` (Unicode's default word boundaries, UAX #29; white space is
    not a word, and each `skipped` character is a word of its own), or `token` (answers are lists of ids from
    0 to 1,056,767; no token is `skipped`, and questions must not have keyword rules, which need text). With
    words, the position of a keyword is that of the word in which it ends, counted from 1.

    Variant `pfgen-bench` computes the published scores; `paper` follows the papers' equations literally
    (scoring 10: eqs. 1-9 of Imajo 2025, eq. 6's denominator read as 0.005; in both, keyword rules apply to
    the first `max_length` characters).

    `helpfulness`: whether Helpfulness is part of the average. It is 1 for every answer to a question without
    keyword rules, so a set in which no question has any turns it off: the average is then the mean of Fluency
    and Truthfulness.

    `summation` is not part of the score's definition and changes at most its last digit. The published scorer
    uses Python's `sum`, which adds from the left (`plain`) up to Python 3.11 and is `compensated` since 3.12.
    Choose `compensated` (in variant `pfgen-bench`) to reproduce a `result.json` written by Python 3.12 or
    later.

    Raises `SettingsError` for values that are out of range or contradict each other.

    >>> import pfgen_rs
    >>> pfgen_rs.load_benchmark("mini", settings=Settings(max_n=5)).signature.split("|")[3]
    'n:1-5'
    """

    variant: Variant = "pfgen-bench"
    min_n: int = 1
    max_n: int = 10
    truthfulness_n: int = 3
    threshold: float = 0.005
    target_length: int = 100
    zero_length: int = 150
    max_length: int = 200
    skipped: str = SKIPPED
    unit: Unit = "character"
    summation: Summation = "plain"
    helpfulness: bool = True

    @classmethod
    def for_length(cls, target: int, unit: Unit = "character") -> Self:
        """Returns the published settings for answers of `target` units rather than of 100 characters.

        Discount and reading end in the published proportions: at 1.5 and 2 times the target.

        >>> Settings.for_length(60, "word").zero_length
        90
        """
        zero = max(target * 3 // 2, target + 1)
        read = max(target * 2, zero, cls.max_n)
        return cls(target_length=target, zero_length=zero, max_length=read, unit=unit)

    def __post_init__(self) -> None:
        """Check the values; native code, which does the arithmetic, checks the numbers."""
        if self.variant not in ("pfgen-bench", "paper"):
            raise SettingsError(
                f"unknown variant {self.variant!r}: expected 'pfgen-bench' or 'paper'"
            )
        if self.unit not in UNITS:
            raise SettingsError(
                f"unknown unit {self.unit!r}: expected one of {', '.join(map(repr, UNITS))}"
            )
        if self.summation not in SUMMATIONS:
            known = ", ".join(map(repr, SUMMATIONS))
            raise SettingsError(f"unknown summation {self.summation!r}: expected one of {known}")
        if self.variant == "paper" and self.summation != "plain":
            raise SettingsError("variant 'paper' has no published files: summation must be 'plain'")
        _ = self.native

    @cached_property
    def native(self) -> _native.Settings:
        """The same settings for native code."""
        try:
            return _native.Settings(
                paper=self.variant == "paper",
                min_n=self.min_n,
                max_n=self.max_n,
                truthfulness_n=self.truthfulness_n,
                threshold=self.threshold,
                target_length=self.target_length,
                zero_length=self.zero_length,
                max_length=self.max_length,
                skipped=_MARKS if self.unit == "token" else self.skipped,
                helpfulness=self.helpfulness,
            )
        except (OverflowError, TypeError, UnicodeEncodeError) as error:
            raise SettingsError(f"invalid setting: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle only the values."""
        return asdict(self)

    @property
    def definition(self) -> Settings:
        """The settings that define the score: the same with plain summation."""
        return self if self.summation == "plain" else replace(self, summation="plain")

    @property
    def compensated(self) -> bool:
        """Whether sums are compensated."""
        return self.summation == "compensated"

    @property
    def answer_tokens(self) -> int:
        """The most tokens of an answer that harnesses ask for: 3 a unit, and at least the published 300."""
        return max(300, 3 * self.target_length)

    def average(self, fluency: Any, truthfulness: Any, helpfulness: Any) -> Any:
        """Returns the mean of the metrics that are part of the average, added from the left."""
        both = fluency + truthfulness
        return (both + helpfulness) / 3 if self.helpfulness else both / 2

    def discount(self, length: int) -> float:
        """Returns the factor of a cut after `length` units: 1 up to `target_length`, 0 at `zero_length`."""
        excess = max(length - self.target_length, 0)
        return 1.0 - excess / (self.zero_length - self.target_length)


_OFF_TARGET = 0.1  # the share of the target by which a mean length may differ from it
LONGEST = 4_999
"""The largest target length: scores read at most twice as many units as answers should have."""


def is_off_target(mean: float, target: float) -> bool:
    """Whether a mean length is far from the target."""
    return abs(mean - target) > _OFF_TARGET * target


def fitting_length(mean: float, target: int) -> int:
    """Returns `target` or, if the mean length of reference answers is far from it, that."""
    return min(max(round(mean), 1), LONGEST) if is_off_target(mean, target) else target


def stated_settings(settings: Settings) -> dict[str, Any] | None:
    """Returns what question files of a set have to state about its settings: nothing of published ones."""
    stated = {name: getattr(settings, name) for name in STATED}
    return None if Settings(**stated) == Settings() else stated


def ngram_range(n: str | Sequence[int] | None) -> dict[str, int]:
    """Returns the settings for lengths of n-grams, `(1, 10)` or `"1-10"`, if any. Raises `SettingsError`.

    >>> ngram_range("2-5")
    {'min_n': 2, 'max_n': 5}
    """
    if n is None:
        return {}
    match = re.fullmatch(r"[(\[]?([0-9]{1,6})(?:-|, )([0-9]{1,6})[)\]]?", str(n))
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise SettingsError(f"invalid range {n!r}: expected MIN-MAX, such as 1-10")
    return {"min_n": int(match[1]), "max_n": int(match[2])}


Chosen = Settings | Mapping[str, Any] | None
"""What a user chooses: all settings, or some by name; the others are those of the set."""


def chosen_settings(
    chosen: Chosen, stated: Mapping[str, Any] | None, *, rules: bool = True
) -> Settings:
    """Returns the settings for a set whose question files state those in `stated`, if any.

    `rules`: whether any question has keyword rules.

    Raises `SettingsError` for values that contradict the set's or are invalid.
    """
    if not isinstance(chosen, Settings):
        _reject_unknown_settings(chosen or {})
        chosen = Settings(**{**(stated or {}), **(chosen or {})})
    if stated is not None:
        own = Settings(**stated)
        pairs = [(name, getattr(own, name), getattr(chosen, name)) for name in STATED]
        wrong = [f"{name} {a!r}, not {b!r}" for name, a, b in pairs if a != b]
        if wrong:
            raise SettingsError(
                f"the set's question files state {'; '.join(wrong)}: leave out what contradicts them"
            )
    return chosen if rules or not chosen.helpfulness else replace(chosen, helpfulness=False)


def _reject_unknown_settings(names: Mapping[str, Any]) -> None:
    known = [each.name for each in fields(Settings)]
    for name in names:
        if name not in known:
            raise SettingsError(f"unknown setting {name!r}: expected one of {', '.join(known)}")


# Names of metrics, as used in columns, options and keys of `result.json`.


Metric = Literal["average", "fluency", "truthfulness", "helpfulness"]
METRICS: tuple[str, ...] = get_args(Metric)
"""All metrics by name; `average` is the score."""
PARTS = METRICS[1:]
"""The metrics whose mean is `average`."""
BY_SOURCE = PARTS[:2]
"""The metrics that are sums of one share per source of reference answers."""
COLUMNS = (*PARTS, METRICS[0])
"""All metrics in the column order of score tables."""


def share_name(metric: str, source: str) -> str:
    """Returns the name of a source's share of a metric, such as `fluency_P`."""
    return f"{metric}_{source}"


def share_names(sources: Iterable[str]) -> list[str]:
    """Returns the names of the sources' shares of Fluency, then of Truthfulness."""
    named = list(sources)
    return [share_name(metric, source) for metric in BY_SOURCE for source in named]


def score_names(sources: Iterable[str]) -> list[str]:
    """Returns the names of score columns, in the order in which native code returns them."""
    return [*COLUMNS, *share_names(sources)]


def check_metric(metric: str, known: Collection[str] = METRICS) -> None:
    """Raise `SettingsError` for an unknown metric."""
    if metric not in known:
        raise SettingsError(f"unknown metric {metric!r}: expected one of {', '.join(known)}")
