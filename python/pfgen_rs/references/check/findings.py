"""What a check says: warnings and key numbers for each question, and findings about the whole set."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.io.text import counted, plural
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import COLUMNS, PARTS, Settings, is_off_target
from pfgen_rs.metrics.units import Unit
from pfgen_rs.references.check.answers import mean_of_known
from pfgen_rs.references.lengths import OFFICIAL_STD

RowsByTable = Mapping[str, list[dict[str, Any]]]

# Thresholds for warnings. The published set is well within most of them.
LIMITS: dict[str, float] = {
    "answers": 100,  # per source; with fewer, single answers determine what is common
    "repeated": 0.01,  # share of the answers
    "near": 0.05,  # share of texts in pairs of near-duplicates
    "length_std": 8,  # units
    "own": 0.9,  # mean of Fluency and Truthfulness against the others of the source
    "agreement": 0.7,  # the same against another source
    "note": 0.7,  # Truthfulness of the example answer
}
_SHOWN = 40


def concerns_about(
    own: RowsByTable, settings: Settings, backtracking: Mapping[str, str]
) -> Iterator[str]:
    """Yield the warnings about one question; `own` holds its rows of all tables.

    `backtracking`: the regular expressions that only Python can match, with the places of their rules.
    """
    yield from _about_copies(own)
    yield from _about_scripts(own["scripts"])
    yield from _about_lengths(own, settings)
    yield from _about_sources(own)
    yield from _about_note(own["coverage"][0])
    for row in own["rules"]:
        if row["remark"] == "hardly any" and row["rule"] is not None:
            yield f"only {row['share']:.0%} of answers satisfy the rule {_quoted(row['label'])}"
    verbatim = sum(row["verbatim"] for row in own.get("contamination", []))
    if verbatim:
        occur = plural(verbatim, "occurs", "occur")
        yield f"{counted(verbatim, 'answer')} of runs {occur} verbatim in the set"
    for pattern, place in backtracking.items():
        yield (
            f"{place}: the regular expression {_quoted(pattern)} is matched by Python, slowly and "
            "with a time limit, because of flags, lookaround, \\b, backreferences or the like"
        )


def _about_copies(own: RowsByTable) -> Iterator[str]:
    [copies] = own["near_duplicates"]
    repeated = copies["answers"] - copies["distinct"]
    if repeated > LIMITS["repeated"] * copies["answers"]:
        yield f"{repeated} of {copies['answers']} answers are exact duplicates of others"
    if copies["in_near_pairs"] > LIMITS["near"] * copies["distinct"]:
        yield f"{copies['in_near_pairs']} of {copies['distinct']} texts are nearly identical to another"


def _about_scripts(rows: list[dict[str, Any]]) -> Iterator[str]:
    if len(rows) > 1:
        counts = ", ".join(f"{row['answers']} in {row['script']}" for row in rows)
        yield f"answers are in different scripts: {counts}"


def _about_lengths(own: RowsByTable, settings: Settings) -> Iterator[str]:
    least, _, most = OFFICIAL_STD
    official = f" (published sets: ±{least} to ±{most})" * (settings.unit == "character")
    for row in own["lengths"]:
        source, target = _quoted(row["source"]), settings.target_length
        if row["answers"] < LIMITS["answers"]:
            yield f"source {source} has only {counted(row['answers'], 'answer')}"
        if is_off_target(row["mean"], target):
            mean = f"{row['mean']:.1f}"
            yield f"answers of source {source} have a mean length of {mean}, far from {target}"
        if row["std"] > LIMITS["length_std"]:
            yield f"lengths of the answers of source {source} vary by ±{row['std']:.1f}{official}"


def _about_sources(own: RowsByTable) -> Iterator[str]:
    for row in own["sources"]:
        source, against, both = _quoted(row["source"]), _quoted(row["against"]), row["both"]
        if both is None:
            continue
        if source == against and both < LIMITS["own"]:
            yield f"answers of source {source} score only {both:.2f} against the others of that source"
        if source != against and both < LIMITS["agreement"]:
            yield f"answers of source {source} score only {both:.2f} against source {against}"


def _about_note(note: Mapping[str, Any]) -> Iterator[str]:
    if not note["length"]:  # as the findings say
        return
    if note["truthfulness"] < LIMITS["note"]:
        yield f"the set hardly covers the example answer (Truthfulness {note['truthfulness']:.2f})"
    if not note["helpfulness"]:
        yield "the example answer satisfies too few keyword rules (Helpfulness 0)"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


# Key numbers by question.


Tables = Mapping[str, pl.DataFrame]

_COPIES = ("answers", "distinct", "near_pairs", "in_near_pairs")
_SELF = [f"self_{metric}" for metric in COLUMNS]
_SCHEMA: dict[str, Any] = {
    "question_id": pl.String,
    "sources": pl.Int64,
    **dict.fromkeys(_COPIES, pl.Int64),
    **dict.fromkeys(["length", "length_std", *_SELF, "agreement"], pl.Float64),
    **dict.fromkeys(["note_average", "note_known", "all_rules"], pl.Float64),
    "verbatim": pl.Int64,
    "warnings": pl.String,
}


def summarise(benchmark: Benchmark, tables: Tables) -> pl.DataFrame:
    """Returns one row per question with key numbers of all tables and `warnings` (empty if there are none).

    Columns: `question_id`, `sources`, `answers`, `distinct` texts, `near_pairs` of them and how many texts
    are `in_near_pairs`; mean `length` and `length_std`; the means of the self-scores (`self_…`); `agreement`,
    the lowest mean of Fluency and Truthfulness of one source's answers against another (null for a single
    source); the example answer's `note_average`, and `note_known`, the share of its n-grams known to the
    source that knows most; `all_rules`, the share of answers that satisfy all rules; `verbatim`, the number
    of answers of runs found verbatim in the set (null without runs). Thresholds for warnings: `LIMITS`.
    """
    parts = {
        name: table.rows_by_key("question_id", named=True, include_key=True)
        for name, table in tables.items()
        if "question_id" in table
    }
    rows = []
    for question in benchmark:
        own = {name: part.get(question.id, []) for name, part in parts.items()}
        backtracking = benchmark.helpfulness(question).backtracking
        remarks = "; ".join(concerns_about(own, benchmark.settings, backtracking))
        rows.append({"question_id": question.id, **_numbers(own), "warnings": remarks})
    return pl.DataFrame(rows, schema=_SCHEMA)


def _numbers(own: RowsByTable) -> dict[str, Any]:
    [copies], lengths, notes = own["near_duplicates"], own["lengths"], own["coverage"]
    total = sum(row["answers"] for row in lengths)
    mean = math.fsum(row["mean"] * row["answers"] for row in lengths) / total
    squares = ((row["std"] ** 2 + (row["mean"] - mean) ** 2) * row["answers"] for row in lengths)
    [together] = [row for row in own["rules"] if row["rule"] is None and row["source"] is None]
    found: dict[str, Any] = {
        "sources": len(lengths),
        **{name: copies[name] for name in _COPIES},
        "length": mean,
        "length_std": math.sqrt(math.fsum(squares) / total),
        "agreement": min(
            (row["both"] for row in own["sources"] if row["source"] != row["against"]), default=None
        ),
        "note_average": notes[0]["average"],
        "note_known": max(
            (row["known"] for row in notes if row["known"] is not None), default=None
        ),
        "all_rules": together["share"],
        "verbatim": None,
    }
    for name, metric in zip(_SELF, COLUMNS, strict=True):
        found[name] = mean_of_known(row[metric] for row in own["self_scores"])
    if "contamination" in own:
        found["verbatim"] = sum(row["verbatim"] for row in own["contamination"])
    return found


# Findings about the whole set, as sentences.


def findings(tables: Tables, summary: pl.DataFrame, unit: Unit) -> list[str]:
    """Returns the findings, one sentence each, general ones first; those about runs if there are any.

    `unit`: that of the lengths.
    """
    parts = [_answer_findings(tables, summary, unit), _score_findings(summary)]
    parts += [_spread_findings(tables), _copy_findings(summary), _rule_findings(tables)]
    parts.append(_note_findings(summary))
    parts.append(_source_findings(tables))
    if "runs" in tables:
        parts += [_run_findings(tables), _contamination_findings(tables)]
    count, warned = len(summary), _total(summary["warnings"] != "")
    have = plural(warned, "has", "have")
    warnings = f"{warned} of {count} {plural(count, 'question', 'questions')} {have} warnings"
    return [*(finding for part in parts for finding in part), warnings]


def _answer_findings(tables: Tables, summary: pl.DataFrame, unit: Unit) -> Iterator[str]:
    answers, count = _total(summary["answers"]), len(summary)
    lengths = _mean(summary["length"])
    questions = plural(count, "question", "questions")
    written = ", ".join(dict.fromkeys(tables["scripts"]["script"])) or "no letters"
    yield f"{answers:,} answers to {count} {questions}, with a mean length of {lengths:.1f}, in {written}"
    spreads = tables["lengths"]
    widest = _highest(spreads, "std")
    least, usual, most = OFFICIAL_STD
    official = f"; those of the published sets by ±{usual} (±{least} to ±{most})"
    yield (
        f"the lengths of a source's answers to a question vary by ±{_mean(spreads['std']):.1f} on "
        f"average, most in {widest['question_id']} (±{widest['std']:.1f})"
        f"{official * (unit == 'character')}"
    )


def _score_findings(summary: pl.DataFrame) -> Iterator[str]:
    known = summary.filter(pl.col("self_average").is_not_null())
    if known.is_empty():
        yield "no source has more than one answer, so answers cannot be scored against each other"
        return
    fluency, truth, helpfulness = (_mean(known[f"self_{name}"]) for name in PARTS)
    lowest = _lowest(known, "self_average")
    yield (
        f"scored against each other, the answers reach Fluency {fluency:.3f}, Truthfulness {truth:.3f} and "
        f"Helpfulness {helpfulness:.3f}; the lowest average is that of {lowest['question_id']} "
        f"({lowest['self_average']:.3f})"
    )


def _spread_findings(tables: Tables) -> Iterator[str]:
    spreads = tables["reference_spread"]["spread"]
    if len(spreads) < len(tables["near_duplicates"]):
        yield "too few reference answers to measure how scores vary with their choice: 6 are the least"
        return
    fewest, spread = min(tables["lengths"]["answers"]), math.hypot(*spreads) / len(spreads)
    yield (
        f"with as many other reference answers (here {fewest} of a source, or more), the score of a run with "
        f"one answer to each question would vary by about ±{spread:.4f} (standard deviation)"
    )


def _copy_findings(summary: pl.DataFrame) -> Iterator[str]:
    repeated = _total(summary["answers"]) - _total(summary["distinct"])
    pairs = _total(summary["near_pairs"])
    most = _highest(summary, "near_pairs")
    where = f", {most['near_pairs']} of them in {most['question_id']}" if pairs else ""
    yield (
        f"{repeated} exact {plural(repeated, 'duplicate', 'duplicates')}, "
        f"{pairs} {plural(pairs, 'pair', 'pairs')} of near-duplicates{where}"
    )


def _rule_findings(tables: Tables) -> Iterator[str]:
    single = tables["rules"].filter(pl.col("source").is_null() & pl.col("rule").is_not_null())
    rare = len(single.filter(pl.col("remark") == "hardly any"))
    everywhere = len(single.filter(pl.col("remark") == "all"))
    if single.is_empty():
        yield "no question has keyword rules: Helpfulness is left out, as signatures say (helpfulness:none)"
        return
    which = ""
    if rare:
        worst = _lowest(single, "share")
        which = f" (fewest: {worst['label']!r} of {worst['question_id']}, {worst['share']:.0%})"
    yield (
        f"of {len(single)} keyword rules, {rare} are satisfied by fewer than half of the answers"
        f"{which} and {everywhere} by all answers"
    )


def _note_findings(summary: pl.DataFrame) -> Iterator[str]:
    known = summary.filter(pl.col("note_average").is_not_null())
    lacking = len(summary) - len(known)
    if lacking:
        yield f"no example answer: {lacking} of {counted(len(summary), 'question')}"
    if known.is_empty():
        return
    lowest = _lowest(known, "note_average")
    yield (
        f"the example answers score {_mean(known['note_average']):.3f} on average; the lowest is "
        f"that of {lowest['question_id']} ({lowest['note_average']:.3f})"
    )


def _source_findings(tables: Tables) -> Iterator[str]:
    overall = tables["sources_overall"]
    others = overall.filter((pl.col("source") != pl.col("against")) & pl.col("both").is_not_null())
    if others.is_empty():
        return
    lowest = _lowest(others, "both")
    yield (
        f"sources scored against each other reach {_mean(others['both']):.3f} on average (mean of "
        f"Fluency and Truthfulness); the lowest is {lowest['source']!r} against {lowest['against']!r} "
        f"({lowest['both']:.3f})"
    )


def _run_findings(tables: Tables) -> Iterator[str]:
    left_out = tables["left_out"]
    if len(left_out):
        questions = left_out["question"].n_unique()
        yield (
            f"{_total(left_out['answers']):,} answers of runs were left out, because the set does not have "
            f"their {questions} {plural(questions, 'question', 'questions')}"
        )
    known = tables["source_runs"].drop_nulls(["other", "pearson"])
    if len(known):
        lowest = _lowest(known, "pearson")
        least = math.floor(lowest["pearson"] * 1e5) / 1e5  # a lower bound
        yield (
            f"over {lowest['runs']} runs, the scores of any two sources correlate with at least "
            f"{least:.5f} ({lowest['source']!r} and {lowest['other']!r})"
        )


def _contamination_findings(tables: Tables) -> Iterator[str]:
    by_run = (
        tables["contamination"]
        .group_by("run", maintain_order=True)
        .agg(pl.col("answers", "verbatim", "stretch").sum())
    )
    answers, verbatim, stretch = (_total(by_run[name]) for name in by_run.columns[1:])
    share = (pl.col("stretch") / pl.col("answers")).alias("share")
    most = _highest(by_run.with_columns(share), "share")
    where = f", most in {most['run']!r} ({most['share']:.1%})" if stretch else ""
    yield (
        f"of {answers:,} answers of runs, {verbatim} {plural(verbatim, 'occurs', 'occur')} verbatim in "
        f"the set; {stretch / answers:.1%} contain a long passage of a reference answer{where}"
    )


def _total(values: pl.Series) -> int:
    return sum(values)


def _mean(values: pl.Series) -> float:
    return math.fsum(values) / len(values)


def _lowest(rows: pl.DataFrame, name: str) -> dict[str, Any]:
    """Returns the first of the rows with the smallest value."""
    return rows.row(rows[name].arg_min() or 0, named=True)


def _highest(rows: pl.DataFrame, name: str) -> dict[str, Any]:
    return rows.row(rows[name].arg_max() or 0, named=True)
