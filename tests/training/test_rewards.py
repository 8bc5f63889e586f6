"""Rewards of answers, and of outputs of llm-jp-eval's tasks."""

import math
import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import small
from pfgen_rs import Benchmark, InputError, SettingsError, UnknownQuestionError
from pfgen_rs.generate import Prompter, Task, read_examples
from pfgen_rs.io.cleaning import MODES, cleaned, default_stop
from pfgen_rs.llm_jp_eval import metric, prediction
from pfgen_rs.llm_jp_eval.evaluation_files import Sample, TaskData, read_task
from pfgen_rs.llm_jp_eval.prompts import filled, template
from pfgen_rs.llm_jp_eval.scoring import evaluate
from pfgen_rs.metrics.settings import Metric
from pfgen_rs.questions.asked import Asked
from pfgen_rs.training import Reward, TaskReward

QUESTION = "光合成とは何ですか？"  # Q02
ANSWER = "植物が光で水と二酸化炭素から糖を作る働きです。"


@pytest.fixture(scope="module")
def scores(mini: Benchmark) -> Reward:
    return Reward(mini)


def asked(mode: Any) -> tuple[list[Task], list[str]]:
    """Prompts of two trials, and answers of different quality."""
    prompter = Prompter(read_examples("mini"), mode)
    tasks = [*prompter.tasks(1), *prompter.tasks(2)]
    return tasks, [f"{task.question[: 3 + i]}は{ANSWER}" for i, task in enumerate(tasks)]


def expected(bench: Benchmark, questions: list[str], answers: list[str]) -> list[float]:
    return bench.score_batch(questions, answers)["average"].to_list()


@pytest.mark.parametrize("mode", MODES)
def test_questions_are_found_in_prompts(mode: Any, mini: Benchmark, scores: Reward) -> None:
    tasks, answers = asked(mode)
    wanted = expected(mini, [task.question for task in tasks], answers)
    texts = [task.prompt for task in tasks]
    assert scores(texts, [f" {answer}\n" for answer in answers]) == wanted
    chats = [[{"role": "assistant", "content": answer}] for answer in answers]
    assert scores([task.messages for task in tasks], chats) == wanted
    assert (
        scores(prompts=[""] * len(tasks), completions=chats, question=[t.question for t in tasks])
        == wanted
    )
    rendered = [
        "".join(f"<|{m['role']}|>{m['content']}<|end|>" for m in task.messages) + "<|assistant|>"
        for task in tasks
    ]
    assert scores(rendered, answers) == wanted


def test_questions_themselves(mini: Benchmark, scores: Reward) -> None:
    wanted = expected(mini, ["Q02"], [ANSWER])
    for prompt in (QUESTION, "Q02", f" {QUESTION}\n", f"Q: {QUESTION}", f"答えて。{QUESTION}"):
        assert scores([prompt], [ANSWER]) == wanted
    turns = [
        {"role": "user", "content": mini["Q01"].text},
        {"role": "assistant", "content": "さあ。"},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}, {"type": "image"}]},
    ]
    assert scores([turns], [ANSWER]) == wanted
    assert scores([""], [ANSWER], questions=["Q02"]) == wanted
    assert scores([QUESTION], [[{"role": "assistant", "content": None}]]) == scores(
        [QUESTION], [""]
    )
    assert scores([], []) == []


def test_the_question_that_stands_last_counts() -> None:
    texts = ["何ですか？", "光とは何ですか？", "影は？"]
    bench = small.benchmark(
        *(
            {"question_id": f"Q{i}", "question": t, "answers": {"P": [t]}}
            for i, t in enumerate(texts)
        )
    )
    asked = Asked(bench)
    found = {text: bench.find(text).id for text in texts}
    for prompt, text in (
        (f"<u>{texts[1]}</u>", texts[1]),
        (f"<u>{texts[1]}</u><u>{texts[0]}</u>", texts[0]),
        (f"## 例\nQ: {texts[2]}\nA: 黒い\n\n<u>{texts[0]}</u>", texts[0]),
        (f"Q: {texts[0]}\nA: 影は？\n\nQ: {texts[1]}\nA:", texts[1]),
        (f"Q: {texts[0]}Q: {texts[2]}", texts[2]),
    ):
        assert asked.id(prompt) == found[text], prompt
    assert asked.id("Q: 誰？") is None


