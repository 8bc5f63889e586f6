"""The page of a learning curve: figures beside those of other runs, and answers of steps side by side."""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import run_files
from pfgen_rs.lazy import np, pl
from pfgen_rs.report.site.own_page import OwnPage
from pfgen_rs.report.site.pages import ALONE, Frame
from pfgen_rs.stats import from_summary
from pfgen_rs.training import curve
from pfgen_rs.training.fixed_samples import STDERR, TASK_ANSWERS, TASK_COLUMNS

CHARACTERS = 10_000_000
"""Characters of answers in a page; of more, the steps with answers are thinned out evenly."""
LONGEST = 2_000
"""Characters of an answer that the page shows."""

_INDEX = "curve/index"
_DECIMALS = 5
_DRAWING = ("table_export", "drawings", "drawings_marks", "drawings_curves")
_PARTS = ("charts", "blocks", *_DRAWING, "curve")


@dataclass(frozen=True)
class Run:
    """A curve that the page shows: its name, folder, rows by ascending step, and sample."""

    name: str
    folder: Path
    rows: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]

    def missing(self, row: Mapping[str, Any]) -> int:
        """Returns how many answers to the questions a step lacks."""
        return len(self.about["questions"]) * int(self.about["trials"]) - (row["answers"] or 0)

    def outputs(self, row: Mapping[str, Any]) -> int:
        """Returns how many outputs for tasks of llm-jp-eval a step has."""
        return sum(row[name] or 0 for name in row if name.endswith(TASK_ANSWERS))

    def files(self, step: int) -> list[Path]:
        """Returns the existing files with the answers of a step."""
        kinds = (self.folder / kind for kind in (curve.ANSWERS, curve.OUTPUTS))
        return [path for kind in kinds if (path := kind / curve.file_name(step)).is_file()]


def write_page(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    compare: Sequence[str | os.PathLike[str]] = (),
) -> None:
    """Write the page of the learning curve in `folder`, in Japanese and English.

    It is one file if `path` ends in `.html`, else a folder with the page and its data.

    `compare`: folders of other runs' curves, shown in the same axes, with differences (`folder` minus the
    other one) at common steps, paired by question. Runs may differ in questions, trials, modes and prompts;
    the page then says so. A folder of checkpoints stands for the curve in its folder `pfgen`.

    The page has the answers of all steps; of more than 10 million characters, it has those of every second,
    third, … step, and of an answer the first 2,000 characters. Raises `InputError` for missing or invalid
    files, a run given twice, and curves of another benchmark or other settings of scores, and `OutputError`.
    """
    curve_page(read_runs([folder, *compare])).write(path)


def curve_page(runs: Sequence[Run], place: Frame = ALONE) -> OwnPage:
    """Returns the page of the first run's curve beside the others; see `write_page` for limits and errors."""
    signature = runs[0].about.get("signature")
    check_alike(signature, runs[1:])
    steps, left_out = _shown_steps(runs)
    questions, payloads = _answer_payloads(runs, steps, place.name(""))
    figures: dict[str, Any] = {
        "tasks": _task_columns(runs),
        "differences": [_differences(runs[0], other) for other in runs[1:]],
    }
    named = [{"name": run.name, "rows": run.rows} for run in runs]
    index = place.name(_INDEX)
    payloads[index] = {**figures, "runs": named, "steps": steps, "questions": questions}
    about = {
        "frame": place,
        **figures,
        "runs": runs,
        "differing": _differing(runs),
        "left_out": left_out,
        "data": {"curve": index},
        "signature": str(signature),
    }
    return OwnPage(payloads.items(), partial(_page_of, about), place)


def _page_of(about: Mapping[str, Any], payloads: Mapping[str, Any]) -> bytes:
    from pfgen_rs.report.site import pages  # loads jinja2

    library = pages.library() if about["frame"] == ALONE else ()
    return pages.render("curve", parts=(*library, *_PARTS), payloads=payloads, **about)


def read_runs(folders: Sequence[str | os.PathLike[str]]) -> list[Run]:
    """Read the curves in folders, named by the ends of their paths. Raises `InputError`."""
    paths = [curve.curve_folder(folder) for folder in folders]
    places = [str(path.resolve()) for path in paths]
    if twice := [place for place in places if places.count(place) > 1]:
        raise InputError("the curve is given twice: name another run", path=Path(twice[0]))
    names = run_files.output_names(places) if places else []
    return [_read_run(name, path) for name, path in zip(names, paths, strict=True)]


def check_alike(signature: Any, runs: Sequence[Run]) -> None:
    """Raise `InputError` for a curve of another benchmark or other settings than `signature` states."""
    for run in runs:
        if (theirs := run.about.get("signature")) != signature:
            problem = f"of another benchmark or other settings ({theirs}, expected {signature})"
            raise InputError(f"the curve is {problem}: compare others", path=run.folder)


