"""The catalog of tasks, their averages and files, and prompts; raw files that are damaged or hostile."""

import csv
import hashlib
import json
import lzma
import random
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from jpeval_data import PUBLISHED, SAMPLES, SHOTS, evaluation_file, write_data, write_file
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval import averaging, convert, evaluation_files, registry
from pfgen_rs.llm_jp_eval.conversion import converting, raw_files
from pfgen_rs.llm_jp_eval.conversion.installing import find_raw
from pfgen_rs.llm_jp_eval.prompts import filled, template, template_digest
from pfgen_rs.llm_jp_eval.registry import cluster_of, find_task, tasks
from pfgen_rs.llm_jp_eval.scoring import clusters_of

TASKS = {name: find_task(name) for name in PUBLISHED}


def test_instructions_are_those_published(jpeval_dir: Path) -> None:
    published = json.loads((jpeval_dir / "instructions.json").read_text("utf-8"))
    keys = ("instruction", "output_length", "metrics")
    ours = {name: {key: getattr(t, key) for key in keys} for name, t in TASKS.items()}
    assert json.loads(json.dumps(ours)) == published
    assert len(ours) == 17


def test_tasks_are_chosen_by_name_and_category() -> None:
    chosen, every = registry.chosen_tasks, list(TASKS.values())
    names = [task.name for task in chosen(["mawps", "QA", "mawps"])]
    assert names == ["jemhopqa", "mawps", "niilc"]
    assert chosen() == chosen(["all", "jamp"]) == every
    assert {task.category for task in every} == set(averaging.CATEGORIES)
    with pytest.raises(SettingsError, match="unknown task 'jamb': expected one of chabsa, jamp"):
        registry.find_task("jamb")
    with pytest.raises(SettingsError, match=r"unknown task 'nli'.* STS, .*all"):
        chosen(["nli"])


# Averages: golden texts, and Table 2 of the paper from its categories


SEVEN = ("NLI", "QA", "RC", "MC", "EL", "FA", "MR")
MAIN = {
    "NLI": ["jamp_exact_match", "janli_exact_match", "jsick_exact_match"],
    "QA": ["jemhopqa_char_f1", "niilc_char_f1"],
    "RC": ["jsquad_char_f1"],
    "MC": ["jcommonsenseqa_exact_match"],
    "EL": ["chabsa_set_f1"],
    "FA": ["wiki_reading_char_f1", "wiki_ner_set_f1"],
    "MR": ["mawps_exact_match"],
}


def test_golden_texts(jpeval_dir: Path) -> None:
    rows = (jpeval_dir / "golden" / "categories.jsonl").read_text("utf-8").splitlines()
    assert len(rows) == 20
    for row in map(json.loads, rows):
        whole = averaging.score_texts(row["scores"], averaging.averages(row["scores"]))
        assert list(whole.items()) == list(row["with_average"].items()), row["id"]
        bare = averaging.score_texts(row["scores"])
        assert list(bare.items()) == list(row["without_average"].items()), row["id"]