@pytest.mark.parametrize("metric", ["average", "fluency", "truthfulness", "helpfulness"])
def test_metrics_and_names(metric: Metric, mini: Benchmark) -> None:
    found = Reward(mini, metric)
    assert found(["Q02"], [ANSWER]) == mini.score_batch(["Q02"], [ANSWER])[metric].to_list()
    assert found.__name__ == ("pfgen" if metric == "average" else f"pfgen_{metric}")
    assert isinstance(found(["Q02"], [ANSWER])[0], float)


pieces = st.sampled_from(["猫", "Q:", "A:", "\n", "\n\n", " ", "Q", ":", "\ud800", ANSWER])


@given(st.lists(st.lists(pieces, max_size=5).map("".join), min_size=1, max_size=4), st.booleans())
@settings(max_examples=60)
def test_completions_become_answers_as_in_runs(
    mini: Benchmark, scores: Reward, texts: list[str], completing: bool
) -> None:
    mode: Any = "completion" if completing else "chat"
    prompt = f"Q: {QUESTION}\nA:" if completing else f"Q: {QUESTION}"
    answers = [cleaned(text, mode, default_stop(mode)) for text in texts]
    wanted = expected(mini, ["Q02"] * len(texts), answers)
    assert scores([prompt] * len(texts), texts) == wanted


def test_cleaning_of_ones_own(mini: Benchmark) -> None:
    thinking = f"<think>Q: ええと</think>{ANSWER}"
    strip = partial(cleaned, mode="chat", stop=("Q:",), think="strip")
    assert Reward(mini, clean=strip)(["Q02"], [thinking]) == expected(mini, ["Q02"], [ANSWER])


def test_unknown_questions(mini: Benchmark, scores: Reward) -> None:
    prompts, answers = ["何の話？", "Q02"], [ANSWER, ANSWER]
    with pytest.raises(UnknownQuestionError, match=r"何の話.*column `question`") as caught:
        scores(prompts, answers)
    assert caught.value.question == "何の話？"
    wanted = expected(mini, ["Q02"], [ANSWER])
    assert Reward(mini, unknown=-1)(prompts, answers) == [-1.0, *wanted]
    first, second = Reward(mini, unknown=math.nan)(prompts, answers)
    assert math.isnan(first)
    assert [second] == wanted
    with pytest.raises(UnknownQuestionError) as caught:
        scores(["長" * 10_000], [ANSWER])
    assert len(str(caught.value)) < 1000


def test_what_is_no_completion_is_told(scores: Reward) -> None:
    with pytest.raises(InputError, match="2 prompts, 2 questions, but 1 completions"):
        scores(["Q02", "Q02"], [ANSWER])
    with pytest.raises(InputError, match="1 questions"):
        scores(["Q02", "Q02"], [ANSWER, ANSWER], question=["Q02"])
    for wrong in (3, [3], None):
        with pytest.raises(InputError, match="a string or a list of messages"):
            scores(["Q02"], [wrong])


def test_the_signature_of_trl(scores: Reward, mini: Benchmark) -> None:
    prompts = [[{"role": "user", "content": f"Q: {QUESTION}"}]] * 2
    completions = [[{"role": "assistant", "content": text}] for text in (ANSWER, "知りません。")]
    columns = {"completion_ids": [[1], [2]], "trainer_state": object(), "level": [1, 2]}
    found = scores(prompts=prompts, completions=completions, **columns)
    assert found == expected(mini, ["Q02"] * 2, [ANSWER, "知りません。"])


def test_it_can_be_pickled(mini: Benchmark) -> None:
    again = pickle.loads(pickle.dumps(Reward(mini, "fluency", clean=str.strip, unknown=0.5)))
    assert (again.metric, again.unknown, again.__name__) == ("fluency", 0.5, "pfgen_fluency")
    assert again(["?", "Q02"], ["", ANSWER]) == [
        0.5,
        *mini.score_batch(["Q02"], [ANSWER])["fluency"].to_list(),
    ]


