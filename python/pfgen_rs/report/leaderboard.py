"""The leaderboard of a checkout's main `README.md`, byte for byte as published."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

from pfgen_rs.checkout.published import Published, published_ranks, ranked_published
from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import README
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.report.markup import cell_text, link_target, padding

__all__ = ["BEGIN", "END", "WHERE", "leaderboard_table", "readme_with_leaderboard"]

BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"
WHERE = f"the leaderboard goes between {BEGIN} and {END}, each on its own line"
"""What a main `README.md` without the marks, or the lack of one, is refused with."""
_HEADINGS = ("Rank", "Score", "Model", "Length", "Fluency", "Truthfulness", "Helpfulness")
_MODEL = _HEADINGS.index("Model")


def leaderboard_table(runs: Iterable[Published]) -> str:
    """Returns the leaderboard as Markdown."""
    ordered = ranked_published(runs)
    rows = [
        _leaderboard_cells(run, rank)
        for run, rank in zip(ordered, published_ranks(ordered), strict=True)
    ]
    columns = [[row[i] for row in rows] for i in range(len(_HEADINGS))]
    heads = [name + padding(name, cells) for name, cells in zip(_HEADINGS, columns, strict=True)]
    lines = [_leaderboard_line(heads), "|" + "-----|" * len(_HEADINGS)]
    for run, cells in zip(ordered, rows, strict=True):
        shown = [cell_text(cell) for cell in cells]
        target = link_target(posixpath.join(run.run, README))
        shown[_MODEL] = f"[{shown[_MODEL]}]({target})"
        lines.append(_leaderboard_line(shown))
    return "\n".join(lines) + "\n"


def _leaderboard_cells(run: Published, rank: int | None) -> list[str]:
    """Returns the cells of a row."""
    result, scores = run.result, run.result["scores"]
    return [
        "N/A" if rank is None else str(rank),
        f"{result['score']:.4f} (±{result['score_std']:.4f}/√{result['num_trials']})",
        run.label,
        f"{result['length']:.1f} (±{result['length_std']:.1f})",
        f"{left_sum(scores['fluency'].values()):.3f}",
        f"{left_sum(scores['truthfulness'].values()):.3f}",
        f"{scores['helpfulness']:.3f}",
    ]


def _leaderboard_line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(f"<code>{cell}</code>" for cell in cells) + " |"


def readme_with_leaderboard(readme: bytes, leaderboard: str, path: Path) -> bytes:
    """Replace what is between the marks of a main `README.md` by a leaderboard (and an empty line).

    Raises `InputError` unless each mark occurs once, on its own line, in order.
    """
    lines = readme.split(b"\n")
    places = [_leaderboard_mark_line(lines, mark, path) for mark in (BEGIN, END)]
    if places[0] > places[1]:
        raise InputError(f"the mark {END} comes before {BEGIN}", path=path, line=places[1] + 1)
    kept = (lines[: places[0] + 1], leaderboard.encode().split(b"\n"), lines[places[1] :])
    return b"\n".join(line for part in kept for line in part)


def _leaderboard_mark_line(lines: Sequence[bytes], mark: str, path: Path) -> int:
    places = [i for i, line in enumerate(lines) if line.strip() == mark.encode()]
    if not places:
        raise InputError(f"missing line {mark}: {WHERE}", path=path)
    if len(places) > 1:
        raise InputError(f"duplicate mark {mark}", path=path, line=places[1] + 1)
    return places[0]
