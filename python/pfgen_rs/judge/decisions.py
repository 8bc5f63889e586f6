"""Deciding pairs from the verdicts of both orders (judging 4): one pair, and many at once to the same bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED, Letter, Probabilities, Verdict
from pfgen_rs.lazy import Floats, NDArray, np, pl

Rule = Literal["probability", "strict", "tie", "first"]
RULES: tuple[Rule, ...] = ("probability", "strict", "tie", "first")
"""How pairs are decided, see `Decision`."""

State = Literal["decided", "undecided", "invalid"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Decisions about a pair by all rules. Letters speak of the pair: A is its first answer, B the second.

    `probability`: the letter with the largest `mean` probability of both orders (as Morita et al.
    propose); equal ones decide C. `mean`: mean probabilities of A, B and C; of one judgment alone (`single`)
    if the other one has none; `None` without any.
    `strict`: the verdict of both orders if they agree (BS1), else `None`; `tie`: the same, but C if they
    differ (BS2). An invalid judgment leaves both without a decision; `strict_state` tells `undecided` from
    `invalid`. `first`: the verdict of the first order alone.
    `consistent`: whether both orders have the same verdict. `margin`: difference of the two largest mean
    probabilities. `outside`: 1 minus the sum of the mean probabilities, at least 0.
    `verdicts`: the letters of both orders.
    """

    probability: Letter | None
    mean: Probabilities | None
    single: bool
    strict: Letter | None
    strict_state: State
    tie: Letter | None
    first: Letter | None
    consistent: bool
    margin: float | None
    outside: float | None
    verdicts: tuple[Letter | None, Letter | None]


def decide(first: Verdict | None, second: Verdict | None) -> Decision:
    """Decide a pair by all rules from its verdicts in order 1 and order 2, as they were shown.

    In order 2 the answers are swapped, and this function swaps letters back. `None` is a judgment that is
    missing, which counts as invalid.

    Source: judging 4.1 and 4.2 (Morita et al.; `strict`: BS1, `tie`: BS2).

    >>> first = Verdict("A", {"A": 0.7, "B": 0.1, "C": 0.06})
    >>> decide(first, Verdict("A", {"A": 0.6, "B": 0.4, "C": 0.1})).probability
    'A'
    """
    one, two = first or Verdict(None), swapped_back(second or Verdict(None))
    p1, p2 = one.probabilities, two.probabilities
    mean, single = p2 if p1 is None else p1, (p1 is None) != (p2 is None)
    if p1 is not None and p2 is not None:
        mean = {letter: (p1[letter] + p2[letter]) / 2 for letter in LETTERS}
    v1, v2 = one.shown, two.shown
    valid, same = v1 is not None and v2 is not None, v1 == v2
    state: State = "invalid" if not valid else "decided" if same else "undecided"
    ranked = sorted(mean.values(), reverse=True) if mean else None
    return Decision(
        probability=_most_probable(mean),
        mean=mean,
        single=single,
        strict=v1 if valid and same else None,
        strict_state=state,
        tie=(v1 if same else "C") if valid else None,
        first=v1,
        consistent=valid and same,
        margin=ranked[0] - ranked[1] if ranked else None,
        outside=max(0.0, 1.0 - sum(mean.values())) if mean else None,
        verdicts=(v1, v2),
    )


def check_rule(rule: str) -> None:
    """Raise `SettingsError` for an unknown rule."""
    if rule not in RULES:
        raise SettingsError(f"unknown rule {rule!r}: expected one of {', '.join(RULES)}")


def swapped_back(verdict: Verdict) -> Verdict:
    """Returns a verdict of order 2 in letters of the pair."""
    shown, p = verdict.shown, verdict.probabilities
    return Verdict(
        None if shown is None else SWAPPED[shown],
        None if p is None else {letter: p[SWAPPED[letter]] for letter in LETTERS},
    )


def _most_probable(mean: Probabilities | None) -> Letter | None:
    if mean is None:
        return None
    largest = max(mean.values())
    winners = [letter for letter in LETTERS if mean[letter] == largest]
    return winners[0] if len(winners) == 1 else "C"


# Many pairs at once


Codes = NDArray["np.int8"]
Flags = NDArray["np.bool_"]
Indices = NDArray["np.int64"]
ORDERS = (1, 2)
NONE = -1
"""The code of a missing letter: undecided, invalid, or not judged. A, B and C are 0, 1 and 2."""
_A, _B, _C = range(len(LETTERS))
_SWAPPED = [_B, _A, _C, NONE]  # codes in the other order; the last one is that of code -1
_LETTER_CODES: dict[object, int] = {None: NONE, **{each: i for i, each in enumerate(LETTERS)}}


