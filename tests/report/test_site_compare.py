"""What a comparison says of pairs among many, of runs that compete with none, and of impossible choices."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from browser import NewPage, settled
from pfgen_rs import Benchmark, Result, score_file, stats
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report import site
from pfgen_rs.report.site import names
from pfgen_rs.report.site.compare_page import Compared, comparison_page, comparison_payload
from pfgen_rs.runs.sample import sample_of
from site_samples import Elements, made_entries

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

RUNS = ("babbling", "careless", "faithful")
ENTRIES = made_entries(4)
SYSTEM = 2  # of the made entries


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> list[Result]:
    """The bundled runs, the best of them a system's, and one that differs from the second by chance."""
    babbling, careless, faithful = (score_file(bundled_path() / "runs" / n, mini) for n in RUNS)
    chance = np.random.default_rng(4)
    frame = careless.frame
    answers = [
        answer[: -1 if chance.random() < 0.1 else None] for answer in frame["answer"].to_list()
    ]
    near = mini.evaluate(frame["question"].to_list(), answers)
    system = replace(faithful, config={"mode": "system"})
    return [replace(babbling, config={}), replace(careless, config={}), system, near]


@pytest.fixture(scope="module")
def comparison(results: list[Result]) -> stats.Comparison:
    samples = [sample_of(result, f"run {i}") for i, result in enumerate(results)]
    return stats.compare(samples, resamples=200, permutations=500)


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, mini: Benchmark, results: list[Result]
) -> Path:
    folder = tmp_path_factory.mktemp("site")
    by_run = {entry.run: result for entry, result in zip(ENTRIES, results, strict=True)}
    site.build(folder, mini, ENTRIES, by_run)
    return folder


def labels(system: int | None = None) -> list[Compared]:
    return [Compared(f"run {i}", f"runs/{i}", is_system=i == system) for i in range(4)]


def test_a_run_that_competes_with_none_has_no_rank(
    mini: Benchmark, comparison: stats.Comparison
) -> None:
    page = comparison_page(mini, comparison, labels(SYSTEM))
    cells = [attrs for attrs, _ in Elements(page).named("td") if "data-v" in attrs]
    assert cells[0]["data-v"] == "", "the best run is the system's"
    payload = comparison_payload(mini, comparison, labels(SYSTEM))
    assert [row[-1] for row in payload["pairs"]["average"]] == [3] * 6
    assert [row[-2] for row in payload["pairs"]["fluency"]] == [
        pair.p_holm for pair in comparison.pairs if pair.metric == "fluency"
    ]


def test_both_pages_of_a_site_have_the_same_ranks(page: Page, folder: Path) -> None:
    page.goto((folder / "compare" / "index.html").as_uri())
    rows = page.locator("table.sortable.rows").first.locator("tbody tr")
    shown = rows.locator("td:first-child").all_inner_texts()
    wanted = {f"{entry.rank_low}–{entry.rank_high}" for entry in ENTRIES if entry.rank} | {"–"}
    assert set(shown) == wanted
    assert shown[0] == "–"
    assert rows.first.get_attribute("class") == "system"


def opened(page: Page, folder: Path, address: str = "") -> Page:
    page.goto(f"{(folder / 'compare' / 'index.html').as_uri()}{address}")
    expect(page.locator("#answers .answer")).to_have_count(2)
    return page


def chosen(page: Page) -> set[int]:
    return {int(page.locator(f"[name={name}]").input_value()) for name in ("a", "b")}


def pair(a: int, b: int) -> str:
    return "#" + "+".join(names.slug(ENTRIES[i].run) for i in (a, b))


def test_the_two_best_models_are_chosen_at_first(page: Page, folder: Path) -> None:
    assert chosen(opened(page, folder)) == {1, 3}
    expect(page.locator("#pair-note")).to_be_hidden()


def test_the_verdict_says_what_correction_leaves(page: Page, folder: Path) -> None:
    verdict = opened(page, folder, pair(0, 1)).locator(".verdict")
    expect(verdict).to_contain_text("95 % interval")
    expect(verdict).to_contain_text("uncorrected")
    expect(verdict).to_contain_text(
        "The difference remains significant when corrected for all 3 such pairs"
    )
    page.goto((folder / "compare" / "index.html").as_uri() + pair(1, 3))
    expect(verdict).to_contain_text("do not differ significantly")
    expect(verdict).to_contain_text("The same holds when corrected for all 3 such pairs")
    page.goto((folder / "compare" / "index.html").as_uri() + pair(1, SYSTEM))
    expect(verdict).to_contain_text("corrected for all 3 such pairs")


def test_a_p_value_at_the_limit_of_permutations_is_a_bound(
    new_page: NewPage, mini: Benchmark, comparison: stats.Comparison, tmp_path: Path
) -> None:
    """As with many runs: the smallest p that permutations give, and one above it."""
    page = new_page(expected="ERR_FILE_NOT_FOUND")  # there are no answers
    p = {0: 2e-5, 1: 2e-5, 2: 9e-5}
    pairs = [
        replace(each, p=p.get(i % 6, 0.5), p_holm=min(1.0, 6 * p.get(i % 6, 0.5)))
        for i, each in enumerate(comparison.pairs)
    ]
    found = replace(comparison, pairs=pairs, smallest_p=2e-5)
    data = {"compare/data": comparison_payload(mini, found, labels())}
    (tmp_path / "page.html").write_bytes(comparison_page(mini, found, labels(), payloads=data))
    cells = page.locator("#pair-result table").first.locator("tbody tr").first.locator("td")
    for number, wanted in {1: "≤ 0.0001", 2: "≤ 0.0001", 3: "0.0005"}.items():
        page.goto((tmp_path / "page.html").as_uri() + f"#0+{number}")
        page.reload()
        expect(cells.nth(-2)).to_have_text(wanted)
        expect(cells.nth(-3)).to_have_text("< 0.0001")


def note(page: Page) -> Locator:
    return page.locator("#pair-note")


def test_a_run_chosen_twice_is_said_to_have_made_way(page: Page, folder: Path) -> None:
    opened(page, folder, pair(0, 1))
    page.locator("[name=b]").select_option("0")
    expect(note(page)).to_contain_text("A run cannot be compared with itself, so A is now")
    assert settled(page, lambda: chosen(page) >= {0}, wanted=True)
    assert len(chosen(page)) == 2
    page.get_by_role("button", name="Swap").click()
    expect(note(page)).to_be_hidden()


@pytest.mark.parametrize("address", ["#nope+nope2", "#nope", "#%zz+a", "#<b>+c"])
def test_a_link_to_what_is_not_there_is_said(page: Page, folder: Path, address: str) -> None:
    opened(page, folder, address)
    expect(note(page)).to_contain_text("The link names runs that are not on this page")
    expect(note(page)).to_contain_text(re.compile(r"nope|%zz|<b>"))
    assert chosen(page) == {1, 3}


def test_remarks_stand_at_the_table_they_are_about(page: Page, folder: Path) -> None:
    opened(page, folder)
    about = "Intervals of single questions reflect trial noise only"
    captions = page.locator("#pair-result caption").all_inner_texts()
    assert [about in caption for caption in captions] == [False, True, False]
