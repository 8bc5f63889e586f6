"""Predictions, metrics that every sample has a value of (a registry), means and correlations.

A metric is a function of a prediction and a gold answer, both in NFKC, that returns a number from 0 to 1. It
is known by its name as soon as its module is imported; packages name such modules as entry points of the
group `pfgen_rs.llm_jp_eval_metrics`:

    @sample_metric("starts_alike")
    def starts_alike(prediction: str, gold: str) -> float:
        return float(prediction[:1] == gold[:1])

Metrics beyond those of 1.3.0 are in `contributed`, a file a family; each says whether it can be computed
here. `task_metric` registers figures of all samples of a task together, such as correlations.
Plain Python is what native code is held to, and what texts go through that native code does not take.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import TypeVar
from unicodedata import normalize

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.registry import Registry
from pfgen_rs.stats.correlation import bounded_pearson, pearson_values, spearman_values
from pfgen_rs.stats.means import mean as mean

CORRELATIONS = ("pearson", "spearman")
"""Figures of all samples of a task together."""
GROUP = "pfgen_rs.llm_jp_eval_metrics"
"""Entry points of packages that have metrics of their own."""

SampleValue = Callable[[str, str], float]
ColumnValues = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
InputValues = Callable[[Sequence[str], Sequence[str], Sequence[str]], Sequence[float]]
TaskFigure = Callable[[Sequence[str], Sequence[str]], float]
Value = TypeVar("Value")

_NAME = re.compile("[a-z][A-Za-z0-9_]*")
_LATIN_1 = re.compile("[\x80-\xff]+")
_NOT_WORD = re.compile(r"\W")  # neither `str.isalnum` nor an underscore
_NO_NUMBER = -2.0
_NEITHER_DIGIT_NOR_POINT = re.compile("[^0-9.]+")


@dataclass(frozen=True, slots=True)
class SampleMetric:
    """A registered metric.

    `value`: of one sample. `column`: the same values of many samples at once, if that is faster. `native`:
    whether this package's native code has the metric. `lacks`: returns why it cannot be computed here, such
    as an absent package; else nothing. `with_inputs`: values of many samples by inputs, predictions and
    golds, of metrics that need the inputs.
    """

    name: str
    value: SampleValue
    column: ColumnValues | None = None
    native: bool = False
    lacks: Callable[[], str] = str
    with_inputs: InputValues | None = None


_METRICS: dict[str, SampleMetric] = {}
_FIGURES: dict[str, TaskFigure] = {}


def sample_metric(
    name: str,
    *,
    column: ColumnValues | None = None,
    native: bool = False,
    lacks: Callable[[], str] = str,
    with_inputs: InputValues | None = None,
) -> Callable[[SampleValue], SampleValue]:
    """Register the decorated function as a metric, see `SampleMetric`.

    Raises `SettingsError` for a name that is taken or has other characters than letters, 0-9 and underscores.
    """

    def register(value: SampleValue) -> SampleValue:
        _check_name(name, value)
        _METRICS[name] = SampleMetric(name, value, column, native, lacks, with_inputs)
        return value

    return register


def task_metric(name: str) -> Callable[[TaskFigure], TaskFigure]:
    """Register a function of all predictions and golds of a task. Raises as `sample_metric` does."""

    def register(figure: TaskFigure) -> TaskFigure:
        _check_name(name, figure)
        _FIGURES[name] = figure
        return figure

    return register


def _check_name(name: str, new: Callable[..., object]) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"invalid name {name!r} of a metric: expected lower case, such as char_f1"
        )
    known = _METRICS[name].value if name in _METRICS else _FIGURES.get(name, new)
    home, own = (getattr(each, "func", each).__module__ for each in (known, new))  # of partials
    if home != own:
        raise SettingsError(f"the metric {name!r} is already that of {home}")


def absent_packages(*modules: str, extra: str) -> str:
    """Returns which of these modules are absent and what installs them; nothing if none is."""
    absent = [each for each in modules if find_spec(each) is None]
    return f"needs {', '.join(absent)}: pip install 'pfgen_rs[{extra}]'" if absent else ""


def sample_metrics() -> Mapping[str, SampleMetric]:
    """Returns all metrics by name, those of installed packages included."""
    _load_contributed()
    return MappingProxyType(_METRICS)


_MODULES: Registry[ModuleType] = Registry("metrics", f"{__package__}.contributed", GROUP)


@cache
def _load_contributed() -> None:
    for name in _MODULES.names():  # this package's are imported then
        _MODULES.get(name)


def find_metric(name: str) -> SampleMetric:
    """Returns a metric by name. Raises `SettingsError` unless every sample has a value of it."""
    if name in task_metrics():
        use = "correlation()" if name in CORRELATIONS else "task_figure()"
        raise SettingsError(f"{name} is a figure of all samples together: use {use}")
    return _known("metric", name, sample_metrics())


def _known(kind: str, name: str, values: Mapping[str, Value]) -> Value:
    if name not in values:
        raise SettingsError(f"unknown {kind} {name!r}: expected one of {', '.join(values)}")
    return values[name]


def task_metrics() -> Mapping[str, TaskFigure]:
    """Returns figures of all samples of a task together by name, correlations included."""
    _load_contributed()
    return MappingProxyType(_FIGURES)


def task_figure(name: str, predictions: Sequence[str], golds: Sequence[str]) -> float:
    """Returns a figure of all samples of a task. Raises `SettingsError` for unknown names, `InputError`."""
    figure = _known("figure", name, task_metrics())
    check_texts(predictions, golds)
    return figure(predictions, golds)


def unavailable(name: str) -> str:
    """Returns why a metric of either kind cannot be computed here; nothing if it can."""
    return "" if name in task_metrics() else find_metric(name).lacks()


def normalized_gold(text: str) -> str:
    """Returns a gold answer in the form that is compared with predictions: NFKC, not stripped."""
    return normalize("NFKC", text)


@sample_metric("exact_match", native=True)
def exact_match(prediction: str, gold: str) -> float:
    """Returns 1.0 for equal texts, else 0.0. NUL characters at their ends do not count."""
    return float(prediction.rstrip("\0") == gold.rstrip("\0"))


def is_float(text: str) -> bool:
    """Whether Python's `float` takes a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@sample_metric("char_f1", native=True)
