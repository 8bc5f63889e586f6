"""`StepEvaluator`: the figures of a curve, its sample, its files, and what goes wrong."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats  # type: ignore[import-untyped]

import helpers
import small
from pfgen_rs import InputError, OutputError, PfgenError, SettingsError, load_benchmark, score_file
from pfgen_rs.generate import Example, Task
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.training import StepEvaluator, read_curve
from pfgen_rs.training.curve import SCHEMA
from pfgen_rs.training.fixed_samples import QuestionSample

RUN = bundled_path() / "runs" / "faithful"
PARTS = ("fluency", "truthfulness", "helpfulness")
FIGURES = pl.exclude("generation_seconds")
Generate = Callable[[Sequence[Task]], list[str]]


def said(text: str = "猫は眠ります。") -> Generate:
    """Whoever always answers the same."""
    return lambda tasks: [text] * len(tasks)


@pytest.fixture(scope="module")
def run() -> dict[str, list[str]]:
    """Answers of a bundled run by question, in the order of the file."""
    found: dict[str, list[str]] = {}
    frame = score_file(RUN).frame
    for question, answer in frame.select("question", "answer").iter_rows():
        found.setdefault(question, []).append(answer)
    return found


@pytest.fixture(scope="module")
def scored(run: dict[str, list[str]]) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """A curve of two steps, the second one a run; the responses of that; and its trials."""
    trials = min(map(len, run.values()))

    def generate(tasks: Sequence[Task]) -> list[str]:
        return [run[t.question][t.trial - 1][: None if step else 12] for t in tasks]

    step = 0
    with StepEvaluator("mini", generate, every=5, trials=trials) as evaluator:
        evaluator(0)
        step = 5
        evaluator(5, tokens=1000)
        evaluator.wait()
        curve = evaluator.curve
    rows = [(q, a) for q, answers in run.items() for a in answers[:trials]]
    frame = load_benchmark("mini").score_batch([q for q, _ in rows], [a for _, a in rows])
    return curve, frame, trials


def test_figures_are_those_of_the_run(scored: tuple[pl.DataFrame, pl.DataFrame, int]) -> None:
    curve, frame, trials = scored
    row = curve.row(1, named=True)
    assert curve.schema == SCHEMA
    assert (row["step"], row["tokens"], row["empty"]) == (5, 1000, 0.0)
    assert (row["questions"], row["answers"]) == (14, len(frame))
    for name in PARTS:
        assert row[name] == pytest.approx(frame[name].mean(), abs=1e-12)
    assert row["length"] == pytest.approx(frame["length"].mean(), abs=1e-9)
    assert row["score"] == pytest.approx(frame["average"].mean(), abs=1e-12)
    counts = score_file(RUN)
    if len(counts.frame) == trials * 14:
        assert row["score"] == pytest.approx(counts.to_dict()["score"], abs=1e-4)


def test_intervals_are_students_over_questions(
    scored: tuple[pl.DataFrame, pl.DataFrame, int],
) -> None:
    curve, frame, _ = scored
    means = frame.group_by("question_id").agg(pl.col("average").mean())["average"].to_numpy()
    row = curve.row(1, named=True)
    assert sorted(row["question_scores"]) == pytest.approx(sorted(means))
    interval = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    assert (row["score_low"], row["score_high"]) == pytest.approx(interval)
    before, after = (np.array(scores) for scores in curve["question_scores"])
    paired = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(paired))
    assert row["difference"] == pytest.approx(curve["score"][1] - curve["score"][0])
    assert curve["difference"][0] is None


def test_a_fall_is_seen(run: dict[str, list[str]]) -> None:
    cuts = iter([30, None, 2, 1])

    def generate(tasks: Sequence[Task]) -> list[str]:
        cut = next(cuts)
        return [run[t.question][t.trial - 1][:cut] for t in tasks]

    with StepEvaluator("mini", generate, every=1, trials=2) as evaluator:
        for step in range(4):
            assert evaluator.fall(2) is None
            evaluator(step)
            evaluator.wait()
    assert str(evaluator.fall(2)).startswith("the score fell: steps 2 (0.")


def test_texts_become_answers_as_in_runs(tmp_path: Path) -> None:
    raw = [" 猫です。\n\nQ: 次は？", "\n", "犬\ud800", " A: 魚 "]
    with StepEvaluator(
        "mini", lambda _: raw, every=1, questions=4, folder=tmp_path, seed=3
    ) as evaluator:
        evaluator(0)
    answers = pl.read_parquet(tmp_path / "answers" / "step_00000000.parquet")
    assert answers["answer"].to_list() == ["猫です。", "", "犬\ufffd", "A: 魚"]
    assert evaluator.curve["empty"].to_list() == [0.25]
    scores = load_benchmark("mini").score_batch(answers["question_id"], answers["answer"])
    for name in (*PARTS, "average", "length"):
        assert answers[name].to_list() == scores[name].to_list()
    with StepEvaluator("mini", lambda _: raw, every=1, questions=4, mode="chat") as evaluator:
        evaluator(0)
    assert evaluator.curve["length"].to_list() == [(len("猫です。") + 0 + 2 + 1) / 4]


def test_the_sample_is_fixed() -> None:
    seen: list[list[Task]] = []

    def generate(tasks: Sequence[Task]) -> list[str]:
        seen.append(list(tasks))
        return ["猫"] * len(tasks)

    with StepEvaluator("mini", generate, every=10, trials=2, questions=5) as evaluator:
        for step in range(31):
            assert evaluator(step) == (step % 10 == 0)
    assert len(seen) == 4
    assert all(tasks == seen[0] for tasks in seen)
    assert [task.trial for task in seen[0]] == [1] * 5 + [2] * 5
    assert len({task.seed for task in seen[0]}) == 2


def test_questions_are_chosen_by_the_seed() -> None:
    def chosen(**more: Any) -> list[str]:
        with StepEvaluator("mini", said(), every=1, **more) as evaluator:
            return list(evaluator.sample.ids)

    assert set(chosen(questions=3)) < set(chosen(questions=7)) < set(chosen())
    assert len({tuple(chosen(questions=3, seed=seed)) for seed in range(8)}) > 4
    text = load_benchmark("mini")["Q03"].text
    assert set(chosen(questions=["Q02", text])) == {"Q02", "Q03"}


def test_what_cannot_be_is_told() -> None:
    loggers = "`loggers` must be one or more functions"
    for wrong, error, match in (
        ({"every": 2.5}, SettingsError, "`every` must be an integer of at least 1, not 2.5"),
        ({"trials": 0}, SettingsError, "`trials` must be .* at least 1"),
        ({"loggers": ["x"]}, SettingsError, rf"{loggers} .*, not \['x'\]"),
        ({"loggers": 3}, SettingsError, loggers),
        ({"think": "foo"}, SettingsError, "`think` must be one of keep, strip, not 'foo'"),
        ({"stop": "Q:"}, SettingsError, "`stop` must be a list of texts, not 'Q:'"),
        ({"questions": "Q02"}, SettingsError, "`questions` must be a list of texts"),
        ({"questions": 99}, SettingsError, "questions must be between 1 and 14, not 99"),
        ({"questions": []}, SettingsError, "no question"),
        ({"questions": ["Q99"]}, LookupError, "no question with exactly"),
        ({"folder": __file__}, OutputError, "not a directory"),
        ({"mode": "poem"}, SettingsError, "unknown mode"),
    ):
        settings_: dict[str, Any] = {"every": 1, **wrong}
        with pytest.raises(error, match=match):
            StepEvaluator("mini", said(), **settings_)
    with pytest.raises(SettingsError, match="`generate` must be a function, not str"):
        StepEvaluator("mini", "x", every=1)  # type: ignore[arg-type]
    bench = small.benchmark({"answers": {"P": ["猫"]}})
    with pytest.raises(SettingsError, match="`examples`"):
        StepEvaluator(bench, said(), every=1)
    text = next(iter(bench)).text
    with StepEvaluator(bench, said("猫"), every=1, examples=[Example(text, "猫")]) as evaluator:
        evaluator(0)
    assert evaluator.curve["score_low"].to_list() == [None]  # one question tells nothing of others


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (["a"], "1 texts for 14 tasks"),
        ("a" * 14, "a single string"),
        ([None] * 14, "returned NoneType"),
        (None, r"a list of 14 texts, not NoneType \(missing return statement\?\)$"),
        (iter(["a"] * 14), "a list of 14 texts, not list_iterator$"),
        ({str(i) for i in range(14)}, "not set$"),
        (14, "not int$"),
    ],
)
def test_what_generate_gives_is_checked(texts: Any, match: str) -> None:
    with (
        StepEvaluator("mini", lambda _: texts, every=1) as evaluator,
        pytest.raises(InputError, match=match),
    ):
        evaluator(0)


def test_steps_are_whole_numbers_of_any_library() -> None:
    with StepEvaluator("mini", said(), every=2, questions=2) as evaluator:
        assert evaluator(np.array(2), np.array(8e3))  # type: ignore[arg-type]  # as JAX has them: no hash
        assert not evaluator(np.int64(2))  # type: ignore[arg-type]
        assert not evaluator(np.float32(3))  # type: ignore[arg-type]
        for wrong in ("100", None, 2.5, -2, float("nan"), np.arange(3), "9" * 9000):
            with pytest.raises(
                InputError, match="a step must be an integer of at least 0, not "
            ) as caught:
                evaluator(wrong)  # type: ignore[arg-type]
            assert len(str(caught.value)) < 120
        assert evaluator(4)
        evaluator.rewind(np.array(3))  # type: ignore[arg-type]  # later steps are dropped
    assert evaluator.curve.select("step", "tokens").rows() == [(2, 8000)]
    with pytest.raises(PfgenError, match="is closed: create a new one"):
        evaluator(4)
    with pytest.raises(PfgenError, match="is closed"):
        evaluator.rewind(2)
    assert evaluator.state_dict()["step"] == 3


# Training that goes back.


class Training:
    """A training run, and beside it what its curve must be: how often the model had been asked, by step."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0
        self.expected: dict[int, int] = {}
        self.at: int | None = None
        self.saved: tuple[Any, dict[int, int], int | None] | None = None
        self.evaluator = self._new()

    def _new(self) -> StepEvaluator:
        return StepEvaluator("mini", self._generate, every=3, questions=2, folder=self.folder)

    def _generate(self, tasks: Sequence[Task]) -> list[str]:
        self.made += 1
        return ["猫" * self.made] * len(tasks)

    def to(self, step: int) -> None:
        if self.at is None or step < self.at:
            self.expected = {old: made for old, made in self.expected.items() if old < step}
        self.at = step
        if step % 3 == 0 and step not in self.expected:
            self.expected[step] = self.made + 1
        self.evaluator(step)

    def restart(self, _: int) -> None:
        self.evaluator.close()
        self.evaluator, self.at = self._new(), None

    def save(self, _: int) -> None:
        self.saved = json.loads(json.dumps(self.evaluator.state_dict())), self.expected, self.at
        self.expected = dict(self.expected)

    def load(self, _: int) -> None:
        if self.saved is not None:
            state, expected, self.at = self.saved
            self.expected = dict(expected)
            self.evaluator.load_state_dict(state)


