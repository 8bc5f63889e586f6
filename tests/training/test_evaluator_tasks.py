"""`StepEvaluator` with tasks of llm-jp-eval: their figures are those of `evaluate`, and what goes wrong."""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from generating import FakeEngine
from pfgen_rs import InputError, SettingsError
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.generate import Task
from pfgen_rs.llm_jp_eval import correlation
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, read_task, read_tasks
from pfgen_rs.llm_jp_eval.prompts import filled, template
from pfgen_rs.llm_jp_eval.scoring import evaluate
from pfgen_rs.training import StepEvaluator, read_curve
from pfgen_rs.training.curve import SCHEMA
from pfgen_rs.training.fixed_samples import TASK_COLUMNS

NAMES = ["jcommonsenseqa", "jemhopqa", "jsts", "chabsa"]
EVERY_CATEGORY = [*sorted({*NAMES} - {"jsts"}), "jamp", "jnli", "jsquad", "wiki_pas", "mawps"]
Texts = Callable[[Sequence[Task]], list[str]]


@pytest.fixture(scope="module")
def folder(jpeval_dir: Path) -> Path:
    """Converted files, made up."""
    return jpeval_dir / "golden" / "mini" / "evaluation"


@pytest.fixture(scope="module")
def datas(folder: Path) -> list[TaskData]:
    return read_tasks(folder, sorted(NAMES))


def greedy(length: int) -> Parameters:
    return Parameters(length, 0.0, None, ())


def is_sample(task: Task) -> bool:
    return task.parameters is not None


def answering(folder: Path, wrong: int = 3, names: Sequence[str] = NAMES) -> Texts:
    """A model that answers each sample as its file does, and every so many of them otherwise."""
    known = {
        f"{name}/test/{index}": sample.output if (index + 1) % wrong else "5\n"
        for name in names
        for index, sample in enumerate(read_task(folder, name).samples)
    }
    return lambda tasks: [known.get(task.question, "猫は眠ります。") for task in tasks]


def evaluator(generate: Any = None, **more: Any) -> StepEvaluator:
    settings = {"every": 1, "questions": 2, "tasks": NAMES, "shots": 2, **more}
    return StepEvaluator("mini", generate, **settings)


def outputs_of(texts: Texts, ours: StepEvaluator) -> dict[str, list[str]]:
    tasks = [task for task in ours.tasks if is_sample(task)]
    found: dict[str, list[str]] = {}
    for task, text in zip(tasks, texts(tasks), strict=True):
        found.setdefault(task.question.split("/")[0], []).append(text)
    return found


@pytest.mark.parametrize("profile", ["1.3.0", "swallow"])
def test_figures_are_those_of_evaluate(folder: Path, datas: list[TaskData], profile: str) -> None:
    texts = answering(folder)
    with evaluator(texts, tasks_folder=folder, profile=profile) as ours:
        ours(0)
        ours.wait()
        row = ours.curve.row(0, named=True)
    expected = evaluate(datas, outputs_of(texts, ours), profile)
    for data in datas:
        [first, *others] = data.metrics
        assert row[f"llm_jp_eval/{data.task}"] == expected.scores[f"{data.task}_{first}"]
        for name in (f"{data.task}_{metric}" for metric in others):
            assert row[f"llm_jp_eval/{name}"] == expected.scores[name]
        assert row[f"llm_jp_eval/{data.task}_answers"] == len(data.samples)
    assert 0 < row["llm_jp_eval/jcommonsenseqa"] < 1
    values = expected.frame.filter(pl.col("task") == "jemhopqa")["value"].to_list()
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert row["llm_jp_eval/jemhopqa_se"] == pytest.approx(error)
    rows = expected.frame.filter(pl.col("task") == "jsts").select("pred", "gold").rows()
    left = [rows[:i] + rows[i + 1 :] for i in range(len(rows))]
    each = [correlation("spearman", [p for p, _ in some], [g for _, g in some]) for some in left]
    jackknifed = statistics.pstdev(each) * math.sqrt(len(rows) - 1)
    assert row["llm_jp_eval/jsts_spearman_se"] == pytest.approx(jackknifed)
    assert jackknifed > 0
    assert list(ours.curve.columns)[: len(SCHEMA)] == list(SCHEMA)


def test_the_benchmark_is_scored_as_without_tasks(folder: Path) -> None:
    curves = []
    for more in ({"tasks": ()}, {"tasks_folder": folder}):
        with evaluator(answering(folder), **more) as ours:
            ours(0)
        curves.append(ours.curve.select(pl.col(list(SCHEMA)).exclude("generation_seconds")))
    assert curves[0].equals(curves[1])
    assert curves[0]["score"][0] > 0


