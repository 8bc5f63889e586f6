"""Tables about the answers of a set: lengths, near-duplicates, coverage of example answers, keyword rules."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from pfgen_rs import Benchmark, NgramIndex, Question
from pfgen_rs._native import NOT_FOUND
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.metrics import languages
from pfgen_rs.metrics.helpfulness import Helpfulness, Rule
from pfgen_rs.metrics.settings import BY_SOURCE, COLUMNS, share_name

T = TypeVar("T")

# Called with the current activity, the number of parts done, and their total.
CheckProgress = Callable[[str, int, int], None]


def tracked(items: Sequence[T], doing: str, progress: CheckProgress | None) -> Iterator[T]:
    """Iterate over the items, calling `progress` before the first and after each."""
    if progress is None:
        yield from items
        return
    progress(doing, 0, len(items))
    for done, item in enumerate(items, 1):
        yield item
        progress(doing, done, len(items))


def means(frame: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Returns the mean of each column for each combination of keys, in order of first occurrence.

    Nulls are ignored; the mean of nothing is null. Sums are exact before the division, so the result does
    not depend on the number of threads.
    """
    groups = frame.group_by(keys, maintain_order=True).agg(columns)
    return groups.with_columns(
        pl.Series(
            name, [mean_of_known(values) for values in groups.get_column(name)], dtype=pl.Float64
        )
        for name in columns
    )


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Returns the mean of all values that are not `None`; `None` without any."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def table(rows: Iterable[Sequence[Any]], **columns: type) -> pl.DataFrame:
    """Returns rows as a table with columns of these types: `str`, `int` or `float`."""
    return pl.DataFrame(list(rows), schema=columns, orient="row")


def coded_answers(benchmark: Benchmark, question: Question) -> dict[str, list[str]]:
    """Returns the coded answers of each source; if the unit is the character, the answers themselves."""
    coder = benchmark._coder
    return {
        source: coder.encode(list(answers)).to_list()
        for source, answers in question.answers.items()
    }


# Lengths.