def test_table_2_follows_from_its_categories(jpeval_dir: Path) -> None:
    with (jpeval_dir / "golden" / "table2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11
    for row in rows:
        scores = {task: float(row[name]) for name, parts in MAIN.items() for task in parts}
        found = averaging.averages(scores)
        assert {name: f"{found[name]:.3f}" for name in SEVEN} == {name: row[name] for name in SEVEN}
        apart = found["AVR"] - float(row["AVR"])
        assert abs(apart) < 0.0006, row["model"]
        assert found["AVG"] == pytest.approx(found["AVR"] * 7 / 9)


def test_categories_that_were_not_run_count_as_0() -> None:
    scores = {"jamp_exact_match": 0.5, "janli_exact_match": 0.25, "jsts_pearson": 0.9}
    found = averaging.averages(scores)
    assert list(found) == [*SEVEN, "HE", "MT", "AVG", "AVR"]
    assert found["NLI"] == 0.375
    assert found["QA"] == found["HE"] == 0.0
    assert found["AVR"] == statistics.mean([0.375, *[0.0] * 6])
    assert found["AVG"] == statistics.mean([0.375, *[0.0] * 8])


def test_texts_are_rounded_half_to_even_and_sorted_by_code_point() -> None:
    scores = {"jsts_pearson": -0.00001, "b_x": 0.03125, "a-b_x": 1.0, "B_x": 0.5}
    assert list(averaging.score_texts(scores).items()) == [
        ("B_x", "0.5000"),
        ("a-b_x", "1.0000"),
        ("b_x", "0.0312"),
        ("jsts_pearson", "-0.0000"),
    ]
    shown = averaging.score_texts(scores, averaging.averages(scores))
    assert list(shown)[:2] == ["AVG", "B_x"]
    assert "AVR" not in shown


# Evaluation files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def test_a_task_has_the_samples_of_its_split_and_the_examples_of_train(folder: Path) -> None:
    found = evaluation_files.read_task(folder, "chabsa")
    assert [(s.input, s.output) for s in found.samples] == list(SAMPLES["chabsa"])
    assert [(s.input, s.output) for s in found.shots] == list(SHOTS["chabsa"])
    assert (found.output_length, found.metrics) == (191, ("set_f1",))
    content = (folder / "evaluation/test/chabsa.json").read_bytes()
    assert found.sha256 == hashlib.sha256(content).hexdigest() != found.shots_sha256


def test_the_file_counts_rather_than_the_catalog(folder: Path) -> None:
    path = folder / "evaluation/test/jamp.json"
    changes = {"instruction": "別", "output_length": 9, "metrics": ["char_f1", "set_f1"]}
    write_file(path, evaluation_file("jamp", [("a", "b")], **changes))
    found = evaluation_files.read_task(folder, "jamp")
    assert (found.instruction, found.output_length) == ("別", 9)
    assert found.metrics == ("char_f1", "set_f1")


def test_data_are_found_in_several_layouts(folder: Path, tmp_path: Path) -> None:
    for place in (folder, folder / "evaluation"):
        assert evaluation_files.find_data(place) == folder / "evaluation"
    with pytest.raises(InputError, match=r"no evaluation files: .* install raw files with 'pf"):
        evaluation_files.find_data(None)
    write_data(evaluation_files.installed_data())
    assert evaluation_files.read_task(None, "jamp").task == "jamp"
    (tmp_path / "file").touch()
    for name in (".", "none", "file"):
        with pytest.raises(InputError, match="no evaluation files: expected evaluation/"):
            evaluation_files.find_data(tmp_path / name)


def test_missing_files_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"mawps\.json: no file of the task 'mawps' in the sp"):
        evaluation_files.read_tasks(folder, ["jamp", "mawps"])
    with pytest.raises(InputError, match=r"dev: no files of these tasks in the split dev"):
        evaluation_files.read_tasks(folder, [], "dev")
    (folder / "evaluation/train/jamp.json").unlink()
    with pytest.raises(InputError, match=r"train.jamp\.json: cannot be read: No such file"):
        evaluation_files.read_task(folder, "jamp")