def letter_codes(letters: Iterable[object]) -> Codes:
    """Returns codes of letters, -1 for `None`: int8, one per letter. Raises `InputError` for others."""
    listed = list(letters)
    try:
        return np.array([_LETTER_CODES[letter] for letter in listed], dtype=np.int8)
    except (KeyError, TypeError):
        unknown = next(each for each in listed if not (each is None or each in LETTERS))
        raise InputError(f"unknown letter {unknown!r}: expected 'A', 'B', 'C' or None") from None


def column_codes(column: pl.Series) -> Codes:
    """Returns codes of a column of letters, -1 for null: int8. Raises `InputError` for other values."""
    texts = column.cast(pl.String)
    known = texts.replace_strict(_LETTER_CODES, default=NONE, return_dtype=pl.Int8)
    codes = known.fill_null(NONE).to_numpy()
    if np.count_nonzero(codes == NONE) > texts.null_count():
        unknown = texts.filter(~texts.is_in(LETTERS)).first()
        raise InputError(
            f"unknown letter {unknown!r} in column {column.name!r}: expected 'A', 'B', 'C' or null"
        )
    return codes


def decided_columns(
    shown: tuple[Codes, Codes],
    p: tuple[Floats, Floats],
    judged: tuple[Flags, Flags],
    whole: Flags,
    close: float = 0.0,
) -> list[pl.Series]:
    """Decide pairs by all rules, as `decide` does; returns the columns of `VerdictFolder.decisions`.

    `shown`: codes of the verdicts in both orders as they were shown, int8, shape (pairs,). `p`: probabilities
    of A, B, C as shown, float64, shape (pairs, 3), NaN where unknown. `judged`: whether there is a judgment
    in each order; `whole`: in every order that was asked. `close`: mean probabilities that differ by no more
    are equal. Linear time.
    """
    v1, v2 = shown[0], np.array(_SWAPPED, dtype=np.int8)[shown[1]]
    p1, p2 = p[0], other_order(p[1])
    known1, known2 = _known_rows(p1), _known_rows(p2)
    mean = mean_of_orders(p1, p2)
    probability, margin = most_probable(mean, close)
    valid, same = (v1 != NONE) & (v2 != NONE), v1 == v2
    strict_state = np.where(same, "decided", "undecided")
    lacking = np.where(judged[0] & judged[1], "invalid", "missing")
    outside = np.maximum(0.0, 1.0 - ((mean[:, _A] + mean[:, _B]) + mean[:, _C]))
    outside[outside <= close] = 0.0
    letters = {
        "v1": v1,
        "v2": v2,
        "probability": probability,
        "strict": np.where(valid & same, v1, NONE),
        "tie": np.where(valid, np.where(same, v1, _C), NONE),
        "first": v1,
    }
    unsure = np.where(whole, "invalid", "missing")
    return [
        *(_letter_series(name, codes) for name, codes in letters.items()),
        *_probability_series("p1", p1),
        *_probability_series("p2", p2),
        pl.Series("probability_state", np.where(probability == NONE, unsure, "decided")),
        pl.Series("strict_state", np.where(valid, strict_state, lacking)),
        *_probability_series("p", mean),
        pl.Series("single", known1 != known2),
        pl.Series("consistent", valid & same),
        pl.Series("margin", margin, nan_to_null=True),
        pl.Series("outside", outside, nan_to_null=True),
        *(pl.Series(f"judged_{order}", each) for order, each in zip(ORDERS, judged, strict=True)),
    ]


def other_order(p: NDArray[Any]) -> NDArray[Any]:
    """Returns numbers of A, B, C as shown in one order as those in the other, shape (pairs, 3)."""
    return p[:, _SWAPPED[:NONE]]


def mean_of_orders(p1: Floats, p2: Floats) -> Floats:
    """Returns mean probabilities, shape (pairs, 3); of one order where the other lacks them (NaN)."""
    known1, known2 = _known_rows(p1), _known_rows(p2)
    both = known1 & known2
    mean = np.where(known1[:, None], p1, np.where(known2[:, None], p2, np.nan))
    mean[both] = (p1[both] + p2[both]) / 2
    return mean


def most_probable(mean: Floats, close: float = 0.0) -> tuple[Codes, Floats]:
    """Returns codes of the letters with the largest mean probabilities, and their margins to the second.

    Margins of at most `close` decide C; NaN, and no letter, where probabilities are unknown.
    """
    ranked = np.sort(mean, axis=1)
    margin = ranked[:, 2] - ranked[:, 1]
    winners = np.where(margin <= close, _C, np.argmax(mean, axis=1))
    return np.where(_known_rows(mean), winners, NONE).astype(np.int8), margin