_MOVES = ["to", "to", "to", "to", "restart", "save", "load"]


@given(st.lists(st.tuples(st.sampled_from(_MOVES), st.integers(0, 12)), max_size=14))
@settings(max_examples=20)
def test_a_curve_is_that_of_the_training_that_counts(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, int]]
) -> None:
    """Steps that are never seen again after training went back do not count; the others count once."""
    folder = tmp_path_factory.mktemp("curve")
    training = Training(folder)
    for move, step in moves:
        getattr(training, move)(step)
    training.evaluator.close()
    curve = training.evaluator.curve
    assert dict(curve.select("step", "length").iter_rows()) == training.expected
    if (folder / "curve.parquet").exists():
        assert read_curve(folder / "curve.parquet")[0].equals(curve)
    assert {int(path.stem[5:]) for path in folder.glob("answers/*")} <= set(training.expected)


def test_a_run_that_begins_again_moves_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def run(text: str, *steps: int, state: Any = None) -> Any:
        with StepEvaluator("mini", said(text), every=1, questions=2, folder=tmp_path) as evaluator:
            if state is not None:
                evaluator.load_state_dict(state)
            for step in steps:
                evaluator(step)
        return evaluator.state_dict()

    def files(place: Path) -> dict[int, bytes]:
        return {int(path.stem[5:]): path.read_bytes() for path in place.glob("answers/*")}

    state = run("猫", 0, 1, 2)
    run("猫", 3, 1, state=state)  # going back is told by steps, or by a state
    run("猫", 2, state=state)
    run("猫", 3)
    assert not caplog.records
    before = (tmp_path / "curve.parquet").read_bytes()
    answers = files(tmp_path)
    run("犬", 1)
    [warned] = caplog.messages
    old = tmp_path / "old-1"
    assert f"starts at step 1: moved 3 steps (1 to 3) to {old}." in warned
    assert (old / "curve.parquet").read_bytes() == before
    assert files(old) == {step: content for step, content in answers.items() if step >= 1}
    assert {*files(old)} >= {1, 3}
    assert {*files(tmp_path)} == {0, 1}
    assert read_curve(tmp_path / "curve.parquet")[0]["step"].to_list() == [0, 1]
    run("犬", 1)
    assert f"moved 1 step (1 to 1) to {tmp_path / 'old-2'}." in caplog.messages[1]


