"""Answers tried on the page of a benchmark, in a real browser: the numbers of `Benchmark.explain`."""

import json
import lzma
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import small
from browser import Locator, NewPage, Page, expect, settled
from pfgen_rs import Benchmark, Question, Settings
from pfgen_rs.questions.unknown import order
from pfgen_rs.report.site.benchmark_page import (
    benchmark_page,
    references_payload,
    references_payload_name,
)
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.report.site.payload import payload_file

SAMPLE = "光合成とは、植物が光で二酸化炭素と水から糖をつくり、酸素が出る働きです。"


SCORES = """async ([number, texts]) => {
  const { questions, ...shared } = pfgen.data("trial");
  const details = document.querySelector(`details.trial[data-question="${number}"]`);
  const { answers } = await pfgen.load(details.dataset.payload);
  const scorer = pfgen.scorer({ ...shared, ...questions[number], answers });
  const found = [];
  for (const text of texts) found.push(await scorer.score(text));
  scorer.stop();
  pfgen.forget(details.dataset.payload);
  return found;
}"""


def written(folder: Path, benchmark: Benchmark, samples: Mapping[str, str] | None = None) -> str:
    """Write the page of a benchmark with its payloads; returns its address."""
    place = folder / "benchmark"
    place.mkdir(parents=True)
    (place / "index.html").write_bytes(
        benchmark_page(benchmark, frame=Frame("../"), samples=samples)
    )
    for question in benchmark:
        name = references_payload_name(question)
        content = payload_file(name, references_payload(question))
        (folder / f"{name}.js").write_bytes(content)
    return (place / "index.html").as_uri()


def scores_in_page(page: Page, number: int, texts: list[str]) -> list[dict[str, Any]]:
    """What the open page computes of some answers to a question, given by its number from 0."""
    found: list[dict[str, Any]] = page.evaluate(SCORES, [number, texts])
    return found


def bits(value: Any) -> Any:
    """The same with every number written so that each of its bits counts."""
    if isinstance(value, bool) or not isinstance(value, int | float | list | dict):
        return value
    if isinstance(value, dict):
        return {key: bits(part) for key, part in value.items()}
    return [bits(part) for part in value] if isinstance(value, list) else float(value).hex()


def explained(benchmark: Benchmark, question: Question, text: str) -> dict[str, Any]:
    """What the page has to compute of an answer, from `explain`; sources in the page's order."""
    found = benchmark.explain(question.id, text)
    score, details = found.score, found.score.details
    sources = [question.sources[i] for i in order(question.sources)]
    return {
        "average": score.average,
        "helpfulness": score.helpfulness,
        "shares": {
            metric: [getattr(score, metric)[source] for source in sources]
            for metric in ("fluency", "truthfulness")
        },
        "sources": [
            {
                metric: {
                    "value": getattr(details, metric)[source],
                    "cut": getattr(details, f"{metric}_cut")[source],
                }
                for metric in ("fluency", "truthfulness")
            }
            for source in sources
        ],
        "helpful": {
            "value": details.helpfulness,
            "cut": details.helpfulness_cut,
            "rules": [
                {
                    "label": rule.label,
                    "importance": rule.importance,
                    "position": float("inf") if rule.position is None else rule.position,
                    "met": rule.met,
                }
                for rule in found.rules
            ],
        },
    }


def assert_equal(page: Page, benchmark: Benchmark, number: int, texts: list[str]) -> None:
    """Every number of the page is that of `explain`, bit by bit."""
    question = list(benchmark)[number]
    for text, found in zip(texts, scores_in_page(page, number, texts), strict=True):
        wanted = explained(benchmark, question, text)
        assert bits({key: found[key] for key in wanted}) == bits(wanted), repr(text)
        assert_shades(found["table"], question, text)


def assert_shades(table: dict[str, Any], question: Question, text: str) -> None:
    """The windows of the answer's first characters with their counts, by searching the reference answers."""
    marked = f"^{text}$"
    windows = {marked[i : i + 3] for i in range(min(len(text), table["shaded"] + 1))}
    sources = [question.answers[question.sources[i]] for i in order(question.sources)]
    counts = {
        window: [sum(window in answer for answer in answers) for answers in sources]
        for window in windows
    }
    known = {window: of for window, of in counts.items() if any(of)}
    found = [table["text"][i : i + 3] for i in range(0, len(table["text"]), 3)]
    assert dict(zip(found, zip(*table["counts"], strict=True), strict=True)) == {
        window: tuple(of) for window, of in known.items()
    }


