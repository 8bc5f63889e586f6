"""The learning curve, and the record of a run: its curve, answers and logged metrics."""

import json
import math
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pfgen_rs.ask.protocol import Task
from pfgen_rs.errors import InputError, OutputError, SettingsError, unreadable
from pfgen_rs.io import atomic, cleaning, table_writer, tables
from pfgen_rs.lazy import np, pl
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.questions.examples import Example
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.stats.gating import Rule
from pfgen_rs.training import checks
from pfgen_rs.training.fixed_samples import (
    STDERR,
    TASK_ANSWERS,
    TASK_COLUMNS,
    QuestionSample,
    TaskSample,
    difference,
)
from pfgen_rs.training.loggers import LOG, Finished, Logger, LoggerQueue, close_queues

Axis = Literal["step", "tokens"]


CURVE = "curve.parquet"
FOLDER = "pfgen"
"""The default folder for the curve of checkpoints, in theirs."""
ANSWERS = "answers"
OUTPUTS = "task_answers"
_SAMPLE = "pfgen_rs.sample"
_MEASURED = [name + end for name in ("score", *PARTS) for end in ("", "_low", "_high")]
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "step": pl.Int64,
    "tokens": pl.Int64,
    **dict.fromkeys(_MEASURED, pl.Float64),
    "question_se": pl.Float64,
    "trial_se": pl.Float64,
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "length": pl.Float64,
    "empty": pl.Float64,
    "questions": pl.Int64,
    "answers": pl.Int64,
    "generation_seconds": pl.Float64,
    "question_scores": pl.List(pl.Float64),
}
SCHEMA = pl.Schema(_COLUMNS)
"""The columns of every curve. Those about tasks of llm-jp-eval follow them; see `TaskSample.schema`."""


def curve_folder(folder: str | os.PathLike[str]) -> Path:
    """Returns the folder with a curve: the given one, or that of `watch` in a folder of checkpoints."""
    outer, inner = Path(folder), Path(folder) / FOLDER
    return inner if (inner / CURVE).is_file() and not (outer / CURVE).exists() else outer


