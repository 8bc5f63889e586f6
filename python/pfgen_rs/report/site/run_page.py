"""The page of a run: scores, tables and distributions, and answers that are loaded on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.sources import explained
from pfgen_rs.report.run_view import RunView
from pfgen_rs.report.site.charts import Axis, Bars
from pfgen_rs.report.site.pages import render, shared_script

__all__ = ["answers_file", "answers_name", "reading", "run_page", "run_script", "windows_name"]

_PARTS = ("charts", "windows", "inspector", "answers", "run")


def answers_file(folder: str) -> str:
    """Returns the name of the file with a run's answers, a part for each question of the benchmark."""
    return f"{folder}/data"


def answers_name(folder: str, number: int) -> str:
    """Returns the name of the payload with a run's answers to the question with this number."""
    return f"{answers_file(folder)}#{number}"


def windows_name(number: int) -> str:
    """Returns the name of the payload with the windows of the reference answers to a question."""
    return f"windows/q{number:03d}"


def run_script() -> tuple[str, bytes]:
    """Returns path and content of the script that the pages of all runs of a site share."""
    return shared_script("run", _PARTS)


def reading(settings: Settings) -> dict[str, Any]:
    """Returns the settings that a page's script needs."""
    return {
        "target": settings.target_length,
        "zero": settings.zero_length,
        "skipped": settings.skipped,
        "metrics": 3 if settings.helpfulness else 2,
    }


def run_page(
    view: RunView,
    settings: Settings,
    *,
    sources: Iterable[str] = (),
    folder: str,
    root: str = "",
    nav: Sequence[tuple[str, str]] = (),
    payloads: Mapping[str, Any] | None = None,
    script: str | None = None,
) -> bytes:
    """Returns the page of a run whose answers are payloads in `folder` of the site, or in `payloads`.

    `sources`: names of the sources of reference answers, which the page explains if they are known. `root`:
    path from the page to the site's folder. `nav`: names (keys of strings) and paths of its pages.
    `script`: path of what `run_script` gave within the site, if the page is to use it.
    """
    estimates = view.metrics.values()
    return render(
        "run",
        parts=_PARTS,
        root=root,
        script=script,
        nav=nav,
        here="",
        slug=folder.rpartition("/")[2],
        signature=view.signature,
        view=view,
        metric_axis=Axis.of(
            [v for e in estimates for v in (e.low, e.high, e.mean) if v is not None]
        ),
        is_mean=view.metrics["average"].is_of(view.score),
        axis=Axis.of([0.0, *(v for row in view.questions for v in (row.low, row.high))]),
        scores=Bars(view.scores),
        lengths=Bars(view.lengths),
        explained=explained(sources),
        config=_config_on_run_page(view.config),
        data={
            "reading": reading(settings),
            "answers": answers_file(folder),
            "questions": [
                {"number": row.number, "name": row.name, "text": row.text} for row in view.questions
            ],
        },
        payloads=payloads or {},
    )


def _config_on_run_page(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the configuration for display: text unchanged, other values as their repr."""
    return [
        (key, value if isinstance(value, str) else repr(value)) for key, value in config.items()
    ]
