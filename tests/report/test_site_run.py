"""Pages of runs and comparisons, and what a leaderboard shows first: their data against plain searches."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

import small
from checkouts import contents
from payload_texts import file_payloads, page_payloads
from pfgen_rs import (
    Benchmark,
    InputError,
    Result,
    Settings,
    SettingsError,
    _native,
    load_benchmark,
    score_file,
)
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.source import Source
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report import answers as tables, site
from pfgen_rs.report.answers import QuestionAnswers, quantile_ranks, run_answers
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.board import board_of
from pfgen_rs.report.site.charts import Histogram
from pfgen_rs.report.site.folder import MARKER
from pfgen_rs.report.site.model_facts import (
    FILE,
    ModelFacts,
    bundled_facts,
    family_in_name,
    kind_in_name,
    parameters_in_name,
    read_facts,
)
from pfgen_rs.report.site.models_page import leaders
from pfgen_rs.report.site.run_page import run_page, run_view
from pfgen_rs.runs import streaming
from site_samples import HOSTILE, RUNS, Elements, hostile_run, made_entries


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> list[Result]:
    """The bundled runs."""
    return [score_file(bundled_path() / "runs" / name, mini) for name in RUNS]


@pytest.fixture(scope="module")
def shown(results: list[Result]) -> list[QuestionAnswers]:
    """All answers of one bundled run."""
    return list(run_answers(results[1]))


def missed(found: QuestionAnswers, row: int) -> list[list[Any]]:
    """Labels and factors of the rules that a payload tells are missed."""
    payload = found.payload()
    cut = payload["cuts"][-1][row]
    return [
        [rule["labels"][rule["label"][row]], 1 - rule["importance"]]
        for rule in payload["rules"]
        if not 0 <= rule["position"][row] <= cut
    ]


def test_payloads_are_those_of_the_scorer(mini: Benchmark, shown: list[QuestionAnswers]) -> None:
    for found in shown:
        payload = found.payload()
        for row, text in enumerate(payload["texts"]):
            score = mini.score(found.question.id, text)
            details = score.details
            cuts = [*details.fluency_cut.values(), *details.truthfulness_cut.values()]
            assert [column[row] for column in payload["cuts"]] == [*cuts, details.helpfulness_cut]
            shares = [*score.fluency.values(), *score.truthfulness.values(), score.helpfulness]
            assert [column[row] for column in payload["shares"]] == [
                round(share * 10**4) for share in shares
            ]
            assert payload["averages"][row] == round(score.average * 10**5)
            excess = [each for each in score.helpfulness_results if each[0].endswith("字超過")]
            assert [*missed(found, row), *excess] == score.helpfulness_results


def test_quantiles_are_published_samples(
    results: list[Result], shown: list[QuestionAnswers]
) -> None:
    questions = results[1].to_dict()["questions"]
    for found in shown:
        samples = questions[found.question.id]["samples"]
        rows = dict.fromkeys(found.payload()["quantiles"])
        assert [found.texts[row] for row in rows] == [s["answer"] for s in samples]


def test_of_many_answers_the_samples_and_others_are_kept(mini: Benchmark) -> None:
    answers = [f"{'光' * (i % 7)}合成は{i}植物" for i in range(57)]
    result = mini.evaluate(["Q02"] * 57, answers)
    [everything] = run_answers(result)
    for limit in (5, 6, 20, 56, 57, 100):
        [found] = run_answers(result, limit=limit)
        assert found.total == 57
        assert min(limit, 57) - 5 <= len(found.ranks) <= limit
        assert set(quantile_ranks(57)) <= set(found.ranks)
        assert found.texts == [everything.texts[rank] for rank in found.ranks]
        assert (found.payload()["ranks"] is None) == (limit >= 57)
        assert [found.texts[row] for row in found.payload()["quantiles"]] == [
            everything.texts[rank] for rank in quantile_ranks(57)
        ]


def test_equal_averages_keep_the_order_of_the_run(mini: Benchmark) -> None:
    result = mini.evaluate(["Q02"] * 4, ["", "光合成", "", ""])
    [found] = run_answers(result)
    assert found.scores["line"].to_list() == [2, 1, 3, 4]


def test_a_run_in_many_chunks_gives_the_same(mini: Benchmark, results: list[Result]) -> None:
    options, store = Options(text_size=4096), streaming.new_store(mini)
    source = Source(bundled_path() / "runs" / RUNS[1])
    [again] = streaming.score_sources(mini, [source], options, store, keep=0)
    assert len(again.response_scores.parts) > 5
    for limit in (5, 1000):
        assert [found.payload() for found in run_answers(again, limit=limit)] == [
            found.payload() for found in run_answers(results[1], limit=limit)
        ]


def part(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Rules, nested or not, with names or not."""
    named = st.one_of(st.just({}), st.builds(lambda name: {"name": name}, st.sampled_from("xyz")))
    single = st.builds(
        lambda t: {"t": t}, st.sampled_from(["あ", "い", "う", "い+", "あ|う", "[^あ]う"])
    )
    if not depth:
        return st.builds(lambda a, b: {**a, **b}, single, named)
    parts = st.lists(part(depth - 1), min_size=1, max_size=3)
    nested = st.builds(lambda kind, p: {kind: p}, st.sampled_from(["and", "or"]), parts)
    return st.builds(lambda a, b: {**a, **b}, st.one_of(single, nested), named)


