"""What notebooks show of results, comparisons and explanations: short, self-contained, and inert."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import helpers
import pfgen_rs
import small
from pfgen_rs import Benchmark, Result, load_benchmark, score_file
from pfgen_rs.comparisons import compare_runs
from pfgen_rs.io import notebook
from pfgen_rs.io.text import acts

TAGS = {"div", "b", "bdi", "table", "thead", "tbody", "tr", "th", "td", "span"}
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">&lt;\u202e\x1b[31m"\'\n</table>'


class Page(HTMLParser):
    """Text of some HTML; fails for tags that are not closed, not ours, or do more than show."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.open = "", list[str]()
        self.feed(html)
        self.close()
        assert self.open == []
        assert not any(map(acts, html))
        html.encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"style"}
        assert not any("(" in (value or "") for _, value in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shows(shown: Any, *parts: str) -> None:
    text = Page(shown._repr_html_()).text
    assert all(part in text for part in parts), text


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> list[Result]:
    return [score_file(folder, mini) for folder in pfgen_rs.sample_runs().values()]


def test_comparisons_are_short(results: list[Result]) -> None:
    found = compare_runs(results)
    means = "'mini/babbling': 0.1063, 'mini/careless': 0.4594, 'mini/faithful': 0.8256"
    signature = results[0].signature
    assert repr(found.statistics) == (
        f"Comparison(average over 14 questions: {means}; signature={signature!r})"
    )
    assert repr(found) == f"RunComparison({found.statistics!r})"
    many = compare_runs([replace(results[0], run=f"{i}\u202e" + 999 * "x") for i in range(7)])
    assert ", and 2 more; signature=" in repr(many)
    assert len(repr(many)) < 1000
    assert repr(many).isprintable()


def test_a_result_shows_score_and_what_is_missing(results: list[Result], tmp_path: Path) -> None:
    result = results[2]
    metrics = {name: getattr(result, name) for name in ("fluency", "truthfulness", "helpfulness")}
    values = ", ".join(f"{name}={value:.4f}" for name, value in metrics.items())
    assert repr(result) == (
        f"Result('mini/faithful', score=0.8256, {values}, length={result.length}, answers=140, "
        f"questions=14/14, trials=10, signature={result.signature!r})"
    )
    fluency = f"{metrics['fluency']:.4f}"
    shows(result, "mini/faithful", "0.8256", fluency, "14/14", "140", result.signature)
    path = tmp_path / "trials.jsonl"
    path.write_bytes(helpers.lines([*helpers.GOOD[:1], ("空は？", "青")]))
    bench = load_benchmark(helpers.write_benchmark(tmp_path / "questions"))
    partial = score_file(path, bench, skip_bad_lines=True)
    assert "questions=1/2" in repr(partial)
    shows(partial, "1 line left out", "questions:1/2")


def test_an_explanation_marks_the_answer_and_a_score_says_what_is_missed(mini: Benchmark) -> None:
    found = mini.explain("Q02", "光合成は鯨です。")
    score = mini.score("Q02", "光合成は鯨です。")
    assert repr(found) == (
        f"Explanation('Q02', '光合成は鯨です。', score={score.average}, signature={mini.signature!r})"
    )
    shows(found, found.question, "光合成は鯨です。", f"{score.average:.4f}", "二酸化炭素missed")
    assert [found.levels[place] for place in (0, 4, -1)] == ["common", "rare", "skipped"]
    assert len(found.levels) == len(found.pieces)
    assert found.references == {"A": 1000}
    missed = [f"{label}{factor:.4f}" for label, factor in score.helpfulness_results]
    assert missed
    figures = (f"fluencyA{score.fluency['A']:.4f}", f"helpfulness–{score.helpfulness:.4f}")
    shows(score, *figures, *missed, score.signature)


def test_questions_show_what_they_ask_for(mini: Benchmark) -> None:
    question = mini["Q02"]
    shows(question, "Q02 光合成とは何ですか？", question.note, "A1000", "二酸化炭素 and 水1.0000")
    nested = {"or": [{"t": "a"}, {"and": [{"t": "b"}, {"t": "c"}]}], "importance": 0.5}
    [other] = small.benchmark({"answers": {"A": ["a"]}, "keywords": [nested]})
    shows(other, "a or (b and c)0.5000")
    rows = [f"{question.id}{question.text}{question.category}" for question in mini]
    shows(mini, "Benchmark: 14 questions", *rows, mini.signature)


@pytest.mark.parametrize("answer", [HOSTILE, HOSTILE * 1000, "", "あ" * 100_000])
def test_hostile_answers_do_nothing(answer: str) -> None:
    rules = [{"t": "x", "name": HOSTILE * 10}] * 60
    bench = small.benchmark(
        {"question_id": "Q1", "question": HOSTILE, "answers": {HOSTILE: ["猫"]}, "keywords": rules}
    )
    found = bench.explain("Q1", answer)
    assert len(repr(found)) < 300
    assert repr(found).isprintable()
    html = found._repr_html_()
    assert len(html) < 100_000
    page = Page(html)
    assert "<script>" in page.text
    assert "… and 10 more" in page.text
    for shown in (found.score, bench["Q1"], bench):
        html = shown._repr_html_()
        assert len(html) < 100_000
        assert "<script>" in Page(html).text


def test_hostile_words_and_names_do_nothing(tmp_path: Path) -> None:
    words = small.benchmark({"answers": {"A": ["a b"]}}, settings=pfgen_rs.Settings(unit="word"))
    bench = load_benchmark(helpers.write_benchmark(tmp_path / "questions"))
    result = score_file(helpers.write_run(tmp_path / "run", model=HOSTILE * 1000), bench)
    assert repr(result).isprintable()
    assert len(repr(result)) < 1000
    for shown in (words.explain("Q1", "a " + "x" * 1_000_000), result):
        assert len(shown._repr_html_()) < 10_000
        shows(shown)
    shows(result, "<script>")


def test_surrogates_can_be_shown() -> None:
    assert Page(notebook.document([notebook.heading("\ud800"), notebook.span("\ud800", "")])).text
