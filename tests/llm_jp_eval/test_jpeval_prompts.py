"""Prompts of llm-jp-eval: the published template, and templates of one's own."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpeval_data import write_data
from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.data import Sample, TaskData, read_task
from pfgen_rs.llm_jp_eval.prompts import filled, template, template_digest

HEAD = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。"
    "要求を適切に満たす応答を書きなさい。\n\n### 指示:\n指示文"
)
ASKED = "\n\n### 入力:\n{input}\n\n### 応答:\n"


@pytest.fixture
def data(tmp_path: Path) -> TaskData:
    found = read_task(write_data(tmp_path), "jamp")
    shots = tuple(Sample(f"入{n}", f"出{n}") for n in range(16))
    return replace(found, instruction="指示文", shots=shots)


def test_the_published_template(data: TaskData) -> None:
    assert template(data, 0) == HEAD + ASKED
    examples = "".join(f"\n\n### 入力:\n入{n}\n\n### 応答:\n出{n}" for n in range(4))
    assert template(data) == template(data, 4) == HEAD + examples + ASKED
    assert filled(template(data, 0), "問") == HEAD + ASKED.replace("{input}", "問")


def test_sixteen_examples_are_enough_and_seventeen_are_not(data: TaskData) -> None:
    assert "入15" in template(data, 16)
    with pytest.raises(SettingsError, match=r"jamp has 16 examples .*, not 17: choose fewer"):
        template(data, 17)
    with pytest.raises(SettingsError, match="must be at least 0, not -1"):
        template(data, -1)


def test_texts_are_inserted_literally(data: TaskData) -> None:
    hostile = "{input} {{x}} {0} \\1 }{ \U000f0000" + "1\U000f0000 {few_shots_text}"
    bad = replace(data, instruction=hostile, shots=(Sample(hostile, hostile),) * 4)
    made = template(bad, 4)
    assert made.count(hostile) == 9
    assert filled(made, hostile).count(hostile) == 10
    own = template(bad, 1, "{input}｜{few_shots_text}｜{instruction}", "{input}＝{output}")
    assert filled(own, "問") == f"問｜{hostile}＝{hostile}｜{hostile}"


def test_templates_of_ones_own(data: TaskData) -> None:
    made = template(
        data, 2, "{instruction}\n{few_shots_text}Q {input}\nA ", "Q {input}\nA {output}\n"
    )
    assert made == "指示文\nQ 入0\nA 出0\nQ 入1\nA 出1\nQ {input}\nA "
    made = template(data, 1, "<s>{few_shots_text}{input}")
    assert made == "<s>\n\n### 入力:\n入0\n\n### 応答:\n出0{input}"
    assert filled(template(data, 0, "{input}/{input}"), "問") == "問/問"


def test_braces_of_templates_are_halved_twice(data: TaskData) -> None:
    made = template(data, 1, "{{{{a}}}}{few_shots_text}{input}", "{{{{{input}}}}}{output}")
    assert made == "{{a}}{{入0}}出0{input}"
    assert filled(made, "問") == "{a}{入0}出0問"
    assert filled(template(data, 0, "{{input}}"), "問") == "問"


def test_an_own_template_of_examples_alone(data: TaskData) -> None:
    made = template(data, 1, None, "[{input}:{output}]")
    assert made == HEAD + "[入0:出0]" + ASKED


@pytest.mark.parametrize(
    ("shots", "custom", "examples", "message"),
    [
        (2, "{instruction}", None, r"the template has no \{input\}"),
        (2, "", None, "a template is empty"),
        (2, "{input}", "", "a template is empty"),
        (
            0,
            "{few_shots_text}{input}",
            None,
            r"unknown placeholder \{few_shots_text\} in the template",
        ),
        (2, "{question}{input}", None, r"\{question\} in the template: expected \{instruction\}"),
        (2, "{}{input}", None, r"unknown placeholder \{\}"),
        (2, "{input.__class__}", None, r"unknown placeholder \{input.__class__\}"),
        (2, "{input!r}", None, r"\{input\} must have no format"),
        (2, "{input:>5}", None, r"\{input\} must have no format"),
        (2, "{input}{", None, "invalid template: "),
        (2, "{{x}}{input}", None, "write four of them for one"),
        (2, "{few_shots_text}{input}", "{instruction}", "in the template of examples"),
        (
            2,
            "{few_shots_text}{input}",
            "{{{input}}}",
            r"\{入0\} in the template .* four of them for one",
        ),
        (0, "{input}", "{x}", "in the template of examples"),
    ],
)
def test_unusable_templates_are_refused(
    data: TaskData, shots: int, custom: str, examples: str | None, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        template(data, shots, custom, examples)


def test_digests_of_templates() -> None:
    assert template_digest(None) is None
    assert template_digest("a") == hashlib.sha256(b"a").hexdigest()[:8]
    assert template_digest("a", "b") == hashlib.sha256(b"a\0b").hexdigest()[:8]
    assert template_digest(None, "b") == hashlib.sha256(b"\0b").hexdigest()[:8]


TEXTS = st.text(alphabet=st.sampled_from(list("{}あa\n\0\U000f0000\U000f0001𠮷#0")), max_size=12)


@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=2), TEXTS)
def test_prompts_are_their_texts_joined(
    instruction: str, shots: list[tuple[str, str]], asked: str
) -> None:
    examples = tuple(Sample(text, output) for text, output in shots)
    data = TaskData("jamp", "test", instruction, 1, ("exact_match",), (), examples, "", "")
    blocks = "".join(f"\n\n### 入力:\n{text}\n\n### 応答:\n{output}" for text, output in shots)
    expected = HEAD.removesuffix("指示文") + instruction + blocks
    assert filled(template(data, 2), asked) == f"{expected}\n\n### 入力:\n{asked}\n\n### 応答:\n"
    own = template(data, 2, "{{{{{few_shots_text}|{input}|{instruction}", "<{output}{input}>")
    blocks = "".join(f"<{output}{text}>" for text, output in shots)
    assert filled(own, asked) == f"{{{blocks}|{asked}|{instruction}"