def _known_rows(p: Floats) -> Flags:
    return np.asarray(~np.isnan(p).any(axis=1))


def _letter_series(name: str, codes: NDArray[Any]) -> pl.Series:
    letters = pl.Series([*LETTERS, None], dtype=pl.String)
    places = np.where(codes == NONE, len(LETTERS), codes).astype(np.uint32)
    return letters.gather(pl.Series(places)).alias(name)


def _probability_series(name: str, p: Floats) -> Iterator[pl.Series]:
    for i, letter in enumerate(LETTERS):
        yield pl.Series(f"{name}_{letter.lower()}", p[:, i], nan_to_null=True)


# Tables of decisions.


def decision_rows(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns one row a pair with its decision by a rule and its `state`.

    `decisions`: as `VerdictFolder.decisions` returns them. Raises `SettingsError` for an unknown rule.
    """
    check_rule(rule)
    if rule in ("strict", "probability"):
        state = pl.col(f"{rule}_state")
    else:
        needed = pl.col("judged_1") if rule == "first" else pl.col("judged_1") & pl.col("judged_2")
        lacking = pl.when(needed).then(pl.lit("invalid")).otherwise(pl.lit("missing"))
        state = pl.when(pl.col(rule).is_null()).then(lacking).otherwise(pl.lit("decided"))
    about = ("pair", "question_id", "task", "model_a", "model_b")
    more = ("v1", "v2", "p_a", "p_b", "p_c", "margin", "outside")
    return decisions.select(*about, pl.col(rule).alias("decision"), state.alias("state"), *more)


def decision_counts(decisions: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Returns how often each decision occurs, one row a pair of models.

    Columns: `model_a`, `model_b`, `A`, `B`, `C`, `undecided`, `invalid`, `missing`, `pairs`; models are in
    alphabetical order, and wins of pairs in either order are added.
    """
    a, b, letter = pl.col("model_a"), pl.col("model_b"), pl.col("decision")
    rows = decision_rows(decisions, rule).select(
        model_a=pl.min_horizontal(a, b),
        model_b=pl.max_horizontal(a, b),
        letter=pl.when(a > b).then(letter.replace({"A": "B", "B": "A"})).otherwise(letter),
        state="state",
    )
    counts = rows.group_by("model_a", "model_b").agg(
        *((pl.col("letter") == x).sum().alias(x) for x in LETTERS),
        *((pl.col("state") == x).sum().alias(x) for x in ("undecided", "invalid", "missing")),
        pairs=pl.len(),
    )
    return counts.sort("model_a", "model_b")


# Decisions and verdicts of people as arrays of letters


_NEEDED = ("pair", "question_id", "v1", "v2", *RULES)


@dataclass(frozen=True)
class Judged:
    """Pairs with the verdicts of a judge and of raters, as codes of letters.

    `first`, `second`: verdicts of both orders, shape (pairs,). `stable`: whether all samples of an order say
    the same (1 or 0, -1 for fewer than two), shape (2, pairs). `decided`: decisions by rule. `task_names`,
    `tasks`: names of tasks and their codes, one name `None` if there are no tasks. `questions`: codes of
    questions. `raters`, `verdicts`: names, and letters of shape (raters, pairs), -1 where a rater did not
    judge.
    """

    first: Codes
    second: Codes
    stable: Codes
    decided: dict[Rule, Codes]
    task_names: tuple[str | None, ...]
    tasks: Indices
    questions: Indices
    raters: tuple[str, ...]
    verdicts: Codes


def judged(decisions: pl.DataFrame, humans: pl.DataFrame | None) -> Judged:
    """Returns the arrays of a frame of decisions and of one of human verdicts.

    Raises `InputError` for missing columns, unknown letters, no pairs, a pair that occurs twice, verdicts on
    unknown pairs, and two verdicts of a rater on a pair.
    """
    needed_columns(decisions, _NEEDED, "decisions")
    if decisions.is_empty():
        raise InputError("no pairs: agreement needs at least one")
    task_names, tasks = _task_codes(decisions)
    raters, verdicts = _human_codes(decisions["pair"].cast(pl.String), humans)
    return Judged(
        first=column_codes(decisions["v1"]),
        second=column_codes(decisions["v2"]),
        stable=np.stack([_flag_codes(decisions, f"stable_{order}") for order in ORDERS]),
        decided={rule: column_codes(decisions[rule]) for rule in RULES},
        task_names=task_names,
        tasks=tasks,
        questions=question_codes(decisions["question_id"]),
        raters=raters,
        verdicts=verdicts,
    )


def _flag_codes(decisions: pl.DataFrame, name: str) -> Codes:
    """Returns codes of a column of booleans that may be missing: -1 for null."""
    if name not in decisions.columns:
        return np.full(len(decisions), NONE, dtype=np.int8)
    return decisions[name].cast(pl.Int8).fill_null(NONE).to_numpy()


def needed_columns(frame: pl.DataFrame, names: tuple[str, ...], what: str) -> None:
    """Raise `InputError` if columns are missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(f"columns missing in the frame of {what}: {', '.join(missing)}")


def codes_of_texts(column: pl.Series) -> tuple[tuple[str, ...], Indices]:
    """Returns the distinct texts in order of appearance, and the number of each row's text."""
    texts = column.cast(pl.String)
    distinct = texts.unique(maintain_order=True)
    codes = texts.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64)
    return tuple(distinct.to_list()), codes.to_numpy()