def test_prompts_and_parameters_are_those_of_the_specification(
    folder: Path, datas: list[TaskData]
) -> None:
    seen: list[Task] = []

    def generate(tasks: Sequence[Task]) -> list[str]:
        seen.extend(tasks)
        return ["0"] * len(tasks)

    with evaluator(generate, tasks_folder=folder, n=3, mode="chat") as ours:
        ours(0)
    assert [is_sample(task) for task in seen] == [False] * 2 + [True] * 11
    assert list(ours.tasks) == seen
    for data in datas:
        own = [task for task in seen if task.question.startswith(f"{data.task}/test/")]
        inputs = [sample.input for sample in data.samples[:3]]
        assert [task.prompt for task in own] == [filled(template(data, 2), text) for text in inputs]
        assert {task.parameters for task in own} == {greedy(data.output_length)}
        assert [task.messages for task in own] == [
            [{"role": "user", "content": task.prompt}] for task in own
        ]


def test_outputs_stay_as_they_are(folder: Path, tmp_path: Path) -> None:
    """Neither cut nor stripped as answers to the benchmark are; what is not Unicode is replaced."""
    given = [" 1", "A: 1", "\n\n1", "<think>0\n\n</think>\n\n1", "1\ud800"]
    told = iter([*given[:4], given[3], *given[:3]])
    for think, outputs in (("keep", given[:4]), ("strip", ["1", *given[:3]])):
        place = tmp_path / think
        settings: dict[str, Any] = {"questions": 0, "tasks": "jcommonsenseqa", "think": think}
        settings |= {"tasks_folder": folder, "folder": place}
        with evaluator(lambda tasks: [next(told) for _ in tasks], **settings) as ours:
            ours(3)
        table = pl.read_parquet(place / "task_answers" / "step_00000003.parquet")
        assert table["output"].to_list() == outputs
        assert "input" not in table.columns
    told = iter([given[4]] * 4)
    with evaluator(lambda _: list(told), questions=0, tasks="MC", tasks_folder=folder) as ours:
        ours(0)
    assert ours.curve["llm_jp_eval/jcommonsenseqa"].to_list() == [0.0]


def test_tasks_alone_and_their_average(folder: Path, tmp_path: Path) -> None:
    texts = answering(folder, names=EVERY_CATEGORY)
    logged: dict[int, dict[str, float]] = {}
    settings: dict[str, Any] = {"questions": 0, "tasks": EVERY_CATEGORY, "tasks_folder": folder}
    settings["loggers"] = lambda metrics, step: logged.update({step: metrics})
    with evaluator(texts, folder=tmp_path, **settings) as ours:
        ours(0)
        ours(1)
    assert ours.curve["score"].to_list() == [None, None]
    assert ours.curve["questions"].to_list() == [0, 0]
    row = ours.curve.row(1, named=True)
    expected = evaluate(read_tasks(folder, EVERY_CATEGORY), outputs_of(texts, ours))
    assert row["llm_jp_eval/AVR"] == expected.averages["AVR"] > 0
    errors = {name: row[f"llm_jp_eval/{name}_se"] / 7 for name in EVERY_CATEGORY}
    shares = [error / (2 if name in ("jamp", "jnli") else 1) for name, error in errors.items()]
    assert row["llm_jp_eval/AVR_se"] == pytest.approx(math.hypot(*shares))
    assert not (tmp_path / "answers").exists()
    prefixed = {name: value for name, value in row.items() if name.startswith(TASK_COLUMNS)}
    values = {f"pfgen/{n}": v for n, v in prefixed.items() if not n.endswith("_answers")}
    assert logged[1] == {
        **values,
        "pfgen/llm_jp_eval/missing": 0.0,
        "pfgen/generation_seconds": row["generation_seconds"],
    }
    assert "pfgen/llm_jp_eval/jcommonsenseqa" in logged[1]


def test_a_curve_with_tasks_is_continued(folder: Path, tmp_path: Path) -> None:
    settings = {"tasks_folder": folder, "folder": tmp_path, "n": 2}
    with evaluator(answering(folder, 2), **settings) as ours:
        for step in range(4):
            ours(step)
        state = json.loads(json.dumps(ours.state_dict()))
        ours.rewind(1)
    names = [f"step_{step:08d}.parquet" for step in range(5)]

    def kept() -> list[list[str]]:
        kinds = ("answers", "task_answers")
        return [sorted(path.name for path in (tmp_path / kind).iterdir()) for kind in kinds]

    assert kept() == [names[:2]] * 2
    whole, about = read_curve(tmp_path / "curve.parquet")
    assert whole.equals(ours.curve)
    assert about["tasks"] == ["chabsa", "jcommonsenseqa", "jemhopqa", "jsts"]
    with evaluator(answering(folder, 9), **settings) as again:
        again.load_state_dict(state)
        again(4)
    assert again.curve["step"].to_list() == [0, 1, 2, 3, 4]
    assert again.curve["llm_jp_eval/jcommonsenseqa"].to_list() == [0.5] * 4 + [1.0]
    with evaluator(answering(folder, 9), **settings) as other:
        other(4)
    assert kept() == [[*names[:2], names[4]]] * 2
    assert (tmp_path / "old-1" / "task_answers" / names[4]).exists()


