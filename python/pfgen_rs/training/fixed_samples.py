"""What a model in training is asked at every step, always in the same way, and the scores of a step."""

import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.generate.config import Prompter
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.llm_jp_eval import (
    averaging,
    evaluation_files,
    measures,
    prompts,
    registry,
    scoring,
)
from pfgen_rs.metrics.settings import COLUMNS, PARTS
from pfgen_rs.questions.examples import Example, read_examples
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring import batch
from pfgen_rs.stats import Estimate, from_summary
from pfgen_rs.training.checks import checked_texts, count, whole


class QuestionSample:
    """A fixed set of tasks: some questions of a benchmark, with a number of trials of each.

    `examples`: the benchmark's example answers (default: those in its folder). `questions`: the texts of the
    questions, in order. The tasks are trial 1 of all questions, then trial 2, and so on. Prompts are created
    once: O(trials · questions). `optional`: it may be empty (`questions=0`). Raises `SettingsError`, and
    `InputError` for an unknown question or one without an example answer.
    """

    def __init__(
        self,
        benchmark: QuestionSet,
        examples: Sequence[Example] | None = None,
        *,
        trials: int,
        questions: int | Sequence[str] | None,
        seed: str = "",
        mode: Mode,
        num_examples: int,
        optional: bool = False,
    ) -> None:
        if examples is None and benchmark.folder is None:
            raise SettingsError(
                "the benchmark was not read from files: pass its example answers as `examples`"
            )
        if examples is None:
            examples = read_examples(benchmark.folder, shown=num_examples > 0)
        self.benchmark, self.trials = benchmark, count(trials, "trials")
        if benchmark.settings.unit == "token":
            raise SettingsError(
                "cannot evaluate texts with a benchmark whose answers are lists of tokens"
            )
        self.prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed)
        self.questions: tuple[str, ...] = ()
        if not (optional and questions == 0):
            self.questions = _chosen(benchmark, self.prompter.questions, questions, seed)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks to generate, in the order of the answers."""
        trials = range(1, self.trials + 1)
        return tuple(task for j in trials for task in self.prompter.tasks(j, self.questions))

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """The number of each task's question, for scoring: uint32, shape (tasks,)."""
        return self.benchmark._numbers.find(
            _native.Texts([task.question for task in self.tasks])
        ).array()

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions."""
        return tuple(self.benchmark.find(text).id for text in self.questions)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The settings that must agree for steps to be comparable, as values for JSON."""
        prompts = "\0".join(f"{task.system}\0{task.prompt}" for task in self.tasks)
        return {
            "signature": self.benchmark.signature,
            "mode": self.prompter.mode,
            "trials": self.trials,
            "questions": list(self.ids),
            "prompts": _digest(prompts),
        }

    def scored(self, texts: Sequence[str | None]) -> "ScoredAnswers | None":
        """Score the answers to the tasks on this thread only, leaving the others to training.

        `None` is a task without an answer, and the result if there are no answers at all. Raises
        `InputError` for values that are not valid text.
        """
        given = np.array([text is not None for text in texts], dtype=bool)
        if not given.any():
            return None
        column = self.benchmark._coder.column([text for text in texts if text is not None], 1)
        codes = _native.Codes(self.numbers[given])
        scores = batch.score_column(self.benchmark, codes, column, threads=1)

        def placed(values: NDArray[Any]) -> Floats:
            found = np.full(len(given), np.nan)
            found[given] = values
            return found.reshape(self.trials, len(self.questions))

        metrics = {
            name: placed(values) for name, values in zip(COLUMNS, scores.columns, strict=False)
        }
        return ScoredAnswers(self, texts, placed(scores.lengths), metrics)


