"""The page of a run: scores, tables and distributions, and answers that are loaded on demand."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pfgen_rs import Result, Settings, stats
from pfgen_rs.lazy import np
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.questions.unknown import explained
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.answers import Windows, distinct_windows, run_answers, window_table
from pfgen_rs.report.site import charts, pages, payload
from pfgen_rs.report.site.folder import slug
from pfgen_rs.report.site.own_page import OwnPage

_PARTS = ("charts", "windows", "inspector", "answers", "run")


def page_folder(run: str) -> str:
    """Returns the folder of a run's page within a site."""
    return f"runs/{slug(run)}"


def page_path(run: str) -> str:
    """Returns the path of a run's page within a site."""
    return f"{page_folder(run)}/index.html"


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
    return pages.shared_script("run", _PARTS)


def reading(settings: Settings) -> dict[str, Any]:
    """Returns the settings that a page's script needs."""
    return {
        "target": settings.target_length,
        "zero": settings.zero_length,
        "skipped": settings.skipped,
        "metrics": 3 if settings.helpfulness else 2,
    }


def run_page(
    view: "RunView",
    *,
    folder: str,
    frame: pages.Frame = pages.ALONE,
    payloads: Mapping[str, Any] | None = None,
    script: str | None = None,
) -> bytes:
    """Returns the page of a run whose answers are payloads in `folder` of the site, or in `payloads`.

    `frame`: what the site gives its pages. `script`: path of what `run_script` gave within the site, if the
    page is to use it.
    """
    estimates, result = view.metrics.values(), view.result
    sources = {source for question in result.benchmark for source in question.sources}
    questions = [{"number": r.number, "name": r.name, "text": r.text} for r in view.questions]
    data = {
        "reading": reading(result.benchmark.settings),
        "answers": answers_file(folder),
        "questions": questions,
    }
    return pages.render(
        "run",
        parts=_PARTS,
        script=script,
        frame=frame,
        here="models",
        slug=folder.rpartition("/")[2],
        signature=result.signature,
        view=view,
        result=result,
        metric_axis=charts.Axis.of(
            [v for e in estimates for v in (e.low, e.high, e.mean) if v is not None]
        ),
        is_mean=view.metrics["average"].is_of(result.score),
        axis=charts.Axis.of([0.0, *(v for row in view.questions for v in (row.low, row.high))]),
        explained=explained(sources),
        config=_config(result.config or {}),
        data={"run": data},
        payloads=payloads or {},
    )