def test_other_curves_are_not_continued(folder: Path, tmp_path: Path) -> None:
    """Those of other tasks, samples, settings or data."""
    changed = tmp_path / "changed"
    for split in ("train", "test"):
        (changed / split).mkdir(parents=True)
        text = (folder / split / "jcommonsenseqa.json").read_text("utf-8")
        text += "\n" * (split == "train")
        (changed / split / "jcommonsenseqa.json").write_text(text, "utf-8")
    settings = {"tasks": "MC", "tasks_folder": folder, "folder": tmp_path / "curve"}
    with evaluator(answering(folder), **settings) as ours:
        ours(0)
    for more, name in (
        ({"tasks": ["jamp"]}, "tasks: "),
        ({"tasks": ()}, "tasks: "),
        ({"n": 1}, "tasks_n"),
        ({"shots": 1}, "tasks_shots"),
        ({"split": "dev"}, "tasks_split"),
        ({"profile": "swallow"}, "tasks_profile"),
        ({"tasks_folder": changed}, "tasks_data"),
    ):
        wrong: dict[str, Any] = more
        with pytest.raises(SettingsError, match=rf"another sample \({name}"):
            evaluator(answering(folder), **{**settings, **wrong})


def test_an_engine_is_asked_by_parameters(folder: Path) -> None:
    texts = answering(folder)
    engine = FakeEngine(lambda task: texts([task])[0])
    own = Parameters(7, 0.5)
    with evaluator(engine=engine, parameters=own, tasks_folder=folder) as ours:
        ours(0)
    lengths = [191, 1, 15, 3]  # in the order in which the tasks are run
    assert engine.parameters == [own, *(greedy(n) for n in lengths)]
    assert [len(call) for call in engine.calls] == [2, 2, 4, 4, 4]
    with evaluator(texts, tasks_folder=folder) as theirs:
        theirs(0)
    same = pl.exclude("generation_seconds")
    assert ours.curve.select(same).equals(theirs.curve.select(same))


def test_outputs_that_are_missing_are_left_out(folder: Path) -> None:
    """Those that are there are scored alone; a task without any has no figure."""
    texts = answering(folder, 4)
    late = ("jcommonsenseqa/test/3", "jsts/", "chabsa/test/0")
    logged: list[dict[str, float]] = []
    engine = FakeEngine(
        lambda task: ValueError("late") if task.question.startswith(late) else texts([task])[0]
    )
    with evaluator(
        engine=engine, tasks_folder=folder, loggers=lambda metrics, _: logged.append(metrics)
    ) as ours:
        ours(0)
    row = ours.curve.row(0, named=True)
    names = ("jcommonsenseqa", "jcommonsenseqa_answers", "jsts", "jsts_answers", "chabsa_answers")
    assert [row[f"llm_jp_eval/{name}"] for name in names] == [1.0, 3, None, 0, 1]
    assert row["answers"] == 2
    assert logged[0]["pfgen/llm_jp_eval/missing"] == pytest.approx(6 / 14)


@pytest.mark.parametrize("late", ["outputs", "answers"])
def test_there_may_be_none_in_time(folder: Path, tmp_path: Path, late: str) -> None:
    texts = answering(folder)
    engine = FakeEngine(
        lambda task: (
            ValueError("late") if is_sample(task) == (late == "outputs") else texts([task])[0]
        )
    )
    for step in (0, 1):
        with evaluator(engine=engine, tasks_folder=folder, folder=tmp_path) as ours:
            ours(step)
    row = read_curve(tmp_path / "curve.parquet")[0].row(1, named=True)
    assert [path.name for path in tmp_path.glob("*answers")] == [
        "answers" if late == "outputs" else "task_answers"
    ]
    if late == "outputs":
        assert (row["llm_jp_eval/jsts"], row["llm_jp_eval/jsts_answers"]) == (None, 0)
        assert row["score"] > 0
    else:
        assert (row["score"], row["difference"], row["answers"]) == (None, None, 0)
        assert row["llm_jp_eval/jcommonsenseqa"] == 0.75


def test_what_cannot_be_is_told(folder: Path, tmp_path: Path) -> None:
    for wrong, error, match in (
        ({"tasks": ["jamb"]}, SettingsError, "unknown task 'jamb': expected one of chabsa, "),
        ({"tasks": [3]}, SettingsError, r"`tasks` must be a list of texts, not \[3\]"),
        ({"n": 0}, SettingsError, "`n` must be an integer of at least 1, not 0"),
        ({"shots": -1}, InputError, "the number of shots must be an integer of at least 0"),
        ({"shots": 99}, SettingsError, "choose fewer"),
        ({"split": "all"}, InputError, "has no split all: choose among train, dev, test"),
        ({"profile": "old"}, SettingsError, "unknown profile 'old'"),
        ({"tasks": "niilc"}, InputError, "no file of the task 'niilc'"),
        ({"tasks_folder": tmp_path / "x"}, InputError, "no evaluation files"),
        ({"tasks": (), "questions": 0}, SettingsError, "questions must be between 1 and 14, not 0"),
    ):
        settings: dict[str, Any] = {"tasks_folder": folder, **wrong}
        with pytest.raises(error, match=match):
            evaluator(answering(folder), **settings)