FILES: list[tuple[bytes | dict[str, Any], str]] = [
    ({"instruction": 3}, "'instruction' must be text, not 3"),
    ({"instruction": "\ud800"}, "contains a lone surrogate"),
    ({"output_length": True}, "'output_length' must be a whole number, not True"),
    ({"output_length": 0}, "'output_length' must be positive"),
    ({"num_few_shots": -1}, "'num_few_shots' not negative"),
    ({"metrics": []}, "'metrics' is empty"),
    ({"metrics": "char_f1"}, "'metrics' must be a list"),
    ({"metrics": ["blue"]}, "unknown metric 'blue': expected one of exact_match, char_f1,"),
    ({"metrics": [["char_f1"]]}, r"'metrics\[0\]' must be text"),
    ({"reading": ["trim"]}, "unknown step 'trim': expected one of cut"),
    ({"answer_pattern_id": "custom"}, "'custom' lacks 'answer_extract_pattern'"),
    ({"samples": []}, "'samples' is empty"),
    ({"samples": {}}, r"'samples' must be a list, not \{\}"),
    ({"samples": ["x"]}, r"samples\[0\] must be an object with the texts 'input' and 'output'"),
    ({"samples": [{"input": "x", "output": None}]}, r"samples\[0\] must be"),
    ({"samples": [{"input": "x\udfff", "output": ""}]}, "contains a lone surrogate"),
    ({"few_shots": [{"input": "x"}]}, r"few_shots\[0\] must be an object"),
    (b"", "is not JSON"),
    (b'{"instruction":\n\n', r"is not JSON: .* line 3"),
    (b"[]", "expected an object"),
    (b"{}", "lacks the key 'samples'"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"output_length": ' + b"9" * 5000 + b"}", "is not JSON"),
    ("{}".encode("utf-16"), "is not UTF-8"),
]


@pytest.mark.parametrize(("content", "message"), FILES)
def test_wrong_files_are_named(folder: Path, content: Any, message: str) -> None:
    path = folder / "evaluation/test/jamp.json"
    if isinstance(content, dict):
        content = json.dumps(evaluation_file("jamp", [("a", "b")], **content)).encode()
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        evaluation_files.read_task(folder, "jamp")
    assert error.value.path == path


def test_the_first_samples_are_used(folder: Path) -> None:
    found = evaluation_files.read_task(folder, "jsts")
    assert [evaluation_files.used(found, n) for n in (None, -1, 0, 1, 2, 3, 4)] == [
        3,
        3,
        3,
        1,
        2,
        3,
        3,
    ]


def test_anybody_can_recompute_the_digest_of_the_data(folder: Path) -> None:
    names = ["jamp", "jsts"]
    lines = "".join(
        f"{hashlib.sha256((folder / 'evaluation' / file).read_bytes()).hexdigest()}  {file}\n"
        for name in names
        for file in (f"test/{name}.json", f"train/{name}.json")
    )
    expected = hashlib.sha256(lines.encode()).hexdigest()[:8]
    assert evaluation_files.raw_digest(evaluation_files.read_tasks(folder, names)) == expected


# Prompts: the published template, and templates of one's own


HEAD = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。"
    "要求を適切に満たす応答を書きなさい。\n\n### 指示:\n指示文"
)
ASKED = "\n\n### 入力:\n{input}\n\n### 応答:\n"


@pytest.fixture
def task(tmp_path: Path) -> evaluation_files.TaskData:
    found = evaluation_files.read_task(write_data(tmp_path), "jamp")
    shots = tuple(evaluation_files.Sample(f"入{n}", f"出{n}") for n in range(16))
    return replace(found, instruction="指示文", shots=shots)


def test_the_published_template(task: evaluation_files.TaskData) -> None:
    assert template(task, 0) == HEAD + ASKED
    examples = "".join(f"\n\n### 入力:\n入{n}\n\n### 応答:\n出{n}" for n in range(4))
    assert template(task) == template(task, 4) == HEAD + examples + ASKED
    assert filled(template(task, 0), "問") == HEAD + ASKED.replace("{input}", "問")


def test_sixteen_examples_are_enough_and_seventeen_are_not(task: evaluation_files.TaskData) -> None:
    assert "入15" in template(task, 16)
    with pytest.raises(SettingsError, match=r"jamp has 16 examples .*, not 17: choose fewer"):
        template(task, 17)
    with pytest.raises(SettingsError, match="not -1"):
        template(task, -1)


def test_texts_are_inserted_literally(task: evaluation_files.TaskData) -> None:
    hostile = "{input} {{x}} {0} \\1 }{ \U000f0000" + "1\U000f0000 {few_shots_text}"
    bad = replace(task, instruction=hostile, shots=(evaluation_files.Sample(hostile, hostile),) * 4)
    made = template(bad, 4)
    assert made.count(hostile) == 9
    assert filled(made, hostile).count(hostile) == 10
    own = template(bad, 1, "{input}｜{few_shots_text}｜{instruction}", "{input}＝{output}")
    assert filled(own, "問") == f"問｜{hostile}＝{hostile}｜{hostile}"


def test_templates_of_ones_own(task: evaluation_files.TaskData) -> None:
    own = "{instruction}\n{few_shots_text}Q {input}\nA ", "Q {input}\nA {output}\n"
    made = template(task, 2, *own)
    assert made == "指示文\nQ 入0\nA 出0\nQ 入1\nA 出1\nQ {input}\nA "
    made = template(task, 1, "<s>{few_shots_text}{input}")
    assert made == "<s>\n\n### 入力:\n入0\n\n### 応答:\n出0{input}"
    assert filled(template(task, 0, "{input}/{input}"), "問") == "問/問"
    assert template(task, 1, None, "[{input}:{output}]") == HEAD + "[入0:出0]" + ASKED


