"""READMEs of runs: text that does nothing, and marks as counted in the obvious way."""

import html
import json
import re
from collections import defaultdict
from itertools import permutations
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts import FIRST, add_run, make_checkout
from helpers import CATS, QUESTIONS
from pfgen_rs import load_benchmark
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.checkout.published import Published, published
from pfgen_rs.checkout.rescoring import BOLD, STRUCK, marks_of
from pfgen_rs.questions.question import Question
from pfgen_rs.report import markup
from pfgen_rs.report.readme import run_readme
from pfgen_rs.report.update import report

TEXT = st.text(st.characters(codec="utf-8"))


@given(TEXT)
def test_escaped_text_reads_as_it_was_and_does_nothing(text: str) -> None:
    for escape, active in ((markup.escape, "_{}()#+-.!"), (markup.cell_text, "")):
        if min(text, default=" ") >= " ":
            assert html.unescape(escape(text)) == text
        plain = re.sub(r"&#?\w+;", "", escape(text))
        assert not set(plain) & set("*`[]|<>&\"'\\\n\r\t\0" + active)
    assert markup.escape("\n\t\x00\x1b") == "&#92;n&#92;t&#92;x00&#92;x1b"


@given(TEXT.filter(lambda text: "\0" not in text))
def test_targets_of_links(path: str) -> None:
    target = markup.link_target(path)
    assert re.fullmatch(r"[\w/@+:,=~.%-]*", target, re.ASCII)
    assert unquote(target) == path


@given(st.text("ab日本", max_size=9), st.lists(st.text("ab日本"), max_size=4))
def test_padding(heading: str, cells: list[str]) -> None:
    def width(text: str) -> int:
        return len(text) + sum(map(text.count, "日本"))

    spaces = len(markup.padding(heading, cells)) / len("&nbsp;")
    assert width(heading) + spaces == max(map(width, [heading, *cells]))


def plain_marks(question: Question, answer: str) -> bytes:
    """Marks by looking for every window in every reference answer."""
    text, references = f"^{answer}$", [a for own in question.answers.values() for a in own]
    counts = {
        i: sum(text[i - 1 : i + 2] in reference for reference in references)
        for i in range(1, len(text) - 1)
    }
    marks = []
    for i in counts:
        common = max(counts.get(j, 0) for j in (i - 1, i, i + 1))
        bold, struck = common > 0.1 * len(references), common < 0.005 * len(references)
        marks.append(BOLD if bold else STRUCK if struck else 0)
    return bytes(marks)


def made(folder: Path, references: int) -> Benchmark:
    """A question whose answers hold some windows rarely, and some often."""
    answers = [
        "いつもある。" + ("時々ある。" if i % 12 == 0 else "") + ("稀である$" if i == 0 else "")
        for i in range(references)
    ]
    question = {**QUESTIONS["Q01"], "answers": {"A": answers[::2], "B": answers[1::2]}}
    folder.mkdir()
    (folder / "Q01.json").write_text(json.dumps(question))
    return load_benchmark(folder)


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Benchmark]:
    """Questions with so many reference answers: at, above and below the limits of the marks."""
    folder = tmp_path_factory.mktemp("sets")
    return {number: made(folder / str(number), number) for number in (199, 200, 201, 240)}


@given(
    st.sampled_from([199, 200, 201, 240]),
    st.lists(st.lists(st.sampled_from(["いつも", "ある。", "時々", "稀", "で", "$", "^", "x"]))),
)
def test_marks_are_those_of_looking_for_every_window(
    benchmarks: dict[int, Benchmark], references: int, answers: list[list[str]]
) -> None:
    benchmark = benchmarks[references]
    texts = ["".join(parts) for parts in answers]
    result = {"questions": {"Q01": {"samples": [{"answer": text} for text in texts]}}}
    [marks] = marks_of(benchmark, [result])
    assert marks == {
        ("Q01", i): plain_marks(benchmark["Q01"], text) for i, text in enumerate(texts)
    }


def test_sources_that_the_published_set_lacks(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    report(checkout)
    text = (checkout / FIRST / "README.md").read_text(encoding="utf-8")
    assert re.search(r"- Fluency: \d\.\d{3} \(A:\d\.\d{4}\+B:\d\.\d{4}\)\n", text)
    assert f'## <a name="Q01"></a>Q01. {CATS}\n' in text


# Half-way between two printed numbers: in each, another one of the three shares must be added last to get
# the sum that the two other orders do not give.
TIES = [
    {"P": 0.23906, "T": 0.29961, "S": 0.17383},
    {"P": 0.20076, "T": 0.22867, "S": 0.20207},
    {"P": 0.10329, "T": 0.30937, "S": 0.16484},
]


def with_fluency(checkout: Path, shares: dict[str, float]) -> Published:
    """The first run's result with these shares, in this order."""
    path = checkout / FIRST / "result.json"
    result = json.loads(path.read_bytes())
    result["questions"]["Q01"]["scores"]["fluency"] = shares
    return published(json.dumps(result).encode(), path, FIRST)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = make_checkout(tmp_path_factory.mktemp("reported") / "checkout")
    report(checkout)
    return checkout


def printed_fluency(found: Published, **how: bool) -> str:
    marks = defaultdict[tuple[str, int], bytes](bytes)
    text = run_readme(found.result, "0" * 40, marks, **how).decode()
    [shown] = re.findall(r"## <a name=\"Q01\">.*\n\n.*\n  - Fluency: (\S+) \(PFN:", text)
    return str(shown)


@pytest.mark.parametrize("order", list(permutations("PTS")))
def test_shares_are_added_in_the_order_of_the_file(reported: Path, order: tuple[str, ...]) -> None:
    for tie in TIES:
        shares = {source: tie[source] for source in order}
        a, b, c = shares.values()
        assert printed_fluency(with_fluency(reported, shares)) == f"{a + b + c:.3f}"


def test_a_readme_of_a_newer_python_stays(reported: Path) -> None:
    """Python's `sum` has been compensated since 3.12; a run without responses is described, not scored."""
    found = with_fluency(reported, dict(zip("PST", (0.10329, 0.30937, 0.16484), strict=True)))
    sums = {printed_fluency(found, compensated=choice) for choice in (False, True)}
    assert sums == {"0.577", "0.578"}
    folder = reported / "result" / "lost" / "answers"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(found.result))
    report(reported)
    path = folder / "README.md"
    plain = path.read_text(encoding="utf-8")
    assert plain.count("Fluency: 0.577") == 1
    for content in (plain.replace("Fluency: 0.577", "Fluency: 0.578"), plain):
        path.write_text(content, encoding="utf-8")
        report(reported, force=True)
        assert path.read_text(encoding="utf-8") == content


def test_an_edited_configuration_is_shown_in_its_own_order(reported: Path) -> None:
    config = {
        "model": "some/model",
        "temperature": 1.0,
        "engine": "vllm",
        "nested": {"b": 1, "a": 2},
    }
    folder = add_run(reported, "result/edited/run")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    report(reported)
    assert f"```json\n{json.dumps(config)}\n```" in (folder / "README.md").read_text(
        encoding="utf-8"
    )