@given(
    rules=st.lists(part(2), max_size=3), texts=st.lists(st.text("あいう", max_size=6), min_size=1)
)
def test_rules_are_located_as_in_one_answer(rules: list[dict[str, Any]], texts: list[str]) -> None:
    benchmark = small.benchmark({"answers": {"A": ["あいう"]}, "keywords": rules})
    question = benchmark["Q1"]
    helpfulness = benchmark._helpfulness(question)
    [found] = run_answers(benchmark.evaluate([question.text] * len(texts), texts))
    for row, text in enumerate(found.texts):
        for j, (_, label, position) in enumerate(helpfulness.positions(helpfulness.ends(text))):
            assert found.label_names[j][found.labels[row, j]] == label
            assert found.positions[row, j] == (-1 if position == _native.NOT_FOUND else position)
        assert found.cuts[row, -1] == helpfulness.evaluate(text)[1]


TEXTS = st.lists(st.text(alphabet="あいう^$𠮷", max_size=9), max_size=6)


def naive(answers: Sequence[str], shaded: int) -> set[str]:
    """Windows that cover the shaded characters."""
    marked = [f"^{answer}$" for answer in answers]
    return {text[i : i + 3] for text in marked for i in range(min(len(text) - 2, shaded + 1))}


@given(answers=TEXTS, references=TEXTS, shaded=st.integers(1, 12))
def test_windows_are_counted(answers: list[str], references: list[str], shaded: int) -> None:
    sources = {"A": ["あい", *references], "B": ["い$^う", "^あ"]}
    benchmark = small.benchmark({"answers": sources})
    windows = tables.distinct_windows(answers, characters=shaded)
    table = tables.window_table(benchmark, "Q1", windows)
    found = [table.text[i : i + 3] for i in range(0, len(table.text), 3)]
    counts = {
        window: [sum(window in text for text in texts) for texts in sources.values()]
        for window in sorted(naive(answers, shaded))
    }
    known = {window: count for window, count in counts.items() if any(count)}
    assert dict(zip(found, table.counts.tolist(), strict=True)) == known
    assert found == sorted(found)
    assert table.payload()["answers"] == [len(texts) for texts in sources.values()]


@given(answers=TEXTS, references=TEXTS)
def test_windows_of_references_serve_any_answers(answers: list[str], references: list[str]) -> None:
    """What the table of references has of an answer's windows is what the answer's own table has."""
    benchmark = small.benchmark({"answers": {"A": ["あい", *references], "B": ["い$^う", "^あ"]}})
    everything = tables.reference_table(benchmark, "Q1")
    own = tables.window_table(benchmark, "Q1", tables.distinct_windows(answers, characters=None))
    of_all, of_own = (
        {table.text[3 * i : 3 * i + 3]: counts.tolist() for i, counts in enumerate(table.counts)}
        for table in (everything, own)
    )
    windows = naive(answers, 99)
    assert {window: of_all[window] for window in windows if window in of_all} == of_own
    assert everything.answers == own.answers