def lengths(benchmark: Benchmark) -> pl.DataFrame:
    """Returns statistics of the lengths in units (code points or words); one row per question and source.

    Columns: `question_id`, `source`, `answers`, `mean`, `std` (of the population), `min`, `median` (the lower
    one), `max`.
    """
    rows = []
    for question in benchmark:
        for source, answers in coded_answers(benchmark, question).items():
            sizes = sorted(map(len, answers))
            mean = sum(sizes) / len(sizes)
            variance = math.fsum((length - mean) ** 2 for length in sizes) / len(sizes)
            middle = sizes[(len(sizes) - 1) // 2]
            found = (len(sizes), mean, math.sqrt(variance), sizes[0], middle, sizes[-1])
            rows.append((question.id, source, *found))
    numbers = {"answers": int, "mean": float, "std": float, "min": int, "median": int, "max": int}
    return table(rows, question_id=str, source=str, **numbers)


# Scripts, which tell languages apart.


def script(text: str) -> str | None:
    """Returns what most letters of a text are: `Latin`, `kana or kanji`, `Hangul`, …; `None` without any."""
    found = languages.letters(text)
    found["kana or kanji"] = found.pop("Kana", 0) + found.pop("Han", 0)
    return max(+found, key=found.__getitem__, default=None)


def scripts(benchmark: Benchmark) -> pl.DataFrame:
    """Count the answers in each script, the most frequent first: `question_id`, `script`, `answers`."""
    rows = []
    for question in benchmark:
        found = Counter(map(script, chain.from_iterable(question.answers.values())))
        rows += [(question.id, name, count) for name, count in found.most_common() if name]
    return table(rows, question_id=str, script=str, answers=int)


# Near-duplicates.


_ROUNDING = 1e-9
_PAIRS = 5  # shown of each question


class SimilarPair(NamedTuple):
    """The similarity of two texts, and their indices in ascending order."""

    similarity: float
    one: int
    other: int


def near_duplicates(
    benchmark: Benchmark, *, progress: CheckProgress | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count equal and similar answers across all sources, and collect the most similar pairs.

    The first table has one row per question: `question_id`, `answers`, `distinct` (texts), `near_pairs` (of
    distinct texts, as found by `similar_pairs`), `in_near_pairs` (distinct texts in any such pair), `largest`
    similarity (null if no pair reaches the threshold). The second has up to 5 pairs per question:
    `question_id`, `similarity`, `source`, `answer` (from 0 within its source) and `text`, and the same for
    the other answer (`other_…`).
    """
    counts, pairs = [], []
    for question in tracked(list(benchmark), "near-duplicates", progress):
        places = first_places(question)
        texts = list(places)
        coded = benchmark._coder.encode(texts).to_list()
        similar = similar_pairs(coded)
        concerned = {number for pair in similar for number in pair[1:]}
        total = sum(map(len, question.answers.values()))
        largest = similar[0].similarity if similar else None
        counts.append((question.id, total, len(texts), len(similar), len(concerned), largest))
        for pair in similar[:_PAIRS]:
            one, other = texts[pair.one], texts[pair.other]
            pairs.append((question.id, pair.similarity, *places[one], one, *places[other], other))
    numbers = dict.fromkeys(["answers", "distinct", "near_pairs", "in_near_pairs"], int)
    place = {"source": str, "answer": int, "text": str}
    second = {f"other_{name}": kind for name, kind in place.items()}
    return (
        table(counts, question_id=str, **numbers, largest=float),
        table(pairs, question_id=str, similarity=float, **place, **second),
    )


def first_places(
    question: Question, read: Callable[[str], str] = str
) -> dict[str, tuple[str, int]]:
    """Map each distinct text, as read, to the source and number of its first occurrence."""
    places: dict[str, tuple[str, int]] = {}
    for source, answers in question.answers.items():
        for number, answer in enumerate(answers):
            places.setdefault(read(answer), (source, number))
    return places


def similar_pairs(texts: Sequence[str], *, n: int = 5, threshold: float = 0.9) -> list[SimilarPair]:
    """Returns the pairs of texts whose sets of n-grams have a Jaccard similarity of at least `threshold`.

    Pairs are sorted by descending similarity, then by index. A text without n-grams is similar to no other.
    Two sets that reach the threshold share at least one of their rarest n-grams (one more than the number
    they need not share; Bayardo et al. 2007, "Scaling up all pairs similarity search", section 3.2), so only
    texts that meet in an index of these are compared.
    """
    sets = [frozenset(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts]
    pairs = [
        SimilarPair(similarity, *sorted(pair))
        for pair in _candidates(sets, threshold)
        if (similarity := _similarity(sets[pair[0]], sets[pair[1]])) >= threshold
    ]
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.one, pair.other))


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _candidates(sets: Sequence[frozenset[str]], threshold: float) -> Iterator[tuple[int, int]]:
    """Yield each pair of sets that may reach the threshold once."""
    frequency = Counter(chain.from_iterable(sets))
    rarity = {gram: rank for rank, (gram, _) in enumerate(reversed(frequency.most_common()))}
    index: dict[str, list[int]] = {}
    # In ascending order of size, a set is only compared with earlier sets that are not too small.
    for number in sorted(range(len(sets)), key=lambda number: len(sets[number])):
        size = len(sets[number])
        needed = math.ceil(size * threshold - _ROUNDING)
        met: set[int] = set()
        for gram in sorted(sets[number], key=rarity.__getitem__)[: size - needed + 1]:
            if frequency[gram] > 1:
                known = index.setdefault(gram, [])
                met.update(known)
                known.append(number)
        for other in sorted(met):
            if len(sets[other]) >= needed:
                yield other, number


# Example answers.


def coverage(benchmark: Benchmark, *, progress: CheckProgress | None = None) -> pl.DataFrame:
    """Score each question's example answer (`note`) like a response; one row per question and source.

    Columns: `question_id`, `source`, `length` of the example answer; its `fluency`, `truthfulness`,
    `helpfulness` and `average` against the whole question; the source's shares `own_fluency` and
    `own_truthfulness`; `known`, the share of the example answer's distinct n-grams (of all lengths that
    Fluency counts) found in any answer of the source, `known_N` the same for each length, and `common`, the
    share of its distinct Truthfulness windows that are common enough in the source to count fully. Values
    are null if there is no example answer or it is too short.
    """
    settings = benchmark.settings
    lengths = range(settings.min_n, settings.max_n + 1)
    rows = [
        row
        for question in tracked(list(benchmark), "example answers", progress)
        for row in _covered(benchmark, question, lengths)
    ]
    known = [f"known_{n}" for n in lengths]
    numbers = [*COLUMNS, "own_fluency", "own_truthfulness", "known", *known, "common"]
    places = {"question_id": pl.String, "source": pl.String, "length": pl.Int64}
    return pl.DataFrame(rows, schema={**places, **dict.fromkeys(numbers, pl.Float64)})


def _covered(benchmark: Benchmark, question: Question, lengths: range) -> Iterator[dict[str, Any]]:
    note, settings = benchmark._coder.one(question.note), benchmark.settings
    rows: list[dict[str, Any]] = [
        {"question_id": question.id, "source": source, "length": len(note)}
        for source in question.sources
    ]
    if not question.note:
        yield from rows
        return
    [scores] = benchmark.score_batch([question.id], [question.note]).to_dicts()
    index = NgramIndex(coded_answers(benchmark, question))
    frequencies = {n: _frequencies(index, note, n) for n in {*lengths, settings.truthfulness_n}}
    for place, (row, size) in enumerate(zip(rows, index.answer_counts.values(), strict=True)):
        own = {n: found[:, place] for n, found in frequencies.items()}
        common = own[settings.truthfulness_n] / size * (1.0 / settings.threshold) >= 1.0
        yield {
            **row,
            **{metric: scores[metric] for metric in COLUMNS},
            **{f"own_{metric}": scores[share_name(metric, row["source"])] for metric in BY_SOURCE},
            "known": _share(np.concatenate([own[n] for n in lengths]) > 0),
            **{f"known_{n}": _share(own[n] > 0) for n in lengths},
            "common": _share(common),
        }


def _frequencies(index: NgramIndex, text: str, n: int) -> NDArray[np.uint32]:
    """Returns the document frequencies of a text's distinct n-grams; shape (n-grams, sources)."""
    grams = list(dict.fromkeys(text[i : i + n] for i in range(len(text) - n + 1)))
    return index.document_frequency_batch(grams)


def _share(values: NDArray[np.bool_]) -> float | None:
    return int(values.sum()) / len(values) if len(values) else None


# Keyword rules.


RARE = 0.5


def rules(benchmark: Benchmark, *, progress: CheckProgress | None = None) -> pl.DataFrame:
    """Count the reference answers that satisfy each rule within the characters that are read.

    Columns: `question_id`, `rule` (from 0; null: all rules at once), `label`, `importance`, `source` (null:
    all), `answers`, `met`, `share`, and, for rows over all sources, `remark`: `hardly any` if less than half
    of the answers satisfy the rule, `all` if every answer does.
    """
    rows: list[tuple[Any, ...]] = []
    for question in tracked(list(benchmark), "rules", progress):
        helpfulness = benchmark._helpfulness(question)
        met = {
            source: _rules_met(helpfulness, texts, len(question.rules))
            for source, texts in question.answers.items()
        }
        for source, matrix in [*met.items(), (None, np.concatenate(list(met.values())))]:
            for number, (rule, column) in enumerate(zip(question.rules, matrix.T, strict=True)):
                about = (question.id, number, _label(rule), rule.importance, source)
                rows.append((*about, *_counts(column, source)))
            every = _counts(matrix.all(axis=1), source)
            rows.append((question.id, None, "all rules", None, source, *every))
    about_rule = {"question_id": str, "rule": int, "label": str, "importance": float, "source": str}
    return table(rows, **about_rule, answers=int, met=int, share=float, remark=str)


def _rules_met(helpfulness: Helpfulness, answers: Sequence[str], count: int) -> NDArray[np.bool_]:
    """Returns whether each answer satisfies each rule; bool, shape (answers, rules)."""
    rows = [
        [at != NOT_FOUND for _, _, at in helpfulness.positions(helpfulness.ends(answer))]
        for answer in answers
    ]
    return np.array(rows, dtype=np.bool_).reshape(len(answers), count)


def _counts(met: Any, source: str | None) -> tuple[int, int, float, str | None]:
    share = int(met.sum()) / len(met)
    remark = None
    if source is None and (share < RARE or share == 1):
        remark = "all" if share == 1 else "hardly any"
    return len(met), int(met.sum()), share, remark


def _label(rule: Rule) -> str:
    """Returns a rule's name or, if it has none, its patterns."""
    if rule.name is not None:
        return rule.name
    if rule.kind == "t":
        return rule.pattern
    return "(" + f" {rule.kind} ".join(map(_label, rule.parts)) + ")"
