"""Agreement of a judge with raters, with itself, with another judge, and with n-gram scores."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import Pair, decisions as columns, read_humans
from pfgen_rs.judge.agreement import measures, tables as tabled
from pfgen_rs.judge.decisions import NONE, Codes, Judged, Rule, check_rule, judged
from pfgen_rs.judge.verdicts import LETTERS
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.stats import checks, permutation, resampling

if TYPE_CHECKING:
    from pfgen_rs.benchmark import Benchmark


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of a judge with raters, its consistency and its biases.

    In all tables undefined numbers are null; a null `task` stands for all pairs, a null `rater` for the mean
    of the raters (for the judge in `biases`), and `low` and `high` for an interval at `level`: bootstrap over
    questions (`resampling.share_bounds`), unless it is said to be exact (Clopper–Pearson).

    `rule`: the rule by which pairs were decided for everything that concerns single decisions.
    `decisions`: per rule how many pairs were decided as A, B and C, `undecided`, `invalid` and `missing`.
    `concordance`: by `rule`, `task` and `rater`: `pairs` judged, `left_out` (not judged by the rater),
    `right`, and `concordance`.
    `robustness`: by `task`: `pairs`, `consistent`, `invalid` (a verdict is missing), and `robustness`.
    `repetition`: by `task` and `order`: `pairs` with several samples, `stable` (all say the same letter), and
    `repetition`, their share; empty with one sample.
    `position`: of pairs that flip between winners, those won by what was shown first in both orders (exact).
    `rater_agreement`: Fleiss' κ, or Krippendorff's α if raters are missing; `None` with fewer than two.
    `cohen`: Cohen's κ of judge and each rater, over the rater's pairs; no decision is a letter of its own.
    `confusion`: by `rater` and `decision` (null: none), how often the rater said `A`, `B`, `C`.
    `leave_one_out`: for each rater, over `pairs` for which the others have a majority, how often the
    `human` and the `judge` agree with it, and the `difference` judge - human; `left_out`: no majority.
    `biases`: by `bias` ("longer answer") and `rater`: of `n` decided pairs with a winner,
    how many `wins` of the favoured answer, their `share` (exact), and `ties` beside them.
    `calibration`: of decisions by probability; `None` without probabilities or raters.
    `token_calibration`: with several samples, of decisions by the probabilities of their tokens instead.
    `comparisons`: the rule against each `other` rule: `difference` of concordance, and p-values of the
    sign-flip test by question, also with Holm's correction; `smallest_p` is what the permutations resolve,
    0 if p is exact.
    `notes`: remarks for the reader.
    """

    rule: Rule
    judge: str | None
    raters: tuple[str, ...]
    pairs: int
    questions: int
    level: float
    resamples: int
    permutations: int
    seed: int
    decisions: pl.DataFrame = field(repr=False)
    concordance: pl.DataFrame = field(repr=False)
    robustness: pl.DataFrame = field(repr=False)
    repetition: pl.DataFrame = field(repr=False)
    position: resampling.Share
    rater_agreement: tabled.RaterAgreement | None
    cohen: pl.DataFrame = field(repr=False)
    confusion: pl.DataFrame = field(repr=False)
    leave_one_out: pl.DataFrame = field(repr=False)
    biases: pl.DataFrame = field(repr=False)
    calibration: measures.Calibration | None
    token_calibration: measures.Calibration | None
    comparisons: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types, without empty tables; undefined values are null."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        single = {n: v for n, v in values.items() if v is None or isinstance(v, str | int | float)}
        tables = {n: v for n, v in values.items() if isinstance(v, pl.DataFrame) and len(v)}
        return {
            **single,
            "raters": list(self.raters),
            **{name: table.to_dicts() for name, table in tables.items()},
            "position_bias": self.position.to_dict(),
            "rater_agreement": self.rater_agreement and self.rater_agreement.to_dict(),
            "calibration": self.calibration and self.calibration.to_dict(),
            **(
                {"token_calibration": tokens.to_dict()}
                if (tokens := self.token_calibration)
                else {}
            ),
            "notes": list(self.notes),
        }