def test_settings_that_cannot_be(mini: Benchmark) -> None:
    with pytest.raises(SettingsError, match="`unknown` must be a number, not 'x'"):
        Reward(mini, unknown="x")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="`clean` must be a function, not str"):
        Reward(mini, clean="x")  # type: ignore[arg-type]


# Rewards by task: the metrics' values, however samples are named.


TASKS = ["jcommonsenseqa", "jemhopqa", "chabsa", "mawps", "wiki_reading"]


@pytest.fixture(scope="module")
def folder(jpeval_dir: Path) -> Path:
    """Converted files, made up."""
    return jpeval_dir / "golden" / "mini" / "evaluation"


def made(outputs: Sequence[str] = ("正解", "甲 positive\n乙 negative")) -> TaskData:
    samples = tuple(Sample(f"質問：{i}番？", text) for i, text in enumerate(outputs))
    return TaskData("指示", 191, ("set_f1",), samples, task="chabsa", split="train", shots=samples)


def prompts_of(data: TaskData, shots: int = 2) -> list[str]:
    own = template(data, shots)
    return [filled(own, sample.input) for sample in data.samples]


def completions_of(data: TaskData) -> list[str]:
    """Right ones, wrong ones, and some in between."""
    golds = [sample.output for sample in data.samples]
    texts = [golds[0], *(gold[: len(gold) // 2] + "。\n" for gold in golds[1:])]
    return [f"{text}\n\n### 入力:\n…" if i % 2 else text for i, text in enumerate(texts)]


@pytest.mark.parametrize("task", TASKS)
def test_rewards_are_the_values_of_samples(task: str, folder: Path) -> None:
    data = read_task(folder, task, "train")
    prompts, texts = prompts_of(data), completions_of(data)
    values = evaluate([data], {task: texts}).frame["value"].to_list()
    rewards = TaskReward(task, folder)
    assert rewards(prompts, texts) == values
    assert values[0] > 0.8  # a gold answer with a repeated line is below 1.0
    assert len(set(values)) > 1
    assert all(0 <= value <= 1 for value in values)
    users = [[{"role": "user", "content": prompt}] for prompt in prompts]
    replies = [[{"role": "assistant", "content": text}] for text in texts]
    assert rewards(users, replies) == values
    rendered = [f"<|user|>{prompt}<|end|><|assistant|>" for prompt in prompts]
    assert rewards(rendered, texts) == values
    assert rewards([sample.input for sample in data.samples], texts) == values
    none = [""] * len(texts)
    ids = [f"{task}/train/{index}" for index in range(len(texts))]
    assert rewards(prompts=none, completions=texts, id=ids, completion_ids=[[1]]) == values
    golds = [sample.output for sample in data.samples]
    assert TaskReward(task, split=None)(none, texts, gold=golds) == values
    assert rewards.__name__ == f"llm_jp_eval_{task}"


def test_variants_metrics_and_cleaning() -> None:
    data = made()
    both = TaskReward("chabsa", data)(prompts_of(data), ["正解", "乙 negative"])
    assert both == [1.0, pytest.approx(2 / 3)]  # the examples in prompts have inputs, too
    prompts = prompts_of(data)[:1]
    assert TaskReward("chabsa", data, metric="exact_match")(prompts, [" 正解"]) == [0.0]
    swallow = TaskReward("chabsa", data, metric="exact_match", profile="swallow")
    assert swallow(prompts, [" 正解"]) == [1.0]
    text = "正しい解"
    expected = metric("char_f1", [prediction(text)], ["正解"])
    assert TaskReward("chabsa", data, metric="char_f1")(prompts, [text]) == expected
    assert 0 < expected[0] < 1
    stripped = TaskReward("chabsa", data, clean=lambda text: text.split("</think>")[-1])
    assert stripped(prompts, ["まず\n\n考える</think>正解"]) == [1.0]


def test_unknown_inputs() -> None:
    data = made()
    prompts = ["何の話？", prompts_of(data)[0]]
    with pytest.raises(
        InputError, match=r"'何の話？' contains no input of chabsa \(train\): name the"
    ):
        TaskReward("chabsa", data)(prompts, ["正解"] * 2)
    assert TaskReward("chabsa", data, unknown=-1)(prompts, ["正解"] * 2) == [-1, 1.0]
    first, second = TaskReward("chabsa", data, unknown=math.nan)(prompts, ["正解"] * 2)
    assert (math.isnan(first), second) == (True, 1.0)
    with pytest.raises(InputError, match="'chabsa/test/0' is not the id of a sample of chabsa"):
        TaskReward("chabsa", data)(prompts, ["正解"] * 2, id=["chabsa/test/0", "chabsa/train/0"])
    with pytest.raises(InputError) as caught:
        TaskReward("chabsa", data)(["長" * 10_000], ["正解"])
    assert len(str(caught.value)) < 500


def test_inputs_that_several_samples_have() -> None:
    data = made()
    twice = replace(data, samples=(*data.samples, Sample(data.samples[0].input, "他の答え")))
    reward = TaskReward("chabsa", twice, unknown=0.0)
    with pytest.raises(InputError, match="several samples of chabsa have this input and different"):
        reward(prompts_of(data)[:1], ["正解"])
    assert reward([""], ["他の答え"], id=["chabsa/train/2"]) == [1.0]
    same = replace(data, samples=(*data.samples, data.samples[0]))
    assert TaskReward("chabsa", same)(prompts_of(data)[:1], ["正解"]) == [1.0]


def test_correlations_have_no_value_of_a_sample(folder: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"metrics of jsts are correlations.*`metric` among exact_"
    ):
        TaskReward("jsts", folder)
    with pytest.raises(SettingsError, match="pearson is a figure of all samples together"):
        TaskReward("jsts", folder, metric="pearson")
    data = read_task(folder, "jsts", "train")
    golds = [sample.output for sample in data.samples]
    reward = TaskReward("jsts", folder, metric="exact_match")
    assert reward(prompts_of(data), golds) == [1.0] * len(golds)


def test_settings_of_tasks_that_cannot_be(tmp_path: Path) -> None:
    data = made()
    for wrong, error, match in (
        ({"task": "jamb"}, SettingsError, "unknown task 'jamb'"),
        ({"task": "jamp"}, SettingsError, "the data are those of chabsa, not jamp"),
        ({"data": tmp_path / "x"}, InputError, "no evaluation files"),
        ({"metric": "bleu"}, SettingsError, "unknown metric 'bleu'"),
        ({"profile": "old"}, SettingsError, "unknown profile 'old'"),
        ({"unknown": "x"}, SettingsError, "`unknown` must be a number, not 'x'"),
        ({"clean": "x"}, SettingsError, "`clean` must be a function, not str"),
    ):
        settings: dict[str, Any] = {"task": "chabsa", "data": data, **wrong}
        with pytest.raises(error, match=match):
            TaskReward(**settings)


def test_calls_that_cannot_be() -> None:
    reward = TaskReward("chabsa", made())
    for columns, match in (
        ({"completions": ["a", "b"]}, "1 prompts, but 2 completions"),
        ({"gold": ["a", "b"]}, "1 prompts, but 2 values in the column `gold`"),
        ({"gold": [3]}, "the column `gold` must have texts, not 3"),
        ({"id": [3]}, "the column `id` must have texts, not 3"),
        ({"completions": [3], "gold": ["a"]}, "a string or a list of messages"),
    ):
        given: dict[str, Any] = {"prompts": ["x"], "completions": ["a"], **columns}
        with pytest.raises(InputError, match=match):
            reward(**given)
    with pytest.raises(InputError, match="needs a column `gold` with the expected outputs"):
        TaskReward("jamp", split=None)(["x"], ["a"])
    assert reward([], []) == []


def test_a_reward_of_tasks_can_be_pickled(folder: Path) -> None:
    reward = TaskReward(
        "mawps", folder, metric="char_f1", profile="swallow", clean=str.strip, unknown=0.5
    )
    again = pickle.loads(pickle.dumps(reward))
    data = read_task(folder, "mawps", "train")
    prompts, texts = ["?", *prompts_of(data)], ["", *completions_of(data)]
    assert again(prompts, texts) == reward(prompts, texts)
    assert again.__name__ == reward.__name__
    assert pickle.loads(pickle.dumps(TaskReward("jamp", split=None)))([""], ["a"], gold=["a"]) == [
        1.0
    ]
