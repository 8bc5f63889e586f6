"""Diagnosing a reference set: its coverage, its duplicates, and how reliable its scores are.

`check` runs all diagnostics; its tables come from `answers` and `scores`. `Check.to_dir` writes them as CSV,
and a Markdown page.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.io.text import inert, shortened, visible
from pfgen_rs.lazy import pl
from pfgen_rs.questions.left_out import LeaveOut
from pfgen_rs.references.check import against as sets, answers, findings, influence as own, scores

__all__ = ["Check", "check"]

PAGE = "check.md"
# Tables short enough for the page, and their headings.
_SHOWN = {
    "sources_overall": "Sources compared: mean scores of one source against another",
    "runs": "Runs",
    "source_runs": "Runs scored with a single source: correlations",
    "against": "Against another set",
    "influence": "Models that wrote reference answers",
    "near_duplicate_pairs": "Near-duplicates",
    "contamination_examples": "Answers of runs found in the set",
}


@dataclass(frozen=True, eq=False)
class Check:
    """The results of checking a set.

    `tables` by name, as documented by the functions that create them: `self_scores`, `near_duplicates`,
    `near_duplicate_pairs`, `lengths`, `scripts`, `reference_spread`, `coverage`, `rules`, `sources`,
    `sources_overall` and, if there are runs, `runs`, `left_out` (answers to questions that the set does not
    have, by run), `source_runs`, `contamination`, `contamination_examples` and, if asked for, `against`,
    `against_runs` and `influence`. `summary` has one row per question; `findings` are sentences about the
    whole set.
    """

    signature: str
    tables: dict[str, pl.DataFrame]
    summary: pl.DataFrame
    findings: list[str]

    @property
    def problems(self) -> dict[str, str]:
        """The warnings by the ids of the questions that have any."""
        rows = self.summary.select("question_id", "warnings").rows()
        return {question_id: warnings for question_id, warnings in rows if warnings}

    def __str__(self) -> str:
        """The findings, the warnings with the questions that have them, and the signature, in lines."""
        groups = self.summary.group_by("warnings", maintain_order=True).agg("question_id").rows()
        told = [f"{shortened(', '.join(ids))}: {warnings}" for warnings, ids in groups if warnings]
        lines = [*(f"- {finding}" for finding in self.findings), *told, self.signature]
        return "\n".join(map(visible, lines))

    def to_dir(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write every table as CSV, and `check.md` last, because it links to the rest; returns the paths.

        Each file is written atomically. Raises `OutputError`.
        """
        tables = {**self.tables, "summary": self.summary}
        contents = {f"{name}.csv": csv_text(table) for name, table in tables.items()}
        contents[PAGE] = report_markdown(self)
        for name, content in contents.items():
            write_atomic(Path(folder) / name, content.encode())
        return [Path(folder) / name for name in contents]


def check(
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    runs: Iterable[str | os.PathLike[str]] = (),
    *,
    against: Benchmark | str | os.PathLike[str] | None = None,
    influence: LeaveOut | None = None,
    threads: int | None = None,
    progress: answers.CheckProgress | None = None,
    **reading: Any,
) -> Check:
    """Diagnose a reference set, on its own and by the scores it gives to runs.

    `benchmark`: a benchmark, or any argument of `load_benchmark`. `runs`: files, run folders or globs, as for
    `pfgen-rs score`; their responses are held in memory, and those to other questions are left out.
    `against`: another set, of the same questions or some of them, to correlate the runs' scores with.
    `influence`: measure how much each model that wrote reference answers (or each `family`) lifts its own
    scores.

    `progress` is called with the current activity, the number of parts done and their total. `reading`: how
    runs are read, as options of `score_file`, if not as usual.

    Takes less than a minute for 50 questions with 3,000 answers each and 80,000 responses, and with
    `influence` as long again for every model. The results do not depend on `threads`. Raises the same errors
    as loading and scoring, `SettingsError` for tokens and for another set without runs, and `InputError` for
    another set without a common question.
    """
    loaded, files = resolve(benchmark, None), list(runs)
    other = None if against is None else sets.comparable(loaded, resolve(against, None), files)
    if "token" in {each.settings.unit for each in (loaded, other) if each}:
        raise SettingsError("cannot check a set of tokens: it contains no text")
    interruptibly(lambda: loaded.prepare(threads=threads))
    self_scores = scores.self_scores(loaded, threads=threads, progress=progress)
    copies, pairs = answers.near_duplicates(loaded, progress=progress)
    compared = scores.sources_compared(loaded, self_scores)
    tables = {
        "self_scores": self_scores,
        "near_duplicates": copies,
        "near_duplicate_pairs": pairs,
        "lengths": answers.lengths(loaded),
        "scripts": answers.scripts(loaded),
        "reference_spread": scores.reference_spread(loaded, threads=threads, progress=progress),
        "coverage": answers.coverage(loaded, progress=progress),
        "rules": answers.rules(loaded, progress=progress),
        "sources": compared,
        "sources_overall": scores.sources_overall(compared),
    }
    responses = None
    if files:
        responses, left_out = scores.scored_runs(
            loaded, files, threads=threads, progress=progress, **reading
        )
        counts, examples = scores.contamination(loaded, responses, progress=progress)
        tables |= {
            "runs": scores.run_means(responses),
            "source_runs": scores.sources_by_runs(loaded, responses),
            "contamination": counts,
            "contamination_examples": examples,
            "left_out": left_out,
        }
        if other:
            tables["against"], tables["against_runs"] = sets.against(
                loaded, other, responses, threads
            )
    if influence:
        tables["influence"] = own.influence(
            loaded, self_scores, responses, influence, threads=threads, progress=progress
        )
    summary = findings.summarise(loaded, tables)
    found = findings.findings(tables, summary, loaded.settings.unit)
    if other:
        found += sets.sentences(tables["against"], other)
    if influence:
        found += own.sentences(tables["influence"], loaded)
    return Check(loaded.signature, tables, summary, found)


# The page.


def report_markdown(check: Check) -> str:
    """Format the page: findings, summary and short tables, with text of the set and runs escaped."""
    return "\n".join(_lines(check)) + "\n"


def _lines(check: Check) -> Iterator[str]:
    yield from ("# Check of a reference set", "", inert(check.signature), "")
    yield from (f"- {inert(finding)}" for finding in check.findings)
    yield from ("", "## Questions", "", *_table(check.summary), "")
    for name, title in _SHOWN.items():
        if name in check.tables and not check.tables[name].is_empty():
            yield from (f"## {title}", "", *_table(check.tables[name]), "")
    names = ", ".join(f"[{name}]({name}.csv)" for name in ["summary", *check.tables])
    yield f"All tables: {names}"


def _table(table: pl.DataFrame) -> Iterator[str]:
    numbers = [kind.is_numeric() for kind in table.dtypes]
    yield f"| {' | '.join(map(inert, table.columns))} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numbers)} |"
    for row in table.iter_rows():
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return inert(str(value))
