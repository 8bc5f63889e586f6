"""Rewards: the scores of `score_batch`, however prompts and completions are given."""

import math
import pickle
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small
from pfgen_rs import Benchmark, InputError, SettingsError, UnknownQuestionError
from pfgen_rs.generate import Prompter, Task, read_examples
from pfgen_rs.io.cleaning import MODES, cleaned, default_stop
from pfgen_rs.metrics.settings import Metric
from pfgen_rs.training import Reward
from pfgen_rs.training.rewards import Asked

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
