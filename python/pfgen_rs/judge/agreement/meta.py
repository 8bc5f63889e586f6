"""Judging judges: their figures on pairs whose right letters are known, quotients of sums (judging 10)."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge.agreement import intervals
from pfgen_rs.judge.agreement.tables import frame, quotient
from pfgen_rs.judge.decisions import (
    NONE,
    Codes,
    Indices,
    codes_of_texts,
    column_codes,
    needed_columns,
    question_codes,
)
from pfgen_rs.judge.verdicts import LETTERS, Letter
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.questions.left_out import model_key, organisation_key
from pfgen_rs.stats import checks

_A, _B, _C = range(len(LETTERS))
_POINTS = 4
"""Of a win; a tie has half, so that the mean of several gold letters is a whole number."""
Quotient = tuple[Indices, Indices]
"""What a figure counts of each pair, above and below the line: integers of at least 0."""

FIGURES = {
    "accuracy_1": "accuracy, order 1",
    "accuracy_2": "accuracy, order 2",
    "accuracy": "accuracy, mean of orders",
    "both": "both orders correct",
    "probability": "accuracy by probability",
    "tie": "accuracy, else a tie",
    "question": "all pairs of a question",
    "agreement": "positional agreement",
    "first": "preference for first",
    "preference": "preference score (−1: first)",
    "consistency": "position consistency",
    "primacy": "towards the first",
    "recency": "towards the last",
    "stable_1": "repetition stability, order 1",
    "stable_2": "repetition stability, order 2",
    "longer": "longer answer wins",
    "longer_gold": "… by gold letters",
    "own": "judge's family wins",
    "own_gold": "… by gold letters",
    "invalid": "invalid judgments",
}
"""Figures and what they are called."""
_NEEDED = (
    *("pair", "question_id", "model_a", "model_b", "length_a", "length_b"),
    *("v1", "v2", "tie", "probability", "judged_1", "judged_2"),
)
_FAMILIES = {
    "openai": r"(chat)?gpt-?[345](?!all)|o[134](-|$)|text-davinci",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm|bard",
    "meta-llama": r"(meta-)?llama",
    "mistralai": r"mistral|mixtral",
    "qwen": r"qwen|qwq",
    "deepseek-ai": r"deepseek",
}
"""Organisations whose models are often named without them, and how these names begin."""
Gold = Mapping[str, Collection[Letter]]


def family(model: str) -> str:
    """Returns what models of one maker share: the organisation in the name, or the one that the name tells.

    A name that tells none is a family of its own.

    >>> family("openai/gpt-4o") == family("GPT-4") != family("gpt-neox-20b")
    True
    """
    key = model_key(model)
    known = (name for name, begin in _FAMILIES.items() if re.match(begin, key))
    return organisation_key(model) or next(known, key)


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Figures of judges. Undefined numbers are null; a null `task` stands for all pairs.

    `judges`: a row a `judge`: `pairs` that it judged, their `questions`, how many have `gold` letters, how
    many pairs are `missing`, and means of a judgment's tokens, where they are known: `prompt_tokens`,
    `completion_tokens`, with the `cost` of 1,000 judgments.
    `figures`: by `judge`, `task` and `figure` (a key of `FIGURES`): `n` judgments, pairs or questions,
    `count` of them, `value`, and its bounds at `level`: bootstrap over questions.
    `rules`: whether the judges are trivial rules, since there were no judgments. `notes`: remarks.
    """

    judges: pl.DataFrame
    figures: pl.DataFrame = field(repr=False)
    level: float
    resamples: int
    seed: int
    currency: str = ""
    rules: bool = False
    notes: tuple[str, ...] = ()

    def of(self, figure: str, task: str | None = None) -> dict[str, dict[str, Any]]:
        """Returns a figure's row by judge, of those that have it."""
        rows = self.figures.filter(figure=figure).filter(pl.col("task").eq_missing(task))
        return {row["judge"]: row for row in rows.iter_rows(named=True)}

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types: `judges` with their `figures` and those of their `tasks`."""
        found = []
        for about in self.judges.iter_rows(named=True):
            own = self.figures.filter(judge=about["judge"]).partition_by(
                "task", maintain_order=True
            )
            tables = {
                each["task"][0]: {
                    row["figure"]: {key: row[key] for key in ("n", "count", "value", "low", "high")}
                    for row in each.iter_rows(named=True)
                }
                for each in own
            }
            figures = tables.pop(None, {})
            found.append({**about, "figures": figures, "tasks": tables})
        how = {"level": self.level, "resamples": self.resamples, "seed": self.seed}
        more = {"currency": self.currency, "rules": self.rules, "notes": list(self.notes)}
        return {"judges": found, **how, **more}


def meta(
    decisions: Mapping[str, pl.DataFrame],
    gold: Gold,
    *,
    models: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int = intervals.RESAMPLES,
    seed: int = 0,
) -> MetaEvaluation:
    """Returns how well judges decide pairs whose right letters are known, and how they are biased.

    `decisions`: of each judge by name, as `VerdictFolder.decisions` has them; pairs without a judgment are
    left out and counted. `gold`: right letters by id of the pair, any of which is right; pairs without any
    count for what needs none. `models`: the judges' models, whose families own answers are told by (default:
    the names).

    Raises `InputError` for frames that lack columns and judges without judgments, `SettingsError` for invalid
    settings. Time: linear in pairs, plus the bootstrap over kinds of questions. Needs scipy (extra `judge`).
    """
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    about, tables, notes = [], [], list[str]()
    for name, table in decisions.items():
        needed_columns(table, _NEEDED, f"decisions of {name}")
        judged = table.filter(pl.col("judged_1") | pl.col("judged_2"))
        if judged.is_empty():
            raise InputError(f"judge {name!r:.80} has judged none of the pairs")
        own = _own_sides(judged, (models or {}).get(name, name))
        figures = _table(judged, gold, own, level, resamples, seed)
        tables.append(figures.select(pl.lit(name).alias("judge"), pl.all()))
        known = sum(bool(gold.get(pair)) for pair in judged["pair"])
        missing = len(table) - len(judged)
        about.append((name, len(judged), judged["question_id"].n_unique(), known, missing))
        if not known:
            notes.append(f"{name}: no pair has gold letters, so accuracies are unknown")
        elif known < len(judged):
            lacking = f"{len(judged) - known:,} of {counted(len(judged), 'pair')}"
            notes.append(
                f"{name}: {lacking} have no gold letters: they do not count for accuracies"
            )
        if missing:
            notes.append(f"{name}: {counted(missing, 'pair')} not judged: left out")
    names = ("judge", "pairs", "questions", "gold", "missing")
    judges = pl.DataFrame(
        about, schema=dict(zip(names, (pl.String, *[pl.Int64] * 4), strict=True)), orient="row"
    )
    return MetaEvaluation(judges, pl.concat(tables), level, resamples, seed, notes=tuple(notes))


def _own_sides(decisions: pl.DataFrame, judge: str) -> Codes:
    """Returns which answer is of the judge's family, 0 or 1, -1 for neither and for both."""
    own = family(judge)
    names = {*decisions["model_a"], *decisions["model_b"]}
    is_own = {name: family(name) == own for name in names}
    a, b = (
        decisions[f"model_{x}"].replace_strict(is_own, return_dtype=pl.Boolean).to_numpy()
        for x in "ab"
    )
    return np.where(a == b, NONE, np.where(a, 0, 1)).astype(np.int8)