def test_braces_of_templates_are_halved_twice(task: evaluation_files.TaskData) -> None:
    made = template(task, 1, "{{{{a}}}}{few_shots_text}{input}", "{{{{{input}}}}}{output}")
    assert made == "{{a}}{{入0}}出0{input}"
    assert filled(made, "問") == "{a}{入0}出0問"
    assert filled(template(task, 0, "{{input}}"), "問") == "問"


UNUSABLE: list[tuple[int, str, str | None, str]] = [
    (2, "{instruction}", None, r"the template has no \{input\}"),
    (2, "", None, "a template is empty"),
    (2, "{input}", "", "a template is empty"),
    (0, "{few_shots_text}{input}", None, r"\{few_shots_text\} in the template"),
    (2, "{question}{input}", None, r"\{question\} in the template: expected \{instruction\}"),
    (2, "{input.__class__}", None, r"unknown placeholder \{input.__class__\}"),
    (2, "{input!r}", None, r"\{input\} in the template: .*, without a format"),
    (2, "{input}{", None, "invalid template: "),
    (2, "{{x}}{input}", None, "write four of them for one"),
    (2, "{few_shots_text}{input}", "{instruction}", "in the template of examples"),
    (2, "{few_shots_text}{input}", "{{{input}}}", r"\{入0\} in the template .* four of them"),
]


def test_unusable_templates_are_refused(task: evaluation_files.TaskData) -> None:
    for *given_template, message in UNUSABLE:
        with pytest.raises(SettingsError, match=message):
            template(task, *given_template)  # type: ignore[arg-type]


def test_digests_of_templates() -> None:
    assert template_digest(None) is None
    assert template_digest("a") == hashlib.sha256(b"a").hexdigest()[:8]
    assert template_digest("a", "b") == hashlib.sha256(b"a\0b").hexdigest()[:8]
    assert template_digest(None, "b") == hashlib.sha256(b"\0b").hexdigest()[:8]


TEXTS = st.text(alphabet=st.sampled_from(list("{}あa\n\0\U000f0000\U000f0001𠮷#0")), max_size=12)


@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=2), TEXTS)
def test_prompts_are_joined_texts(
    instruction: str, shots: list[tuple[str, str]], asked: str
) -> None:
    examples = tuple(evaluation_files.Sample(text, output) for text, output in shots)
    task = evaluation_files.TaskData(
        instruction, 1, ("exact_match",), (), task="jamp", split="test", shots=examples
    )
    blocks = "".join(f"\n\n### 入力:\n{text}\n\n### 応答:\n{output}" for text, output in shots)
    expected = HEAD.removesuffix("指示文") + instruction + blocks
    assert filled(template(task, 2), asked) == f"{expected}\n\n### 入力:\n{asked}\n\n### 応答:\n"
    own = template(task, 2, "{{{{{few_shots_text}|{input}|{instruction}", "<{output}{input}>")
    blocks = "".join(f"<{output}{text}>" for text, output in shots)
    assert filled(own, asked) == f"{{{blocks}|{asked}|{instruction}"


# Raw files that are damaged or hostile: clear errors, nothing half-written.


TSV = "a\tb\tc\td\te\tf\tg\th\n"
XML = '<?xml version="1.0"?>\n'
UNDEFINED = XML + '<!DOCTYPE questions SYSTEM "x.dtd">\n<questions>\n<text>&a;</text></questions>'


def declaring(entities: str, text: str) -> str:
    return f"{XML}<!DOCTYPE questions [\n{entities}]>\n<questions>{text}</questions>"


BOMB = declaring('<!ENTITY a "ああ">\n<!ENTITY b "&a;&a;">\n', "&b;")
EXTERNAL = declaring('<!ENTITY a SYSTEM "file:///etc/passwd">\n', "&a;")
PARAMETER = declaring('<!ENTITY % a SYSTEM "http://localhost/x">\n%a;', "")


def question(text: str = "<text>何？</text>", answers: str = "<answer>答</answer>") -> str:
    return f"{XML}<questions>\n<question>{text}<answers>{answers}</answers></question></questions>"


def problem(content: str, attribute: str = 'answer="yes"') -> str:
    return f"{XML}<jsem-dataset>\n<problem {attribute}>{content}</problem></jsem-dataset>"


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