def agree(
    decisions: pl.DataFrame,
    humans: pl.DataFrame | None = None,
    *,
    rule: Rule = "probability",
    judge: str | None = None,
    allow_missing: bool = False,
    level: float = 0.95,
    resamples: int = resampling.RESAMPLES,
    permutations: int = tabled.PERMUTATIONS,
    seed: int = 0,
) -> Agreement:
    """Returns how far a judge's decisions agree with raters and with themselves.

    `decisions`: one row per pair, with `pair`, `question_id`, the letters `v1`, `v2` of both orders
    (swapped back) and those of all rules; optionally `task`, `p_a`, `p_b`, `p_c` (mean probabilities),
    `model_a`, `model_b`, `length_a`, `length_b`. `humans`: `pair`, `rater`, `verdict`; without it there is
    what a judge says of itself. `rule`: which decisions to look at closely; concordance is shown for all.
    `judge`: the judge's name, which the result keeps.
    `allow_missing`: Krippendorff's α where raters are missing, which is otherwise left out with a note.

    Intervals are a bootstrap over questions, except exact ones. 500,000 pairs with three
    raters take one to two seconds. Raises `InputError` for frames that lack columns or contradict themselves,
    if `rule` decided no pair, and `SettingsError` for invalid settings. Needs scipy (extra `judge`).
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    check_rule(rule)
    data = judged(decisions, humans)
    if rule == "probability" and (data.decided[rule] == NONE).all():
        raise InputError(
            "no pair has a decision by probability: choose the rule strict, tie or first, or a judge that "
            "reports log-probabilities"
        )
    work = tabled.AgreementTables(data, rule, allow_missing, level, resamples, seed)
    chosen, tokens = data.decided[rule], columns.by_tokens(decisions)
    return Agreement(
        rule=rule,
        judge=judge,
        raters=data.raters,
        pairs=len(chosen),
        questions=int(data.questions.max()) + 1,
        level=level,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        decisions=_decision_table(decisions, data),
        concordance=work.concordance(),
        robustness=work.robustness(),
        repetition=work.repetition(),
        position=measures.position_bias_of_codes(data.first, data.second, level),
        rater_agreement=work.rater_agreement(),
        cohen=work.cohen(),
        confusion=work.confusion(),
        leave_one_out=work.leave_one_out(),
        biases=_biases(decisions, data, chosen, level),
        calibration=_calibration(decisions, data, level),
        token_calibration=None if tokens is None else _calibration(tokens, data, level),
        comparisons=work.comparisons(permutations),
        notes=tuple(_missing_notes(decisions, data, allow_missing)),
    )


def _decision_table(decisions: pl.DataFrame, data: Judged) -> pl.DataFrame:
    valid = (data.first != NONE) & (data.second != NONE)
    one, two = _judged_orders(decisions)
    lacking = {"first": ~one, "probability": ~one | ~two & two.any()}
    rows = []
    for rule, codes in data.decided.items():
        none = codes == NONE
        undecided = int(np.count_nonzero(none & valid)) if rule == "strict" else 0
        missing = int(np.count_nonzero(none & lacking.get(rule, ~(one & two))))
        letters = np.bincount(codes[~none], minlength=len(LETTERS)).tolist()
        invalid = int(np.count_nonzero(none)) - undecided - missing
        rows.append((rule, *letters, undecided, invalid, missing))
    return tabled.frame(rows, texts=("rule",), counts=(*LETTERS, "undecided", "invalid", "missing"))


def _judged_orders(decisions: pl.DataFrame) -> list[NDArray[np.bool_]]:
    """Whether each pair has a judgment in order 1 and 2, which frames of others need not say."""
    names = ("judged_1", "judged_2")
    if not {*names} <= {*decisions.columns}:
        return [np.ones(len(decisions), dtype=bool)] * 2
    return [decisions[name].to_numpy() for name in names]


def _biases(decisions: pl.DataFrame, data: Judged, chosen: Codes, level: float) -> pl.DataFrame:
    """The judge's and the raters' preference of longer answers: a longer one may well be the better one."""
    rows: list[tuple[Any, ...]] = []
    known = {"length_a", "length_b"} <= {*decisions.columns}
    a, b = (decisions[f"length_{x}"].to_numpy() if known else np.empty(0) for x in "ab")
    longer = np.where(a == b, NONE, np.where(a > b, 0, 1))
    everyone = [(None, chosen), *zip(data.raters, data.verdicts, strict=True)]
    for rater, letters in everyone if known else []:
        won = (longer != NONE) & ((letters == 0) | (letters == 1))  # a tie has no winner
        wins, ties = won & (letters == longer), (longer != NONE) & (letters == 2)
        number = [int(np.count_nonzero(each)) for each in (wins, won, ties)]
        share = resampling.share_of(number[0], number[1], level)
        bounds = share.interval.low, share.interval.high
        rows.append(("longer answer", rater, *number, share.value, *bounds))
    found = tabled.frame(
        rows,
        texts=("bias", "rater"),
        counts=("wins", "n", "ties"),
        numbers=("share", "low", "high"),
    )
    return found.select(pl.exclude("ties"), "ties")


def _calibration(
    decisions: pl.DataFrame, data: Judged, level: float
) -> measures.Calibration | None:
    chosen = columns.column_codes(decisions["probability"])
    if not data.raters or (chosen == NONE).all() or "p_a" not in decisions.columns:
        return None
    return measures.calibration(
        chosen, columns.winner_probabilities(decisions), data.verdicts, level
    )


def _missing_notes(decisions: pl.DataFrame, data: Judged, allow_missing: bool) -> Iterator[str]:
    one, two = _judged_orders(decisions)
    unjudged = int(np.count_nonzero(~one | ~two & two.any()))
    if unjudged:
        yield (
            f"{unjudged:,} of {counted(len(one), 'pair')} lack a judgment of their texts: they count like "
            "invalid ones"
        )
    present = np.count_nonzero(data.verdicts != NONE, axis=0)
    lacking = int(np.count_nonzero(present < len(data.raters)))
    if lacking:
        number = f"{lacking:,} of {counted(len(present), 'pair')}"
        left_out = "they are left out where a rater did not judge"
        if len(data.raters) > 1 and not allow_missing:
            left_out = (
                "no Fleiss' kappa; Krippendorff's alpha is computed if missing raters are allowed"
            )
        yield f"{number} lack raters: {left_out}"


# Two judges


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """Concordance of two judges (mean of the raters) on the same pairs.

    `difference`: first - second, with its `interval` (bootstrap over questions). `p`: two-sided p-value of
    the sign-flip test by question; `smallest_p` is what the permutations resolve, 0 if p is exact. `pairs`,
    `questions`: what both judged. `left_out`: pairs that only one of them has.
    """

    first: float
    second: float
    difference: float
    interval: resampling.Interval
    p: float
    smallest_p: float
    pairs: int
    questions: int
    left_out: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types."""
        return asdict(self)


