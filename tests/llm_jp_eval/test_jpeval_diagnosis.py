"""What answers lose to form: an oracle in plain Python, signs, records, and what `score` says of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unicodedata import normalize

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from jpeval_data import PUBLISHED, SAMPLES, jp_eval, jp_json, made_data, write_data
from pfgen_rs.io.cleaning import without_thoughts
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.llm_jp_eval import diagnosis, scoring
from pfgen_rs.llm_jp_eval.diagnosis import FORMS, SIGNS, Diagnosis
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, read_tasks
from pfgen_rs.llm_jp_eval.measures import char_f1, exact_match, parse_float, set_f1
from pfgen_rs.llm_jp_eval.reading import prediction

Form = Callable[[str], str]
WAYS: dict[str, tuple[Form, str]] = {
    "a line break behind": (lambda text: f"{text}\n", "stripped"),
    "an empty line before": (lambda text: f"\n\n{text}", "stripped"),
    "an explanation": (lambda text: f"{text}\nなぜなら、雨は水だから。", "first_line"),
    "thoughts": (lambda text: f"<think>a\n\nb</think>\n\n{text}", "without_thoughts"),
    "thoughts begun by the prompt": (lambda text: f"x</think>\n{text}", "without_thoughts"),
    "a Japanese sentence": (lambda text: f"答えは{text}です。", "without_prefix"),
    "a field": (lambda text: f"回答：{text}", "without_prefix"),
    "a heading": (lambda text: f"### 応答:\n{text}", "without_prefix"),
    "an English field": (lambda text: f"Answer: {text}", "without_prefix"),
    "an English sentence": (lambda text: f"The answer is {text}.", "without_prefix"),
    "a full stop": (lambda text: f"{text}。", "without_prefix"),
    "quotation marks": (lambda text: f"「{text}」", "unquoted"),
    "bold": (lambda text: f"**{text}**", "unquoted"),
    "capitals": (str.upper, "lower_cased"),
    "several": (lambda text: f'<think>x</think>\n"{text.upper()}"\n', "all"),
    "a quotation in a sentence": (lambda text: f"答えは「{text}」です。\n\n以上", "all"),
    "other words": (lambda text: f"それは{text}かも", ""),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_data(tmp_path_factory.mktemp("data"), samples=4)


def written(place: Path, data: Path, form: Form, **more: Any) -> Path:
    """Outputs for all tasks: the gold answers, every second one in another form."""
    path = place / "outputs.jsonl"
    lines = [
        {"id": f"{each.task}/test/{i}", "output": form(s.output) if i % 2 else s.output, **more}
        for each in read_tasks(data, PUBLISHED)
        for i, s in enumerate(each.samples)
    ]
    write_objects(path, lines)
    return path


@pytest.mark.parametrize("name", WAYS)
def test_answers_wrong_for_their_form_are_told(name: str, data: Path, tmp_path: Path) -> None:
    make, form = WAYS[name]
    outputs = written(tmp_path, data, make)
    found = jp_json("score", outputs, "-d", data)
    jamp = found["diagnosis"]["jamp"]
    assert (jamp["samples"], jamp["right"]) == (4, 2)
    assert {each: n for each, n in jamp["first"].items() if n} == ({form: 2} if form else {})
    if form:
        assert [each[0] for each in jamp["examples"][form]] == [1, 3]
    assert found["scores"]["jamp_exact_match"] == 0.5
    done = jp_eval("score", outputs, "-d", data)
    lost = sum(each["counts"]["all"] for each in found["diagnosis"].values())
    told = f"{lost} answers are wrong only for their form; scores do not count them"
    assert (told in done.stderr) == bool(form)
    [*_, row] = [line.split() for line in done.stdout.splitlines() if line.startswith(" jamp ")]
    assert row[:3] == ["jamp", "50.0", "50.0"]


# The oracle


QUOTES = ['""', "''", "``", "「」", "『』", "“”", "‘’", "«»", "()", "（）", "[]", "【】"]


def oracle_unquoted(pred: str, gold: str) -> str:
    for first, last in [*QUOTES, ("**", "**")]:
        if pred.startswith(first) and pred.endswith(last) and len(pred) >= len(first + last):
            if gold.startswith(first) and gold.endswith(last):
                return pred
            return pred[len(first) : len(pred) - len(last)].strip()
    return pred


def oracle_plain(pred: str) -> str:
    for start in ("答えは", "回答:", "Answer:", "answer:", "ANSWER:"):
        if pred.startswith(start):
            pred = pred[len(start) :].strip()
            break
    pred = pred.strip()
    for end in ("。", ".", "です"):
        if pred.endswith(end):
            pred = pred[: -len(end)].rstrip()
    return pred


def oracle(output: str, gold: str, profile: str) -> dict[str, list[tuple[str, str]]]:
    """Pairs of prediction and gold by form, after section 15 of the specification."""

    def read(text: str) -> str:
        return prediction(text, profile).strip()

    stripped, thought = output.strip(), without_thoughts(output).strip()
    now, answer = read(stripped), read(thought)
    line = read(stripped.split("\n")[0].strip())
    both = [answer, read(thought.split("\n")[0].strip())]
    every = [oracle_unquoted(oracle_plain(oracle_unquoted(each, gold)), gold) for each in both]
    return {
        "stripped": [(now, gold)],
        "first_line": [(line, gold)],
        "without_thoughts": [(answer, gold)],
        "without_prefix": [(oracle_plain(now), gold)],
        "unquoted": [(oracle_unquoted(now, gold), gold)],
        "lower_cased": [(now.lower(), gold.lower())],
        "normalised": [(normalize("NFKC", now).strip(), gold)],
        "all": [(normalize("NFKC", e).strip().lower(), gold.lower()) for e in every],
    }


RIGHT: Mapping[str, Callable[[str, str], bool]] = {
    "jamp": lambda pred, gold: exact_match(pred, gold) == 1,
    "jsquad": lambda pred, gold: char_f1(pred, gold) == 1,
    "chabsa": lambda pred, gold: set_f1(pred, gold) == 1,
    "jsts": lambda pred, gold: parse_float(pred) == float(gold),
}
PARTS = ["", "\n", "a", "A", "「", "」", '"', "<think>", "</think>", " ", "\n\n", "1", "Ａ"]
PARTS += ["答えは", "回答：", "Answer:", "です", "。", "**", "b", ".", "2.0"]
OUTPUTS = st.lists(st.sampled_from(PARTS), max_size=7).map("".join)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[TaskData]:
    golds = ["a", "「a」", "A\na", ""]
    pairs = {task: [("x", gold) for gold in golds] for task in ("jamp", "jsquad", "chabsa")}
    pairs["jsts"] = [("x", f"{number}.0") for number in range(4)]
    return read_tasks(write_data(tmp_path_factory.mktemp("few"), pairs, pairs), pairs)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OUTPUTS, min_size=16, max_size=16), st.sampled_from(["1.3.0", "swallow"]))
def test_counts_are_those_of_the_oracle(
    few: list[TaskData], texts: list[str], profile: str
) -> None:
    outputs = {each.task: texts[4 * i : 4 * i + 4] for i, each in enumerate(few)}
    evaluation = scoring.evaluate(few, outputs, profile)
    found = scoring.diagnosed(evaluation, few)
    assert [*found] == [each.task for each in few]
    for each in few:
        rows: dict[str, set[int]] = {form: set() for form in FORMS}
        right = 0
        for i, (output, sample) in enumerate(zip(outputs[each.task], each.samples, strict=True)):
            gold, is_right = normalize("NFKC", sample.output), RIGHT[each.task]
            if is_right(prediction(output, profile), gold):
                right += 1
                continue
            for form, pairs in oracle(output, gold, profile).items():
                if any(is_right(*pair) for pair in pairs):
                    rows[form].add(i)
        rows["all"] = set().union(*rows.values())
        own = found[each.task]
        assert (own.samples, own.right) == (4, right)
        assert {form: own.counts[form] for form in FORMS} == {f: len(r) for f, r in rows.items()}
        seen: set[int] = set()
        for form in FORMS:
            assert own.first[form] == len(rows[form] - seen)
            seen |= rows[form]
        shares = own.shown()
        assert shares["right"] + shares["form"] + shares["wrong"] == pytest.approx(1)
        assert sum(own.first.values()) == own.counts["all"]


def diagnosed(
    tmp_path: Path,
    pairs: Sequence[tuple[str, str]],
    task: str = "jsquad",
    reason: str | None = None,
) -> Diagnosis:
    """The diagnosis of outputs and golds."""
    samples = {task: [(f"質問：{i}", gold) for i, (_, gold) in enumerate(pairs)]}
    datas = read_tasks(write_data(tmp_path, samples, samples), [task])
    outputs = {task: [output for output, _ in pairs]}
    reasons = None if reason is None else {task: [reason] * len(pairs)}
    found = scoring.evaluate(datas, outputs, finish_reasons=reasons)
    assert found.frame["finish_reason"].to_list() == [reason] * len(pairs)
    return scoring.diagnosed(found, datas)[task]


def test_answers_that_are_expected_in_quotation_marks_keep_them(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, [("『雪国』", "『雪国』"), ("『川端』", "川端")], "jamp")
    assert (found.right, found.first["unquoted"]) == (1, 1)


def read_whole(_: str, texts: Sequence[str]) -> list[str]:
    return [prediction(text) for text in texts]


# Signs


SIGNED: list[tuple[str, str, set[str]]] = [
    ("", "川端康成", {"empty"}),
    ("<think>うーん", "川端康成", {"empty"}),
    ("Kawabata Yasunari wrote it", "川端康成", {"other_language"}),
    ("가와바타 야스나리", "川端康成", {"other_language"}),
    ("日本作家川端康成是一位著名的小說家他獲得諾貝爾文學獎", "大江健三郎", {"other_language"}),
    ("大江健三郎", "川端康成", set()),
    ("機能材料関連事業全体 negative\n工作機械受注額 negative", "川端康成", set()),
    ("这是川端", "川端康成", {"other_language"}),
    ("それは NHK という会社です", "川端康成", set()),
    ("NHK", "TBS", set()),
    ("42", "川端康成", set()),
]


@pytest.mark.parametrize(("output", "gold", "signs"), SIGNED)
def test_signs_of_wrong_answers(output: str, gold: str, signs: set[str], tmp_path: Path) -> None:
    found = diagnosed(tmp_path, [(output, gold)])
    assert {sign for sign in SIGNS if found.counts.get(sign)} == signs
    assert all(found.examples[sign] == [(0, output, gold)] for sign in signs)
    assert "cut" not in found.counts  # it is not known
    again = diagnosed(tmp_path, [(output, gold)], reason="stop")
    assert again.counts["cut"] == 0


def test_an_answer_is_cut_unless_it_had_ended(tmp_path: Path) -> None:
    pairs = [("川端は", "川端康成"), ("大江\n\n### 入力", "川端康成"), ("川端康成", "川端康成")]
    found = diagnosed(tmp_path, pairs, reason="length")
    assert (found.right, found.counts["cut"]) == (1, 1)


def test_labels_are_told_where_a_task_has_some(tmp_path: Path) -> None:
    found = diagnosed(
        tmp_path,
        [("yes", "entailment"), ("はい", "neutral"), ("neutral ", "contradiction")],
        "jamp",
    )
    assert found.counts["no_label"] == 2
    assert "other_language" not in found.counts


def test_examples_are_short_and_few(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, [("誤" * 50 + "い" * 500, "川端")] * 5, reason="length")
    assert found.counts["cut"] == 5
    assert found.examples["cut"] == [(i, "誤" * 40 + " … " + "い" * 40, "川端") for i in range(3)]


def test_long_readings_are_not_tried(tmp_path: Path) -> None:
    """char_f1 ignores punctuation; 10 times the characters of gold and 1,000 are too many to be its form."""
    pairs = [("答えは川端" + "、" * length, "川端") for length in (1014, 1015, 100_000)]
    pairs += [("川端" + " " * 100_000 + "康成", "川端"), ("川端\n" + "、" * 9000, "川端")]
    found = diagnosed(tmp_path, pairs, "jamp")
    assert found.counts["all"] == found.first["first_line"] == 1
    found = diagnosed(tmp_path, pairs)
    assert (found.right, found.counts["all"], found.first["without_prefix"]) == (1, 1, 1)


def test_a_metric_without_values_of_samples_compares_texts(tmp_path: Path) -> None:
    datas = read_tasks(write_data(tmp_path, {"jamp": SAMPLES["jamp"]}), ["jamp"])
    evaluation = scoring.evaluate(datas, {"jamp": ["entailment", "contradiction\n"]})
    frame = evaluation.frame.with_columns(value=pl.lit(None, pl.Float64))
    found = diagnosis.diagnosed(frame, {"jamp": "comet"}, read_whole)
    assert (found["jamp"].right, found["jamp"].first["stripped"]) == (1, 1)


def test_predictions_stand_for_outputs_that_are_not_known(few: list[TaskData]) -> None:
    evaluation = scoring.evaluate(few, {each.task: ["「a」", "b ", " a", "x"] for each in few})
    outputs = evaluation.frame.with_columns(output=evaluation.frame["pred"])
    nothing = evaluation.frame.with_columns(output=None)
    metrics = {each.task: each.metrics[0] for each in few}
    assert diagnosis.diagnosed(outputs, metrics, read_whole) == diagnosis.diagnosed(
        nothing.cast({"output": outputs["output"].dtype}), metrics, read_whole
    )


def test_records_are_read_back(data: Path, tmp_path: Path) -> None:
    outputs = written(tmp_path, data, str.upper, finish_reason="length")
    found = jp_json("score", outputs, "-d", data, "-o", tmp_path / "s")["diagnosis"]
    made = diagnosis.of_record(found)
    assert made["jamp"].counts["cut"] == 0
    assert asdict(made["jamp"]) == found["jamp"]
