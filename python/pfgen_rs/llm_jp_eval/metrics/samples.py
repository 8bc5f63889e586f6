"""Predictions, and metrics that every sample has a value of: a registry, and the three of llm-jp-eval.

A metric is a function of a prediction and a gold answer, both in NFKC, that returns a number from 0 to 1. It
is known by its name as soon as its module is imported; packages name such modules as entry points of the
group `pfgen_rs.llm_jp_eval_metrics`:

    @sample_metric("starts_alike")
    def starts_alike(prediction: str, gold: str) -> float:
        return float(prediction[:1] == gold[:1])

Plain Python is what native code is held to, and what texts go through that native code does not take.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from unicodedata import normalize

from pfgen_rs.errors import SettingsError

VARIANTS = ("upstream", "swallow")
CORRELATIONS = ("pearson", "spearman")
"""Figures of all samples of a task together."""
GROUP = "pfgen_rs.llm_jp_eval_metrics"
"""Entry points of packages that have metrics of their own."""

SampleValue = Callable[[str, str], float]
ColumnValues = Callable[[Sequence[str], Sequence[str]], Sequence[float]]

_CUT = "\n\n"
_NAME = re.compile("[a-z][a-z0-9_]*")
_LATIN_1 = re.compile("[\x80-\xff]+")
_NOT_WORD = re.compile(r"\W")  # neither `str.isalnum` nor an underscore


@dataclass(frozen=True, slots=True)
class SampleMetric:
    """A registered metric.

    `value`: of one sample. `column`: the same values of many samples at once, if that is faster. `native`:
    whether this package's native code has the metric.
    """

    name: str
    value: SampleValue
    column: ColumnValues | None = None
    native: bool = False

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.value.__doc__ or "").strip().partition("\n")[0]


_METRICS: dict[str, SampleMetric] = {}


def sample_metric(
    name: str, *, column: ColumnValues | None = None, native: bool = False
) -> Callable[[SampleValue], SampleValue]:
    """Register the decorated function as a metric, see `SampleMetric`.

    Raises `SettingsError` for a name that is taken or has other characters than a-z, 0-9 and underscores.
    """
    if not _NAME.fullmatch(name) or name in CORRELATIONS:
        raise SettingsError(
            f"invalid name {name!r} of a metric: expected lower case, such as char_f1"
        )

    def register(value: SampleValue) -> SampleValue:
        known = _METRICS.get(name)
        if known is not None and known.value.__module__ != value.__module__:
            raise SettingsError(f"the metric {name!r} is already that of {known.value.__module__}")
        _METRICS[name] = SampleMetric(name, value, column, native)
        return value

    return register


def sample_metrics() -> Mapping[str, SampleMetric]:
    """Returns all metrics by name, those of installed packages included."""
    _load_contributed()
    return MappingProxyType(_METRICS)


@cache
def _load_contributed() -> None:
    for entry in entry_points(group=GROUP):
        entry.load()


def find_metric(name: str) -> SampleMetric:
    """Returns a metric by name. Raises `SettingsError` unless every sample has a value of it."""
    if name in CORRELATIONS:
        raise SettingsError(f"{name} is a figure of all samples together: use correlation()")
    if name not in sample_metrics():
        raise SettingsError(
            f"unknown metric {name!r}: expected one of {', '.join(sample_metrics())}"
        )
    return _METRICS[name]


def score_metrics() -> tuple[str, ...]:
    """Returns the names of all metrics that scores may have, correlations included."""
    return (*sample_metrics(), *CORRELATIONS)


def prediction(output: str, variant: str = "upstream") -> str:
    """Returns the prediction in a raw output: what precedes the first empty line, in NFKC.

    `variant`: `swallow` strips it before normalising, `upstream` does not. An output that begins with an
    empty line gives the empty prediction. Lone surrogates stay. Raises `SettingsError` for unknown variants.
    """
    check_variant(variant)
    first = output.partition(_CUT)[0]
    return normalize("NFKC", first.strip() if variant == "swallow" else first)


def normalized_gold(text: str) -> str:
    """Returns a gold answer in the form that is compared with predictions: NFKC, not stripped."""
    return normalize("NFKC", text)


def check_variant(variant: str) -> None:
    """Raises `SettingsError` unless this is the name of a variant."""
    if variant not in VARIANTS:
        raise SettingsError(f"unknown variant {variant!r}: expected one of {', '.join(VARIANTS)}")


@sample_metric("exact_match", native=True)
def exact_match(prediction: str, gold: str) -> float:
    """Returns 1.0 for equal texts, else 0.0. NUL characters at their ends do not count."""
    return float(prediction.rstrip("\0") == gold.rstrip("\0"))


@sample_metric("char_f1", native=True)
def char_f1(prediction: str, gold: str) -> float:
    """Returns `char_f1_ratio` / 100."""
    return char_f1_ratio(prediction, gold) / 100


def char_f1_ratio(prediction: str, gold: str) -> int:
    """Returns the similarity of the sorted tokens of two texts in percent, as an integer.

    U+0080 to U+00FF are deleted, other characters that are neither letters, digits nor underscores are
    replaced by spaces, and the rest is in lower case. Two texts without tokens are equal.
    """
    one, other = _sorted_tokens(prediction), _sorted_tokens(gold)
    if one == other:
        return 100
    if not one or not other:
        return 0
    # In this order: with 80 characters and a distance of 34 it is just below 57.5.
    return round(100 * (1.0 - indel_distance(one, other) / (len(one) + len(other))))


@sample_metric("set_f1", native=True)
def set_f1(prediction: str, gold: str) -> float:
    """Returns F1 of the set of lines of a prediction and the list of lines of the gold answer, all stripped.

    Repeated lines lower the recall in the gold answer and are ignored in the prediction.
    """
    predicted = {line.strip() for line in prediction.split("\n")}
    expected = [line.strip() for line in gold.split("\n")]
    hits = len(predicted.intersection(expected))
    precision, recall = hits / len(predicted), hits / len(expected)
    if precision + recall == 0:
        return 0.0
    return 2 * (precision * recall) / (precision + recall)


def indel_distance(one: str, other: str) -> int:
    """Returns the smallest number of insertions and deletions of characters that make one text the other.

    Bit-parallel (H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004): time
    O(len(one) · len(other) / 64).
    """
    places: defaultdict[str, int] = defaultdict(int)
    for place, character in enumerate(one):
        places[character] |= 1 << place
    all_places = rest = (1 << len(one)) - 1
    for character in other:
        if found := rest & places.get(character, 0):
            rest = (rest + found | rest - found) & all_places
    common = len(one) - rest.bit_count()
    return len(one) + len(other) - 2 * common


def _sorted_tokens(text: str) -> str:
    words = _NOT_WORD.sub(" ", _LATIN_1.sub("", text))
    return " ".join(sorted(words.lower().split()))
