"""The study of questions: which runs count, what is printed, and the section of the page."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import pfgen
from pfgen_rs import Benchmark, extras
from pfgen_rs.checkout.entries import Entry, entries
from pfgen_rs.checkout.items import analysed_items, family
from pfgen_rs.checkout.published import Published, published
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.report.site import benchmark_page as site_page
from pfgen_rs.report.site.benchmark_page import benchmark_page
from pfgen_rs.report.site.builder import build
from pfgen_rs.stats.items import item_analysis
from pfgen_rs.studies import study_questions
from places import ROOT
from site_samples import HOSTILE
from small import benchmark as small_benchmark

QUESTIONS = [f"Q{i:02}" for i in range(1, 7)]


def result(
    model: str, means: Mapping[str, float], trials: int = 5, **config: str
) -> dict[str, Any]:
    def figures(mean: float) -> dict[str, Any]:
        shares = {"fluency": {"A": mean}, "truthfulness": {"A": mean}}
        return {
            "score": mean,
            "score_std": 0.1,
            "length": 90.0,
            "length_std": 5.0,
            "scores": {**shares, "helpfulness": mean, "average": mean},
        }

    whole = sum(means.values()) / len(means)
    questions = {
        key: {"question": f"{key}は何ですか？", **figures(mean), "samples": []}
        for key, mean in means.items()
    }
    config = {"engine": "vllm", "mode": "qa", "model": model, **config}
    about = {"metadata_hash": "0" * 40, "config": config, "num_trials": trials}
    return {**about, **figures(whole), "questions": questions}


def scores(count: int, seed: int = 0) -> list[dict[str, float]]:
    random = np.random.default_rng(seed)
    made = random.uniform(0.2, 0.9, (count, 1)) + random.normal(scale=0.05, size=(count, 6))
    return [dict(zip(QUESTIONS, row, strict=True)) for row in made.round(5).tolist()]


def written(folder: Path, results: list[dict[str, Any]]) -> str:
    for number, each in enumerate(results):
        place = folder / f"run{number:02}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(each), encoding="utf-8")
    return str(folder / "*")


def runs_of(results: list[dict[str, Any]]) -> list[Published]:
    return [
        published(json.dumps(each).encode(), Path(f"r{i}"), f"result/r{i}")
        for i, each in enumerate(results)
    ]


def leaderboard(count: int = 12) -> list[Entry]:
    return entries(runs_of([result(f"org{i}/m{i}", own) for i, own in enumerate(scores(count))]))


def test_one_run_of_each_model_counts_the_best(tmp_path: Path) -> None:
    good = scores(12)
    worse = [{key: mean - 0.1 for key, mean in own.items()} for own in good]
    results = [result(f"org/m{i}", own) for i, own in enumerate(good)]
    results += [result(f"org/m{i}", own, mode="chat") for i, own in enumerate(worse)]
    results += [
        result("other/questions", {"Q90": 0.5, "Q91": 0.7}),
        {**result("other/score", good[0]), "score": 0.99},
        result("system/x", good[1], engine="system", mode="system"),
    ]
    study = study_questions([written(tmp_path, results)], splits=10, fitted=False)
    alone = written(tmp_path / "alone", results[:12])
    assert study.found == study_questions([alone], splits=10, fitted=False).found
    assert len(study.found["models"]) == 12
    assert study.texts["Q03"] == "Q03は何ですか？"
    [note] = study.notes
    assert note.startswith("left out: 14 runs of a model with a better one, of other questions, or")
    means = [
        [own[key] for key in QUESTIONS] for own in sorted(good, key=lambda o: -sum(o.values()))
    ]
    wanted = item_analysis(
        means,
        QUESTIONS,
        study.found["models"],
        noise=[0.1**2 / 4] * 12,  # of a mean of 5 answers, whose published deviation divides by 5
        families=["org"] * 12,
        splits=10,
        fitted=False,
    )
    assert study.found == wanted
    assert wanted["subset"]["curve"] == []  # a single family


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", "llama"),
        ("elyza/Llama-3-ELYZA-JP-8B", "llama"),
        ("abeja/ABEJA-Qwen2.5-32b", "qwen"),
        ("microsoft/phi-4", "phi"),
        ("nitky/Oumuamua-7b-Dolphin", "nitky"),
        ("openai/gpt-4o", "openai"),
        ("lonely", "lonely"),
    ],
)
def test_families(model: str, wanted: str) -> None:
    [entry] = entries(runs_of([result(model, scores(1)[0])]))
    assert family(entry) == wanted


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        extras, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name))
    )
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[study\]'"):
        analysed_items(leaderboard(), splits=10)
    assert analysed_items(leaderboard(), splits=10, fitted=False)["whole"]["alpha"] > 0.9


def test_the_command_prints_every_question(tmp_path: Path) -> None:
    place = written(tmp_path, [result(f"org{i}/m{i}", own) for i, own in enumerate(scores(14))])
    command = ("study", "questions", place, "--splits", "10")
    told, as_json, as_csv = (pfgen(*command, "--format", kind) for kind in ("table", "json", "csv"))
    assert (told.returncode, told.stderr) == (0, "")
    data = json.loads(as_json.stdout)
    lines = told.stdout.splitlines()
    assert lines[0].split() == ["6", "questions,", "14", "models"]
    for item in data["items"]:
        [line] = [line for line in lines if line.split()[:1] == [item["id"]]]
        assert f"{item['difficulty']:.4f}" in line
        assert f"{item['misjudged'][0]['z']:.4f}" in line
    start = [line.strip() for line in lines].index("reliability")
    assert lines[start + 2].split()[0] == "alpha"
    assert lines[start + 4].split()[0] == f"{data['whole']['alpha']:.4f}"
    rows = list(csv.DictReader(io.StringIO(as_csv.stdout)))
    assert [row["id"] for row in rows] == QUESTIONS
    assert [float(row["loading"]) for row in rows] == [i["loading"] for i in data["items"]]
    assert [row["misjudged"] for row in rows] == [i["misjudged"][0]["model"] for i in data["items"]]
    places = {row["id"]: int(row["place"]) for row in rows}
    assert sorted(places, key=places.__getitem__) == data["subset"]["order"]
    narrow = pfgen(*command, env={"COLUMNS": "80"})
    assert "loading" in narrow.stdout
    assert "spread" not in narrow.stdout


def test_too_little_is_an_error(tmp_path: Path) -> None:
    few = written(tmp_path, [result(f"o/m{i}", own) for i, own in enumerate(scores(5))])
    with pytest.raises(
        InputError, match="5 models answer the same 6 questions: expected at least 10"
    ):
        study_questions([few])
    done = pfgen("study", "questions", few)
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected at least 10 models and 3 questions" in done.stderr


# The section of the page.


def bench_of(ids: Iterable[str]) -> Benchmark:
    answers = {"A": ["猫は眠ります。"]}
    return small_benchmark(
        *({"question_id": key, "question": f"{key}？", "answers": answers} for key in ids)
    )


def test_the_page_tells_of_its_questions() -> None:
    bench = bench_of(QUESTIONS)
    found = analysed_items(leaderboard(), splits=100)
    page = benchmark_page(bench, entries=leaderboard()).decode()
    part = page[page.index('id="items"') :].partition("</section>")[0]
    rows = re.findall(
        r"<tr><th scope=\"row\"><a href=\"#question-(\d+)\">.*?</tr>", part, re.DOTALL
    )
    assert rows == ["1", "2", "3", "4", "5", "6"]
    cells = re.findall(r'data-v="([^"]*)"', part)
    names = ("difficulty", "spread", "discrimination", "slope", "loading")
    assert cells[:5] == [str(found["items"][0][name]) for name in names]
    assert f"{found['whole']['alpha']:.4f}" in part
    assert part.count('<th scope="row" class="number">') == len(found["errors"]) + 6
    for few in ((), leaderboard(9)):
        assert 'id="items"' not in benchmark_page(bench, entries=few).decode()
    others = bench_of(QUESTIONS[1:])  # runs of other questions tell nothing of these
    assert 'id="items"' not in benchmark_page(others, entries=leaderboard()).decode()


def test_hostile_names_are_text() -> None:
    results = [result(f"o{i}/{HOSTILE[i]}", own) for i, own in enumerate(scores(11))]
    ids = dict(zip(QUESTIONS, HOSTILE, strict=False))
    for each in results:
        each["questions"] = {ids[key]: own for key, own in each["questions"].items()}
    found = entries(runs_of(results))
    bench = bench_of(ids.values())
    page = benchmark_page(bench, entries=found).decode()
    part = page[page.index('id="items"') :].partition("</section>")[0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in part
    assert not re.search(r"<script|<img|<svg|<b>|[\u202e\x00]", part)


def test_only_other_runs_are_analysed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(name: str, made: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def count(given: Any) -> Any:
            calls.append(name)
            return made(given)

        return count

    for name in ("_analysis", "references_payload"):
        monkeypatch.setattr(site_page, name, counted(name, getattr(site_page, name)))
    place, bench = tmp_path / "site", bench_of(QUESTIONS)
    for count, wanted in (
        (12, 6 * ["references_payload"] + ["_analysis"]),
        (12, []),
        (13, ["_analysis"]),
    ):
        calls.clear()
        build(place, bench, leaderboard(count))
        assert calls == wanted
        assert f'"models": {count}' in unescape((place / "benchmark/index.html").read_text("utf-8"))


@pytest.mark.published
@pytest.mark.parametrize("page", ["questions.md", "questions.ja.md"])
def test_the_documentation_has_the_figures_of_published_runs(
    page: str, published_dir: Path
) -> None:
    study = study_questions([str(published_dir)])
    found = {
        f"{value:.4f}" for table in study.tables().values() for row in table.rows() for value in row
    }
    found |= {f"{value:.4f}" for value in study.found["components"].values()}
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    told = set(re.findall(r"\d\.\d{4}", text))
    assert len(told) > 40
    assert told - found == {"0.0001"}  # a difference
    for key, name in (("Q10", "0.748"), ("Q34", "0.986")):
        [item] = [item for item in study.found["items"] if item["id"] == key]
        assert f"{item['discrimination']:.3f}" == name
    assert max(abs(item["change"]) for item in study.found["items"]) < 0.011
    assert min(item["tau_without"] for item in study.found["items"]) >= 0.978
