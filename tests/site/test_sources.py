"""What sources contribute: figures against plain Python, what is refused, and sections that lie apart."""

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
import scipy.stats  # type: ignore[import-untyped]

from browser import NewPage, expect
from jpeval_runs import result_of_1_3_0
from pfgen_rs import install
from pfgen_rs.errors import InputError
from pfgen_rs.judge import sample_path
from pfgen_rs.report.site.board import Contribution, Section, Value
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.site.build import SitePlan
from pfgen_rs.site.sources import Given, find, given, read, state
from pfgen_rs.training import StepEvaluator, read_curve
from site_samples import HOSTILE, Elements
from verdict_pages import (
    KINDS,
    made_verdict_pairs,
    write_hostile_verdicts,
    write_verdict_folder,
)

PAIRS = made_verdict_pairs(60)
NAV = (("overview", "index.html"), ("judges", "judges/index.html"))


def contributed(*paths: Path, names: str | None = None) -> dict[str, Contribution]:
    return read(find([Given(path, names) for path in paths])[0])


def files_of(section: Section) -> dict[str, bytes]:
    found = list(section.files(Frame(nav=NAV).of(section.path, section.nav)))
    assert len({path for path, _ in found}) == len(found)
    assert {path[: path.rindex("/") + 1] for path, _ in found} >= {section.path[:-10]}
    assert all(path.startswith(section.path[:-10]) for path, _ in found)
    return dict(found)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges of the same pairs, one of others, one who has decided nothing, and what is no result."""
    folder = tmp_path_factory.mktemp("verdicts")
    write_verdict_folder(folder / "one", PAIRS)
    write_verdict_folder(folder / "deeper" / "two", PAIRS[10:], model="other", shift=3)
    apart = [replace(pair, question="別") for pair in PAIRS[:3]]
    write_verdict_folder(folder / "apart", apart, logprobs=False)
    (folder / "notes").mkdir()
    (folder / "notes" / "table.csv").write_text("model,x\na,1\n", encoding="utf-8")
    return folder


def win_rates(letters: Mapping[int, str]) -> dict[str, tuple[float, int]]:
    """Win rates with ties as half a win, and numbers of pairs, from the decisions about pairs."""
    found: dict[str, list[float]] = defaultdict(list)
    for i, letter in letters.items():
        for model, own in zip(PAIRS[i].models, "AB", strict=True):
            found[model].append(0.5 if letter == "C" else float(letter == own))
    return {model: (fmean(values), len(values)) for model, values in found.items()}


def test_win_rates_and_one_page_for_judges_of_the_same_pairs(verdicts: Path) -> None:
    found = contributed(verdicts)
    assert sorted(Path(label.partition(" in ")[2]).name for label in found) == [
        "apart",
        "one",
        "two",
    ]
    strict = {
        i: two[0] for i in range(3) if len(set(two := KINDS[i % 10])) == 1 and two[0] in "ABC"
    }
    [apart] = [own for label, own in found.items() if label.endswith("apart")]
    assert apart.benchmark is not None
    key = apart.benchmark.column
    for model, (rate, pairs) in win_rates(strict).items():
        row = apart.rows[model]
        assert isinstance(value := row[key], Value)
        assert value.value == rate
        assert row[f"{key}:pairs"] == pairs
        assert row[f"{key}:against"] == ", ".join(sorted({*PAIRS[0].models} - {model}))
    titles = {own.title for each in found.values() for own in each.sections}
    assert titles == {"other · reason / judge · reason (one)", "judge · reason (apart)"}
    sections = [own for each in found.values() for own in each.sections]
    assert {*sections[0].models, *sections[1].models} == {m for p in PAIRS for m in p.models}
    written = [files_of(section) for section in sections]
    assert not written[0].keys() & written[1].keys()
    assert sum(path.endswith("verdicts/00000.js") for each in written for path in each) == 2
    page = written[0][sections[0].path].decode()
    assert '<a href="../../judges/index.html" data-page="judges" aria-current="page">' in page


def test_every_win_rate_lies_in_its_interval(verdicts: Path) -> None:
    for own in contributed(verdicts / "one", verdicts / "deeper").values():
        for row in own.rows.values():
            [value] = [cell for cell in row.values() if isinstance(cell, Value)]
            assert value.low is not None
            assert value.high is not None
            assert 0 <= value.low <= value.value <= value.high <= 1


def test_hostile_verdicts_are_inert(tmp_path: Path) -> None:
    place, _ = write_hostile_verdicts(tmp_path)
    [own] = contributed(place).values()
    [section] = own.sections
    assert re.fullmatch(r"judges/[A-Za-z0-9._-]+/index\.html", section.path)
    tags = {tag for tag, _, _ in Elements(files_of(section)[section.path]).found}
    assert not tags & {"img", "iframe", "b", "embed", "object"}


def test_llm_jp_eval_has_means_of_its_samples(tmp_path: Path) -> None:
    paths = [tmp_path / f"org--m{i}.json" for i in range(2)]
    results = [result_of_1_3_0(path, seed=i) for i, path in enumerate(paths)]
    [(label, own)] = contributed(*paths).items()
    assert label == "llm-jp-eval"
    assert [*contributed(tmp_path)] == [label], "result files are found in folders, too"
    assert [*own.rows] == ["org--m0", "org--m1"]
    for (_, row), result in zip(own.rows.items(), results, strict=True):
        for task in ("jamp", "jcommonsenseqa", "mawps"):
            right = [each["pred"] == each["gold"] for each in result["outputs"][task]]
            assert isinstance(value := row[f"jpeval:{task}"], Value)
            assert value.value == pytest.approx(fmean(right), abs=1e-12)
            bounds = scipy.stats.binomtest(sum(right), len(right)).proportion_ci(method="wilson")
            assert (value.low, value.high) == pytest.approx(tuple(bounds), abs=1e-9)
    assert own.benchmark is not None
    assert own.benchmark.column in {column.key for column in own.columns}
    [section] = own.sections
    assert len(files_of(section)) > 2
    assert section.models == ["org--m0", "org--m1"]


def test_a_run_is_called_by_its_configuration_and_a_model_comes_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        result_of_1_3_0(tmp_path / name / "result.json")
        (tmp_path / name / "scores.json").write_text("{}", encoding="utf-8")
        (tmp_path / name / "config.json").write_text('{"model": "org/m"}', encoding="utf-8")
    [own] = contributed(tmp_path / "a").values()
    assert [*own.rows] == ["org/m"]
    with pytest.raises(InputError, match=re.escape("has results of 'org/m', of which")) as caught:
        contributed(tmp_path)
    assert str(tmp_path / "b") in str(caught.value)


def test_curves(tmp_path: Path) -> None:
    for name, steps in (("first", [0, 10]), ("second", [5, 20])):
        with StepEvaluator(
            "mini",
            lambda tasks: [task.question[:9] for task in tasks],
            every=5,
            folder=tmp_path / name / "pfgen",
            trials=1,
            questions=["Q01", "Q02", "Q03"],
            num_examples=0,
        ) as evaluator:
            for step in steps:
                evaluator(step, 1000 * step)
    found = contributed(tmp_path)
    assert [*found] == [f"curve in {tmp_path / name / 'pfgen'}" for name in ("first", "second")]
    for own, name, steps in zip(
        found.values(), ("first", "second"), ([0, 10], [5, 20]), strict=True
    ):
        last = read_curve(tmp_path / name / "pfgen" / "curve.parquet")[0].row(-1, named=True)
        score = Value(last["score"], last["score_low"], last["score_high"])
        figures = {"score": score, "steps": steps[-1], "tokens": 1000 * steps[-1]}
        assert own.rows == {name: {f"training:{key}": value for key, value in figures.items()}}
        [section], [series] = own.sections, own.curves
        assert series["steps"] == steps
        assert (series["values"][-1], series["page"]) == (last["score"], section.path)
        names = {path.rpartition("/")[2] for path in files_of(section)}
        assert names == {"index.html", "index.js", "0.js", "1.js", "2.js"}


def test_ratings_are_means_of_questions() -> None:
    [own] = contributed(sample_path() / "ratings").values()
    by_model: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    lines = (sample_path() / "ratings" / "ratings.jsonl").read_text(encoding="utf-8").splitlines()
    for record in map(json.loads, lines):
        if record["rating"] is not None:
            by_model[record["model"]][record["question_id"]].append(record["rating"])
    assert own.rows.keys() == by_model.keys()
    [key] = [column.key for column in own.columns]
    for model, questions in by_model.items():
        means = [fmean(values) for values in questions.values()]
        assert isinstance(value := own.rows[model][key], Value)
        assert value.value == pytest.approx(fmean(means))
        reach = scipy.stats.t.ppf(0.975, len(means) - 1) * stdev(means) / math.sqrt(len(means))
        assert value.low == pytest.approx(fmean(means) - reach)


def test_judgments_of_fastchat_and_rankings(tmp_path: Path) -> None:
    judged = tmp_path / "gpt-4_single.jsonl"
    record = {"question_id": 1, "model": "m", "judge": ["gpt-4", "single"], "turn": 1, "score": 8}
    judged.write_text(json.dumps(record) + "\n", encoding="utf-8")
    row = {"model": "m", "strength": 1.5, "strength_low": 1.0, "strength_high": 2.0}
    row |= {"win_rate": 0.75, "win_rate_low": None, "win_rate_high": None}
    ranking: dict[str, Any] = {"rule": "strict", "level": 0.95, "models": [row], "head_to_head": []}
    ranked = tmp_path / "ranking.json"
    ranked.write_text(json.dumps(ranking), encoding="utf-8")
    first, second = contributed(judged, ranked).values()
    assert first.rows["m"]["judge:gpt-4 (gpt-4_single)"] == Value(8.0, None, None)
    assert [*second.rows["m"].values()] == [Value(1.5, 1.0, 2.0), Value(0.75)]


TABLE = """model,score,day,note,good
org/a-7b,0.5,2024-01-02,,x
b,,2024-02-30,<b>,y
"""


def test_tables_keep_numbers_dates_and_texts(tmp_path: Path) -> None:
    rows: list[Mapping[str, Any]] = [
        {"model": "org/a-7b", "score": 0.5, "day": "2024-01-02", "note": HOSTILE[0], "good": True},
        {"model": "b", "score": "-", "day": None, "results": {"ja": 3}, "list": [1]},
    ]
    path = tmp_path / "other board.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    [own] = contributed(path, names="model").values()
    kinds = {column.key: (column.group, column.kind) for column in own.columns}
    group = "other board"
    assert kinds == {
        f"{group}:score": (group, "number"),
        f"{group}:day": (group, "date"),
        f"{group}:note": (group, "text"),
        f"{group}:good": (group, "flag"),
        f"{group}:results.ja": (group, "number"),
    }
    first = {"score": 0.5, "day": date(2024, 1, 2), "note": HOSTILE[0], "good": True}
    assert own.rows == {
        "org/a-7b": {f"{group}:{name}": value for name, value in first.items()},
        "b": {f"{group}:results.ja": 3.0},
    }
    assert own.groups == {group: (group, group)}


def test_no_column_is_guessed_to_have_the_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,day\na,2024-02-30\n", encoding="utf-8")
    with pytest.raises(InputError, match="name the column with the models' names") as caught:
        contributed(path)
    assert str(path) in str(caught.value)
    [own] = contributed(path, names="model").values()
    assert own.columns[0].kind == "text", "no such day"


def damaged(name: str, content: str | bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


RANKING = {"rule": "strict", "level": 0.95, "head_to_head": []}
BAD: Mapping[str, tuple[Sequence[Callable[[Path], Path]], str]] = {
    "nothing": ([damaged("x/notes.txt", "x")], "no results that a site takes, which are "),
    "pairs": ([damaged("x/pairs.jsonl", "{"), damaged("x/config.json", "{}")], "pairs.jsonl"),
    "curve": ([damaged("x/curve.parquet", b"PAR1")], "not a learning curve"),
    "grades": ([damaged("x/versions.json", "[]")], "config.json: cannot be read"),
    "ratings": ([damaged("x/ratings.jsonl", "{\n{}\n")], "ratings.jsonl"),
    "result": (
        [damaged("x/result.json", '{"a": 1}'), damaged("x/scores.json", "{}")],
        "is not a result file",
    ),
}
BAD_FILES = {
    "ranking": (json.dumps({**RANKING, "models": [{"model": "m"}]}), "is a damaged ranking"),
    "infinite": (
        json.dumps({**RANKING, "models": [{"model": "m", "strength": math.inf, "win_rate": None}]}),
        "is a damaged ranking",
    ),
    "result": (json.dumps({"scores": {}, "outputs": []}), "is not a result file"),
    "table": ("[", "invalid JSON"),
    "foreign": ('{"a": [1]}', "'a' is a list"),
    "nested": ("[" * 100_000, "invalid JSON"),
}


@pytest.mark.parametrize("kind", BAD)
def test_damaged_folders_are_refused_with_their_path(tmp_path: Path, kind: str) -> None:
    writers, problem = BAD[kind]
    for write in writers:
        write(tmp_path)
    with pytest.raises(InputError) as caught:
        contributed(tmp_path / "x")
    assert problem in str(caught.value)
    assert str(tmp_path / "x") in str(caught.value)


@pytest.mark.parametrize("kind", BAD_FILES)
def test_damaged_files_are_refused_with_their_path(tmp_path: Path, kind: str) -> None:
    content, problem = BAD_FILES[kind]
    path = damaged("f.json", content)(tmp_path)
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        contributed(path, names="model")
    assert str(path) in str(caught.value)


def test_missing_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        given(tmp_path / "none")


@pytest.mark.parametrize("how", ["folder", "name", "variable"])
def test_a_site_is_stale_when_its_questions_change(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "set").mkdir()
    monkeypatch.setattr(install, "installed_path", {"own": tmp_path / "set"}.get)
    monkeypatch.setenv("PFGEN_RS_BENCHMARK", "own" if how == "variable" else "")
    plan = SitePlan([], {"folder": str(tmp_path / "set"), "name": "own"}.get(how))
    states = [plan.state(), SitePlan([], "none").state(), SitePlan([], "mini").state()]
    (tmp_path / "set" / "Q01.json").write_text("{}", encoding="utf-8")
    assert len({*states, plan.state()}) == 4


def test_paths_given_twice_count_once(verdicts: Path) -> None:
    found, _ = find([Given(verdicts), Given(verdicts / "one"), Given(verdicts / "." / "one")])
    assert [len(own) for own in found.values()] == [3]


def test_the_state_follows_names_sizes_and_times(verdicts: Path, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    path.parent.mkdir()
    path.write_text("x", encoding="utf-8")
    seen = [state([tmp_path])]
    (tmp_path / "a" / ".hidden").write_text("x", encoding="utf-8")
    assert state([tmp_path]) == seen[0]
    for change in (
        lambda: path.write_text("xy", encoding="utf-8"),
        lambda: os.utime(path, (1, 1)),
        lambda: path.rename(path.with_name("c.txt")),
    ):
        change()
        seen.append(state([tmp_path]))
    assert len(set(seen)) == len(seen)
    assert state([verdicts]) == state([verdicts]) != state([verdicts / "one"])


@pytest.mark.browser
def test_a_section_finds_its_texts_within_the_site(
    verdicts: Path, new_page: NewPage, tmp_path: Path
) -> None:
    for own in contributed(verdicts).values():
        for section in own.sections:
            for path, content in files_of(section).items():
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_bytes(content)
    for place in sorted(tmp_path.glob("judges/*/index.html")):
        page = new_page()
        page.goto(place.as_uri())
        expect(page.locator("#list .pair").first).to_be_visible()
        assert page.locator("#list .pair .text").first.inner_text()


def test_an_empty_folder_is_passed_over(tmp_path: Path) -> None:
    table, empty = tmp_path / "a.csv", tmp_path / "empty"
    table.write_text("model,score\nx,1\n", encoding="utf-8")
    empty.mkdir()
    found, passed = find([Given(empty), Given(table, "model")])
    assert ([*found], passed) == (["tables"], [empty])
    (tmp_path / "x.txt").touch()
    with pytest.raises(InputError, match="no results that a site takes"):
        find([Given(table, "model"), Given(tmp_path / "x.txt")])
