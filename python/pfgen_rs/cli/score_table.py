"""What is printed of scored runs: their table, and warnings about their answers."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.cli import process, terminal
from pfgen_rs.io.text import counted
from pfgen_rs.runs import generation, outputs
from pfgen_rs.runs.leaderboard import leaderboard
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.tables import score_leaderboard

_SHOWN_PROBLEMS = 5
_SHOWN_QUESTIONS = 5


def report_gaps(result: Result) -> None:
    """Warn about skipped lines, answers missing, unclean, cut or worthless, and files cut short."""
    _tell_read(result)
    note = outputs.unclean_note(result, "--clean")
    if note is not None:
        (process.warn if result.clean is None else process.remark)(note)
    cut = None if result.cut_short is None else f"{result.cut_short} (an error with --strict)"
    thoughts = outputs.reasoning_note(result, "--think strip")
    overlap = outputs.overlap_note(result, "pfgen-rs score --leave-out model")
    for warning in filter(None, (outputs.worthless_note(result), thoughts, cut, overlap)):
        process.warn(warning)
    for problem in result.problems[:_SHOWN_PROBLEMS]:
        process.warn(f"skipped: {problem}")
    if result.problems:
        process.warn(f"{result.path}: skipped {counted(len(result.problems), 'line')} in total")
    if result.planned is not None:
        process.warn(
            f"{result._place}: {result._missing_note}; the score is the mean over questions of all their "
            "answers, and is not comparable with those of complete runs"
        )
        return
    if result.missing:
        named = ", ".join(result.missing[:_SHOWN_QUESTIONS])
        more = ", …" if len(result.missing) > _SHOWN_QUESTIONS else ""
        process.warn(
            f"{result._place}: {result._missing_note} ({named}{more}); the scores exclude them and are not "
            "comparable with those of complete runs"
        )
    answers = result._moments.counts
    if min(answers) != max(answers):
        process.warn(
            f"{result._place}: questions have {min(answers)} to {max(answers)} answers; the score "
            f"uses the first {min(answers)} of each, like published scores"
        )


def _tell_read(result: Result) -> None:
    """Say what was not plain: the layout, reference answers left out, and answers that were cut."""
    if result.read_as.is_told:
        process.remark(f"{result._place}: {result.read_as}")
    if left_out := outputs.left_out_note(result):
        process.remark(left_out)
    tell_generation(result.path)


def tell_generation(path: str | None) -> None:
    """Say what a run's folder tells of its generation: answers cut or empty, models, the cost."""
    found = generation.generation_of(path)
    if path is not None and found is not None and (said := generation.told(found)):
        tell = process.warn if generation.is_odd(found) else process.remark
        tell(f"{generation.folder_of(path)}: {said}")


def show_results(results: Sequence[Result], output_format: str) -> None:
    """Print runs as a leaderboard, by descending score: as a table, as `json`, or as `csv`."""
    rows = leaderboard(results).rows()
    if output_format == "json":
        process.emit_json(rows)
    elif output_format == "csv":
        for row in rows:
            row["missing_questions"] = " ".join(row["missing_questions"])
            del row["generation"]  # not a value of a cell
        process.emit_csv(rows)
    else:
        terminal.show(*score_leaderboard(rows, terminal.width()))
    if note := outputs.rules_note(results[0]):
        process.remark(note)