def char_f1(prediction: str, gold: str) -> float:
    """Returns the similarity of the sorted tokens of two texts, to whole percent.

    U+0080 to U+00FF are deleted, other characters that are neither letters, digits nor underscores are
    replaced by spaces, and the rest is in lower case. Two texts without tokens are equal.
    """
    one, other = sorted_tokens(prediction), sorted_tokens(gold)
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    # In this order: with 80 characters and a distance of 34 it is just below 57.5.
    return round(100 * (1.0 - indel_distance(one, other) / (len(one) + len(other)))) / 100


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
    one, other = sorted((one, other), key=len)
    places: defaultdict[str, int] = defaultdict(int)
    for place, character in enumerate(one):
        places[character] |= 1 << place
    all_places = rest = (1 << len(one)) - 1
    for character in other:
        if found := rest & places.get(character, 0):
            rest = (rest + found | rest - found) & all_places
    common = len(one) - rest.bit_count()
    return len(one) + len(other) - 2 * common


def sorted_tokens(text: str) -> str:
    """Returns what `char_f1` compares of a normalised text."""
    words = _NOT_WORD.sub(" ", _LATIN_1.sub("", text))
    return " ".join(sorted(words.lower().split()))


# Figures of all samples of a task: the exactly rounded mean of values, and correlations of numbers.


def check_texts(predictions: Sequence[str], golds: Sequence[str]) -> None:
    """Raises `InputError` unless both are lists of texts of the same length."""
    for name, texts in (("predictions", predictions), ("golds", golds)):
        if isinstance(texts, str):
            raise InputError(f"invalid {name}: expected a list of texts, found a single text")
        check_types(texts, f"invalid {name}: ")
    if len(predictions) != len(golds):
        raise InputError(f"{len(predictions)} predictions but {len(golds)} golds")


def check_types(texts: Sequence[str], place: str) -> None:
    """Raises `InputError` with the first row that is no text."""
    if not set(map(type, texts)) - {str}:
        return
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"{place}expected text in row {row}, found {kind}")


def correlation(name: str, predictions: Sequence[str], golds: Sequence[str]) -> float:
    """Returns `pearson` or `spearman` (average ranks for ties) of predicted and gold numbers.

    `predictions`: as `prediction` returns them, read by `parse_float`. `golds`: numbers as they stand in the
    files. As in the reference it is 0.0 where one side is constant or the correlation is not a number; for
    fewer than two samples, where the reference fails, it is 0.0 as well. Otherwise within 1e-12 of scipy's.

    Raises `SettingsError` for unknown names, `InputError` for lists of different lengths and for golds that
    are not numbers.
    """
    _known("correlation", name, dict.fromkeys(CORRELATIONS))
    check_texts(predictions, golds)
    found, expected = _numbers(predictions, golds)
    if name == "spearman":
        found, expected = (pl.Series(each).rank().to_numpy() for each in (found, expected))
    return bounded_pearson(found, expected)


for _name in CORRELATIONS:
    task_metric(_name)(partial(correlation, _name))


def correlation_values(name: str, predictions: Iterable[str], golds: Iterable[str]) -> Floats:
    """Returns the jackknife's pseudo-values (`stats.jackknife`), whose mean is the correlation.

    NaN where a number is too large or none, or there is a single sample. Raises `InputError` for golds that
    are not numbers.
    """
    found, expected = _numbers(predictions, golds)
    if len(expected) < 2 or not np.isfinite([found, expected]).all():
        return np.full(len(expected), np.nan)
    return (pearson_values if name == "pearson" else spearman_values)(found, expected)


def _numbers(predictions: Iterable[str], golds: Iterable[str]) -> tuple[Floats, Floats]:
    found = np.array([parse_float(text) for text in predictions], np.float64)
    return found, np.array([_gold_number(*each) for each in enumerate(golds)], np.float64)


def parse_float(text: str) -> float:
    """Returns the number that the ASCII digits and points of a prediction form; -2.0 where they form none.

    All other characters are ignored, so `-3` is 3.0, `3/5` is 35.0 and `4.0〜5.0` is -2.0.
    """
    try:
        return float(_NEITHER_DIGIT_NOR_POINT.sub("", text))
    except ValueError:
        return _NO_NUMBER


def _gold_number(row: int, text: str) -> float:
    try:
        return float(normalized_gold(text))
    except ValueError:
        raise InputError(f"gold {row}: expected a number, found {text!r}") from None
