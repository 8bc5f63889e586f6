"""The page of a learning curve: what its data say, what is refused, and what a browser shows."""

import base64
import gzip
import html
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats  # type: ignore[import-untyped]

import helpers
from browser import NewPage, Page, expect, field, settled
from pfgen_rs import Benchmark, InputError, PfgenError
from pfgen_rs.io import table_writer
from pfgen_rs.training import StepEvaluator, page as curve_page, read_curve, write_page
from pfgen_rs.training.serving import EngineMaker
from pfgen_rs.training.watch import Watcher
from site_samples import HOSTILE

STEPS = (0, 10, 20, 30)


def evaluated(folder: Path, questions: Sequence[str], steps: Sequence[int], seed: int) -> Path:
    """A curve of answers that are parts of their questions, longer from step to step."""
    chance = np.random.default_rng(seed)

    def generate(tasks: Sequence[Any]) -> list[str]:
        return [task.question[: 1 + step // 3 + int(chance.integers(9))] for task in tasks]

    how: dict[str, Any] = {"trials": 2, "questions": questions, "num_examples": 0}
    with StepEvaluator("mini", generate, every=10, folder=folder, **how) as evaluator:
        for step in steps:
            evaluator(step, 1000 * step)
    return folder


@pytest.fixture(scope="module")
def runs(mini: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs, of which each has a step and two questions that the other one does not have."""
    place, ids = tmp_path_factory.mktemp("curves"), sorted(question.id for question in mini)
    return [
        evaluated(place / "first" / "pfgen", ids[:8], STEPS, 1),
        evaluated(place / "second" / "pfgen", ids[2:10], (*STEPS[1:], 40), 2),
    ]


@pytest.fixture
def own(runs: list[Path], tmp_path: Path) -> Path:
    """A copy of the first run, to be damaged."""
    return Path(shutil.copytree(runs[0], tmp_path / "own"))


def payload(content: str, name: str) -> Any:
    found = re.search(rf'id="payload-{name}">([^<]*)<', content)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])).decode("utf-16-le"))


def written(path: Path, folder: Path, *others: Path) -> tuple[str, Any]:
    write_page(folder, path, compare=others)
    content = path.read_text("utf-8")
    return content, payload(content, "curve/index")


def answers(folder: Path, step: int) -> pl.DataFrame:
    return pl.read_parquet(folder / "answers" / f"step_{step:08}.parquet")


def test_figures_are_those_of_the_curves(runs: list[Path], tmp_path: Path) -> None:
    _, index = written(tmp_path / "page.html", *runs)
    assert [run["name"] for run in index["runs"]] == ["first/pfgen", "second/pfgen"]
    for run, folder in zip(index["runs"], runs, strict=True):
        assert run["rows"] == read_curve(folder / "curve.parquet")[0].to_dicts()
    [rows] = index["differences"]
    assert [row["step"] for row in rows] == [10, 20, 30]
    for row in rows:
        by_question = [
            answers(folder, row["step"]).group_by("question_id").agg(pl.col("average").mean())
            for folder in runs
        ]
        both = by_question[0].join(by_question[1], on="question_id")
        test = scipy.stats.ttest_rel(both["average"], both["average_right"])
        low, high = test.confidence_interval(0.95)
        expected = [6, 1000 * row["step"], (both["average"] - both["average_right"]).mean()]
        assert [row["questions"], row["tokens"], row["difference"]] == pytest.approx(expected)
        assert [row["difference_low"], row["difference_high"]] == pytest.approx([low, high])


def test_answers_are_those_of_the_files(runs: list[Path], tmp_path: Path) -> None:
    content, index = written(tmp_path / "page.html", *runs)
    assert index["steps"] == [0, 10, 20, 30, 40]
    assert len(index["questions"]) == 10
    for question in index["questions"]:
        found = payload(content, question["payload"])
        for folder, own in zip(runs, found, strict=True):
            for step, given in zip(index["steps"], own, strict=True):
                table = pl.DataFrame(schema={"question_id": pl.String})
                if (folder / "answers" / f"step_{step:08}.parquet").exists():
                    table = answers(folder, step)
                wanted = table.filter(question_id=question["id"]).to_dicts()
                assert given == [
                    [r["trial"], round(r["average"], 5), r["answer"], len(r["answer"])]
                    for r in wanted
                ]


@pytest.mark.parametrize(
    ("limit", "steps"),
    [(10**6, list(STEPS)), (800, [10, 30]), (640, [10, 30]), (639, [30]), (1, [30])],
)
def test_steps_are_thinned_out_to_fit(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, steps: list[int]
) -> None:
    for step in STEPS:  # 16 answers of 20 characters each
        table = answers(own, step).with_columns(answer=pl.lit("猫" * (30 + step)))
        table.write_parquet(own / "answers" / f"step_{step:08}.parquet")
    monkeypatch.setattr(curve_page, "LONGEST", 20)
    monkeypatch.setattr(curve_page, "CHARACTERS", limit)
    content, index = written(tmp_path / "page.html", own)
    assert index["steps"] == steps
    left = len(STEPS) - len(steps)
    assert (f"{left} ステップの回答は含めていません" in content) == (left > 0)
    given = payload(content, "curve/0")[0][-1][0]
    assert given[2:] == ["猫" * 20, 60]


def changed(folder: Path, **values: Any) -> None:
    """Change the description of a curve."""
    table, about = read_curve(folder / "curve.parquet")
    about = {"pfgen_rs.sample": json.dumps({**about, **values})}
    table_writer.write_parquet(folder / "curve.parquet", table, about)


def emptied(folder: Path) -> None:
    table, about = read_curve(folder / "curve.parquet")
    about = {"pfgen_rs.sample": json.dumps(about)}
    table_writer.write_parquet(folder / "curve.parquet", table.head(0), about)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "another benchmark": (lambda f: changed(f, signature="x"), r"settings \(x, expected pfgen"),
    "no questions": (lambda f: changed(f, questions="abc"), "description is damaged"),
    "no trials": (lambda f: changed(f, trials=None), "description is damaged"),
    "no steps": (emptied, "no steps"),
    "no curve": (lambda f: (f / "curve.parquet").unlink(), "cannot be read"),
    "no table": (
        lambda f: (f / "answers" / "step_00000010.parquet").write_bytes(b"PAR1"),
        "not the answers of a step",
    ),
    "no columns": (
        lambda f: pl.DataFrame({"a": [1]}).write_parquet(f / "answers/step_00000010.parquet"),
        "not the answers of a step",
    ),
}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, []),
        ({"trials": 3, "mode": "<qa>"}, ["trials", "mode"]),
        ({"questions": ["Q01"], "prompts": "x"}, ["questions", "prompts"]),
        ({"tasks": ["jsts"], "tasks_n": 9}, ["tasks"]),
    ],
)
def test_the_page_says_in_what_runs_differ(
    runs: list[Path], own: Path, tmp_path: Path, values: dict[str, Any], named: list[str]
) -> None:
    changed(own, **values)
    content, _ = written(tmp_path / "page.html", runs[0], own)
    assert re.findall(r'data-t="curve_of_(\w+)"', content) == named
    assert ('data-t="curve_differing"' in content) == bool(named)
    about: dict[str, Any] = {"questions": range(8), "trials": 2, "mode": "completion", **values}
    counts = [str(len(about["questions"])), str(about["trials"])]
    [item] = [line for line in content.splitlines() if line.startswith("<li>") and "own" in line]
    assert re.findall(r"</span> (\d+) ·", item) == counts
    assert f"<bdi>{html.escape(str(about['mode']))}</bdi></li>" in item


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(runs: list[Path], own: Path, tmp_path: Path, kind: str) -> None:
    damage, message = REFUSED[kind]
    damage(own)
    with pytest.raises(InputError, match=message) as raised:
        write_page(runs[1], tmp_path / "page.html", compare=[own])
    assert str(own) in str(raised.value)
    assert not (tmp_path / "page.html").exists()


def test_a_run_beside_itself_and_one_without_a_folder(runs: list[Path], tmp_path: Path) -> None:
    for folder in (runs[0], runs[0].parent):
        with pytest.raises(InputError, match="given twice: name another run"):
            write_page(runs[0], tmp_path / "page.html", compare=[folder])
    with StepEvaluator(
        "mini", lambda tasks: ["猫"] * len(tasks), every=1, questions=1
    ) as evaluator:
        evaluator(0)
        with pytest.raises(PfgenError, match="give the StepEvaluator a `folder`"):
            evaluator.to_html(tmp_path / "page.html")


def test_answers_that_are_gone_and_numbers_that_json_lacks(own: Path, tmp_path: Path) -> None:
    table, about = read_curve(own / "curve.parquet")
    table = table.with_columns(score=pl.Series([float("nan"), float("inf"), -1.0, None]))
    about = {"pfgen_rs.sample": json.dumps(about)}
    table_writer.write_parquet(own / "curve.parquet", table, about)
    broken = answers(own, 10).with_columns(average=float("inf"))
    broken.write_parquet(own / "answers" / "step_00000010.parquet")
    empty = answers(own, 30).with_columns(answer=pl.lit(""))
    empty.write_parquet(own / "answers" / "step_00000030.parquet")
    (own / "answers" / "step_00000020.parquet").unlink()
    content, index = written(tmp_path / "page.html", own)
    assert [row["score"] for row in index["runs"][0]["rows"]] == [None, None, -1, None]
    assert index["steps"] == [0, 10, 30]
    assert {given[1] for given in payload(content, "curve/0")[0][1]} == {None}
    shutil.rmtree(own / "answers")
    assert written(tmp_path / "page.html", own)[1]["questions"] == []


def test_the_command(runs: list[Path], tmp_path: Path) -> None:
    written(tmp_path / "expected.html", *runs)
    done = helpers.pfgen("curve", *runs, "--out", tmp_path / "page.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "expected.html").read_bytes()
    written(tmp_path / "expected.html", runs[0].parent, runs[1])  # as if it had checkpoints
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "expected.html").read_bytes()
    assert helpers.pfgen("curve", runs[0].parent, "--out", tmp_path / "c.svg").returncode == 0
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    wrong = helpers.pfgen("curve", *runs, "--out", tmp_path / "d.svg")
    assert (wrong.returncode, "a picture shows one curve" in wrong.stderr) == (2, True)
    assert not (tmp_path / "d.svg").exists()


def test_watching_keeps_the_page_up_to_date(runs: list[Path], tmp_path: Path) -> None:
    reply = "json.dumps({'id': json.loads(line)['id'], 'answer': '猫'})"
    program = f"import sys,json\nfor line in sys.stdin: print({reply}, flush=True)"
    folder, out = tmp_path / "checkpoints", tmp_path / "page.html"
    for step in (1, 2):
        (folder / f"step_{step}").mkdir(parents=True)
        (folder / f"step_{step}" / "weights").touch()
    answers = EngineMaker("command", command=[sys.executable, "-S", "-c", program, "{checkpoint}"])
    how: dict[str, Any] = {"benchmark": "mini", "questions": 2, "settle_seconds": 0}
    with pytest.raises(InputError, match="cannot be read"):
        Watcher(folder, answers, page=out, compare=[tmp_path / "none"], **how)
    watcher = Watcher(folder, answers, page=out, compare=runs, **how)
    for number, outcome in enumerate(watcher.once(), 1):
        assert outcome.error is None
        index = payload(out.read_text("utf-8"), "curve/index")
        assert [len(run["rows"]) for run in index["runs"]] == [number, 4, 4]


# In a browser.


@pytest.fixture(scope="module")
def shown(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(runs[0], path, compare=runs[1:])
    return path.as_uri()


def test_steps_are_chosen(page: Page, shown: str, runs: list[Path]) -> None:
    page.goto(shown)
    cards = page.locator("#answers .card")
    headings = page.locator("#answers h4")
    expect(headings).to_have_text(["Step 0", "Step 10", "Step 30", "Step 40"])
    key = field(page, "Question").locator("option:checked").inner_text().split()[0]
    table = answers(runs[0], 10).filter(question_id=key)
    assert cards.nth(1).locator(".text").all_inner_texts()[:2] == table["answer"].to_list()
    scores = [f"{score:.4f}" for score in table["average"]]
    assert cards.nth(1).locator(".score b").all_inner_texts()[:2] == scores
    field(page, "Step in column 2").select_option("20")
    field(page, "Step in column 4").select_option("–")
    expect(headings).to_have_text(["Step 0", "Step 20", "Step 30"])
    page.get_by_role("button", name="Next").click()
    address = page.url
    page.get_by_role("button", name="All steps").click()
    expect(headings).to_have_count(5)
    expect(field(page, "Step in column 1")).to_be_disabled()
    page.goto("about:blank")
    page.goto(address)
    expect(headings).to_have_text(["Step 0", "Step 20", "Step 30"])
    page.get_by_role("button", name="日本語").click()
    expect(headings).to_have_text(["ステップ 0", "ステップ 20", "ステップ 30"])
    expect(page).to_have_title("学習曲線 · pfgen-rs")


def test_figures_and_tables(page: Page, shown: str) -> None:
    page.goto(shown)
    panels = page.locator("#figures .panel")
    expect(panels).to_have_count(5)
    names = [panel.locator(".of-axis").last.text_content() for panel in panels.all()]
    assert names == ["Score", "Fluency", "Truthfulness", "Helpfulness", "Difference in score"]
    assert panels.nth(0).locator(".curve").count() == 2
    assert panels.nth(4).locator(".zero").count() == 1
    labels = [panel.locator(".axis text").all_text_contents() for panel in panels.all()]
    for own in labels[:4]:  # of metrics that are at least 0
        assert not [text for text in own if text.startswith(("−", "-"))]
    field(page, "Horizontal").select_option("Tokens")
    spots = page.locator("#figures .spot")
    said = [spot.get_attribute("aria-label") or "" for spot in spots.all()]
    for name, count in (("Score", 8), ("Fluency", 8), ("Difference in score", 3)):
        assert len([text for text in said if f", {name}: " in text]) == count
    assert said[3].startswith("first/pfgen, Tokens: 30,000, Score: 0.")
    rows = page.locator("main table").nth(0).locator("tbody tr")
    expect(rows).to_have_count(8)
    assert "first/pfgen" in rows.nth(0).inner_text()
    page.get_by_role("button", name="Step").first.click()
    assert "40" in rows.nth(0).inner_text()
    unnamed = "all => all.filter(e => !e.labels?.length && !e.textContent.trim()).length"
    assert page.locator("main :is(select, input, button)").evaluate_all(unnamed) == 0


def hostile_run(folder: Path, own: Path) -> Path:
    """A run whose every text attacks: its name, a task, ids, questions and answers."""
    shutil.copytree(own, folder)
    table, about = read_curve(folder / "curve.parquet")
    task = "llm_jp_eval/<b class=bold>x"
    table = table.with_columns(pl.lit(0.5).alias(task), pl.lit(0.1).alias(f"{task}_se"))
    sample = {
        "pfgen_rs.sample": json.dumps(
            {**about, "questions": [f"{i}{t}" for i, t in enumerate(HOSTILE)]}
        )
    }
    table_writer.write_parquet(folder / "curve.parquet", table, sample)
    for step in STEPS:
        texts = {
            "question_id": [f"{i}{text}" for i, text in enumerate(HOSTILE)],
            "question": list(HOSTILE),
            "answer": list(HOSTILE),
        }
        found = pl.DataFrame(texts).with_columns(trial=1, average=0.5)
        found.write_parquet(folder / "answers" / f"step_{step:08}.parquet")
    return folder


def code(character: str) -> str:
    return character if character.isspace() and character.isascii() else f"U+{ord(character):04X}"


def test_hostile_texts_are_shown_and_do_nothing(
    new_page: NewPage, own: Path, tmp_path: Path
) -> None:
    folder = hostile_run(tmp_path / HOSTILE[3], own)
    write_page(own, tmp_path / "page.html", compare=[folder])
    page = new_page(viewport={"width": 390, "height": 800}, color_scheme="dark", locale="ja")
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("#figures .panel")).to_have_count(5)
    select = page.locator("[name=question]")
    for text, option in zip(HOSTILE, select.locator("option").all()[8:], strict=True):
        select.select_option(option.get_attribute("value"))
        shown = page.locator("#answers .card").nth(1).locator(".text").last
        wanted = re.sub(
            r"[^\n\t]", lambda c: c[0] if c[0].isprintable() else code(c[0]), text[:2000]
        )
        assert settled(page, shown.text_content, wanted) == wanted
    assert page.locator("main :is(img, script, b.bold, svg[onload])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