def compare_judges(
    first: pl.DataFrame,
    second: pl.DataFrame,
    humans: pl.DataFrame,
    *,
    rules: tuple[Rule, Rule] = ("probability", "probability"),
    level: float = 0.95,
    resamples: int = resampling.RESAMPLES,
    permutations: int = tabled.PERMUTATIONS,
    seed: int = 0,
) -> JudgeComparison:
    """Returns the difference between two frames of decisions in concordance with the same raters.

    Frames as in `agree`: of two judges, of two prompts, or the same frame with two `rules`. Only pairs that
    both have count; questions are those of `first`. Raises `InputError` as `agree` does, and if both have no
    judged pair in common, and `SettingsError` for invalid settings.
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    for rule in rules:
        check_rule(rule)
    for each in (first, second):
        columns.needed_columns(each, ("pair",), "decisions")
    _check_pairs_of_humans(first, second, humans)
    common = first.join(second.select("pair"), on="pair", how="semi")
    aligned = common.select("pair").join(second, on="pair", how="left", maintain_order="left")
    left_out = len(first) + len(second) - 2 * len(common)
    theirs = humans.join(common.select("pair"), on="pair", how="semi")
    if common.is_empty() or theirs.is_empty():
        raise InputError("no pair that both judges decided and a rater judged")
    one, two = judged(common, theirs), judged(aligned, theirs)
    right = [
        measures.same(data.decided[rule], data.verdicts).astype(np.int64)
        for data, rule in zip((one, two), rules, strict=True)
    ]
    known = (one.verdicts != NONE).astype(np.int64)
    classes, places = resampling.classes_of([*right[0], *right[1], *known])
    counted = {
        "right": np.stack(right)[:, :, places].transpose(2, 0, 1)[..., None],
        "judged": known[:, places].T[..., None],
    }
    sums = resampling.summed(counted, classes, one.questions, resamples, seed)
    means, resampled = (tabled.concordance_rates(each)[..., -1, 0] for each in sums)
    low, high = resampling.share_bounds(
        means[0] - means[1], resampled[:, 0] - resampled[:, 1], level, one.questions.max() + 1, -1.0
    )
    differences = tabled.question_differences(
        right[0] - right[1], sums[0]["judged"][:, 0], one.questions
    )
    return JudgeComparison(
        first=float(means[0]),
        second=float(means[1]),
        difference=float(means[0] - means[1]),
        interval=resampling.Interval(float(low), float(high), level),
        p=permutation.sign_flip_by_size(differences, permutations=permutations, seed=seed),
        smallest_p=permutation.resolution(int(np.count_nonzero(differences)), permutations),
        pairs=len(common),
        questions=int(one.questions.max()) + 1,
        left_out=left_out,
        seed=seed,
    )


def _check_pairs_of_humans(first: pl.DataFrame, second: pl.DataFrame, humans: pl.DataFrame) -> None:
    columns.needed_columns(humans, ("pair", "rater", "verdict"), "human verdicts")
    known = pl.concat([first.select("pair"), second.select("pair")])
    unknown = humans.join(known, on="pair", how="anti")
    if len(unknown):
        raise InputError(
            f"a verdict on the unknown pair {unknown['pair'][0]!r}: neither judge has it"
        )


# Judges and people beside the n-gram scores


_BINS = 4


def scored_pairs(pairs: Sequence[Pair], benchmark: "Benchmark") -> pl.DataFrame:
    """Returns the scores of both answers of each pair.

    Columns: `pair`, `question_id`, `score_a`, `score_b` (the average of the metrics of each answer alone).
    Pairs about questions that the benchmark lacks are left out; raises `InputError` if none is left.
    """
    known = [pair for pair in pairs if pair.question in benchmark]
    if not known:
        raise InputError(
            "the benchmark has none of the pairs' questions: pass the benchmark that the answers are about, "
            "with -b"
        )
    questions = [pair.question for pair in known]
    one, other = (
        benchmark.score_batch(questions, [pair.answers[side] for pair in known]) for side in (0, 1)
    )
    return pl.DataFrame(
        {
            "pair": [pair.id for pair in known],
            "question_id": [pair.question_id for pair in known],
            "score_a": one["average"],
            "score_b": other["average"],
        }
    )


def verdicts_by_name(
    decisions: Mapping[str, pl.DataFrame], rule: Rule, humans: str | os.PathLike[str] | None = None
) -> dict[str, dict[str, str | None]]:
    """Returns letters by pair, of each judge and each rater, by name.

    `decisions`: the frame of each judge (as `VerdictFolder.decisions` has it), decided by a rule. Raises
    `InputError` for files that cannot be used.
    """
    found: dict[str, dict[str, str | None]] = {}
    known: set[str] = set()
    for name, frame in decisions.items():
        known.update(frame["pair"])
        found[name] = dict(zip(frame["pair"], frame[rule], strict=True))
    if humans is not None:
        for pair, rater, verdict in read_humans(humans, known).iter_rows():
            found.setdefault(rater, {})[pair] = verdict
    return found


def agreement_by_margin(
    scores: pl.DataFrame, verdicts: Mapping[str, Mapping[str, str | None]], bins: int = _BINS
) -> pl.DataFrame:
    """Returns how often the answer with the higher score is the one that somebody prefers, by margin.

    `scores`: as `scored_pairs` returns them. `verdicts`: letters by pair, of each rater or judge by name. A
    pair counts if it has a verdict for either answer and two different scores; ties and pairs without a
    verdict are counted apart. The margin is the difference of the scores; its bins have about equal numbers
    of pairs.

    Returns columns `who`, `margin` ("all", or the bin's range), `pairs`, `agree`, `share`, its 95 % interval
    `low`, `high` (Clopper–Pearson), `ties`, `missing`.
    """
    margins = (scores["score_a"] - scores["score_b"]).to_numpy()
    higher = np.where(margins > 0, "A", np.where(margins < 0, "B", "="))
    size = np.abs(margins)
    places = [("all", np.ones(len(size), dtype=bool)), *_margin_bins(size, bins)]
    rows: list[tuple[Any, ...]] = []
    for who, letters in verdicts.items():
        given = np.array([letters.get(pair) or "" for pair in scores["pair"]])
        counted = np.isin(given, ("A", "B")) & (higher != "=")
        tied = (given == "C") | (higher == "=")
        for margin, inside in places:
            among = (counted, counted & (higher == given), tied, given == "")
            pairs, agree, ties, missing = (int((inside & each).sum()) for each in among)
            interval = resampling.clopper_pearson(agree, pairs) if pairs else None
            bounds = (agree / pairs, interval.low, interval.high) if interval else (None,) * 3
            rows.append((who, margin, pairs, agree, *bounds, ties, missing))
    columns: dict[str, Any] = {
        **dict.fromkeys(("who", "margin"), pl.String),
        **dict.fromkeys(("pairs", "agree"), pl.Int64),
        **dict.fromkeys(("share", "low", "high"), pl.Float64),
        **dict.fromkeys(("ties", "missing"), pl.Int64),
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _margin_bins(size: NDArray[np.float64], bins: int) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield label and members of each bin of margins above 0."""
    if not (size > 0).any():
        return
    edges = np.unique(np.quantile(size[size > 0], np.linspace(0, 1, bins + 1)))
    for low, high in pairwise(edges):
        below = (size <= high) if high == edges[-1] else (size < high)
        yield f"{low:.3f}–{high:.3f}", np.asarray((size >= low) & below & (size > 0))
