"""The page of a report: its payloads, and in a real browser filters, order, search and hostile texts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from browser import NewPage, settled
from jpeval_data import jp_eval, made_data, made_scores
from jpeval_runs import made_run, result_of_1_3_0
from pfgen_rs.llm_jp_eval.report import pages
from pfgen_rs.llm_jp_eval.report.pages import (
    report_chunk_starts,
    report_chunks,
    report_index,
    sample_table,
    write_report_page,
)
from pfgen_rs.llm_jp_eval.report.report import report_of
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from site_samples import HOSTILE, Elements

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TASKS = ("jamp", "jsquad", "jsts")


@pytest.fixture(scope="module")
def runs() -> list[ReportRun]:
    """Two runs of 40 samples a task; the second lacks a task and some samples."""
    one = made_run("org/one", skill=0.6, samples=40, chosen=TASKS)
    other = made_run("org/other", skill=0.4, samples=30, chosen=TASKS[:2])
    return [one, other]


@pytest.fixture(scope="module")
def table(runs: list[ReportRun]) -> pl.DataFrame:
    return sample_table(runs)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, runs: list[ReportRun]) -> Path:
    folder = tmp_path_factory.mktemp("report")
    assert write_report_page(report_of(runs), runs, folder / "page") == 120
    return folder / "page" / "index.html"


def test_the_page_says_how_many_samples_values_are_over(made: Path) -> None:
    page = made.read_text("utf-8")
    cells = re.findall(r'<th scope="row">(\w+)</th><td>\w+</td><td class="number">(.*?)</td>', page)
    assert cells == [("jamp", "30–40"), ("jsquad", "30–40")]
    assert '<span class="brand">pfgen-rs</span>' in page


def test_samples_of_all_runs_have_a_row(runs: list[ReportRun], table: pl.DataFrame) -> None:
    assert table.select("task", "index").rows() == [(t, i) for t in TASKS for i in range(40)]
    assert table["pred1"].null_count() == table["value1"].null_count() == 40 + 10 + 10
    own = runs[0].frame.filter(pl.col("task") == "jamp")
    assert table["value0"].head(40).to_list() == own["value"].to_list()
    close = table.filter(pl.col("task") == "jsts").row(0, named=True)
    off = abs(float(close["pred0"]) - float(close["gold"]))
    assert close["value0"] == pytest.approx(1 - off / 5)
    assert table["input"].null_count() == 0


def test_chunks_hold_all_texts(
    runs: list[ReportRun], table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_SAMPLES", 7)
    starts = report_chunk_starts(table)
    assert starts == list(range(0, 120, 7))
    columns = ["input", "gold", "pred0", "pred1"]
    found = [
        tuple(None if place < 0 else value["texts"][place] for place in row)
        for value in report_chunks(table, 2, starts).values()
        for row in value["samples"]
    ]
    assert found == table.select(columns).rows()
    index = report_index(table, runs, starts)
    assert index["values"][1] == [
        None if value is None else round(value * 10_000) for value in table["value1"].to_list()
    ]
    assert index["metrics"] == ["exact_match", "char_f1", "pearson"]


def test_long_texts_make_small_chunks(runs: list[ReportRun]) -> None:
    long = runs[0].frame.with_columns(pred=pl.lit("長" * 90_000))
    assert report_chunk_starts(sample_table([replace(runs[0], frame=long)]))[:3] == [0, 2, 4]


def test_numbers_that_are_too_large_or_none(runs: list[ReportRun], tmp_path: Path) -> None:
    jsts = runs[0].frame.filter(pl.col("task") == "jsts")
    cases = (("9" * 400, "1.0", 0.0), ("1", "nan", None), ("9" * 400, "inf", None))
    for pred, gold, value in cases:
        frame = jsts.with_columns(pred=pl.lit(pred), gold=pl.lit(gold))
        odd = replace(runs[0], frame=frame, scores={})
        assert sample_table([odd])["value0"].to_list() == [value] * 40
        assert write_report_page(report_of([odd]), [odd], tmp_path / "page.html") == 40


def test_the_same_page_has_the_same_bytes(runs: list[ReportRun], tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report_page(report_of(runs), runs[::-1], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_names_and_notes_are_inert(tmp_path: Path) -> None:
    runs = [made_run(text[:300], samples=3, chosen=("jamp",)) for text in HOSTILE]
    write_report_page(report_of(runs), runs, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_bytes()
    elements = Elements(page).found
    assert not {tag for tag, _, _ in elements} & {"img", "iframe", "b", "embed", "object"}
    metas = [each for tag, each, _ in elements if tag == "meta"]
    [policy] = [each["content"] for each in metas if "http-equiv" in each]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    data = made_data(tmp_path / "data", samples=6, chosen=TASKS)
    run = made_scores(tmp_path / "run", data, right=0.5, chosen=TASKS)
    assert jp_eval("report", run, "--html", tmp_path / "page.html").exit_code == 0
    assert "質問" not in (tmp_path / "page.html").read_text("utf-8")  # texts are compressed
    assert "not a directory" in jp_eval("report", run, "--html", tmp_path / "no" / "p.html").output


# In a browser


def opened(page: Page, made: Path) -> Page:
    page.goto(made.as_uri())
    page.locator("#list .sample").first.wait_for()
    return page


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#filters [name={name}]")


def expect_samples(page: Page, table: pl.DataFrame, rows: list[int]) -> None:
    """The list has these samples, in this order."""
    wanted = [f"{task} {index}" for task, index in table.select("task", "index")[rows[:20]].rows()]

    def shown() -> list[str]:
        titles: list[str] = page.locator("#list .sample h3").all_inner_texts()
        return [title.split("\n")[0].strip() for title in titles]

    assert settled(page, shown, wanted) == wanted
    told = "120 samples" if len(rows) == 120 else f"{len(rows)} of 120 samples"
    assert page.locator("#found").inner_text() == told


def rows_where(table: pl.DataFrame, condition: pl.Expr) -> list[int]:
    return table.with_row_index("row").filter(condition)["row"].to_list()


A, B = pl.col("value0"), pl.col("value1")


def test_filters_and_orders(page: Page, made: Path, table: pl.DataFrame) -> None:
    opened(page, made)
    apart = (A - B).abs()
    by_difference = table.with_row_index("row").sort(
        apart, descending=True, nulls_last=True, maintain_order=True
    )
    expect_samples(page, table, by_difference["row"].to_list())
    field(page, "order").select_option("file")
    kinds = {"wrong": A < 1, "right": A == 1, "differ": A != B, "better": A > B, "worse": A < B}
    for name, condition in kinds.items():
        field(page, "show").select_option(name)
        expect_samples(page, table, rows_where(table, condition))
    field(page, "task").select_option(label="jsquad")
    expect_samples(page, table, rows_where(table, (A < B) & (pl.col("task") == "jsquad")))
    field(page, "b").select_option("")
    expect_samples(page, table, rows_where(table, pl.col("task") == "jsquad"))
    assert field(page, "show").locator("option[value=better]").is_disabled()
    field(page, "order").select_option("lowest")
    lowest = table.with_row_index("row").filter(pl.col("task") == "jsquad")
    expect_samples(page, table, lowest.sort(A, maintain_order=True)["row"].to_list())
    page.reload()  # what is chosen stands in the address, also that there is no other run
    page.locator("#list .sample").first.wait_for()
    expect_samples(page, table, lowest.sort(A, maintain_order=True)["row"].to_list())
    assert field(page, "b").input_value() == ""
    page.get_by_role("button", name="Reset").click()
    expect_samples(page, table, by_difference["row"].to_list())
    assert "?" not in page.url


def test_a_sample_says_everything(page: Page, made: Path, table: pl.DataFrame) -> None:
    opened(page, made)
    field(page, "order").select_option("file")
    field(page, "task").select_option(label="jsts")
    expect_samples(page, table, rows_where(table, pl.col("task") == "jsts"))
    row = table.filter(pl.col("task") == "jsts").row(0, named=True)
    card = page.locator("#list .sample").first
    assert card.locator(".asked").inner_text() == row["input"]
    texts = card.locator(".side .text").all_inner_texts()
    assert texts == [row["gold"], row["pred0"]]  # the other run lacks it
    off = abs(float(row["pred0"]) - float(row["gold"]))
    assert f"off by {off:.1f}" in card.inner_text()
    figures = page.locator("#distributions figure")
    assert figures.count() == 3
    assert figures.nth(0).locator("rect").count() == 20
    assert figures.nth(2).locator("rect").count() == 10


def test_samples_of_tasks_without_values_are_shown(page: Page, tmp_path: Path) -> None:
    result_of_1_3_0(tmp_path / "full.json")
    jp_eval("report", tmp_path / "full.json", "--html", tmp_path / "page.html")
    opened(page, tmp_path / "page.html")
    field(page, "order").select_option("file")
    for task, told in (("alt-e-to-j", "no value"), ("jmmlu", "exact_match")):
        field(page, "task").select_option(label=task)
        card = page.locator("#list .sample", has_text=f"{task}の0").first
        assert told in card.inner_text()
        assert "undefined" not in card.inner_text()
    assert page.locator("#distributions figure", has_text="alt-e-to-j").count() == 0


def test_the_search(page: Page, made: Path, table: pl.DataFrame) -> None:
    opened(page, made)
    field(page, "order").select_option("file")
    field(page, "text").fill("ＪＡＭＰの3")
    matching = pl.col("input").str.contains("jampの3", literal=True)
    found = rows_where(table, pl.col("task").eq("jamp") & matching)
    assert len(found) == 11
    expect_samples(page, table, found)
    field(page, "text").fill("nowhere")
    page.get_by_text("No sample matches.").wait_for()


def test_both_languages_and_narrow_screens(new_page: NewPage, made: Path) -> None:
    for scheme in ("light", "dark"):
        page = new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme, locale="ja-JP")
        opened(page, made)
        assert page.locator("h1").inner_text() == "llm-jp-eval 評価レポート"
        assert page.locator("#found").inner_text() == "120 件"
        assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_hostile_texts_are_shown_and_do_nothing(page: Page, tmp_path: Path) -> None:
    texts = list(HOSTILE[:-1])
    frame = made_run("x", samples=len(texts), chosen=("jamp",)).frame
    preds = [f"{text}!" for text in texts]
    run = ReportRun(HOSTILE[1], frame.with_columns(input=pl.Series(texts), pred=pl.Series(preds)))
    write_report_page(report_of([run]), [run], tmp_path / "page.html")
    opened(page, tmp_path / "page.html")
    shown = page.locator("#list .asked").evaluate_all("all => all.map(p => p.textContent)")

    def boxed(text: str) -> str:
        return re.sub(
            "[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f\\xad\\u200f\\u2028\\u2029\\u202e\\u2066\\ufeff]",
            lambda found: f"U+{ord(found[0]):04X}",
            text,
        )

    assert sorted(shown) == sorted(map(boxed, texts))
    assert page.locator("main img, main script, main b.bold").count() == 0


def test_answers_lost_to_form_are_shown(page: Page, new_page: NewPage, tmp_path: Path) -> None:
    frame = made_run("x", samples=4, chosen=("jamp",)).frame
    preds = ["正解0 ", "<img src=x>\u202e", "「正解2」", "正解3"]
    frame = frame.with_columns(pred=pl.Series(preds), value=pl.Series([0.0, 0.0, 0.0, 1.0]))
    run = ReportRun("x", frame)
    write_report_page(report_of([run]), [run], tmp_path / "page.html")
    opened(page, tmp_path / "page.html")
    bar = page.locator("details.lost td.shares rect")
    found = bar.evaluate_all("all => all.map(r => [r.getAttribute('class'), r.getBBox().width])")
    parts = ("right", "stripped", "unquoted", "wrong")
    assert [(name, round(width, 2)) for name, width in found] == [(name, 25.0) for name in parts]
    page.locator("details.examples summary").click()
    told = page.locator("details.examples").inner_text()
    assert "0: 正解0  → 正解0" in told
    assert "U+202E" in told
    assert page.locator("details.lost img").count() == 0
    narrow = new_page(viewport={"width": 360, "height": 740}, color_scheme="dark", locale="ja-JP")
    opened(narrow, tmp_path / "page.html")
    assert narrow.locator("#lost").inner_text() == "形式だけで失われた回答"
    assert narrow.evaluate("document.documentElement.scrollWidth") == 360