@dataclass(frozen=True)
class ScoredAnswers:
    """Scores of a step's answers: float64, shape (trials, questions), NaN where there is no answer.

    `texts`: the answers in the same order, flattened; `None` where there is none.
    """

    sample: QuestionSample
    texts: Sequence[str | None]
    lengths: Floats
    metrics: dict[str, Floats]

    def row(self, baseline: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the columns of the curve; differences from `baseline`, a row, are paired by question."""
        means, score = _by_question(self.metrics["average"])
        row: dict[str, Any] = _bounds("score", score)
        for name in PARTS:
            row |= _bounds(name, _by_question(self.metrics[name])[1])
        question_scores = [None if np.isnan(mean) else mean for mean in means.tolist()]
        empty = [not text for text in self.texts if text is not None]
        return row | {
            **difference(question_scores, baseline),
            "question_se": score.question_se,
            "trial_se": score.trial_se,
            "length": float(self.lengths[~np.isnan(self.lengths)].mean()),
            "empty": sum(empty) / len(empty),
            "questions": score.questions,
            "answers": score.responses,
            "question_scores": question_scores,
        }

    def table(self) -> pl.DataFrame:
        """Returns all answers with scores: question_id, question, trial, answer, length, metrics, average."""
        rows = [row for row, text in enumerate(self.texts) if text is not None]
        tasks = [self.sample.tasks[row] for row in rows]
        return pl.DataFrame(
            {
                "question_id": [self.sample.benchmark.find(task.question).id for task in tasks],
                "question": [task.question for task in tasks],
                "trial": [task.trial for task in tasks],
                "answer": [self.texts[row] for row in rows],
                "length": self.lengths.ravel()[rows].astype(np.int64),
                **{name: values.ravel()[rows] for name, values in self.metrics.items()},
            }
        )


def difference(
    scores: Sequence[float | None] | None, baseline: Mapping[str, Any] | None
) -> dict[str, float | None]:
    """Returns the columns of the mean difference of questions' scores from those of `baseline`, a row."""
    if scores is None or baseline is None or baseline["question_scores"] is None:
        return {}
    before, after = (np.array(each, np.float64) for each in (baseline["question_scores"], scores))
    changes = (after - before)[~np.isnan(after - before)]
    if not len(changes):
        return {}
    # The spread of the questions' changes already includes the noise of trials.
    return _bounds("difference", from_summary(changes, np.zeros_like(changes), 1))


def _chosen(
    benchmark: QuestionSet, known: Sequence[str], wanted: int | Sequence[str] | None, seed: str
) -> tuple[str, ...]:
    """Returns texts of questions: all of `known`, a number of them, or the given ones (texts or ids).

    The result is in the order of `known`. A number of questions is chosen by hashes of their texts with the
    seed, so a larger number includes the questions of a smaller one. Raises `SettingsError` for an invalid
    number, and `InputError` for an unknown question or one without an example answer.
    """
    if wanted is None:
        chosen = set(known)
    elif isinstance(wanted, int):
        if not 1 <= wanted <= len(known):
            raise SettingsError(f"questions must be between 1 and {len(known)}, not {wanted}")
        chosen = set(sorted(known, key=lambda text: _digest(f"{seed}::{text}"))[:wanted])
    else:
        chosen = {benchmark.find(question).text for question in checked_texts(wanted, "questions")}
    for text in chosen - set(known):
        raise InputError("no example answer to this question", question=text)
    if not chosen:
        raise SettingsError("no questions chosen")
    for text in chosen:
        benchmark.find(text)
    return tuple(text for text in known if text in chosen)


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _by_question(values: Floats) -> tuple[Floats, Estimate]:
    """Returns the questions' means (NaN without answers), and their mean, clustered by question."""
    counts = (~np.isnan(values)).sum(axis=0)
    if counts.min() == len(values):
        means, sds = values.mean(axis=0), values.std(axis=0)
    else:
        answered = [column[~np.isnan(column)] for column in values.T]
        means = np.array([column.mean() if len(column) else np.nan for column in answered])
        sds = np.array([column.std() if len(column) else np.nan for column in answered])
    known = counts > 0
    return means, from_summary(means[known], sds[known], counts[known].tolist())


def _bounds(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


# The samples of llm-jp-eval's tasks that are run at every step, and the figures of a step's outputs.


TASK_COLUMNS = "llm_jp_eval/"
"""The names of columns about tasks begin with this."""
TASK_ANSWERS = "_answers"
"""Those with the number of a task's outputs end with this."""
STDERR = "_se"
_AVR = "AVR"
_TOP = 0.0  # the temperature at which the likeliest token is taken


class TaskSample:
    """The first samples of some tasks, asked in the same way at every step.

    `names`: of tasks or categories. `datas`: the tasks in the order in which they are run, with the samples
    that are used. The tasks to generate have parameters of their own: at most `output_length` new tokens,
    temperature 0, no stop strings. Raises `SettingsError` for unknown names and invalid settings, and
    `InputError` for missing or invalid files.
    """

    def __init__(
        self,
        names: str | Sequence[str],
        *,
        n: int | None,
        shots: int | None,
        split: str,
        folder: str | os.PathLike[str] | None,
        profile: str,
        mode: Mode,
    ) -> None:
        names = (names,) if isinstance(names, str) else checked_texts(names, "tasks")
        self._n = None if n is None else count(n, "n")
        self._mode = mode
        self._shots = prompts.SHOTS if shots is None else whole(shots, "the number of shots")
        self._split, self.profile = split, profile
        registry.find_profile(profile)
        datas = evaluation_files.read_tasks(
            folder, [task.name for task in registry.chosen_tasks(names)], split, shots
        )
        self._digest = evaluation_files.raw_digest(datas)
        self.datas = tuple(
            replace(
                data,
                samples=data.samples[: evaluation_files.used(data, self._n)],
                metrics=tuple(each for each in data.metrics if not measures.unavailable(each)),
            )
            for data in datas
        )
        self.tasks = tuple(task for data in self.datas for task in self._tasks_of(data))
        """The tasks to generate, in the order of the answers; a task's question is its sample's id."""

    def _tasks_of(self, data: evaluation_files.TaskData) -> Iterator[Task]:
        own = prompts.template(data, data.number_of_shots(self._shots))
        parameters = Parameters(data.output_length, _TOP, None, ())
        for index, sample in enumerate(data.samples):
            name = evaluation_files.item_id(data.task, data.split, index)
            prompt = prompts.filled(own, sample.input)
            yield Task(name, 1, self._mode, prompt, 0, parameters=parameters)

    @cached_property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The columns that the curve has for the tasks, with their types."""
        columns: dict[str, pl.DataType | type[pl.DataType]] = {}
        for data in self.datas:
            for metric in data.metrics:
                columns[_column(data, metric)] = pl.Float64
                columns[_column(data, metric) + STDERR] = pl.Float64
            columns[TASK_COLUMNS + data.task + TASK_ANSWERS] = pl.Int64
        if self._has_average:
            columns |= {TASK_COLUMNS + _AVR: pl.Float64, TASK_COLUMNS + _AVR + STDERR: pl.Float64}
        return columns

    @property
    def _has_average(self) -> bool:
        """Whether the tasks have scores of every category that AVR needs."""
        return not averaging.lacking_categories(_AVR, _scores(self.datas))

    @cached_property
    def description(self) -> dict[str, Any]:
        """The settings that must agree for steps to be comparable, as values for JSON."""
        return {
            "tasks": [data.task for data in self.datas],
            "tasks_split": self._split,
            "tasks_n": self._n,
            "tasks_shots": self._shots,
            "tasks_profile": self.profile,
            "tasks_data": self._digest,
        }

    def scored(self, outputs: Sequence[str | None]) -> tuple[dict[str, Any], pl.DataFrame | None]:
        """Score the outputs, in the order of `tasks`; figures are those over samples with an output.

        Returns the columns of `schema`, of which tasks without any output have none of the figures, and a
        table with a row for each output (`task`, `index`, `output`, `pred`, `gold`, `value`, `exact`,
        `char_f1`), `None` if there are none at all.
        """
        row: dict[str, Any] = {}
        datas, texts, index = [], {}, []
        rest = iter(outputs)
        for data in self.datas:
            own = list(islice(rest, len(data.samples)))
            places = [place for place, text in enumerate(own) if text is not None]
            row[TASK_COLUMNS + data.task + TASK_ANSWERS] = len(places)
            if places:
                datas.append(replace(data, samples=tuple(data.samples[place] for place in places)))
                texts[data.task] = [text for text in own if text is not None]
                index += places
        if not datas:
            return row, None
        found = scoring.evaluate(datas, texts, self.profile)
        # What the files have is not written at every step.
        table = found.frame.drop("input").with_columns(pl.Series("index", index, pl.Int64))
        return row | self._figures(datas, found), table

    def _figures(
        self, datas: Sequence[evaluation_files.TaskData], found: scoring.Evaluation
    ) -> dict[str, float | None]:
        """Returns each task's figures and AVR, if all its tasks have some, with standard errors."""
        figures: dict[str, float | None] = {}
        errors = scoring.standard_errors(found)
        for data in datas:
            for metric in data.metrics:
                column, score = _column(data, metric), f"{data.task}_{metric}"
                figures |= {column: found.scores[score], column + STDERR: errors[score]}
        if self._has_average and len(datas) == len(self.datas):
            shares = [
                None if (error := errors[score]) is None else weight * error
                for score, weight in _weights(datas).items()
            ]
            known = [share for share in shares if share is not None]
            figures[TASK_COLUMNS + _AVR] = averaging.averages(found.scores)[_AVR]
            figures[TASK_COLUMNS + _AVR + STDERR] = math.hypot(*known) if known == shares else None
        return figures


def _column(data: evaluation_files.TaskData, metric: str) -> str:
    """Returns a column's name: that of the task for its main metric, else also that of the metric."""
    main = metric == data.metrics[0]
    return TASK_COLUMNS + (data.task if main else f"{data.task}_{metric}")


def _scores(datas: Sequence[evaluation_files.TaskData]) -> list[str]:
    return [f"{data.task}_{metric}" for data in datas for metric in data.metrics]


def _weights(datas: Sequence[evaluation_files.TaskData]) -> dict[str, float]:
    """Returns the weights of scores in AVR, the mean of the categories' means."""
    board = registry.find_profile(registry.DEFAULT)
    homes = {
        score: category for category in board.averages[_AVR] for score in board.categories[category]
    }
    categories = {score: homes[score] for score in _scores(datas) if score in homes}
    sizes = Counter(categories.values())
    return {score: 1 / (len(sizes) * sizes[home]) for score, home in categories.items()}