@given(
    st.recursive(
        st.one_of(
            st.none(),
            st.text(),
            st.integers(-3, 60_000),
            st.lists(st.integers(-3, 60_000), max_size=9),
            st.lists(st.integers(0, 10**6), min_size=3).map(lambda v: sorted(v, reverse=True)),
        ),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text("ab~"), inner)),
        max_leaves=9,
    )
)
def test_packed_values_are_unpacked_unchanged(value: Any) -> None:
    value = {"value": value}
    if "~" in repr(value):
        return  # the name of columns
    name = "runs/x/data"
    given = (value, payload.packed(value), [value])
    first, *more = map(payload.payload_part, given)
    script = payload.parts_file(name, [first, "", *more])
    expected = {f"{name}#{i}": v for i, v in enumerate([value, None, value, [value]])}
    assert file_payloads(script) == expected
    again = dict(payload.payload_files({f"{name}#1": payload.packed(value), "w": value}.items()))
    assert file_payloads(again["w.js"]) == {"w": value}
    assert file_payloads(again[f"{name}.js"]) == {f"{name}#0": None, f"{name}#1": value}


def test_a_view_has_the_runs_own_figures(results: list[Result]) -> None:
    result = results[1]
    view = run_view(result, result.sample(), run="result/x")
    assert view.run == "result/x"
    table = result.by_question
    assert [row.average for row in view.questions] == table["average"].to_list()
    assert sum(row.number for row in view.categories) == len(view.questions)
    assert sum(row.answers for row in view.categories) == result.height
    for row in view.categories:
        own = table.filter(pl.col("category") == row.name)["truthfulness"]
        assert row.truthfulness == pytest.approx(own.mean())
    answers = result.frame.filter(pl.col("question_id") == "Q03")["average"]
    [third] = [row for row in view.questions if row.name == "Q03"]
    assert third.low == pytest.approx(answers.quantile(0.1, "linear"))
    assert third.high == pytest.approx(answers.quantile(0.9, "linear"))


def test_histograms_count_every_answer_where_it_lies(results: list[Result]) -> None:
    views = [(result, run_view(result, result.sample())) for result in results]
    averages = [(result.frame["average"], view.scores, 0.05) for result, view in views]
    lengths = [(result.frame["length"], view.lengths, 5) for result, view in views]
    for values, found, width in (*averages, *lengths):
        step = (found.stop - found.start) / len(found.counts)
        assert len(found.counts) <= 40
        assert step / width == pytest.approx(round(step / width))
        edges = [found.start + i * step for i in range(len(found.counts) + 1)]
        counted = [
            sum(low - 1e-9 <= v < high - 1e-9 for v in values) for low, high in pairwise(edges)
        ]
        assert found.counts == counted
        assert sum(counted) == len(values)


@given(
    start=st.floats(0, 500),
    width=st.floats(0.05, 1e5),
    counts=st.lists(st.integers(0, 99), min_size=1, max_size=40),
)
def test_bars_and_ticks_stay_in_their_field(start: float, width: float, counts: list[int]) -> None:
    counts[0] += 1
    drawing = Histogram(start, start + width, counts)
    assert [bar[-1] for bar in drawing.bars] == counts
    assert max(height for _, _, _, height, *_ in drawing.bars) == 116
    assert all(0 <= left <= left + w <= 400.5 for left, _, w, *_ in drawing.bars)
    assert len(drawing.ticks) <= 10
    assert all(-0.1 <= place <= 400.1 for place, _ in drawing.ticks)
    assert len({label for _, label in drawing.ticks}) == len(drawing.ticks)


def test_a_score_that_is_no_mean_has_no_interval(results: list[Result]) -> None:
    """As where some questions have more answers than others."""
    view = run_view(results[1], results[1].sample())
    low = f"<small>{view.metrics['average'].low:.3f}–"
    # Beside the score, and beside the mean of all answers in the table of metrics.
    assert run_page(view, folder="x").decode().count(low) == 2
    average = view.metrics["average"]
    other = {**view.metrics, "average": replace(average, mean=average.mean + 0.001)}
    apart = replace(view, metrics=other)
    assert run_page(apart, folder="x").decode().count(low) == 1