def variations(text: str) -> list[str]:
    """An answer, and what is made of it to reach every limit of a score."""
    long = (text + "、") * (2100 // (len(text) + 1) + 2)
    middle = len(text) // 2
    limits = (1, 99, 100, 101, 149, 150, 151, 199, 200, 201, 202, 203, 999, 1000, 1001, 1002)
    return [
        text,
        *(long[:length] for length in limits),
        f"{text[:middle]}😀が\u0304𠮷\x00\u2028\r\n{text[middle:]}",
        f"^{text}$",
        f"{text}{text}{text[::-1]}",
    ]


ODD = ["", "の", "。", "😀", "^", "$", "、。「」" * 60, "\x00", "a\u0301", "ﷺ" * 1003]
"""Answers that score little, at any question."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, mini: Benchmark) -> str:
    """The page of the bundled benchmark, whose second question has an example answer."""
    samples = {list(mini)[1].text: SAMPLE}
    return written(tmp_path_factory.mktemp("site"), mini, samples=samples)


def test_scores_are_those_of_explain(page: Page, address: str, mini: Benchmark) -> None:
    page.goto(address)
    chance = random.Random(3)
    questions = list(mini)
    for number, question in enumerate(questions):
        answers = next(iter(question.answers.values()))
        others = next(iter(chance.choice(questions).answers.values()))
        texts = [*chance.sample(answers, 3), chance.choice(others)]
        if number % 7 == 0:
            texts += [*variations(texts[0]), *ODD]
        assert_equal(page, mini, number, texts)


def test_a_thousand_real_answers_score_as_explained(
    page: Page, tmp_path: Path, published_dir: Path, published_benchmark: Benchmark
) -> None:
    page.goto(written(tmp_path, published_benchmark))
    chance = random.Random(17)
    found = answers_of_runs(published_dir)
    for number, question in enumerate(published_benchmark):
        texts = chance.sample(sorted(found[question.text]), 20)
        texts += variations(texts[0]) if number % 10 == 0 else []
        assert_equal(page, published_benchmark, number, [*texts, ODD[number % len(ODD)]])


def answers_of_runs(folder: Path) -> dict[str, set[str]]:
    """The answers of every fourth of the published runs by text of the question."""
    found: dict[str, set[str]] = {}
    for path in sorted((folder / "result").rglob("trials.jsonl*"))[::4]:
        data = path.read_bytes()
        content = lzma.decompress(data) if path.suffix == ".xz" else data
        for line in content.decode().split("\n"):
            if line:
                record = json.loads(line)
                found.setdefault(record["question"], set()).add(record["answer"])
    return found


WORDS = ["植物が光で", "二酸化炭素", "酸素", "^が$", "、", "。"]
WORDS += ["水と", "😀", "𠮷野家", "ab c", "かつ", "\n"]
RULES: list[list[dict[str, Any]]] = [
    [],
    [{"t": "酸素"}],
    [{"t": r"[光水].{1,3}", "importance": 0.3}, {"t": r"\d+年|\w+家$", "importance": 0.7}],
    [
        {
            "and": [{"t": "光"}, {"or": [{"t": "水"}, {"t": "無"}], "name": "水など"}],
            "importance": 0.1,
        },
        {
            "or": [{"t": "炭素"}, {"t": "酸素"}, {"and": [{"t": "無"}, {"t": "光"}]}],
            "importance": 0.9,
        },
        {"t": r"\s(?:光|c)", "name": "<b>空白</b>", "importance": 1 / 3},
    ],
    [{"t": "光", "importance": 63 / 64}, {"t": "水", "importance": 61 / 64}],  # ties when rounded
]


def made_question(
    chance: random.Random, sources: str, rules: list[dict[str, Any]]
) -> dict[str, Any]:
    answers = {
        source: [made_text(chance, 6) for _ in range(chance.randint(1, 9))] for source in sources
    }
    number = f"Q{chance.random()}"
    return {"question_id": number, "question": number, "answers": answers, "keywords": rules}


def made_text(chance: random.Random, most: int) -> str:
    return "".join(chance.choices(WORDS, k=chance.randint(1, most)))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(summation="compensated"),
        Settings(helpfulness=False),
        Settings(min_n=2, max_n=4, truthfulness_n=2, threshold=0.3),
        Settings(min_n=3, max_n=3, truthfulness_n=5, threshold=1.0, skipped="酸あ😀"),
        Settings(target_length=10, zero_length=17, max_length=20, threshold=1 / 7),
        Settings(target_length=19, zero_length=20, max_length=20, max_n=4, truthfulness_n=6),
        Settings(target_length=0, zero_length=30, max_length=30, max_n=30, truthfulness_n=1),
        Settings(target_length=300, zero_length=700, max_length=1200, max_n=6, skipped=""),
    ],
    ids=repr,
)
def test_settings_and_any_number_of_sources(page: Page, tmp_path: Path, settings: Settings) -> None:
    chance = random.Random(repr(settings))
    sources = ("A", "SP", "RXSTP", "zaSTよ") if settings.max_n > 3 else ("A", "SPa")
    made = [
        made_question(chance, names, rules)
        for names, rules in zip(sources * 3, RULES, strict=False)
    ]
    benchmark = small.benchmark(*made, settings=settings)
    page.goto(written(tmp_path, benchmark))
    for number in range(len(benchmark)):
        texts = [made_text(chance, most) for most in (2, 5, 9, 20, 60, 200, 400)]
        assert_equal(page, benchmark, number, [*texts, *ODD])


def test_compensated_sums_differ_and_are_those_of_explain(page: Page, tmp_path: Path) -> None:
    chance = random.Random(2)
    data = made_question(chance, "RXSTPabc", RULES[3])
    both = [
        small.benchmark(data, settings=Settings(summation=summation))
        for summation in ("plain", "compensated")
    ]
    texts = [made_text(chance, 30) for _ in range(3000)]
    plain, compensated = (
        benchmark.score_batch([data["question"]] * len(texts), texts)["average"]
        for benchmark in both
    )
    differing = [text for text, differs in zip(texts, plain != compensated, strict=True) if differs]
    assert differing
    for number, benchmark in enumerate(both):
        page.goto(written(tmp_path / str(number), benchmark))
        assert_equal(page, benchmark, 0, differing)


def test_what_a_page_cannot_score_is_refused_once(page: Page, tmp_path: Path) -> None:
    made = [made_question(random.Random(i), "A", []) for i in range(3)]
    for reason, settings in {
        "variant 'paper'": Settings(variant="paper"),
        "the unit of this benchmark": Settings(unit="word"),
        "are too large for the browser": Settings(max_n=200),
    }.items():
        page.goto(written(tmp_path / reason[-9:], small.benchmark(*made, settings=settings)))
        assert page.get_by_text("Try an answer").count() == 0
        assert page.get_by_text(reason).count() == 1
        assert page.locator("details.references").count() == 3


def opened(page: Page, number: int = 1) -> Locator:
    """The place for trying answers to a question, open and loaded."""
    details = page.locator("details.trial").nth(number)
    details.locator("summary").first.click()
    details.locator("textarea").wait_for()
    return details


def total(details: Locator) -> str:
    return details.locator(".total b").inner_text()


def characters(details: Locator) -> str:
    return "".join(details.locator(".shaded [data-i]").all_text_contents())


def test_scores_follow_what_is_typed(page: Page, address: str, mini: Benchmark) -> None:
    page.goto(address)
    details = opened(page)
    assert details.locator(".total").count() == 0
    question = list(mini)[1]
    typed = ""
    for text in ("光合成", "とは二酸化", "炭素と水。"):
        details.locator("textarea").press_sequentially(text)
        typed += text
        wanted = f"{mini.explain(question.id, typed).score.average:.5f}"
        assert settled(page, lambda: characters(details), typed) == typed
        expect(details.locator(".total b")).to_have_text(wanted)
    details.locator(".shaded [data-i]").nth(3).hover()
    expect(page.locator(".tip tbody tr").first).to_be_visible()
    page.keyboard.press("Control+A")
    details.get_by_role("button", name="Clear").click()
    expect(details.locator(".total")).to_have_count(0)
    expect(page.locator(".tip")).to_be_hidden()
    assert details.locator("textarea").input_value() == ""


def test_cuts_and_rules_are_those_of_explain(page: Page, address: str, mini: Benchmark) -> None:
    page.goto(address)
    details = opened(page)
    question = list(mini)[1]
    text = next(iter(question.answers.values()))[0] + "そのほかには何もありません。" * 4
    details.locator("textarea").fill(text)
    found = mini.explain(question.id, text)
    expect(details.locator(".total b")).to_have_text(f"{found.score.average:.5f}")
    details.get_by_text("Details").click()
    rows = [row.split("\t") for row in details.locator(".breakdown tbody tr").all_inner_texts()]
    cuts = found.score.details
    assert [int(row[2]) for row in rows] == [
        *cuts.fluency_cut.values(),
        *cuts.truthfulness_cut.values(),
        cuts.helpfulness_cut,
    ]
    chips = details.locator(".rules li").all_inner_texts()
    assert [chip.strip().startswith("✓") for chip in chips] == [rule.met for rule in found.rules]
    expect(details.locator(".cut").first).to_be_visible()
    details.locator("textarea").press("End")
    details.locator("textarea").type("追記")
    assert settled(page, lambda: characters(details)[-2:], "追記") == "追記"
    assert details.locator(".breakdown[open]").count() == 1, "what was opened stays open"


def test_examples_come_in_turn_and_can_be_undone(page: Page, address: str, mini: Benchmark) -> None:
    page.goto(address)
    details = opened(page)
    field = details.locator("textarea")
    field.fill("自分の文章")
    button = details.get_by_role("button", name="Insert an example")
    button.click()
    expect(field).to_have_value(SAMPLE)
    expect(details.locator(".tools")).to_contain_text("Example answer")
    page.keyboard.press("Control+Z")
    expect(field).to_have_value("自分の文章")
    answers = list(mini)[1].answers["A"]
    for number in (0, 1):
        button.click()
        expect(field).to_have_value(answers[number])
        expect(details.locator(".tools")).to_contain_text(f"Reference answer {number + 1} of A")


def test_a_link_brings_back_the_text(new_page: NewPage, address: str, mini: Benchmark) -> None:
    page = new_page()
    page.goto(address)
    text = "光と水 & 100% #1\n+「<b>太字</b>」😀"
    opened(page).locator("textarea").fill(text)
    page.wait_for_url("**#q=Q02&try=*")
    other = new_page()
    other.goto(page.url)
    expect(other.locator("details.trial textarea")).to_have_value(text)
    score = mini.explain("Q02", text).score.average
    expect(other.locator("details.trial .total b")).to_have_text(f"{score:.5f}")
    assert other.locator("main b", has_text="太字").count() == 0
    other.goto(address + "#q=Q05&try=%E6%B0%B4%E3%80%82%FF%zz")  # damaged: what can be read is
    expect(other.locator("details.trial textarea").last).to_have_value(re.compile("^水。"))


def test_addresses_of_nothing_are_passed_over(page: Page, address: str) -> None:
    wrong = ("q=", "q=Q99&try=a", "q=%22%5D&try=a", "try=a", "question-3", "q=constructor")
    for end in wrong:
        page.goto("about:blank")
        page.goto(f"{address}#{end}")
        page.locator("details.trial").first.wait_for()
        assert page.locator("details.trial[open]").count() == 0, end


def test_scores_and_faults_of_texts_are_said(page: Page, address: str) -> None:
    page.goto(address)
    details = opened(page)
    field = details.get_by_label("Your answer")
    page.keyboard.press("Tab")
    expect(field).to_be_focused()
    page.keyboard.insert_text(SAMPLE)
    expect(page.locator("#status")).to_contain_text(re.compile(r"Score 0\.\d+\. Fluency 0\.\d+"))
    field.fill("水" * 500)
    expect(details.locator(".notes")).to_contain_text("too long for the address")
    page.wait_for_url(re.compile(r"#q=Q02$"))
    field.fill("水" * 30_000)
    assert len(field.input_value()) <= 30_000
    field.fill("水" * 20_000)
    expect(details.locator(".notes")).to_contain_text("limited to 20,000 characters")
    expect(details.locator(".figures")).to_contain_text("20,000 characters")
    field.evaluate(
        "field => { field.value = '光\\ud83d'; field.dispatchEvent(new Event('input')); }"
    )
    expect(details.get_by_role("alert")).to_contain_text("lone surrogate")
    field.fill("光")
    expect(details.locator(".total b")).to_be_visible()


def test_one_question_at_a_time_keeps_an_index(page: Page, address: str) -> None:
    page.add_init_script(
        """window.ended = 0;
        const end = Worker.prototype.terminate;
        Worker.prototype.terminate = function () { window.ended += 1; return end.call(this); };"""
    )
    page.goto(address)
    first, second = opened(page, 1), opened(page, 2)
    for details in (first, second, first):
        details.locator("textarea").fill(SAMPLE)
        expect(details.locator(".total b")).to_be_visible()
        details.locator("textarea").fill("")
        expect(details.locator(".total b")).to_have_count(0)
    assert page.evaluate("window.ended") == 2
    first.locator("summary").first.click()
    assert settled(page, lambda: page.evaluate("window.ended"), 3) == 3


@pytest.fixture
def runaway(tmp_path: Path) -> str:
    """The page of a question whose rule takes browsers for ever on some texts, as it would Python."""
    rules = [{"t": "(a|aa)+$", "importance": 0.5}]
    benchmark = small.benchmark({"answers": {"A": ["aab"]}, "keywords": rules})
    return written(tmp_path, benchmark)


def test_a_runaway_expression_is_stopped_and_typing_goes_on(page: Page, runaway: str) -> None:
    page.add_init_script(
        """window.wait = setTimeout;
        setTimeout = (f, ms, ...v) => (ms < 5000 ? wait(f, ms, ...v) : void (window.end = () => f(...v)));"""
    )
    page.goto(runaway)
    details = opened(page, 0)
    details.locator("textarea").fill("a" * 120 + "b")
    expect(details.locator(".outcome")).to_have_attribute("aria-busy", "true")
    assert settled(page, lambda: page.evaluate("typeof end"), "function") == "function"
    page.evaluate("end()")  # as five seconds would
    expect(details.get_by_role("alert")).to_contain_text("longer than 5 seconds")
    details.locator("textarea").fill("aab")
    expect(details.locator(".total b")).to_be_visible()


@pytest.mark.parametrize("pattern", ["(?i)OXYGEN<b>", r"\bO\b"])
def test_expressions_that_browsers_lack(page: Page, tmp_path: Path, pattern: str) -> None:
    rules = [{"t": pattern}, {"t": "酸素"}]
    benchmark = small.benchmark({"answers": {"A": ["酸素が出る。"]}, "keywords": rules})
    page.goto(written(tmp_path, benchmark))
    details = opened(page, 0)
    details.locator("textarea").fill("酸素が出る。")
    expect(details.locator(".outcome .problem")).to_contain_text(f"/{pattern}/")
    assert total(details) == "–"
    assert "Helpfulness" not in details.locator(".figures").inner_text()
    [found] = scores_in_page(page, 0, ["酸素が出る。"])
    wanted = benchmark.explain("Q1", "酸素が出る。").score
    assert found["shares"]["fluency"] == [wanted.fluency["A"]]
    assert found["average"] is found["helpfulness"] is found["helpful"] is None


def test_without_workers_scoring_is_said_to_fail(new_page: NewPage, address: str) -> None:
    page = new_page(expected="Worker is not defined")
    page.add_init_script("delete window.Worker")
    page.goto(address)
    details = opened(page)
    details.locator("textarea").fill(SAMPLE)
    expect(details.get_by_role("alert")).to_contain_text("Scoring failed")
    expect(details.locator(".outcome[aria-busy]")).to_have_count(0)


def test_hostile_texts_act_nowhere(page: Page, tmp_path: Path) -> None:
    from site_samples import HOSTILE

    rules = [{"t": re.escape(text), "name": text, "importance": 0.5} for text in HOSTILE[:8]]
    made = [
        {
            "question_id": text[:40],
            "question": text[:90],
            "answers": {text[:30]: [text]},
            "keywords": rules,
        }
        for text in HOSTILE
        if text[:30].isprintable()
    ]
    benchmark = small.benchmark(*made)
    page.goto(written(tmp_path, benchmark, samples={q.text: q.text for q in benchmark}))
    for number in range(len(benchmark)):
        details = opened(page, number)
        details.locator("textarea").fill("".join(text[:60] for text in HOSTILE))
        expect(details.locator(".total b")).to_be_visible()
        details.get_by_role("button", name="Insert an example").click()
        expect(details.locator(".tools")).to_contain_text("Example answer")
    assert page.locator("main script, main img, main style, main svg").count() == 0