def _table(
    decisions: "pl.DataFrame",
    gold: Gold,
    own: Codes,
    level: float,
    resamples: int,
    seed: int,
) -> "pl.DataFrame":
    """Returns a judge's `figures` over the pairs that it judged.

    `own`: which answer of each pair is of the judge's family, 0 or 1, -1 for neither or both.
    """
    pairs = _JudgedPairs(decisions, gold)
    quotients = {**pairs.accuracies(), **pairs.positions(), **pairs.preferences(own)}
    names = [name for name in FIGURES if name in quotients]
    above, below = (np.stack([quotients[name][i] for name in names], axis=1) for i in (0, 1))
    questions = question_codes(decisions["question_id"])
    tasks, of_task = _tasks(decisions)
    classes, places = intervals.classes_of([*above.T, *below.T, *of_task.T])
    counted = {
        "above": of_task[places][:, :, None] * above[places][:, None],
        "below": of_task[places][:, :, None] * below[places][:, None],
    }
    observed, resampled = intervals.summed(counted, classes, questions, resamples, seed)
    # The preference score is a quotient less 1, from -1 to 1.
    shift = np.array([float(name == "preference") for name in names])
    values, drawn = (quotient(x["above"], x["below"]) - shift for x in (observed, resampled))
    reach = np.array(
        [[len(np.unique(questions[t & b])) for b in (below > 0).T] for t in of_task.T > 0]
    )
    low, high = np.empty_like(values), np.empty_like(values)
    for lowest in (0.0, -1.0):
        own_scale = -shift == lowest
        low[:, own_scale], high[:, own_scale] = intervals.share_bounds(
            values[:, own_scale], drawn[..., own_scale], level, reach[:, own_scale], lowest
        )
    scale = np.array([_POINTS if name.startswith("own") else 1 for name in names])
    n = (observed["below"] / scale).astype(np.int64)
    columns = [n, observed["above"] / scale - shift * n, values, low, high]
    rows = [
        (task, name, *(column[t, f].item() for column in columns))
        for t, task in enumerate(tasks)
        for f, name in enumerate(names)
        if n[t, f]
    ]
    numbers = ("count", "value", "low", "high")
    return frame(rows, texts=("task", "figure"), counts=("n",), numbers=numbers)