def test_one_file_holds_what_a_folder_holds(results: list[Result], tmp_path: Path) -> None:
    results[1].to_html(tmp_path / "run.html")
    results[1].to_html(str(tmp_path / "folder"))
    inside = page_payloads((tmp_path / "run.html").read_bytes())
    beside = contents(tmp_path / "folder")
    names = {name.partition("#")[0] for name in inside}
    assert set(beside) == {MARKER, "index.html", *(f"{name}.js" for name in names)}
    in_files: dict[str, Any] = {}
    for name in names:
        in_files |= file_payloads(beside[f"{name}.js"])
    assert in_files == inside
    assert b"payload-" not in re.sub(
        rb"<script>.*?</script>", b"", beside["index.html"], flags=re.S
    )
    texts = [value["texts"] for value in inside.values() if "texts" in value]
    assert sorted(chain.from_iterable(texts)) == sorted(results[1].frame["answer"])


def test_the_same_run_gives_the_same_bytes(results: list[Result], tmp_path: Path) -> None:
    for name in ("a", "b"):
        results[1].to_html(tmp_path / name)
        site.write_comparison(results, tmp_path / f"{name}.html")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_runs_with_one_name_are_told_apart(results: list[Result], tmp_path: Path) -> None:
    site.write_comparison([results[1]] * 3, tmp_path / "three.html")
    found = page_payloads((tmp_path / "three.html").read_bytes())["compare/data"]
    assert [run["name"] for run in found["runs"]] == [
        f"mini/careless{number}" for number in ("", " (2)", " (3)")
    ]
    assert len({str(run["sums"]) for run in found["runs"]}) == 1


def test_what_has_no_page_is_said(results: list[Result], tmp_path: Path) -> None:
    words = load_benchmark("mini", settings=Settings(unit="word"))
    by_words = words.evaluate(["Q02"] * 2, ["光合成は植物が行う", "光"])
    page = tmp_path / "x.html"
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: site.write_comparison([], page), "no run"),
        (lambda: site.write_comparison(results[:1], page), "2 to 100 runs"),
        (lambda: by_words.to_html(page), "character by character"),
        (lambda: results[0].to_html(page, answers_per_question=4), "at least 5"),
    ]
    for write, message in refused:
        with pytest.raises((InputError, SettingsError), match=message):
            write()
    assert list(tmp_path.iterdir()) == []


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    result = hostile_run(tmp_path)
    result.to_html(tmp_path / "run.html")
    site.write_comparison([result, result], tmp_path / "compare.html")
    for name in ("run", "compare"):
        content = (tmp_path / f"{name}.html").read_bytes()
        page = Elements(content)
        assert [attrs for attrs, _ in page.named("script") if "src" in attrs] == []
        assert not page.named("img")
        assert not [text for _, text in page.named("b") if re.search("[^0-9.\\s]", text)]
        for _, attrs, _ in page.found:
            assert not [key for key in attrs if key.startswith("on")]
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", content.decode())
    found = page_payloads((tmp_path / "run.html").read_bytes())
    [texts] = [value["texts"] for key, value in found.items() if key.endswith("data#0")]
    assert sorted(texts) == sorted(["", *HOSTILE])


# What a leaderboard shows first: facts about models, leading models, and plots.


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        *(("llm-jp-3-13b", 13), ("llm-jp-3-1.8b-instruct3", 1.8), ("llm-jp-3-150m", 0.15)),
        *(("Qwen3-30B-A3B-Base", 30), ("plamo-2-8b-4bit", 8), ("llama_7B_chat", 7), ("7b", 7)),
        *(("japanese-stablelm-3b-4e1t-base", 3), ("Meta-Llama-3.1-405B", 405)),
        *(("same-7b-and-7B", 7), ("x-1000000b", 1e6)),
        *((name, None) for name in ("Mixtral-8x7B-v0.1", "Qwen1.5-MoE-A2.7B", "gemma-3n-E4B-it")),
        *((name, None) for name in ("Phi-3-medium-128k-instruct", "distilled-7b-from-70b")),
        *((name, None) for name in ("v1.7bit", "GPT35b2", "x-0.0m", "x-1000001b")),
        *((name, None) for name in ("9" * 400 + "b", "")),
    ],
)
def test_sizes_are_read_from_names_that_are_clear(name: str, billions: float | None) -> None:
    assert parameters_in_name(name) == (None if billions is None else pytest.approx(billions))