SCRIPT = "<p><script>甲</script></p>"
JNLI = {"sentence1": "a", "sentence2": "b", "label": "neutral"}
CHOICES = {"question": "q", **{f"choice{n}": "x" for n in range(5)}}
ARTICLE = {"context": "c", "qas": [{"question": "q", "answers": []}]}

HOSTILE: dict[str, list[tuple[str | bytes, str]]] = {
    "jamp_train.tsv": [
        (TSV + "1\tx\ty\n", r"line 2 has 3 columns.*: expected 4 or more"),
        (TSV + "1\tx\ty\tz\t\t\t\t\n\n", "line 3 has 1 columns"),
        ("a\tb\tc\n", r"line 1 has 3 columns"),
        (TSV, "jamp: no samples for train"),
        (TSV.encode() + "雨\t\t\n".encode("cp932"), "can't decode byte 0x89"),
        (TSV.encode("utf-16"), "can't decode byte 0xff"),
    ],
    "jamp_test.tsv": [("", "line 1 has 1 columns"), (TSV, "jamp: no samples for test")],
    "janli.tsv": [("a\tb\tc\td\n", "line 1 has 4 columns.*: expected 5 or more")],
    "jsick_train.tsv": [("a\t" * 9 + "j\n", "line 1 has 10 columns.*: expected 11 or more")],
    "jemhopqa_train.json": [
        (b"[\r\n\r\n" + b"\xe3\x81", "can't decode bytes"),
        ("{}", "no samples for train"),
        ('{"question": "q"}', "element 1: .*expected 'question'"),
        ("5", "not iterable"),
        ('[{"question": "q", "answer": "a"}, {"question": 1}]', "element 2: .*'question'"),
        ("[\n{},\n]", r"cannot be read: .*: line 3"),
    ],
    "niilc_train.xml": [
        (question().encode("cp932"), "can't decode byte"),
        ("", "cannot be read: no element found"),
        (question()[:-20], "cannot be read: .*: line 3"),
        ("<jsem-dataset/>", "no samples for train"),
        (question(text=""), "element 1: .*expected <text> with text"),
        (question(text="<text> </text>"), "element 1: .*expected <text> with text"),
        (question(answers=""), "element 1: .*expected <answers/answer> with text"),
        (XML + "<questions>" + "<x>" * 100_000, "cannot be read: no element found"),
        (XML + "<x>" * 100_000 + "</x>" * 100_000, "no samples for train"),
        (BOMB, "entity declarations are not allowed"),
        (EXTERNAL, "entity declarations are not allowed"),
        (PARAMETER, "entity declarations are not allowed"),
        (UNDEFINED, "undefined entity &a;: line 4"),
        (XML + "<questions>&a;</questions>", "undefined entity: line 2"),
        ("<questions>\x00</questions>", "not well-formed"),
    ],
    "jnli_train.json": [
        (lines(JNLI) + "\n", r"line 2: cannot be read: Expecting value"),
        (lines(JNLI)[:-5], r"line 1: cannot be read"),
        ("[" * 100_000, "line 1: .*recursion"),
        (lines(JNLI, ["a"]), r"line 2: .*'sentence1', .* in \['a'\]"),
        (lines(JNLI, {**JNLI, "label": 1}), "line 2: .*expected 'label', .*'label': 1"),
        (lines({"sentence1": "a"}), "line 1: .*expected 'sentence2'"),
        (lines({**JNLI, "sentence1": "\ud800"}), "line 1: .*surrogates not allowed"),
    ],
    "jsts_train.json": [
        (lines({**JNLI, "label": float("nan")}), "line 1: .*'label' must be a finite"),
        (lines(JNLI).replace('"neutral"', "1e999"), "line 1: .*'label' must be a finite"),
        (lines(JNLI).replace('"neutral"', "9" * 5000), "line 1: .*4300 digits"),
        (lines({**JNLI, "label": True}), "line 1: .*expected 'label'"),
        (lines(JNLI), "line 1: .*expected 'label'"),
    ],
    "jcommonsenseqa_train.json": [
        (lines({**CHOICES, "label": 1.5}), "line 1: .*expected 'label'"),
        (lines({"question": "q"}), "line 1: .*expected 'choice0'"),
    ],
    "jsquad_train.json": [
        ('{"data": {}}', "expected 'data'"),
        (json.dumps({"data": [{"paragraphs": [ARTICLE]}]}), "element 1: .*out of range"),
        ("[]", r"expected 'data', .* in \[\]"),
    ],
    "chabsa/chABSA-dataset/e00002_ann.json": [('{"sentences": [{}]}', "element 1: .*'opinions'")],
    "chabsa/chABSA-dataset/x.json": [("{", "cannot be read: Expecting property name")],
    "mawps/shot_example.json": [
        ('[{"shot_example": "問題"}]', "element 1: .*'shot_example' must have one line"),
        ('[{"shot_example": "問\\n解答：1\\n解答：2"}]', "must have one line"),
        ('[{"shot_example": "問\\n解答：答えは1"}]', "one line that begins with"),
    ],
    "mawps/test.json": [
        ('[{"question": "q", "answer": 1}]', "element 1: .*expected 'answer'"),
        ("[]", "mawps: no samples for dev"),
    ],
    "jsem_Verbs.xml": [
        (problem(SCRIPT, ""), "element 1: cannot be read: 'answer'"),
        (problem("<h><script>乙</script></h>"), "element 1: .*expected <p/script>"),
        (problem(SCRIPT), "element 1: .*expected <h/script>"),
        (problem(SCRIPT + "<h/>"), "element 1: .*expected <h/script>"),
    ],
    "train/wiki90000001.knp": [("+ 1D\nEOS\n", "line 2"), (b"\xff", "wiki90000001")],
}
"""Contents of raw files, and what is said of them."""