def _tasks(decisions: "pl.DataFrame") -> tuple[list[str | None], Indices]:
    """Returns `None` for all pairs and the tasks, and whether each pair belongs to them: 0 or 1."""
    if "task" not in decisions.columns or decisions["task"].null_count() == len(decisions):
        return [None], np.ones((len(decisions), 1), dtype=np.int64)
    tasks, codes = codes_of_texts(decisions["task"].fill_null(""))
    of_task = codes[:, None] == np.arange(-1, len(tasks))
    of_task[:, 0] = True
    return [None, *tasks], of_task.astype(np.int64)


class _JudgedPairs:
    """Pairs with verdicts in both orders and right letters; flags are 0 or 1."""

    def __init__(self, decisions: "pl.DataFrame", gold: Gold) -> None:
        self._decisions = decisions
        self._letters = [column_codes(decisions[name]) for name in ("v1", "v2")]
        self._judged = [_flags(decisions[f"judged_{order}"]) for order in (1, 2)]
        letters = [[x in gold.get(pair, ()) for x in LETTERS] for pair in decisions["pair"]]
        self._gold = np.array(letters, dtype=np.int64).reshape(-1, len(LETTERS))
        self._known = self._gold.any(axis=1).astype(np.int64)

    def _right(self, codes: Codes) -> Indices:
        return np.asarray((codes != NONE) * self._gold[np.arange(len(codes)), codes])

    def accuracies(self) -> dict[str, Quotient]:
        """Verdicts and decisions that are among the gold letters, of pairs that have some."""
        one, two = (self._right(v) * j for v, j in zip(self._letters, self._judged, strict=True))
        first, second = (self._known * judged for judged in self._judged)
        decided = {name: column_codes(self._decisions[name]) for name in ("probability", "tie")}
        both = first * second
        whole = np.where(self._judged[1].any(), both, first)
        found = {
            "accuracy_1": (one, first),
            "accuracy_2": (two, second),
            "accuracy": (one + two, first + second),
            "both": (one * two, both),
            "tie": (self._right(decided["tie"]) * both, both),
            "question": self._whole_questions((one, two), (first, second)),
        }
        if (decided["probability"] != NONE).any():
            found["probability"] = (self._right(decided["probability"]) * whole, whole)
        return found

    def _whole_questions(
        self, right: tuple[Indices, Indices], asked: tuple[Indices, Indices]
    ) -> Quotient:
        """Questions of several pairs that are all right in an order, counted at their first pair."""
        questions = question_codes(self._decisions["question_id"])
        number = np.bincount(questions)
        counts = np.zeros((2, len(questions)), dtype=np.int64)
        firsts = np.unique(questions, return_index=True)[1]
        for r, a in zip(right, asked, strict=True):
            is_asked = (np.bincount(questions, weights=a) == number) & (number > 1)
            counts[0, firsts] += is_asked & (np.bincount(questions, weights=r) == number)
            counts[1, firsts] += is_asked
        return counts[0], counts[1]

    def positions(self) -> dict[str, Quotient]:
        """What the order changes, what repetitions change, and what is invalid."""
        v1, v2 = self._letters
        one, two = self._judged
        valid = (v1 != NONE) & (v2 != NONE)
        # In order 2 the pair's second answer was shown first.
        first, last = (v1 == _A, v2 == _B), (v1 == _B, v2 == _A)
        primacy = valid & ((first[0] & ~last[1]) | (first[1] & ~last[0]))
        recency = valid & ((last[0] & ~first[1]) | (last[1] & ~first[0]))
        named = sum(map(_flags, first))
        found = {
            "agreement": (valid & (v1 == v2), one * two),
            "first": (named, named + sum(map(_flags, last))),
            "preference": (_flags(valid) + recency - primacy, valid),
            "consistency": (valid & ~primacy & ~recency, valid),
            "primacy": (primacy, valid),
            "recency": (recency, valid),
            "invalid": (one * (v1 == NONE) + two * (v2 == NONE), one + two),
        }
        for name in {"stable_1", "stable_2"} & {*self._decisions.columns}:
            stable = self._decisions[name]
            found[name] = (_flags(stable.fill_null(value=False)), stable.is_not_null())
        return {name: (_flags(above), _flags(below)) for name, (above, below) in found.items()}

    def preferences(self, own: Codes) -> dict[str, Quotient]:
        """What longer answers and those of the judge's family win by the judge, and by the gold letters."""
        lengths = [self._decisions[f"length_{x}"].to_numpy() for x in "ab"]
        longer = np.where(lengths[0] == lengths[1], NONE, np.where(lengths[0] > lengths[1], _A, _B))
        golds = self._gold.sum(axis=1)
        winner = np.where((golds == 1) & (self._gold[:, _C] == 0), self._gold.argmax(axis=1), NONE)
        wins, has_own = [], own != NONE
        for letters in (*self._letters, winner):
            decided = (longer != NONE) & ((letters == _A) | (letters == _B))
            wins.append((_flags(decided & (letters == longer)), _flags(decided)))
        tie = np.full(len(own), _POINTS // 2)
        points = np.stack([_POINTS * (own == _A), _POINTS * (own == _B), tie], axis=1)
        by_judge, games = np.zeros(len(own), dtype=np.int64), np.zeros(len(own), dtype=np.int64)
        for letters in self._letters:
            counts = has_own & (letters != NONE)
            by_judge += counts * points[np.arange(len(own)), letters]
            games += _POINTS * counts
        by_gold = has_own * (points * self._gold).sum(axis=1) // np.maximum(golds, 1)
        return {
            "longer": (wins[0][0] + wins[1][0], wins[0][1] + wins[1][1]),
            "longer_gold": wins[2],
            "own": (by_judge, games),
            "own_gold": (by_gold, _POINTS * has_own * self._known),
        }


def _flags(values: "pl.Series | NDArray[Any]") -> Indices:
    return np.asarray(values).astype(np.int64)
