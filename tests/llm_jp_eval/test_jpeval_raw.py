"""Raw files that are damaged or hostile: clear errors, nothing half-written."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpeval_data import evaluation_file
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval import convert
from pfgen_rs.llm_jp_eval.catalog import find_task, tasks
from pfgen_rs.llm_jp_eval.conversion import converting, raw_files
from pfgen_rs.llm_jp_eval.conversion.installing import find_raw

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
        (TSV + "1\tx\ty\n", r"line 2: expected 8 columns as in the header.* found 3"),
        (TSV + "1\tx\ty\tz\t\t\t\t\n\n", "line 3: expected 8 columns"),
        ("a\tb\tc\n", r"line 1: expected a header of 4 columns, .* found 3"),
        (TSV, "jamp: no samples for train"),
        (TSV.encode() + "雨\t\t\n".encode("cp932"), "line 2: not UTF-8 text: byte 0x89"),
        (TSV.encode("utf-16"), "line 1: not UTF-8 text: byte 0xff"),
    ],
    "jamp_test.tsv": [("", "empty file"), (TSV, "jamp: no samples for test")],
    "janli.tsv": [("a\tb\tc\td\n", "line 1: expected a header of 5 columns")],
    "jsick_train.tsv": [("a\t" * 9 + "j\n", "line 1: expected a header of 11 columns")],
    "jemhopqa_train.json": [
        (b"[\r\n\r\n" + b"\xe3\x81", "line 3: not UTF-8 text"),
        ("{}", "expected a JSON list, found {}"),
        ('[{"question": "q", "answer": "a"}, {"question": 1}]', "element 2: 'question'"),
        ("[\n{},\n]", r"line 3: not JSON"),
    ],
    "niilc_train.xml": [
        (question().encode("cp932"), "line 3: not UTF-8 text"),
        ("", r"line 1: not XML \(no element found\)"),
        (question()[:-20], "line 3: not XML"),
        ("<jsem-dataset/>", "expected the root element <questions>, found <jsem-dataset>"),
        (question(text=""), "line 3: expected one <text> in <question>, found 0"),
        (question(text="<text> </text>"), "line 3: <text> is empty"),
        (question(text="<text>a<b>c</b></text>"), "line 3: expected only text in <text>"),
        (question(answers=""), "line 3: <answers> has no <answer> with text"),
        (XML + "<questions>" + "<x>" * 100_000, "line 2: more than 64 elements are nested"),
        (BOMB, "line 3: declares the entity 'a'"),
        (EXTERNAL, "line 3: declares the entity 'a'"),
        (PARAMETER, "line 3: declares the entity 'a'"),
        (UNDEFINED, "line 4: uses the entity 'a'"),
        (XML + "<questions>&a;</questions>", "line 2: not XML"),
        ("<questions>\x00</questions>", "line 1: not XML"),
    ],
    "jnli_train.json": [
        (lines(JNLI) + "\n", r"line 2: not JSON \(Expecting value\)"),
        (lines(JNLI)[:-5], r"line 1: not JSON"),
        ("[" * 100_000, "line 1: nested too deeply"),
        (lines(JNLI, ["a"]), r"line 2: expected an object, found \[\"a\"\]"),
        (lines(JNLI, {**JNLI, "label": 1}), "line 2: 'label' must be a text, found 1"),
        (lines({"sentence1": "a"}), "line 1: missing key 'sentence2'"),
        ('{"sentence1": "\\ud800"}', "line 1: 'sentence1' contains a lone surrogate"),
    ],
    "jsts_train.json": [
        (lines({**JNLI, "label": float("nan")}), "line 1: not JSON.*NaN is not a number"),
        (lines(JNLI).replace('"neutral"', "1e999"), "line 1: 'label' must be a finite"),
        (lines(JNLI).replace('"neutral"', "9" * 5000), "line 1: not JSON.*4300 digits"),
        (lines({**JNLI, "label": True}), "line 1: 'label' must be a number, found true"),
        (lines(JNLI), "line 1: 'label' must be a number, found \"neutral\""),
    ],
    "jcommonsenseqa_train.json": [
        (lines({**CHOICES, "label": 1.5}), "line 1: 'label' must be the number"),
        (lines({"question": "q"}), "line 1: missing key 'choice0'"),
    ],
    "jsquad_train.json": [
        ('{"data": {}}', "'data' must be a list"),
        (json.dumps({"data": [{"paragraphs": [ARTICLE]}]}), r"qas\[0\]: 'answers' is empty"),
        ("[]", r"expected an object, found \[\]"),
    ],
    "chabsa/chABSA-dataset/e00002_ann.json": [('{"sentences": [{}]}', r"s\[0\]: missing key 'opi")],
    "chabsa/chABSA-dataset/x.json": [("{", "not JSON")],
    "mawps/shot_example.json": [
        ('[{"shot_example": "問題"}]', "element 1: 'shot_example' must contain '解答"),
        ('[{"shot_example": "問\\n解答：1\\n解答：2"}]', "'解答：' at the beginning of one"),
        ('[{"shot_example": "問\\n解答：答えは1"}]', "must contain '答えは…です。'"),
    ],
    "mawps/test.json": [
        ('[{"question": "q", "answer": 1}]', "element 1: 'answer' must be a text"),
        ("[]", "mawps: no samples for dev"),
    ],
    "jsem_Verbs.xml": [
        (problem(SCRIPT, ""), "line 3: <problem> has no attribute 'answer'"),
        (problem("<h><script>乙</script></h>"), "line 3: <problem> has no <p>"),
        (problem(SCRIPT), "line 3: expected one <h> in <problem>, found 0"),
        (problem(SCRIPT + "<h/>"), "line 3: expected one <script> in <h>, found 0"),
    ],
    "train/wiki90000001.knp": [("+ 1D\n", "line 1"), (b"\xff", "wiki90000001")],
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


def made(content: str | bytes) -> raw_files.RawFile:
    data = content.encode() if isinstance(content, str) else content
    return raw_files.RawFile("x", "x", data, raw_files.Status.CHANGED)


def test_only_three_line_ends() -> None:
    text = "a\r\nb\rc\u2028d\x0be\x0cf\x85g\x1ch\n"
    assert raw_files.raw_text(made(text)) == "a\nb\nc\u2028d\x0be\x0cf\x85g\x1ch\n"
    rows = list(raw_files.tsv_rows(made('x\ty\n"a\tb\u2028"\r\n'), 2))
    assert rows == [['"a', 'b\u2028"']]


texts = st.text(st.characters(exclude_categories=["Cs"]))
pairs = st.lists(st.tuples(texts, texts), min_size=1)


@given(pairs)
def test_files_are_those_of_json_dump(samples: list[tuple[str, str]]) -> None:
    info = find_task("jamp")
    expected: Any = evaluation_file("jamp", samples)
    encoded = converting.encoded(samples)
    assert b"".join(converting.evaluation_file(info, encoded)) == dumped(expected)
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
    assert b"".join(converting.tuning_file(info, encoded)) == dumped(expected)


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
    assert converting.shuffled(samples) == order
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
            if task == "wiki_ner":
                assert converting.wikipedia_splits(found)
            else:
                assert converting.task_splits(task, found)
        except InputError as error:
            assert name in str(error)  # noqa: PT017 - others are converted
            refused += 1
    assert 100 < refused < 500