@pytest.fixture(scope="module")
def raw(jpeval_mini: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw") / "raw_files"
    shutil.copytree(jpeval_mini / "raw_files", folder)
    return folder


def task_of(name: str) -> str:
    if name.endswith(".knp"):
        return "wiki_ner"
    return name.split("/")[0].split("_")[0].split(".")[0]


@pytest.mark.parametrize(
    ("name", "content", "problem"), [(n, *each) for n, own in HOSTILE.items() for each in own]
)
def test_hostile(name: str, content: str | bytes, problem: str, raw: Path, tmp_path: Path) -> None:
    path = raw / name
    original = path.read_bytes() if path.exists() else None
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        with pytest.raises(InputError, match=problem) as caught:
            convert(raw, tmp_path / "out", tasks=[task_of(name)])
    finally:
        if original is None:
            path.unlink()
        else:
            path.write_bytes(original)
    if "no samples" not in problem:
        assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_external_document_types_are_ignored(raw: Path, tmp_path: Path) -> None:
    path = raw / "niilc_train.xml"
    original = path.read_bytes()
    head = b'<!DOCTYPE questions SYSTEM "http://localhost:9/x.dtd">\n<?xml-stylesheet href="x"?>\n<questions>'
    changed = original.replace(b"<questions>", head).replace(b"UTF-8", b"Shift_JIS")
    path.write_bytes(b"\xef\xbb\xbf" + changed.replace(b"\n", b"\r\n"))
    found = convert(raw, tmp_path / "changed", tasks=["niilc"])
    path.write_bytes(original)
    unchanged = convert(raw, tmp_path / "original", tasks=["niilc"])
    assert [file.sha256 for file in found.files] == [file.sha256 for file in unchanged.files]


def test_only_three_line_ends() -> None:
    text = "a\r\nb\rc\u2028d\x0be\x0cf\x85g\x1ch\n"
    assert raw_files.raw_text(text.encode()) == "a\nb\nc\u2028d\x0be\x0cf\x85g\x1ch\n"
    rows = converting.tsv_rows(raw_files.raw_text('x\ty\n"a\tb\u2028"\r\n'.encode()), 2)
    assert rows == [['"a', 'b\u2028"']]


texts = st.text(st.characters(exclude_categories=["Cs"]))
pairs = st.lists(st.tuples(texts, texts), min_size=1)


@given(pairs)
def test_files_are_those_of_json_dump(samples: list[tuple[str, str]]) -> None:
    info = find_task("jamp")
    expected: Any = evaluation_file("jamp", samples)
    assert "".join(converting.evaluation_file(info, samples)).encode() == dumped(expected)
    head = (
        "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。"
        "要求を適切に満たす応答を書きなさい。"
        f"\n\n### 指示:\n{info.instruction}"
    )
    expected = []
    for index, (text, output) in enumerate(samples):
        asked = f"\n\n### 入力:\n{text}" if text else ""
        about = {"ID": f"jamp-{index}", "instruction": info.instruction}
        whole = f"{head}{asked}\n\n### 応答:\n{output}"
        expected.append({**about, "input": text, "output": output, "text": whole})
    assert "".join(converting.tuning_file(info, samples)).encode() == dumped(expected)


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=4).encode()