def test_curves_of_other_samples_are_not_continued(tmp_path: Path) -> None:
    with StepEvaluator("mini", said(), every=1, questions=2, folder=tmp_path) as evaluator:
        evaluator(0)
        state = evaluator.state_dict()
    with pytest.raises(SettingsError, match=r"curve\.parquet: .*another sample \(.*trials"):
        StepEvaluator("mini", said(), every=1, questions=2, trials=2, folder=tmp_path)
    with StepEvaluator("mini", said(), every=1, questions=3) as other:
        with pytest.raises(SettingsError, match=r"the state: .*another sample"):
            other.load_state_dict(state)
        for wrong in ({}, {"sample": {}, "step": 1, "rows": [3]}, None):
            with pytest.raises(InputError, match="not the state"):
                other.load_state_dict(wrong)  # type: ignore[arg-type]
    (tmp_path / "curve.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a learning curve"):
        StepEvaluator("mini", said(), every=1, folder=tmp_path)
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "curve.parquet")
    with pytest.raises(InputError, match="not a learning curve"):
        StepEvaluator("mini", said(), every=1, folder=tmp_path)


@pytest.mark.parametrize("about", ["[]", "null", "1", "{"])
def test_a_curve_with_a_damaged_description(about: str, tmp_path: Path) -> None:
    path = tmp_path / "curve.parquet"
    pl.DataFrame(schema=SCHEMA).write_parquet(path, metadata={"pfgen_rs.sample": about})
    with pytest.raises(InputError, match="not a learning curve"):
        StepEvaluator("mini", said(), every=1, folder=tmp_path)


