"""The figure of what answers lost to form (requires the extra `plots`)."""

from typing import Any

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, GREY, GRID, Language, Look, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure
from pfgen_rs.llm_jp_eval.diagnosis import FORMS, PARTS, Diagnosis
from pfgen_rs.llm_jp_eval.report.report import Report

_MOST = 6  # runs, a panel each
_SAID = {"first_line": "cut at the first line", "all": "read in several ways"}
_FILLS = dict(zip(PARTS, (*COLOURS[:1], *COLOURS[1:7], GREY, "#7F5539", GRID), strict=True))


def diagnosis(
    report: Report, *, title: str | None = None, language: Language = "en", font: str | None = None
) -> Figure:
    """Draw a panel for each run with a bar for each task: right answers, those lost to form, wrong ones.

    An answer is counted by the first form that makes it right. Raises `PlotError` for more than six runs.
    """
    runs = report.runs
    if len(runs) > _MOST:
        raise PlotError(f"too many runs for one figure: {len(runs)}, at most {_MOST}")
    tasks = list(dict.fromkeys(task for run in runs for task in report.diagnoses[run]))
    with drawing(language, font) as look:
        size = 3.2 + 3.4 * len(runs), 1.7 + 0.3 * len(tasks)
        figure = look.figure(title, "Answers lost to form", *size)
        panels = figure.subplots(1, len(runs), squeeze=False, sharey=True)[0]
        for run, axes in zip(runs, panels, strict=True):
            _stack(axes, [report.diagnoses[run].get(task) for task in tasks], look)
            axes.set_title(look.name(run, 34), loc="left", fontweight="bold")
        panels[0].set_yticks(range(len(tasks)), [look.name(task) for task in tasks])
        panels[0].set_ylim(len(tasks) - 0.4, -0.6)
        handles: dict[Any, Any] = {}
        for axes in panels:
            axes.set_xlabel(look.say("Share of answers"))
            handles |= {
                label: bar for bar, label in zip(*axes.get_legend_handles_labels(), strict=True)
            }
        order = [text for part in PARTS if (text := _told(part, look)) in handles]
        across = min(4, 1 + len(runs))
        figure.legend(
            [handles[text] for text in order], order, loc="outside lower center", ncols=across
        )
        return finish(figure, _in_words(report, look))


def _stack(axes: Axes, found: list[Diagnosis | None], look: Look) -> None:
    shares = [own.shown() if own else {} for own in found]
    left = [0.0] * len(found)
    for part in PARTS:
        widths = [own.get(part, 0.0) for own in shares]
        label = _told(part, look) if any(widths) else ""
        axes.barh(range(len(found)), widths, 0.72, left, color=_FILLS[part], label=label)
        left = [x + width for x, width in zip(left, widths, strict=True)]
    axes.set_xlim(0, 1)
    axes.grid(visible=False, axis="y")


def _told(part: str, look: Look) -> str:
    form = _SAID.get(part, part.replace("_", " "))
    return look.say(f"right if {form}" if part in FORMS else part)


def _in_words(report: Report, look: Look) -> str:
    """Returns the shares in words, for those who do not see the figure."""
    told = []
    for run in report.runs:
        for task, own in report.diagnoses[run].items():
            shares = own.shown()
            parts = [f"{_told(part, look)} {shares[part]:.3f}" for part in PARTS if shares[part]]
            told.append(f"{look.name(run)}, {look.name(task)}: {', '.join(parts)}")
    return "; ".join(told)