def mersenne_shuffled(count: int) -> list[int]:
    """The shuffle of llm-jp-eval 2.2, from the generator's bits."""
    generator, values = random.Random(42), list(range(count))
    for i in range(count - 1, 0, -1):
        bits = (i + 1).bit_length()
        while (j := generator.getrandbits(bits)) >= i + 1:
            pass
        values[i], values[j] = values[j], values[i]
    return values


def splits(*parts: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    return dict(zip(("train", "dev", "test"), parts, strict=True))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9, 10, 11, 19, 20, 99, 1001])
def test_splits(count: int) -> None:
    samples = [(str(n), str(n)) for n in range(count)]
    order = [samples[n] for n in mersenne_shuffled(count)]
    assert converting.shares(samples) == [order]
    a, b, half = int(count * 0.8), int(count * 0.9), int(count / 2)
    assert converting.with_test(samples, samples) == splits(order[:b], order[b:], samples)
    assert converting.without_test(samples) == splits(order[:a], order[a:b], order[b:])
    found = converting.halved(samples[:3], samples)
    assert found == splits(samples[:3], order[:half], order[half:])


_BITS = (
    *(b"<", b">", b"&", b"&#x0;", b"<x/>", b"<![CDATA[", b"<!--", b"<?x?>"),
    *(b'<!DOCTYPE a [<!ENTITY x "y">]>', b'"', b"\\ud800", b"\\u0000", b"null", b"{}", b"[]"),
    *(b"1e999", b"NaN", b"true", b"9" * 26, b"\t", b"\n", b"\r", b"\x00", b"\xff", b"\xe3\x81"),
    *(b"\xf0\x90\x80\x80", b"\xef\xbb\xbf", b"# S-ID:", b"EOS\n", b"+ 1D", b"* -1D", b""),
)


def test_damaged_files_are_converted_or_refused(jpeval_mini: Path) -> None:
    files = find_raw(jpeval_mini / "raw_files", tasks()).files
    generator, refused = random.Random(1), 0
    for _ in range(500):
        name = generator.choice(sorted(files))
        content = bytearray(files[name].content)
        for _ in range(generator.randint(1, 3)):
            start = generator.randrange(len(content) + 1)
            content[start : start + generator.choice((0, 1, 20))] = generator.choice(_BITS)
        changed = replace(files[name], label=name, content=bytes(content))
        found = raw_files.RawFiles({**files, name: changed})
        task = task_of(name)
        try:
            assert converting.task_splits(find_task(task), found)
        except InputError as error:
            assert name in str(error)  # noqa: PT017 - others are converted
            refused += 1
    assert 100 < refused < 500


def test_the_questions_of_jsquad_are_clustered_by_their_texts(jpeval_dir: Path) -> None:
    """The real test split, read with the standard library."""
    [path] = (jpeval_dir / "raw/yahoojapan+JGLUE/datasets/jsquad-v1.1").glob("valid*.xz")
    articles = json.loads(lzma.decompress(path.read_bytes()))["data"]
    texts = [part["context"] for article in articles for part in article["paragraphs"]]
    inputs = [
        f"文章：{part['context']}\n質問：{each['question']}"
        for article in articles
        for part in article["paragraphs"]
        for each in part["qas"]
    ]
    found = clusters_of("jsquad", inputs)
    assert found is not None
    assert (len(inputs), found.max() + 1) == (4442, len(set(texts))) == (4442, 1145)
    assert cluster_of("jsquad", inputs[0]) == texts[0]
    assert cluster_of("jsquad", "質問：？") is None
    assert cluster_of("jamp", inputs[0]) is cluster_of("of nobody", "") is None
    assert clusters_of("jsquad", ["質問：？", "文章：a\n質問：b"]) is None
