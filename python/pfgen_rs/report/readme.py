"""A run's `README.md`, byte for byte as published.

Needs only the run's `result.json` and the marks of its samples.
"""

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pfgen_rs import InputError, _native
from pfgen_rs.checkout.leaderboard import ranked, ranks
from pfgen_rs.checkout.published import Published, digest_line
from pfgen_rs.io.run_files import README
from pfgen_rs.metrics import settings, sums
from pfgen_rs.questions.unknown import sources_in_order
from pfgen_rs.report.markup import ESCAPES, cell_text, escape, link_target, padding

_SOURCES = {"P": "PFN", "T": "Titech", "S": "Stockmark", "R": "RAG"}
_MARKUP = _native.Markup([(chr(code), text) for code, text in ESCAPES.items()])


def run_readme(
    result: Mapping[str, Any],
    digest: str,
    marks: Mapping[tuple[str, int], bytes],
    *,
    compensated: bool = False,
) -> bytes:
    """Returns the content for a result; `marks` (`rescoring.marks_of`) by question and number of the sample.

    `compensated`: add shares as Python's `sum` has done since 3.12.
    """
    questions = result["questions"]
    # In the order of the file: sorted as it was written, but not where somebody has edited it.
    config = json.dumps(result["config"], ensure_ascii=False)
    head = [
        f"# Model: {cell_text(result['config']['model'])}\n\n{digest_line(digest)}\n\n",
        _question_head(result, compensated),
        "## Questions\n\n",
        _question_table(questions),
        f"\n## Config\n\n```json\n{config}\n```\n\n",
    ]
    parts = ["".join(head).encode()]
    for key, entry in questions.items():
        samples = entry["samples"]
        own = [marks[key, i] for i in range(len(samples))]
        parts += [
            _question(key, entry, compensated).encode(),
            _MARKUP.samples(samples, own, _names),
            b"</dl>\n\n",
        ]
    return b"".join(parts)


def _question_head(entry: Mapping[str, Any], compensated: bool) -> str:
    scores, spread = entry["scores"], str(entry["score_std"])  # a question's without trailing zeros
    if "num_trials" in entry:
        spread = f"{entry['score_std']:.4f}/√{entry['num_trials']}"
    lines = [f"- Score: {scores['average']:.3f} (±{spread})"]
    for metric in settings.BY_SOURCE:
        shares = scores[metric]  # added in the order of the file, but named in another
        total = sums.left_sum(shares.values(), compensated=compensated)
        ordered = sources_in_order(shares).items()
        named = "+".join(f"{_source(s)}:{share:.4f}" for s, share in ordered)
        lines.append(f"  - {metric.title()}: {total:.3f} ({named})")
    lines.append(f"  - Helpfulness: {scores['helpfulness']:.3f}")
    return "\n".join(lines) + "\n"


def _source(source: str) -> str:
    return _SOURCES.get(source) or escape(source)


def _question_table(questions: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| Question | Score | Length |", "|----------|-------|--------|"]
    lines += [
        f"| [{_question_title(key, entry)}](#{escape(key)}) "
        f"| <code>{entry['score']:.4f} (±{entry['score_std']:.4f})</code> "
        f"| <code>{entry['length']:.1f} (±{entry['length_std']:.1f})</code> |"
        for key, entry in questions.items()
    ]
    return "\n".join(lines) + "\n"


def _question_title(key: str, entry: Mapping[str, Any]) -> str:
    return f"{escape(key)}. {escape(entry['question'])}"


def _question(key: str, entry: Mapping[str, Any], compensated: bool) -> str:
    return (
        f'## <a name="{escape(key)}"></a>{_question_title(key, entry)}\n\n'
        f"{_question_head(entry, compensated)}"
        f"- Length: {entry['length']:.1f} (±{entry['length_std']:.1f})\n\n<dl>\n"
    )


@lru_cache
def _names(sources: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns the sources in order, each with its escaped name."""
    return [(source, escape(source)) for source in sources_in_order(dict.fromkeys(sources, 0.0))]


# The leaderboard of a checkout's main `README.md`, byte for byte as published.


BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"
WHERE = f"the leaderboard goes between {BEGIN} and {END}, each on its own line"
"""What a main `README.md` without the marks, or the lack of one, is refused with."""
_HEADINGS = ("Rank", "Score", "Model", "Length", "Fluency", "Truthfulness", "Helpfulness")
_MODEL = _HEADINGS.index("Model")


def leaderboard_table(runs: Iterable[Published]) -> str:
    """Returns the leaderboard as Markdown."""
    ordered = ranked(runs)
    rows = [_cells(run, rank) for run, rank in zip(ordered, ranks(ordered), strict=True)]
    columns = [[row[i] for row in rows] for i in range(len(_HEADINGS))]
    heads = [name + padding(name, cells) for name, cells in zip(_HEADINGS, columns, strict=True)]
    lines = [_line(heads), "|" + "-----|" * len(_HEADINGS)]
    for run, cells in zip(ordered, rows, strict=True):
        shown = [cell_text(cell) for cell in cells]
        target = link_target(posixpath.join(run.run, README))
        shown[_MODEL] = f"[{shown[_MODEL]}]({target})"
        lines.append(_line(shown))
    return "\n".join(lines) + "\n"


def _cells(run: Published, rank: int | None) -> list[str]:
    """Returns the cells of a row."""
    result, scores = run.result, run.result["scores"]
    return [
        "N/A" if rank is None else str(rank),
        f"{result['score']:.4f} (±{result['score_std']:.4f}/√{result['num_trials']})",
        run.label,
        f"{result['length']:.1f} (±{result['length_std']:.1f})",
        f"{sums.left_sum(scores['fluency'].values()):.3f}",
        f"{sums.left_sum(scores['truthfulness'].values()):.3f}",
        f"{scores['helpfulness']:.3f}",
    ]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(f"<code>{cell}</code>" for cell in cells) + " |"


def readme_with_leaderboard(readme: bytes, leaderboard: str, path: Path) -> bytes:
    """Replace what is between the marks of a main `README.md` by a leaderboard (and an empty line).

    Raises `InputError` unless each mark occurs once, on its own line, in order.
    """
    lines = readme.split(b"\n")
    places = [_mark_line(lines, mark, path) for mark in (BEGIN, END)]
    if places[0] > places[1]:
        raise InputError(f"the mark {END} comes before {BEGIN}", path=path, line=places[1] + 1)
    kept = (lines[: places[0] + 1], leaderboard.encode().split(b"\n"), lines[places[1] :])
    return b"\n".join(line for part in kept for line in part)


def _mark_line(lines: Sequence[bytes], mark: str, path: Path) -> int:
    places = [i for i, line in enumerate(lines) if line.strip() == mark.encode()]
    if not places:
        raise InputError(f"missing line {mark}: {WHERE}", path=path)
    if len(places) > 1:
        raise InputError(f"duplicate mark {mark}", path=path, line=places[1] + 1)
    return places[0]