def _read_run(name: str, folder: Path) -> Run:
    path = folder / curve.CURVE
    table, about = curve.read_curve(path)
    if not (isinstance(about.get("questions"), list) and isinstance(about.get("trials"), int)):
        raise InputError("not a learning curve: its description is damaged", path=path)
    table = table.filter(pl.col("step").is_not_null()).sort("step")
    if table.is_empty():
        raise InputError("the curve has no steps", path=path)
    numbers = pl.selectors.float()  # of which JSON has only finite ones
    finite = table.with_columns(pl.when(numbers.is_finite()).then(numbers))
    return Run(name, folder, finite.to_dicts(), about)


def _differing(runs: Sequence[Run]) -> set[str]:
    """Returns first words of settings in which runs differ: `questions`, `tasks` and its settings, …."""
    first = runs[0].about
    pairs = ((key, run.about) for run in runs for key in first.keys() | run.about.keys())
    return {key.split("_")[0] for key, own in pairs if own.get(key) != first.get(key)}


def _task_columns(runs: Sequence[Run]) -> list[str]:
    """Returns the columns with figures of tasks, in any of the runs."""
    names = dict.fromkeys(name for run in runs for name in run.rows[0])
    return [name for name in names if name.startswith(TASK_COLUMNS) and name + STDERR in names]


def _differences(run: Run, other: Run) -> list[dict[str, Any]]:
    """Returns rows of differences at the steps that both curves have, paired by question."""
    theirs = {row["step"]: row for row in other.rows}
    found = []
    for row in run.rows:
        first, second = _by_question(run, row), _by_question(other, theirs.get(row["step"], {}))
        changes = np.array([value - second[key] for key, value in first.items() if key in second])
        if len(changes):
            # The spread of the questions' changes already includes the noise of trials.
            estimate = from_summary(changes, np.zeros_like(changes), 1)
            about = {"step": row["step"], "tokens": row["tokens"], "questions": len(changes)}
            bounds = {"difference_low": estimate.low, "difference_high": estimate.high}
            found.append({**about, "difference": estimate.mean, **bounds})
    return found


def _by_question(run: Run, row: Mapping[str, Any]) -> dict[str, float]:
    pairs = zip(map(str, run.about["questions"]), row.get("question_scores") or (), strict=False)
    return {key: score for key, score in pairs if score is not None and math.isfinite(score)}


def _answers(path: Path, *columns: pl.Expr) -> pl.DataFrame:
    """Returns columns made of `id`, `question`, `trial`, `score`, `text` and `characters` of answers.

    Samples of tasks are questions: their id has the task and a number, their text is the expected output.
    """
    of_tasks = path.parent.name == curve.OUTPUTS
    names = ("task", "gold", "output", "value", "index")
    names = names if of_tasks else ("question_id", "question", "answer", "average", "trial")
    key, question, text, score, number = map(pl.col, names)
    text, score = text.cast(pl.String).fill_null(""), score.cast(pl.Float64)
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(
            id=pl.concat_str(key, number, separator="/") if of_tasks else key.cast(pl.String),
            question=question.cast(pl.String).fill_null(""),
            trial=pl.lit(1) if of_tasks else number.cast(pl.Int64),
            score=pl.when(score.is_finite()).then(score.round(_DECIMALS)),
            text=text.str.head(LONGEST),
            characters=text.str.len_chars(),
        )
        return frame.filter(pl.col("id").is_not_null()).select(*columns).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"not the answers of a step: {error}", path=path) from None


def _shown_steps(runs: Sequence[Run]) -> tuple[list[int], int]:
    """Returns the steps whose answers the page has, every n-th and the last, and how many it leaves out."""
    sizes: Counter[int] = Counter()
    characters = pl.col("text").str.len_chars().sum()
    for run in runs:
        for step in (row["step"] for row in run.rows):
            for path in run.files(step):
                sizes[step] += _answers(path, characters).item()
    steps = sorted(sizes)
    thinned = (steps[::-every][::-1] for every in count(1))
    shown = next(s for s in thinned if len(s) < 2 or sum(sizes[step] for step in s) <= CHARACTERS)
    return shown, len(steps) - len(shown)


def _answer_payloads(
    runs: Sequence[Run], steps: Sequence[int], folder: str
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Returns the questions, and a payload in `folder` for each: by run and step, answers.

    An answer is `[trial, score, text, characters]`. Characters are those of the whole answer, whose beginning
    the text may be.
    """
    names: dict[str, dict[str, str]] = {}
    payloads: dict[str, Any] = {}
    for i, run in enumerate(runs):
        for j, step in enumerate(steps):
            for path in run.files(step):
                for key, question, *answer in _answers(path, pl.all()).iter_rows():
                    if key not in names:
                        name = f"{folder}curve/{len(names)}"
                        names[key] = {"id": key, "text": question, "payload": name}
                        payloads[name] = [[[] for _ in steps] for _ in runs]
                    payloads[names[key]["payload"]][i][j].append(answer)
    return list(names.values()), payloads