def read_curve(path: str | os.PathLike[str]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a curve's table and its sample.

    The table has the columns of `SCHEMA`, and those about tasks, which begin with `llm_jp_eval/`. Raises
    `InputError` for files that are not a learning curve.
    """
    try:
        content = Path(path).read_bytes()
        about = json.loads(pl.read_parquet_metadata(content).get(_SAMPLE, ""))
        if not isinstance(about, dict):
            raise ValueError("its description is damaged")
        table = pl.read_parquet(content)
        more = [name for name in table.columns if name.startswith(TASK_COLUMNS)]
        columns = [pl.col(name).cast(kind) for name, kind in SCHEMA.items()]
        return table.select(*columns, *more), about
    except OSError as error:
        raise InputError(unreadable(error), path=Path(path)) from error
    except tables.table_errors() as error:
        raise InputError(f"not a learning curve: {error}", path=Path(path)) from None


def plot_curve(
    curve: pl.DataFrame, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any
) -> None:
    """Plot the score with its interval, and its three parts, against `step` or `tokens`, as `.svg` or `.png`.

    `look`: `title`, `language` and `font`, as for all figures. Requires the extra `plots`. Raises `PlotError`
    and `OutputError`.
    """
    from pfgen_rs.report import plots

    plots.save(plots.learning_curves({"": curve}, x=x, **look), path)


def task_figures(row: Mapping[str, Any]) -> dict[str, float]:
    """Returns the figures of tasks of llm-jp-eval in a row of a curve, by task or task and metric."""
    return {
        name.removeprefix(TASK_COLUMNS): value
        for name, value in row.items()
        if name.startswith(TASK_COLUMNS)
        and not name.endswith((STDERR, TASK_ANSWERS))
        and value is not None
    }


class Fall(NamedTuple):
    """Rows of a curve, in a row, whose scores fell from the best one before them."""

    best: dict[str, Any]
    rows: list[dict[str, Any]]

    def __str__(self) -> str:
        """Returns a sentence with steps and scores."""
        fallen = ", ".join(f"{row['step']} ({row['score']:.4f})" for row in self.rows)
        return (
            f"the score fell: steps {fallen} after {self.best['step']} ({self.best['score']:.4f})"
        )


def find_fall(rows: Sequence[dict[str, Any]], count: int, max_drop: float = 0.01) -> Fall | None:
    """Returns the last `count` rows of a curve if each of them fell from the best row before them.

    A fall is a drop beyond `max_drop` in the test `non-inferiority` of `stats.gating.Rule`, at 95 %. The best
    of n earlier rows is partly the luckiest, so each test has 1/n of the error; without that, a curve that
    has become flat would nearly always be stopped in the end. Of flat curves of 60 rows, three in a row stop
    1 % and two stop 5 % (simulated, with 14 and 50 questions). Where every question has several answers, the
    error is that of trials, as prompts and questions are the same at each step; otherwise it is that of the
    questions' paired differences. Raises `SettingsError` for a `count` below 2 and an invalid `max_drop`.
    """
    if checks.count(count, "checkpoints") < 2:
        raise SettingsError("one checkpoint is not enough to see a fall: expected at least 2")
    scored = [row for row in rows if row["question_scores"] is not None]
    earlier, last = scored[:-count], scored[-count:]
    rule = Rule(max_drop, comparisons=max(1, len(earlier)))
    best = max(earlier, key=lambda row: float(row["score"]), default=None)
    fell = best is not None and all(_has_fallen(best, row, rule) for row in last)
    return Fall(best, last) if best is not None and fell else None


def _has_fallen(best: Mapping[str, Any], row: Mapping[str, Any], rule: Rule) -> bool:
    before, after = (np.array(each["question_scores"], dtype=np.float64) for each in (best, row))
    changes = (after - before)[~np.isnan(after - before)]
    if len(changes) < 2:
        return False
    errors = best["trial_se"], row["trial_se"]
    se = changes.std(ddof=1) / math.sqrt(len(changes)) if None in errors else math.hypot(*errors)
    return float(changes.mean()) + rule.reach(float(se), len(changes) - 1) < -rule.max_drop


_UNLOGGED = {"step", "questions", "answers", "question_scores"}


class Record:
    """The curve of one sample, its files in `folder` (`None`: in memory only), and its loggers.

    `clean` turns generated text into an answer. The answers of a step are written before the curve lists the
    step. `tasks`: the tasks of llm-jp-eval that are evaluated beside the sample; `clean_output` turns
    generated text into an output for them. Safe to use from several threads. Raises `InputError` and
    `SettingsError` if the folder has a curve of another sample, and `OutputError`.
    """

    def __init__(
        self,
        sample: QuestionSample,
        clean: Callable[[str], str],
        folder: Path | None,
        loggers: Sequence[Logger],
        tasks: TaskSample | None = None,
        clean_output: Callable[[str], str] = str,
    ) -> None:
        self.sample, self.tasks, self.folder = sample, tasks, folder
        self._clean, self._clean_output = clean, clean_output
        # `Finished` never blocks, and trainers expect its metrics as soon as a step is scored.
        self._loggers = [one if isinstance(one, Finished) else LoggerQueue(one) for one in loggers]
        self.description = sample.description | (tasks.description if tasks else {})
        """The settings that must agree for steps to be comparable, as values for JSON."""
        self._schema = pl.Schema({**SCHEMA, **(tasks.schema if tasks else {})})
        self._rows: dict[int, dict[str, Any]] = {}
        self._lock = threading.Lock()
        if folder is not None:
            self._go_on(folder)

    def _go_on(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: not a directory: choose another folder for the curve")
        path = folder / CURVE
        atomic.remove_unfinished(path)  # by a killed process
        for left in folder.glob("*answers/.step_*.parquet.*.tmp"):
            atomic.remove_abandoned(left)
        self.reload()

    def reload(self) -> None:
        """Read what other processes have added to the curve. Raises as the constructor does."""
        path = None if self.folder is None else self.folder / CURVE
        if path is not None and path.exists():
            frame, sample = read_curve(path)
            self.check(sample, str(path))
            with self._lock:
                self._set_rows(frame.iter_rows(named=True))

    @property
    def asked(self) -> tuple[Task, ...]:
        """What is generated at every step: the tasks of the sample, then those of llm-jp-eval."""
        return (*self.sample.tasks, *(self.tasks.tasks if self.tasks else ()))

    @property
    def frame(self) -> pl.DataFrame:
        """The curve as a table."""
        return self._table(self.rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the curve, by ascending step."""
        with self._lock:
            return self._sorted()

    def add(
        self, step: int, tokens: int | None, texts: Sequence[str | None], seconds: float
    ) -> dict[str, Any]:
        """Score the texts generated at a step in `seconds`, write and log the results, and return the row.

        `texts`: of the sample's tasks, then of those of llm-jp-eval; `None` is a task without a text. If the
        results cannot be written, the step is not added.
        """
        asked = len(self.sample.tasks)
        answers = [None if text is None else self._clean(text) for text in texts[:asked]]
        outputs = [None if text is None else self._clean_output(text) for text in texts[asked:]]
        scored = self.sample.scored(answers)
        of_tasks, task_table = self.tasks.scored(outputs) if self.tasks else ({}, None)
        table = None if scored is None or self.folder is None else scored.table()
        with self._lock:
            baseline = self._rows.get(0) if step else None
            row = {"questions": 0, "answers": 0} if scored is None else scored.row(baseline)
            row |= {"step": step, "tokens": tokens, "generation_seconds": seconds, **of_tasks}
            row = {name: row.get(name) for name in self._schema}
            for later in self._rows.values() if step == 0 else ():  # other processes were faster
                later |= difference(later["question_scores"], row)
            self._write(row, {ANSWERS: table, OUTPUTS: task_table})
        metrics = self._metrics(row)
        for logger in self._loggers:
            logger(metrics, step)
        return row

    def close(self) -> None:
        """Wait for the loggers, for a limited time, and report what they did not receive."""
        close_queues(self._loggers)

    def _write(self, row: dict[str, Any], tables: Mapping[str, pl.DataFrame | None]) -> None:
        step = row["step"]
        for kind, table in tables.items():
            if table is not None and self.folder is not None:
                table_writer.write_parquet(self.folder / kind / file_name(step), table)
        self._rows[step] = row
        try:
            self._save()
        except Exception:
            del self._rows[step]
            raise

    def _sorted(self) -> list[dict[str, Any]]:
        return [self._rows[step] for step in sorted(self._rows)]

    def _set_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = {row["step"]: {name: row.get(name) for name in self._schema} for row in rows}

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=self._schema, orient="row")

    def _save(self, folder: Path | None = None) -> None:
        """Write the curve atomically, into another folder on request."""
        folder = folder or self.folder
        if folder is not None:
            about = {_SAMPLE: json.dumps(self.description, sort_keys=True)}
            table_writer.write_parquet(folder / CURVE, self._table(self._sorted()), about)

    def _drop(self, step: int) -> list[int]:
        """Drop this step and all later ones; returns the dropped steps."""
        dropped = [other for other in sorted(self._rows) if other >= step]
        for other in dropped:
            del self._rows[other]
        return dropped

    def drop_from(self, step: int) -> None:
        """Drop this step and all later ones after training went back, with their answers."""
        with self._lock:
            dropped = self._drop(step)
            if dropped:
                self._save()
                self._remove(dropped)

    def set_aside(self, step: int) -> None:
        """Drop this step and later ones of an earlier run, saving its curve and their answers in `old-N`.

        N is the first free number. Logs a warning, since this may be unintended.
        """
        with self._lock:
            if self.folder is None or not any(known >= step for known in self._rows):
                return
            places = (self.folder / f"old-{number}" for number in count(1))
            old = next(place for place in places if not place.exists())
            self._save(old)
            dropped = self._drop(step)
            self._save()
            try:
                for path in filter(Path.exists, self._answers(dropped)):
                    (old / path.parent.name).mkdir(exist_ok=True)
                    path.rename(old / path.parent.name / path.name)
            except OSError as error:
                raise atomic.writing_failed(old, error) from error
        many = "1 step" if len(dropped) == 1 else f"{len(dropped)} steps"
        LOG.warning(
            "%s contains the curve of an earlier run, but training starts at step %d: moved %s (%d to %d) to "
            "%s. To continue a curve, use load_state_dict",
            *(self.folder, step, many, dropped[0], dropped[-1], old),
        )

    def replace(self, rows: Iterable[Mapping[str, Any]], keep: Collection[int] = ()) -> None:
        """Replace all rows except those of the steps in `keep`, and remove the answers of dropped steps."""
        with self._lock:
            before = self._rows
            self._set_rows([*(row for step, row in before.items() if step in keep), *rows])
            self._save()
            self._remove(sorted(before.keys() - self._rows.keys()))

    def check(self, sample: Mapping[str, Any], origin: str) -> None:
        """Raise `SettingsError` if `origin` holds the curve of another sample."""
        for name in (*self.description, *sample):
            theirs, ours = sample.get(name), self.description.get(name)
            if theirs != ours:
                raise SettingsError(
                    f"{origin}: contains the curve of another sample ({name}: {theirs!r}, now {ours!r}): "
                    "choose another folder, or use the same settings"
                )

    def _answers(self, steps: Iterable[int]) -> list[Path]:
        """Returns the files of the answers at these steps; empty without a folder."""
        folders = [] if self.folder is None else [self.folder / ANSWERS, self.folder / OUTPUTS]
        return [folder / file_name(step) for folder in folders for step in steps]

    def _remove(self, steps: Iterable[int]) -> None:
        for path in self._answers(steps):
            path.unlink(missing_ok=True)

    def _metrics(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Returns what is logged of a row."""
        metrics = {
            f"pfgen/{name}": value
            for name, value in row.items()
            if value is not None and name not in _UNLOGGED and not name.endswith(TASK_ANSWERS)
        }
        if self.sample.tasks:
            metrics["pfgen/missing"] = 1 - row["answers"] / len(self.sample.tasks)
        if self.tasks is not None:
            answered = sum(row[name] or 0 for name in row if name.endswith(TASK_ANSWERS))
            metrics[f"pfgen/{TASK_COLUMNS}missing"] = 1 - answered / len(self.tasks.tasks)
        return metrics


def new_record(
    benchmark: QuestionSet,
    folder: str | os.PathLike[str] | None,
    loggers: Sequence[Logger],
    *,
    stop: tuple[str, ...],
    think: cleaning.Think,
    mode: cleaning.Mode,
    tasks: str | Sequence[str],
    n: int | None,
    shots: int | None,
    split: str,
    profile: str,
    tasks_folder: str | os.PathLike[str] | None,
    examples: Sequence[Example] | None = None,
    **sample: Any,
) -> Record:
    """Returns a run's record; the arguments are those of `StepEvaluator`, `sample` of `QuestionSample`."""
    checks.check_choice(think, "think", cleaning.THINK)
    asked = QuestionSample(benchmark, examples, mode=mode, optional=bool(tasks), **sample)
    how: dict[str, Any] = {"n": n, "shots": shots, "split": split, "folder": tasks_folder}
    return Record(
        asked,
        partial(cleaning.cleaned, mode=mode, stop=stop, think=think),
        Path(folder) if folder else None,
        loggers,
        TaskSample(tasks, profile=profile, mode=mode, **how) if tasks else None,
        partial(_cleaned_output, think=think),
    )


def _cleaned_output(text: str, think: cleaning.Think) -> str:
    """Returns an output for a task: as it was generated, but for reasoning and invalid text."""
    text = cleaning.unicode_text(text)
    return cleaning.without_thoughts(text) if think == "strip" else text


def file_name(step: int) -> str:
    """Returns the name of the files with the answers of a step."""
    return f"step_{step:08d}.parquet"