def _config(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the configuration for display: text unchanged, other values as their repr."""
    return [
        (key, value if isinstance(value, str) else repr(value)) for key, value in config.items()
    ]


# The content of a run's page besides its answers: scores with intervals, tables, distributions.


_BINS = 40


@dataclass(frozen=True)
class Row:
    """A question or a category: means, and the range of the averages of the middle 80 % of answers.

    `number` is the question's position in the benchmark or, for a category, the number of its questions.
    """

    number: int
    name: str
    text: str
    category: str
    answers: int
    low: float
    high: float
    length: float
    average: float
    fluency: float
    truthfulness: float
    helpfulness: float


@dataclass(frozen=True)
class RunView:
    """The data of a run's page: the result, its estimates by metric, tables, and distributions."""

    run: str
    result: Result
    metrics: Mapping[str, stats.Estimate]
    questions: list[Row]
    categories: list[Row]
    scores: charts.Histogram
    lengths: charts.Histogram


def estimates(sample: stats.Sample) -> dict[str, stats.Estimate]:
    """A run's estimate in each metric, without the bootstrap, which pages do not show."""
    return {metric: stats.estimate(sample, metric, resamples=0) for metric in stats.METRICS}


def run_view(
    result: Result, metrics: Mapping[str, stats.Estimate], *, run: str | None = None
) -> RunView:
    """Returns the data of a run, with its `estimates`; `run` is its name within a site."""
    questions = _question_rows(result)
    return RunView(
        run=run or result.path or result.name,
        result=result,
        metrics=metrics,
        questions=questions,
        categories=_category_rows(result, questions),
        scores=_histogram(result, "average", 0.05),
        lengths=_histogram(result, "length", 5),
    )


def _question_rows(result: Result) -> list[Row]:
    numbers = {question.id: number for number, question in enumerate(result.benchmark)}
    rows = []
    for row in result.by_question.to_dicts():
        row["name"], row["text"] = row.pop("question_id"), row.pop("question")
        rows.append(_row(result, [row["name"]], row, numbers[row["name"]]))
    return rows


def _category_rows(result: Result, questions: Sequence[Row]) -> list[Row]:
    """Returns means over the questions of each category, in order of first appearance."""
    members: dict[str, list[Row]] = {}
    for row in questions:
        members.setdefault(row.category, []).append(row)
    found = []
    for category, rows in members.items():
        about: dict[str, Any] = {"name": category, "text": "", "category": category}
        about["answers"] = sum(row.answers for row in rows)
        for key in ("length", *stats.METRICS):
            about[key] = left_sum([getattr(row, key) for row in rows]) / len(rows)
        found.append(_row(result, [row.name for row in rows], about, len(rows)))
    return found


def _row(result: Result, question_ids: Iterable[str], about: dict[str, Any], number: int) -> Row:
    """Complete `about` with the spread of the answers to these questions."""
    averages = [
        result.response_scores.of_question(key, ["average"])["average"] for key in question_ids
    ]
    low, high = np.quantile(np.concatenate(averages), (0.1, 0.9)).tolist()
    kept = {field.name: about[field.name] for field in fields(Row) if field.name in about}
    return Row(number=number, low=low, high=high, **kept)


def _histogram(result: Result, name: str, width: float) -> charts.Histogram:
    """Count values in at most 40 bins, whose width is a multiple of `width`."""
    values = np.concatenate(list(result.response_scores.column(name, in_order=False)))
    places = np.floor(np.round(values / width, 9)).astype(np.int64)
    first = int(places.min())
    every = -(-(int(places.max()) - first + 1) // _BINS)
    counts = np.bincount((places - first) // every)
    start = first * width
    return charts.Histogram(start, start + len(counts) * every * width, counts.tolist())


# Pages of their own: a single file, or a folder with the page and its data.


def write_run(
    result: Result, path: str | os.PathLike[str], *, answers_per_question: int = PER_QUESTION
) -> None:
    """Write the page of a run: to one file if `path` ends in `.html`, else to a folder.

    A folder gets `index.html` and files with answers, which the page loads on demand; a single file contains
    everything. Raises `SettingsError` for units that pages cannot show, `InputError` if
    `answers_per_question` is below 5, and `OutputError`.
    """
    _own_page(result, answers_per_question).write(path)


def run_text(result: Result, *, answers_per_question: int = PER_QUESTION) -> str:
    """Returns the page of a run with everything in it; raises what `write_run` raises for results."""
    payloads, page, _ = _own_page(result, answers_per_question)
    return page(dict(payloads)).decode()


def _own_page(result: Result, limit: int) -> OwnPage:
    view = run_view(result, estimates(result.sample()))
    folder = page_folder(result.name)
    payloads = run_payloads({result.name: result}, limit)
    return OwnPage(payloads.items(), lambda data: run_page(view, folder=folder, payloads=data))


def run_payloads(results: Mapping[str, Result], limit: int) -> dict[str, Any]:
    """Returns all payloads of pages about these runs, by name: answers, and the windows in them."""
    found: dict[str, Any] = {}
    windows: dict[str, list[Windows]] = {}
    benchmark = next(iter(results.values())).benchmark
    numbers = {question.id: number for number, question in enumerate(benchmark)}
    for run, result in results.items():
        for answers in run_answers(result, limit=limit):
            key = answers.question.id
            name = answers_name(page_folder(run), numbers[key])
            found[name] = payload.packed(answers.payload())
            windows.setdefault(key, []).append(distinct_windows(answers.texts))
    for key, pieces in windows.items():
        table = window_table(benchmark, key, np.unique(np.concatenate(pieces)))
        found[windows_name(numbers[key])] = payload.packed(table.payload())
    return found