def question_codes(column: pl.Series) -> Indices:
    """Returns codes of questions, numbered without gaps. Raises `InputError` for a missing id."""
    if column.null_count():
        raise InputError("a pair without question_id in the decisions")
    return (column.cast(pl.String).rank("dense").cast(pl.Int64) - 1).to_numpy()


def winner_probabilities(decisions: pl.DataFrame) -> Floats:
    """Returns the largest mean probability of each pair, NaN without probabilities."""
    needed_columns(decisions, ("p_a", "p_b", "p_c"), "decisions")
    largest = decisions.select(pl.max_horizontal("p_a", "p_b", "p_c").cast(pl.Float64))
    return largest.to_series().fill_null(float("nan")).to_numpy()


def by_tokens(decisions: pl.DataFrame) -> pl.DataFrame | None:
    """Returns decisions by the probabilities of tokens instead of those of samples, with `p_a` … `p_c`.

    `None` unless there are both: a folder with several samples whose server reports log probabilities.
    """
    names = {f"t_{x}": f"p_{x}" for x in "abc"}
    if not {*names} <= {*decisions.columns} or decisions["t_a"].null_count() == len(decisions):
        return None
    mean = decisions.select(*names).fill_null(np.nan).to_numpy()
    letters = _letter_series("probability", most_probable(mean)[0])
    tokens = decisions.select(pl.col(old).alias(new) for old, new in names.items())
    return decisions.with_columns(letters, *tokens.get_columns())


def _task_codes(decisions: pl.DataFrame) -> tuple[tuple[str | None, ...], Indices]:
    if "task" not in decisions.columns or decisions["task"].null_count() == len(decisions):
        return (None,), np.zeros(len(decisions), dtype=np.int64)
    names, codes = codes_of_texts(decisions["task"].fill_null(""))
    return names, codes


def _human_codes(pairs: pl.Series, humans: pl.DataFrame | None) -> tuple[tuple[str, ...], Codes]:
    if pairs.n_unique() < len(pairs):
        twice = pairs.filter(pairs.is_duplicated()).first()
        raise InputError(f"pair {twice!r} occurs twice in the decisions")
    if humans is None:
        return (), np.empty((0, len(pairs)), dtype=np.int8)
    needed_columns(humans, ("pair", "rater", "verdict"), "human verdicts")
    places = _places_of_pairs(humans["pair"].cast(pl.String), pairs)
    if humans["rater"].null_count():
        raise InputError("a human verdict without a rater")
    names, raters = codes_of_texts(humans["rater"])
    slots = raters * len(pairs) + places
    letters = column_codes(humans["verdict"])
    _check_single_verdicts(slots[letters != NONE], pairs, names)
    verdicts = np.full(len(names) * len(pairs), NONE, dtype=np.int8)
    verdicts[slots[letters != NONE]] = letters[letters != NONE]
    return names, verdicts.reshape(len(names), len(pairs))


def _places_of_pairs(texts: pl.Series, pairs: pl.Series) -> Indices:
    """Returns the place of each text among the pairs."""
    known = pl.DataFrame({"pair": pairs}).with_row_index("place")
    wanted = pl.DataFrame({"pair": texts}).with_row_index("row")
    found = wanted.join(known, on="pair", how="inner")  # faster in any order
    places = np.full(len(texts), NONE, dtype=np.int64)
    places[found["row"].to_numpy()] = found["place"].to_numpy()
    if len(found) < len(texts):
        unknown = texts[int(np.flatnonzero(places == NONE)[0])]
        raise InputError(f"a verdict on the unknown pair {unknown!r}: the decisions lack it")
    return places


def _check_single_verdicts(slots: Indices, pairs: pl.Series, raters: tuple[str, ...]) -> None:
    taken = np.bincount(slots, minlength=1)
    if taken.max() > 1:
        rater, pair = divmod(int(taken.argmax()), len(pairs))
        raise InputError(f"rater {raters[rater]!r} has two verdicts on pair {pairs[pair]!r}")