@given(st.text(max_size=60))
def test_any_name_has_one_size_or_none(name: str) -> None:
    size = parameters_in_name(name)
    assert size is None or (math.isfinite(size) and size > 0)


def test_facts_of_the_package_have_sources_and_agree_with_names() -> None:
    facts = bundled_facts()
    sizes, released = facts.known["parameters"], facts.known["released"]
    everything = {**sizes, **{f"{k} ": v for k, v in released.items()}}
    assert len(everything) > 100
    assert all(fact.source.startswith("https://") for fact in everything.values())
    for name in sizes:
        assert parameters_in_name(name.rpartition("/")[2]) is None, "the name says it already"
    days = [fact.value for fact in released.values()]
    assert all(isinstance(day, date) and date(2020, 1, 1) < day < date(2030, 1, 1) for day in days)
    assert facts.of("deepseek-ai/DeepSeek-V3")["parameters"] == (
        671,
        "https://github.com/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md",
    )
    assert facts.of("chat", "META-LLAMA/llama-2-7b-hf")["released"] == (
        date(2023, 7, 18),
        "https://github.com/meta-llama/llama-models/blob/main/README.md",
    )
    assert facts.of("nobody/unknown") == {}
    assert facts.of("nobody/unknown-3b")["parameters"] == (3, "name")


def written(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text, encoding="utf-8")
    return folder


RELEASED = '[[released]]\ndate = {date}\nsource = "s"\nmodels = ["a/b"]\n'
PARAMETERS = '[[parameters]]\nbillions = {n}\nsource = "s"\nmodels = ["a/b"]\n'


def test_facts_of_a_checkout_come_first(tmp_path: Path) -> None:
    assert read_facts(tmp_path / FILE) == bundled_facts()
    text = RELEASED.format(date="2021-02-03") + PARAMETERS.format(n="0.5")
    text += '[[released]]\ndate = 2022-01-01\nsource = "x"\nmodels = ["openai/GPT-4o", "own"]\n'
    facts = read_facts(written(tmp_path, text) / FILE)
    assert facts.of("A/B")["released"] == (date(2021, 2, 3), "s")
    assert facts.of("a/b")["parameters"] == (0.5, "s")
    assert facts.of("openai/gpt-4o")["released"] == (date(2022, 1, 1), "x")
    assert facts.of("some-org/own")["released"] == (date(2022, 1, 1), "x"), "without organisation"
    assert "released" in facts.of("Qwen/Qwen-7B"), "those of the package are still there"


PRICE = '[[price]]\nper_million = 0.6\ncurrency = "USD"\ndate = 2024-07-18\nsource = "s"\nmodels = ["a/b"]'
TEXT = '[[{kind}]]\n{kind} = "{value}"\nsource = "s"\nmodels = ["a/b"]\n'


def test_facts_of_every_kind_and_those_that_names_state(tmp_path: Path) -> None:
    values = {
        "organisation": "A",
        "family": "F",
        "kind": "base",
        "licence": "MIT",
        "weights": "open",
    }
    text = PRICE + "\n" + "".join(TEXT.format(kind=k, value=v) for k, v in values.items())
    facts = read_facts(written(tmp_path, text) / FILE)
    found = {kind: fact.value for kind, fact in facts.of("a/b").items()}
    assert found == {**values, "price": (0.6, "USD", date(2024, 7, 18))}
    assert facts.of("a/b-7b-chat")["kind"] == ("instruct", "name"), "not a fact of a/b"
    [model] = board_of(named(["a/b"]), None, facts).models
    assert (model.values["price"], model.values["currency"]) == (0.6, "USD")


@pytest.mark.parametrize(
    ("name", "kind", "family"),
    [
        ("gemma-2-2b-jpn-it", "instruct", "gemma-2"),
        ("google/gemma-3-4b-pt", "base", "google/gemma-3"),
        ("llm-jp-3-13b-instruct3", "instruct", "llm-jp-3"),
        ("japanese-stablelm-3b-4e1t-base", "base", "japanese-stablelm"),
        ("Qwen3-8B", None, "Qwen3"),
        ("gemini-2.0-flash-thinking-exp-1219", "reasoning", None),
        ("base-instruct-7b", None, "base-instruct"),
        ("it-works-7b", None, "it-works"),
        ("Mixtral-8x7B-Instruct-v0.1", "instruct", None),
        ("7b", None, None),
        ("データベース-1b-base", "base", "データベース"),
        ("", None, None),
    ],
)
def test_kinds_and_families_that_names_state(
    name: str, kind: str | None, family: str | None
) -> None:
    assert (kind_in_name(name), family_in_name(name)) == (kind, family)


DATE = "[[released]] 1: expected 'date', a date from 1950 to 2100"
SIZE = "[[parameters]] 1: expected 'billions', a number"
ONE = PARAMETERS.format(n="1")
WRONG = {
    "released = 3": DATE,
    "[models]": "unknown key 'models': expected one of released, parameters",
    "[[released]": "invalid TOML: ",
    RELEASED.format(date="2024-02-30"): "invalid TOML: ",
    **{
        RELEASED.format(date=day): DATE
        for day in ('"2024-13-01"', "2024-01-01T00:00:00", "9999-12-31", "1949-12-31", "2101-01-01")
    },
    **{PARAMETERS.format(n=size): SIZE for size in ('"7B"', "true", "0", "nan", "1000001")},
    RELEASED.format(date="2024-01-01") * 2: "[[released]] 2: 'a/b' has a value already",
    ONE.replace('["a/b"]', '["A", "a"]'): "'a' has a value already",
    "[[parameters]]\nbillions = 1\nmodels = []": SIZE,
    ONE + "license = 'x'": SIZE,
    ONE.replace('"s"', '" "'): SIZE,
    ONE.replace('["a/b"]', '"a/b"'): SIZE,
    ONE.replace('"a/b"', "3"): SIZE,
    "\udcff": "not UTF-8",
    PRICE.replace("0.6", "-1"): "[[price]] 1: expected 'per_million'",
    PRICE.replace("USD", "$"): "[[price]] 1: expected 'per_million'",
    TEXT.format(kind="weights", value="half"): "expected 'weights', one of open, closed",
    TEXT.format(kind="kind", value="chat"): "'kind', one of base, instruct, reasoning",
    TEXT.format(kind="family", value="x" * 201): "'family', a text of up to 200 characters",
}


@pytest.mark.parametrize(("text", "problem"), WRONG.items())
def test_wrong_facts_are_named_with_file_and_entry(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        read_facts(tmp_path / FILE)
    assert str(tmp_path / FILE) in str(caught.value)


def test_facts_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_facts(tmp_path / FILE)


def named(models: Sequence[str]) -> list[Entry]:
    """Entries by falling score with these models."""
    made = [entry for entry in made_entries(len(models) + 1) if entry.rank is not None]
    return [
        replace(entry, model=model, organisation=model.split("/")[0])
        for entry, model in zip(made, models, strict=False)
    ]


def test_leaders_are_the_best_of_each_organisation() -> None:
    entries = named(["a/1", "a/2", "b/1", "A/3", "c/1", "d/1", "b/1", "c/1"])

    def led(count: int) -> tuple[list[str], bool]:
        found = leaders(board_of(entries[:count], None, ModelFacts()))
        assert found is not None
        return [model.name for model in found.models], found.by_organisation

    assert led(8) == (["a/1", "b/1", "c/1", "d/1"], True)
    assert led(4) == (["a/1", "a/2", "b/1", "A/3"], False)
    assert leaders(board_of([], None, ModelFacts())) is None
