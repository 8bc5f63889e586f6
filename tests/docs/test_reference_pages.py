"""Pages of reference say what the code does, and the page of metrics has its numbers."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

import pfgen_rs
from page_tables import codes, fences, japanese, tables
from pfgen_rs import Benchmark, Question
from pfgen_rs.metrics.signature import signature
from pfgen_rs.scoring.explain import Explanation
from places import DOCS, ROOT

REFERENCE = DOCS / "reference"
PAGES = [REFERENCE / f"{name}.md" for name in ("environment", "formats", "settings")]
PACKAGE = ROOT / "python" / "pfgen_rs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_name_the_same_in_both_languages(page: Path) -> None:
    for mine, its in zip(tables(page), tables(japanese(page)), strict=True):
        assert [[set(codes(c)) for c in row] for row in mine.rows] == [
            [set(codes(c)) for c in row] for row in its.rows
        ]


# Environment variables


def test_variables_are_those_of_the_source() -> None:
    described = {
        name
        for table in tables(REFERENCE / "environment.md")
        if table.header[0] == "variable"
        for row in table.column()
        for name in row
    }
    paths = [*PACKAGE.rglob("*.py"), *(ROOT / "rust").glob("*/src/**/*.rs")]
    source = "".join(path.read_text(encoding="utf-8") for path in paths)
    assert set(re.findall(r"\bPFGEN_RS_[A-Z_]+\b", source)) <= described
    assert {name for name in described if name.rpartition("_")[2] not in source} == set()


def test_cache_folders_are_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfgen_rs.install import store
    from pfgen_rs.llm_jp_eval.evaluation_files import installed_raw
    from pfgen_rs.questions.index_cache import indexes_folder

    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path))
    folders = {indexes_folder(), store.benchmarks_folder(), installed_raw()}
    [table] = [t for t in tables(REFERENCE / "environment.md") if t.header[0] == "folder"]
    named = [name for row in table.column() for name in row]
    assert {folder.relative_to(tmp_path).parts[0] for folder in folders} <= set(named)


# Exit codes

ANSWER = '{"trial": 1, "question": "Q02", "answer": " 光合成です。 "}\n'
RUNS = [pfgen_rs.sample_runs()[name] for name in ("faithful", "careless")]  # 0.3662 apart
MANUAL = ["--engine", "manual", "-b", "mini", "--trials", "1", "--import"]
CASES: dict[str, tuple[int, Callable[[Path], list[str]]]] = {
    "fine": (0, lambda _: ["--version"]),
    "warned": (0, lambda tmp: ["score", written(tmp, ANSWER), "-b", "mini"]),
    "differs": (1, lambda tmp: ["verify", changed_run(tmp), "-b", "mini"]),
    "unreadable": (2, lambda tmp: ["verify", changed_run(tmp), str(tmp / "none"), "-b", "mini"]),
    "input": (2, lambda tmp: ["score", written(tmp, "{"), "-b", "mini"]),
    "usage": (2, lambda _: ["bogus"]),
    "undecided": (3, lambda _: ["gate", *map(str, RUNS), "--max-drop", "0.366"]),
    "nothing to watch": (
        1,
        lambda tmp: ["watch", str(tmp), "--command", "true {checkpoint}", "--once"],
    ),
    "unfinished": (
        1,
        lambda tmp: ["generate", "a/b", *MANUAL, written(tmp, ANSWER), "-o", str(tmp)],
    ),
}


def written(tmp: Path, text: str) -> str:
    path = tmp / "answers.jsonl"
    path.write_text(text, encoding="utf-8")
    return str(path)


def changed_run(tmp: Path) -> str:
    """A run whose `result.json` has another score."""
    run = tmp / "run"
    shutil.copytree(pfgen_rs.sample_runs()["faithful"], run)
    pfgen_rs.score_file(run, pfgen_rs.load_benchmark("mini")).to_json(run / "result.json")
    path = run / "result.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"score": 0\.\d', '"score": 0.0', text, count=1), encoding="utf-8")
    return str(run)


@pytest.mark.parametrize("case", CASES)
def test_exit_codes(case: str, tmp_path: Path) -> None:
    code, arguments = CASES[case]
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", *arguments(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr


def test_the_codes_are_described() -> None:
    [table] = [t for t in tables(REFERENCE / "environment.md") if t.header[0] == "code"]
    signals = {128 + s for s in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)}
    assert {int(row[0]) for row in table.rows} == {0, 1, 2, 3} | signals


# Settings


def settings_rows(page: str) -> dict[str, list[str]]:
    return {codes(row[0])[0]: row for row in tables(REFERENCE / page)[0].rows}


@pytest.mark.parametrize("page", ["settings.md", "settings.ja.md"])
def test_fields_and_defaults_of_settings(page: str) -> None:
    rows = settings_rows(page)
    assert list(rows) == [field.name for field in fields(pfgen_rs.Settings)]
    for field in fields(pfgen_rs.Settings):
        assert codes(rows[field.name][1]) == [repr(field.default)]


CHANGED = pfgen_rs.Settings("paper", 2, 9, 4, 0.01, 90, 160, 210, "。", "word", helpfulness=False)
OTHERS: dict[str, Any] = {**asdict(CHANGED), "summation": "compensated"}


@pytest.mark.parametrize("name", OTHERS)
def test_the_signature_names_a_changed_setting(name: str) -> None:
    usual = signature("0" * 40, pfgen_rs.Settings())
    changed = signature("0" * 40, pfgen_rs.Settings(**{name: OTHERS[name]}))
    [part] = [p for p in changed.split("|") if p not in usual.split("|")]
    [stated] = codes(settings_rows("settings.md")[name][4])
    assert part.startswith(stated)
    assert ("always" in settings_rows("settings.md")[name][4]) == (stated in usual)


def test_parts_of_signatures_are_described_in_order() -> None:
    page = REFERENCE / "settings.md"
    settings = pfgen_rs.Settings(threshold=0.01, max_length=210, skipped="", unit="word")
    settings = replace(settings, helpfulness=False, summation="compensated")
    counts: Any = {"answered": (1, 2), "answers": (3, 4)}
    everything = signature("0" * 40, settings, **counts, clean="chat", without="1a2b3c4d-5")
    names = [part.partition(":")[0] for part in everything.split("|")[1:]]
    [table] = [t for t in tables(page) if t.header[0] == "part"]
    assert [name for row in table.column() for name in row] == names
    grammar = dict(fences(page))["text"]
    assert re.findall(r'"\|(\w+):', grammar) == names


# The numbers on the page of metrics are those of `bench.explain` and of the bundled runs.


METRICS_PAGES = sorted((DOCS / "explanation").glob("metrics*.md"))
ID, EXPLAINED_ANSWER = "Q14", "四角い布です。箱も包む布です。"
LONGEST, SCALE = 10, 200.0


@pytest.fixture(scope="module")
def bench() -> Benchmark:
    return pfgen_rs.load_benchmark("mini")


@pytest.fixture(scope="module")
def explained(bench: Benchmark) -> Explanation:
    return bench.explain(ID, EXPLAINED_ANSWER)


each_page = pytest.mark.parametrize("path", METRICS_PAGES, ids=lambda path: path.stem)


def rows(path: Path, place: int) -> list[list[str]]:
    """The rows of one of the first tables, which follow one answer."""
    return tables(path)[place].rows


def frequencies(question: Question, ngrams: Iterator[str]) -> str:
    """N-grams that occur, with their document frequencies."""
    found = {ngram: question.index.document_frequency(ngram).total for ngram in ngrams}
    return ", ".join(f"{ngram} {df:,}" for ngram, df in found.items() if df) or "–"


def new_ngrams(end: int) -> Iterator[str]:
    """N-grams that end before `end` and nowhere earlier in the answer, the shortest first."""
    for start in range(end - 1, max(end - LONGEST, 0) - 1, -1):
        if EXPLAINED_ANSWER[start:end] not in EXPLAINED_ANSWER[: end - 1]:
            yield EXPLAINED_ANSWER[start:end]


@each_page
def test_fluency_adds_what_is_said(path: Path, bench: Benchmark, explained: Explanation) -> None:
    total, expected = 0, []
    for i, (character, gain) in enumerate(
        explained.characters.select("character", "gain_A").iter_rows(), 1
    ):
        total += gain
        parts = frequencies(bench[ID], new_ngrams(i))
        assert gain == sum(int(df.replace(",", "")) for df in re.findall(r" ([\d,]*\d)", parts))
        expected.append([str(i), character, parts, f"{gain:,}", f"{total:,}"])
    assert rows(path, 0) == expected
    baseline = bench._baselines(bench[ID])["A"]
    value = explained.score.details.fluency["A"]
    assert total / baseline == value
    assert f"`{total:,} ÷ {baseline:,.3f} = {value:.6f}`" in path.read_text(encoding="utf-8")


@each_page
def test_truthfulness_is_the_mean_of_its_characters(path: Path, explained: Explanation) -> None:
    columns = explained.characters.select("covering_df_A", "skipped").iter_rows()
    reference = explained.references["A"]
    values = [min(1.0, df / reference * SCALE) for df, skipped in columns if not skipped]
    truthfulness = explained.score.details.truthfulness["A"]
    assert sum(values) / len(values) == truthfulness
    said = f"`{sum(values):g} ÷ {len(values)} = {truthfulness:.6f}`"
    assert said in path.read_text(encoding="utf-8")


@each_page
def test_helpfulness_and_the_score_follow(path: Path, explained: Explanation) -> None:
    factors = [1.0 if rule.met else 1 - rule.importance for rule in explained.rules]
    shown = [(row[0], row[1], row[3]) for row in rows(path, 1)]
    page = path.read_text(encoding="utf-8")
    assert shown == [
        (rule.label, f"{rule.importance:g}", f"{factor:g}")
        for rule, factor in zip(explained.rules, factors, strict=True)
    ]
    missed = " × ".join(f"{factor:g}" for factor in factors if factor < 1)
    score = explained.score
    assert f"`{missed} = {score.helpfulness:g}`" in page
    parts = f"{score.fluency['A']} + {score.truthfulness['A']} + {score.helpfulness:g}"
    assert f"`({parts}) ÷ 3 = {score.average}`" in page