def test_a_curve_at_which_its_reader_panics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panics(*_: object) -> pl.DataFrame:
        raise pl.exceptions.PanicException("not yet implemented")

    monkeypatch.setattr("pfgen_rs.training.curve.pl.read_parquet_metadata", panics)
    (tmp_path / "curve.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a learning curve"):
        read_curve(tmp_path / "curve.parquet")


# The thread in the background.


def call_until(evaluator: StepEvaluator, step: int) -> None:
    """Go on training until it raises; ten seconds at most."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        evaluator(step)


def test_errors_of_the_background_are_raised_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "answers").write_text("a file where a folder should be")
    with (
        caplog.at_level(logging.ERROR, "pfgen_rs"),
        pytest.raises(PfgenError, match="answers"),
        StepEvaluator("mini", said(), every=1, folder=tmp_path) as evaluator,
    ):
        evaluator(0)
    assert "step 0" in caplog.text
    evaluator = StepEvaluator("mini", said(), every=2, folder=tmp_path)
    evaluator(0)
    with pytest.raises(PfgenError, match="answers"):
        call_until(evaluator, 1)
    (tmp_path / "answers").unlink()
    evaluator(2)  # training goes on, and so do scores
    evaluator.close()
    evaluator.close()
    assert evaluator.curve["step"].to_list() == [2]


def test_an_error_of_training_comes_first(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("")

    def train() -> None:
        with StepEvaluator("mini", said(), every=1, folder=tmp_path) as evaluator:
            evaluator(0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        train()
    assert any("in the background" in note for note in caught.value.__notes__)


def test_a_logger_that_fails_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    told: list[int] = []

    def bad(*_: object) -> None:
        raise OSError("no network")

    loggers: Any = [bad, lambda _, step: told.append(step)]
    with StepEvaluator("mini", said(), every=1, loggers=loggers) as evaluator:
        evaluator(0)
    assert caplog.messages == ["the logger bad failed at step 0: OSError: no network"]
    assert told == [0]
    assert len(evaluator.curve) == 1


def test_training_waits_only_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    free, told = threading.Event(), []
    scored = QuestionSample.scored

    def slow(*arguments: Any) -> Any:
        assert free.wait(30)
        return scored(*arguments)

    monkeypatch.setattr(QuestionSample, "scored", slow)
    loggers = [lambda _, step: told.append(step)]
    evaluator = StepEvaluator("mini", said(), every=1, questions=2, loggers=loggers)
    evaluator(0)

    def train() -> None:
        for step in range(1, 9):
            evaluator(step)

    training = threading.Thread(target=train)
    training.start()
    training.join(0.3)
    assert training.is_alive()  # there is no room
    free.set()
    training.join(30)
    assert not training.is_alive()
    evaluator.close()
    assert told == list(range(9))  # and none was left out


# Other processes.


def test_what_is_imported() -> None:
    heavy = ["matplotlib", "torch", "transformers", "lightning", "wandb", "tensorboardX", "trl"]
    script = f"import sys, pfgen_rs.training; print(*(set(sys.modules) & set({heavy})))"
    done = helpers.python(script)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


CURVE = """
import os, signal, sys, time
from pfgen_rs.training import StepEvaluator
folder, begin, end, die = sys.argv[1], *map(int, sys.argv[2:5])
step = begin
def generate(tasks):
    if step == die:
        while not os.path.exists(folder + "/curve.parquet"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return [task.question[:step] for task in tasks]
evaluator = StepEvaluator("mini", generate, every=2, folder=folder, questions=3)
for step in range(begin, end):
    evaluator(step)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    done = helpers.python(CURVE, tmp_path / "a", 0, 15, -1)
    assert done.returncode == 0, done.stderr
    whole, _ = read_curve(tmp_path / "a" / "curve.parquet")  # nobody closed it
    assert whole["step"].to_list() == list(range(0, 15, 2))
    killed = helpers.python(CURVE, tmp_path / "b", 0, 15, 10)
    assert killed.returncode < 0
    left, _ = read_curve(tmp_path / "b" / "curve.parquet")
    assert left.select(FIGURES).equals(whole.head(len(left)).select(FIGURES))
    for name in ("answers/.step_00000002.parquet.0a.tmp", ".curve.parquet.0a.tmp"):
        (tmp_path / "b" / name).write_bytes(b"PAR1")  # or what was just being written
    again = helpers.python(CURVE, tmp_path / "b", 5, 15, -1)
    assert again.returncode == 0, again.stderr
    found, _ = read_curve(tmp_path / "b" / "curve.parquet")
    later = found.filter(pl.col("step") > 5)
    assert later.select(FIGURES).equals(whole.filter(pl.col("step") > 5).select(FIGURES))
    assert not list(tmp_path.glob("b/**/*.tmp"))


FORKS = """
import multiprocessing, sys
from pfgen_rs import PfgenError
from pfgen_rs.training import Reward, StepEvaluator, TaskReward
reward, task_reward = Reward(), TaskReward("wiki_reading", split=None)
texts = ["ひらがな" * 9, "かたかな"] * 500
values = task_reward(texts, texts[::-1], gold=texts)
evaluator = StepEvaluator("mini", lambda tasks: ["猫"] * len(tasks), every=1, folder=sys.argv[1])
expected = reward(["Q02"] * 500, ["光合成は光で糖を作ります。"] * 500)
def work(i):
    assert reward(["Q02"] * 500, ["光合成は光で糖を作ります。"] * 500) == expected
    assert task_reward(texts, texts[::-1], gold=texts) == values
    try:
        evaluator(0)
    except PfgenError as error:
        assert "forked" in str(error)
    else:
        raise AssertionError
    return i
for step in range(30):
    evaluator(step)  # the thread is at work while processes are forked
    if step % 10 == 0:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(work, range(8)) == list(range(8))
evaluator.close()
assert len(evaluator.curve) == 30
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_workers_are_forked_meanwhile(tmp_path: Path) -> None:
    done = helpers.python(FORKS, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr
