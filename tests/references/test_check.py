"""The check of reference sets: each table against the obvious way to make it."""

import dataclasses
import json
import re
import statistics
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import oracle
import small
from helpers import CATS, QUESTIONS, lines, write_benchmark, write_run
from pfgen_rs import Benchmark, InputError, Settings, SettingsError, load_benchmark, score_file
from pfgen_rs.cli import build
from pfgen_rs.references import check, consensus
from places import ROOT

RUNS = [str(ROOT / "data" / "mini" / "runs" / "*")]
NAMES = ("babbling", "careless", "faithful")
COPIED = "赤い光が水に吸われます。"
TWO_SOURCES: dict[str, Any] = {
    "question_id": "Q2",
    "question": "なぜ？",
    "keywords": [{"t": "赤"}, {"or": [{"t": "青"}, {"t": "水"}], "importance": 0.5}],
    "answers": {
        "A": [COPIED, "赤い光は水が吸います。", COPIED, "青い。"],
        "B": ["水は赤い光を吸います。", "水が赤い光を吸い取ります。"],
    },
}


@pytest.fixture(scope="module")
def part() -> Benchmark:
    """Two questions of the bundled set, one of them of two sources, with few answers."""
    bench = load_benchmark("mini")
    questions = [
        dataclasses.replace(bench[q], answers={s: a[:60] for s, a in bench[q].answers.items()})
        for q in ("Q02", "Q03")
    ]
    return Benchmark(questions, "")


@pytest.fixture(scope="module")
def responses(part: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return check.scores.scored_runs(part, run_files(part, tmp_path_factory.mktemp("runs")))[0]


def run_files(bench: Benchmark, folder: Path) -> list[Path]:
    """The bundled runs, as far as they answer these questions."""
    texts = {question.text for question in bench}
    found = []
    for name in NAMES:
        frame = score_file(Path(RUNS[0]).parent / name, "mini").frame
        rows = frame.filter(pl.col("question").is_in(texts)).select("question", "answer").rows()
        found.append(write_run(folder / name, rows, model=f"mini/{name}"))
    return found


# Self-scores.


TEXTS = st.lists(
    st.one_of(
        st.text("ab", max_size=12),
        st.text("ab^$。界", max_size=8),
        st.builds(
            lambda text, count: text * count,
            st.text("ab。$", min_size=1, max_size=9),
            st.integers(10, 60),
        ),
    ),
    min_size=2,
    max_size=6,
).filter(any)


def sized(target: int, zero: int, most: int, **more: Any) -> dict[str, Any]:
    return {"target_length": target, "zero_length": zero, "max_length": most, **more}


SETTINGS = st.sampled_from(
    [
        {},
        {"min_n": 2, "max_n": 3, "truthfulness_n": 5, "threshold": 0.7},
        sized(3, 5, 7, max_n=4, truthfulness_n=1, threshold=0.5),
        sized(0, 4, 9, max_n=9, truthfulness_n=2),
    ]
)


@given(TEXTS, SETTINGS)
def test_what_is_left_out_is_as_if_not_there(answers: list[str], changes: dict[str, Any]) -> None:
    plain, settings = oracle.Settings(**changes), Settings(**changes)
    fluency, truthfulness = consensus.leave_one_out(answers, 7.0, settings)
    assert np.array_equal(
        consensus.truthfulness_without_itself(answers, settings), truthfulness, equal_nan=True
    )
    for number, answer in enumerate(answers):
        reference = oracle.reference_without(answers, number, plain)
        assert fluency[number] == reference.fluency(answer, 7.0)[0]
        assert truthfulness[number] == reference.truthfulness(answer)


def test_self_scores_are_put_together_as_published() -> None:
    bench = small.benchmark(TWO_SOURCES)
    answers = TWO_SOURCES["answers"]
    plain = oracle.Question(TWO_SOURCES)
    rows = check.scores.self_scores(bench).to_dicts()
    places = [(source, number) for source in answers for number in range(len(answers[source]))]
    assert [(row["source"], row["answer"]) for row in rows] == places
    for row in rows:
        own, number = row["source"], row["answer"]
        text = answers[own][number]
        left = oracle.reference_without(answers[own], number, plain.settings)
        values = {s: (plain.fluency(s, text)[0], plain.truthfulness(s, text)) for s in answers}
        values[own] = (left.fluency(text, plain.baselines[own])[0], left.truthfulness(text))
        fluency, truthfulness = (
            {s: round(value[i] / 2, 6) for s, value in values.items()} for i in (0, 1)
        )
        whole = plain.score(text)
        parts = [sum(fluency.values()), sum(truthfulness.values()), whole["helpfulness"]]
        assert row["question_id"] == "Q2"
        assert row["length"] == len(text)
        assert [row["fluency"], row["truthfulness"], row["helpfulness"]] == parts
        assert row["average"] == round(sum(parts) / 3, 5)
        assert row["with_itself"] == whole["average"]
        assert {s: row[f"fluency_{s}"] for s in answers} == fluency
        assert {s: row[f"truthfulness_{s}"] for s in answers} == truthfulness


def test_a_single_answer_has_no_others() -> None:
    bench = small.benchmark({"answers": {"A": ["赤い光です。"]}}, TWO_SOURCES)
    found = check.check(bench)
    [row] = found.tables["self_scores"].filter(pl.col("question_id") == "Q1").to_dicts()
    assert row["fluency"] is row["average"] is row["truthfulness_A"] is row["fluency_B"] is None
    assert row["with_itself"] > 0
    assert found.summary["self_average"].to_list()[0] is None


def test_self_scores_are_of_the_published_variant() -> None:
    bench = small.benchmark(TWO_SOURCES, settings=Settings(variant="paper"))
    with pytest.raises(SettingsError, match="pfgen-bench"):
        check.scores.self_scores(bench)


# Near-duplicates.


@given(
    st.lists(st.text("ab", max_size=9), max_size=12, unique=True),
    st.integers(1, 3),
    st.sampled_from([0.1, 1 / 3, 0.5, 0.6, 0.7, 0.9, 1.0]),
)
def test_similar_pairs_are_those_of_all_pairs(texts: list[str], n: int, threshold: float) -> None:
    sets = [{text[i : i + n] for i in range(len(text) - n + 1)} for text in texts]
    expected = []
    for one, other in combinations(range(len(texts)), 2):
        union = len(sets[one] | sets[other])
        if union and len(sets[one] & sets[other]) / union >= threshold:
            expected.append((len(sets[one] & sets[other]) / union, one, other))
    expected.sort(key=lambda pair: (-pair[0], *pair[1:]))
    found = check.answers.similar_pairs(texts, n=n, threshold=threshold)
    assert list(map(tuple, found)) == expected


def test_copies_are_counted_over_sources() -> None:
    base = "水は赤い光を吸い取るので青く見えます"
    answers = {"A": [base, base, "別の答えです。"], "B": [base, f"{base}。"]}
    counts, pairs = check.answers.near_duplicates(small.benchmark({"answers": answers}))
    similarity = 14 / 15
    names = ["question_id", "answers", "distinct", "near_pairs", "in_near_pairs", "largest"]
    assert (counts.columns, counts.rows()) == (names, [("Q1", 5, 3, 1, 2, similarity)])
    assert pairs.rows() == [("Q1", similarity, "A", 0, base, "B", 1, f"{base}。")]


# Lengths, example answers, rules.


def test_lengths(part: Benchmark) -> None:
    for row in check.answers.lengths(part).to_dicts():
        found = [len(text) for text in part[row["question_id"]].answers[row["source"]]]
        assert row["mean"] == statistics.fmean(found)
        assert row["std"] == pytest.approx(statistics.pstdev(found), rel=1e-12)
        expected = [min(found), statistics.median_low(found), max(found), len(found)]
        assert [row[name] for name in ("min", "median", "max", "answers")] == expected


def test_coverage(part: Benchmark) -> None:
    for row in check.answers.coverage(part).to_dicts():
        question = part[row["question_id"]]
        score = part.score(question.id, question.note)
        answers, source = question.answers[row["source"]], row["source"]
        assert row["average"] == score.average
        assert row["own_fluency"] == score.fluency[source]
        assert row["own_truthfulness"] == score.truthfulness[source]
        every = [oracle.substrings(question.note, [n]) for n in range(1, 11)]
        known = [{g for g in grams if any(g in text for text in answers)} for grams in every]
        for n in range(1, 11):
            assert row[f"known_{n}"] == len(known[n - 1]) / len(every[n - 1])
        assert row["known"] == sum(map(len, known)) / sum(map(len, every))
        common = [sum(g in text for text in answers) / len(answers) * 200 >= 1 for g in every[2]]
        assert row["common"] == sum(common) / len(common)


def test_no_sample_answer_is_no_error() -> None:
    bench = small.benchmark(TWO_SOURCES)
    table = check.answers.coverage(bench)
    assert table["length"].to_list() == [0, 0]
    assert table["average"].null_count() == table["known"].null_count() == 2
    assert "no example answer: 1 of 1 question" in check.check(bench).findings


def test_expressions_for_python_are_named() -> None:
    patterns = [r"一+$", r"(?i)一", r"\b一"]
    bench = small.benchmark(TWO_SOURCES | {"keywords": [{"or": [{"t": t} for t in patterns]}]})
    [warnings] = check.check(bench).summary["warnings"]
    named = re.findall(r"(keywords\S+): the regular expression (\S+) is matched by", warnings)
    assert named == [("keywords[0].or[1]", "'(?i)一'"), ("keywords[0].or[2]", r"'\\b一'")]


def test_a_short_sample_answer_has_no_long_ngrams() -> None:
    question = dataclasses.replace(small.question(TWO_SOURCES), note="赤い")
    row = check.answers.coverage(Benchmark([question], "")).to_dicts()[0]
    assert (row["known_2"], row["known_3"], row["common"], row["known"]) == (1.0, None, None, 1.0)


def test_rules_are_met_as_the_specification_says(part: Benchmark) -> None:
    table = check.answers.rules(part)
    for question in part:
        for source in [None, *question.sources]:
            names = question.sources if source is None else [source]
            texts = [text[:200] for name in names for text in question.answers[name]]
            met = [
                [oracle.locate_rule(dict(rule), text)[0] < oracle.NOT_FOUND for text in texts]
                for rule in question.keywords
            ]
            met.append([all(column) for column in zip(*met, strict=True)])
            of_source = pl.col("source").eq_missing(pl.lit(source))
            own = table.filter(of_source, question_id=question.id)
            assert own["met"].to_list() == [sum(row) for row in met]
            assert own["share"].to_list() == [sum(row) / len(texts) for row in met]
            assert own["rule"].to_list() == [*range(len(question.keywords)), None]


def test_rules_have_labels_and_remarks() -> None:
    keywords = [
        {"t": "光"},
        {"or": [{"t": "青"}, {"and": [{"t": "x"}, {"t": "y"}]}]},
        {"t": "a", "name": "b"},
    ]
    table = check.answers.rules(small.benchmark({**TWO_SOURCES, "keywords": keywords}))
    every = table.filter(pl.col("source").is_null())
    labels = ["光", "(青 or (x and y))", "b", "all rules"]
    assert every["label"].to_list() == labels
    assert every["remark"].to_list() == [None, "hardly any", "hardly any", "hardly any"]
    assert table.filter(pl.col("source").is_not_null())["remark"].null_count() == len(table) - 4
    table = check.answers.rules(small.benchmark({"answers": {"A": ["赤"]}}))
    [row] = table.filter(source="A").to_dicts()
    assert (row["label"], row["share"]) == ("all rules", 1.0)


# Sources and runs.


def test_sources_are_scored_against_each_alone(part: Benchmark) -> None:
    scores = check.scores.self_scores(part)
    table = check.scores.sources_compared(part, scores)
    for row in table.filter(pl.col("source") != pl.col("against")).to_dicts():
        question = part[row["question_id"]]
        answers = {row["against"]: question.answers[row["against"]]}
        alone = Benchmark([dataclasses.replace(question, answers=answers)], "")
        texts = question.answers[row["source"]]
        values = alone.score_batch([question.id] * len(texts), list(texts))
        for metric in ("fluency", "truthfulness"):
            assert row[metric] == pytest.approx(statistics.fmean(values[metric]), abs=1e-5)
        assert row["both"] == pytest.approx((row["fluency"] + row["truthfulness"]) / 2)
    own = table.filter(source="A", against="A", question_id="Q02").to_dicts()[0]
    mean = statistics.fmean(scores.filter(question_id="Q02")["fluency"])
    assert own["fluency"] == pytest.approx(mean)
    overall = check.scores.sources_overall(table).to_dicts()
    pairs = [(f"{row['source']}{row['against']}", row["questions"]) for row in overall]
    assert pairs == [("AA", 2), ("AB", 1), ("BA", 1), ("BB", 1)]
    assert overall[0]["both"] == statistics.fmean(table.filter(source="A", against="A")["both"])


def test_sources_agree_about_runs(part: Benchmark, responses: pl.DataFrame) -> None:
    [a_b, a_all, b_all] = check.scores.sources_by_runs(part, responses).to_dicts()
    pairs = [(row["source"], row["other"], row["questions"]) for row in (a_b, a_all, b_all)]
    assert pairs == [("A", "B", 1), ("A", None, 2), ("B", None, 1)]
    shared = responses.filter(question_id="Q03")
    values = {
        source: [
            statistics.fmean(2 * (frame[f"fluency_{source}"] + frame[f"truthfulness_{source}"]) / 2)
            for frame in shared.partition_by("run", maintain_order=True)
        ]
        for source in "AB"
    }
    assert a_b["pearson"] == pytest.approx(statistics.correlation(values["A"], values["B"]))
    assert a_b["runs"] == 3


def test_run_means(part: Benchmark, responses: pl.DataFrame) -> None:
    found = check.scores.run_means(responses)
    assert found["run"].to_list() == [f"mini/{name}" for name in NAMES]
    for row in found.to_dicts():
        own = responses.filter(run=row["run"])
        for metric in ("fluency", "truthfulness", "helpfulness", "average"):
            by_question = [statistics.fmean(own.filter(question_id=q.id)[metric]) for q in part]
            assert row[metric] == pytest.approx(statistics.fmean(by_question), rel=1e-12)
        assert row["both"] == pytest.approx((row["fluency"] + row["truthfulness"]) / 2)


def test_runs_of_one_name_are_told_apart(part: Benchmark, tmp_path: Path) -> None:
    text = next(iter(part)).text
    paths = [write_run(tmp_path / name, [(text, name)], model="m") for name in "ab"]
    names = check.scores.scored_runs(part, paths)[0]["run"].unique(maintain_order=True).to_list()
    assert names == [f"m ({path / 'trials.jsonl'})" for path in paths]


# Contamination.


@given(
    st.lists(st.text("ab \n", max_size=6), min_size=1, max_size=5).filter(any),
    st.lists(st.text("ab \n", max_size=8), min_size=1, max_size=6),
    st.integers(1, 4),
)
def test_contamination(references: list[str], answers: list[str], stretch: int) -> None:
    bench = small.benchmark({"answers": {"A": references}})
    rows = {"run": ["r"] * len(answers), "question_id": ["Q1"] * len(answers), "answer": answers}
    counts, examples = check.scores.contamination(bench, pl.DataFrame(rows), stretch=stretch)
    stripped = [text.strip() for text in answers]
    known = {text.strip() for text in references} - {""}
    verbatim = [text for text in stripped if text in known]
    parts = {text[i : i + stretch] for text in references for i in range(len(text) - stretch + 1)}
    longest = [text for text in stripped if any(part in text for part in parts)]
    found = [len(answers), len(verbatim), len(longest)]
    shares = [number / len(answers) for number in found[1:]]
    assert counts.rows() == [("r", "Q1", *found, *shares)]
    assert examples["text"].to_list() == list(dict.fromkeys(verbatim))[:3]
    for text, source, number in examples.select("text", "source", "answer").rows():
        assert source == "A"
        assert references[number].strip() == text


# All of it.


def test_check_of_a_set_alone(part: Benchmark) -> None:
    told: list[tuple[str, int, int]] = []
    found = check.check(part, progress=lambda *step: told.append(step))
    names = (
        "self_scores near_duplicates near_duplicate_pairs lengths coverage rules sources scripts"
    )
    assert set(found.tables) == {*names.split(), "sources_overall", "reference_spread"}
    assert found.signature == part.signature
    assert found.summary["question_id"].to_list() == ["Q02", "Q03"]
    assert found.summary["verbatim"].null_count() == 2
    assert [step for step in told if step[0] == "rules"] == [("rules", i, 2) for i in range(3)]
    first, second = found.summary.to_dicts()
    assert (first["agreement"], first["sources"], second["sources"]) == (None, 1, 2)
    texts = [len(text) for texts in part["Q03"].answers.values() for text in texts]
    assert second["length"] == pytest.approx(statistics.fmean(texts))
    assert second["length_std"] == pytest.approx(statistics.pstdev(texts))
    assert "source 'A' has only 60 answers" in second["warnings"]
    assert "against source 'B'" in second["warnings"]


def test_check_with_runs_does_not_depend_on_threads(part: Benchmark, tmp_path: Path) -> None:
    files = run_files(part, tmp_path)
    one, many = (check.check(part, files, threads=t) for t in (1, 4))
    assert one.tables.keys() == many.tables.keys()
    assert {"runs", "source_runs", "contamination"} < one.tables.keys()
    for name, table in one.tables.items():
        assert_frame_equal(table, many.tables[name], check_exact=True)
    assert_frame_equal(one.summary, many.summary, check_exact=True)
    assert one.findings == many.findings


def test_findings_of_a_copied_set(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "set")
    copied = QUESTIONS["Q01"]["answers"]["A"][0]
    (tmp_path / "run.jsonl").write_bytes(lines([(CATS, f" {copied}\n"), (CATS, "犬です。")]))
    found = check.check(folder, [tmp_path / "run.jsonl"])
    assert found.summary["verbatim"].to_list() == [1, 0]
    assert "1 answer of runs occurs verbatim in the set" in found.summary["warnings"][0]
    assert any("of 2 answers of runs, 1 occurs verbatim" in finding for finding in found.findings)
    assert found.tables["contamination_examples"].rows() == [("run", "Q01", "A", 0, copied)]
    assert found.tables["source_runs"]["pearson"].null_count() == 3


def test_a_run_of_more_questions_is_scored_in_part(part: Benchmark, tmp_path: Path) -> None:
    """The bundled runs answer fourteen questions ten times each; the set has two of them."""
    whole = check.check(part, RUNS)
    only = check.check(part, run_files(part, tmp_path))
    for name in ("runs", "source_runs", "contamination"):
        assert_frame_equal(whole.tables[name], only.tables[name])
    by_run = whole.tables["left_out"].group_by("run").agg(pl.col("answers").sum(), pl.len())
    assert sorted(by_run.rows()) == [(f"mini/{name}", 120, 12) for name in NAMES]
    told = "360 answers of runs were left out, because the set does not have their 12 questions"
    assert told in whole.findings
    assert only.tables["left_out"].is_empty()
    assert not any("left out" in finding for finding in only.findings)


def test_a_run_of_another_set_is_an_error(part: Benchmark, tmp_path: Path) -> None:
    path, text = tmp_path / "run.jsonl", next(iter(part)).text
    path.write_bytes(lines([(CATS, "動物です。")]))
    with pytest.raises(InputError, match="no line answers a question of the benchmark"):
        check.check(part, [path])
    path.write_bytes(lines([(text, "動物です。"), (CATS, "動物です。")]) + b"{\n")
    with pytest.raises(InputError, match="line 3"):
        check.check(part, [path])


def test_widely_spread_lengths_are_a_concern() -> None:
    answers = ["赤い光です。" * repeats for repeats in range(1, 30)]
    found = check.check(small.benchmark({"answers": {"A": answers}}))
    assert "vary by ±50.2 (published sets: ±1.8 to ±7.2)" in found.summary["warnings"][0]


HOSTILE = "\x1b[31m<script>|`[x](http://e.com)`\u202e**&amp;\n# x"


def hostile() -> Benchmark:
    """A set whose names and texts try to act."""
    answers = {
        HOSTILE: [f"{HOSTILE}{text}{HOSTILE}" for text in "赤青"],
        "$x_{$": ["青い。", "青い"],
    }
    return small.benchmark({"answers": answers, "keywords": [{"t": "[<]b"}]})


def test_nothing_acts_on_the_page() -> None:
    page = check.report_markdown(check.check(hostile()))
    for acting in ("\x1b", "<script", "\u202e", "**", "[x]", "`", "&amp;am", "http:"):
        assert acting not in page
    for block in page.split("\n\n"):
        if block.startswith("|"):
            assert len({line.count("|") for line in block.strip().splitlines()}) == 1


def test_a_lone_surrogate_does_not_break_the_page() -> None:
    found = check.check(hostile())
    page = check.report_markdown(dataclasses.replace(found, findings=["a\ud800b", *found.findings]))
    assert "a&#92;ud800b" in page
    page.encode()


def test_files_of_a_check(part: Benchmark, tmp_path: Path) -> None:
    files = run_files(part, tmp_path / "runs")
    found = check.check(part, files)
    written = found.to_dir(tmp_path / "out")
    assert written[-1] == tmp_path / "out" / "check.md"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in written}
    table = pl.read_csv(tmp_path / "out" / "self_scores.csv")
    assert_frame_equal(table, found.tables["self_scores"], check_exact=True)
    again = found.to_dir(tmp_path / "again")
    for one, other in zip(written, again, strict=True):
        assert one.read_bytes() == other.read_bytes()


# The command.


def test_the_command(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "set")
    run = write_run(tmp_path / "run", model="\x1b[31mm")
    arguments = ["check", str(folder), "--run", str(run), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(build.app, arguments)
    assert done.exit_code == 0, done.output
    assert "Q01" in done.stdout
    assert "no example answer" in " ".join(done.stdout.split())
    assert "- 6 answers to 2 questions" in done.stdout
    assert "those of the published sets by ±2.7 (±1.8 to ±7.2)" in done.stdout
    assert re.search(r"[0-9]\.[0-9] ±[0-9]+\.[0-9]", done.stdout)
    assert "\x1b" not in done.stdout
    assert (tmp_path / "out" / "check.md").exists()
    done = CliRunner().invoke(build.app, ["check", str(folder), "--format", "json"])
    found = json.loads(done.stdout)
    assert found["signature"] == load_benchmark(folder).signature
    assert [row["question_id"] for row in found["questions"]] == ["Q01", "Q02"]
    assert found["findings"]


# Published data.


@pytest.mark.published
def test_leaving_out_published_answers(published_benchmark: Benchmark) -> None:
    """Some answers against sets built anew without them."""
    for question in list(published_benchmark)[:2]:
        for source, answers in question.answers.items():
            baseline = published_benchmark.baselines(question)[source]
            settings = published_benchmark.settings
            fluency, truthfulness = consensus.leave_one_out(answers, baseline, settings)
            for number in (0, len(answers) - 1):
                others = [text for place, text in enumerate(answers) if place != number]
                alone = Benchmark([dataclasses.replace(question, answers={source: others})], "")
                details = alone.score(question.id, answers[number]).details
                scale = alone.baselines(alone[question.id])[source] / baseline
                assert fluency[number] == pytest.approx(details.fluency[source] * scale, rel=1e-12)
                assert truthfulness[number] == details.truthfulness[source]


def test_a_set_of_words_is_looked_into_by_words() -> None:
    found = check.check(ROOT / "data" / "mini-en")
    assert "|unit:word|" in found.signature
    assert not any("published sets" in finding for finding in found.findings)
    assert found.summary.get_column("length").is_between(90, 110).all()
    assert (found.summary.get_column("self_helpfulness") > 0.4).all()
    own = found.tables["self_scores"]
    assert (own.get_column("average") < own.get_column("with_itself")).all()
