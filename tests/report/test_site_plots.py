"""A site's page of figures: each is there with its numbers, and both say what the leaderboard says."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import NewPage, settled
from pfgen_rs import Benchmark
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.drawing import style
from pfgen_rs.drawing.figures import themed_svg
from pfgen_rs.report import plots
from pfgen_rs.report.plot_kinds import plot_kinds
from pfgen_rs.report.site import plots_page
from pfgen_rs.report.site.builder import NAV, build
from pfgen_rs.report.site.plots_page import are_plottable, plots_files, plots_key
from plot_data import CATEGORIES, question_table, runs
from site_samples import HOSTILE, made_entries

if TYPE_CHECKING:
    from playwright.sync_api import Page

KIND = ("metrics", "length", "intervals", "categories")


def entries_of(benchmark: Benchmark, count: int) -> list[Entry]:
    ids = [question.id for question in benchmark]
    return [
        replace(
            entry,
            metadata_hash=benchmark.metadata_hash,
            questions=dict.fromkeys(ids, entry.score),
            sources={"fluency": {}, "truthfulness": {}},
        )
        for entry in made_entries(count)
    ]


@pytest.fixture(scope="module")
def entries(mini: Benchmark) -> list[Entry]:
    """More than are shown, the first with names of strangers."""
    made = entries_of(mini, 64)
    named = [
        replace(entry, model=text[:5000], run=f"result/{i}")
        for i, (entry, text) in enumerate(zip(made, HOSTILE, strict=False))
    ]
    return [*named, *made[len(named) :]]


@pytest.fixture(scope="module")
def files(mini: Benchmark, entries: list[Entry]) -> dict[str, bytes]:
    return dict(plots_files(entries, mini, nav=NAV))


@pytest.fixture(scope="module")
def folder(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_each_figure_has_its_files_and_others_their_command(files: dict[str, bytes]) -> None:
    pictures = {f"plots/{kind}.{language}.svg" for kind in KIND for language in ("en", "ja")}
    tables = {f"plots/{kind}.csv" for kind in (*KIND, "leaderboard")}
    assert files.keys() == pictures | tables | {"plots/index.html"}
    page = files["plots/index.html"].decode()
    for name in pictures | tables:
        assert f'"{Path(name).name}"' in page
    named = set(re.findall(r"pfgen-rs plot (\w+) ", page))
    assert named | {"steps"} == set(plot_kinds())  # steps: where models are checkpoints


def test_tables_are_those_of_the_leaderboard(files: dict[str, bytes], entries: list[Entry]) -> None:
    by_run = {entry.run: entry for entry in entries}
    for kind in ("metrics", "length", "intervals"):
        found = rows(files[f"plots/{kind}.csv"])
        assert [row["run"] for row in found] == [entry.run for entry in entries]
        for row in found:
            for name in row.keys() - {"name", "run", "model", "mode"}:
                value = getattr(by_run[row["run"]], name, None)
                if isinstance(value, int | float):
                    assert float(row[name]) == value
    assert len({row["name"] for row in rows(files["plots/length.csv"])}) == len(entries)
    assert len(rows(files["plots/leaderboard.csv"])) == len(entries)
    assert float(rows(files["plots/categories.csv"])[0]["all"]) == entries[0].score


def test_figures_say_what_they_leave_out(files: dict[str, bytes]) -> None:
    for kind, said in (
        ("intervals", "40 of 64 runs shown, best first"),
        ("categories", "40 of 64 runs shown, best first"),
        ("length", "The best 12 of 64 runs are numbered"),
    ):
        assert said in files[f"plots/{kind}.en.svg"].decode()
    page = files["plots/index.html"].decode()
    assert "plot intervals CHECKOUT --top 40 " in page
    assert "plot length CHECKOUT --out " in page


def test_the_key_is_of_all_that_is_drawn(
    mini: Benchmark, entries: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, few = entries[0], entries_of(mini, 3)
    assert plots_key(few) == json.loads(json.dumps(plots_key(entries_of(mini, 3))))
    others = (replace(first, length=1.0), replace(first, questions={**first.questions, "?": 0.5}))
    keys = {str(plots_key([each, *entries[1:]])) for each in (first, *others)}
    assert len({*keys, str(plots_key(few))}) == 4
    monkeypatch.setattr(style, "available", lambda: False)
    assert str(plots_key(entries)) not in keys


def test_without_matplotlib_there_are_tables_and_a_sentence(
    mini: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots_page, "available", lambda: False)
    found = dict(plots_files(entries_of(mini, 5), mini))
    assert {name.rpartition(".")[2] for name in found} == {"csv", "html"}
    page = found["plots/index.html"].decode()
    assert "<code>pip install 'pfgen_rs[plots]'</code>" in page
    assert "<img" not in page


def test_checkpoints_have_a_figure_of_steps_and_other_questions_none_of_categories(
    mini: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots_page, "available", lambda: False)  # their numbers will do
    steps = [
        replace(entry, model=f"org/m/step_{i}", run=f"result/org/m/step_{i}/0")
        for i, entry in enumerate(entries_of(mini, 4))
    ]
    found = dict(plots_files(steps, mini))
    assert len(rows(found["plots/steps.csv"])) == 4
    assert b'id="steps"' in found["plots/index.html"]
    made = entries_of(mini, 30)
    many = [replace(e, model=f"org/{e.rank}/step_{i % 2}") for i, e in enumerate(made)]
    assert "plots/steps.csv" not in dict(plots_files(many, mini))  # too many series
    others = [replace(entry, metadata_hash="0") for entry in made[:3]]
    assert "plots/categories.csv" not in dict(plots_files(others, mini))
    assert not are_plottable(made_entries(1))


def test_names_of_strangers(files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if name.endswith(".svg"):
            ET.fromstring(content)
        if not name.endswith(".csv"):
            for text in (b"<script>alert", b"<img src=x", b"<svg onload", b"\x07"):
                assert text not in content


def test_a_themed_figure_keeps_the_colours_of_its_data() -> None:
    figure = plots.category_map(question_table(runs(3)), CATEGORIES)
    plain, themed = plots.svg(figure).decode(), themed_svg(figure).decode()
    ET.fromstring(themed)
    assert themed.count('id="dark"') == 1
    used = set(re.findall(r"var\((--c\d)\)", themed))
    declared = re.findall(r"(--c\d):#", themed)
    assert used <= set(declared)
    assert all(declared.count(name) == 2 for name in used)
    for colour in ("#212121", "#fefefe"):  # numbers on cells, which are as light as before
        assert themed.count(colour) == plain.count(colour)


# In a site.


def test_a_site_has_the_page_and_draws_it_once(
    mini: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots_page, "available", lambda: False)
    few = entries_of(mini, 3)
    build(tmp_path / "site", mini, few, plots=True)
    page = (tmp_path / "site" / "plots" / "index.html").read_bytes()
    assert b'href="../plots/index.html" data-page="plots" aria-current="page"' in page
    assert b'href="plots/index.html"' in (tmp_path / "site" / "index.html").read_bytes()
    assert rows((tmp_path / "site" / "plots" / "metrics.csv").read_bytes())

    def drawn_again(*_: object, **__: object) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(plots_page, "plots_files", drawn_again)
    build(tmp_path / "site", mini, few, plots=True)
    assert (tmp_path / "site" / "plots" / "index.html").read_bytes() == page
    with pytest.raises(AssertionError, match="drawn again"):
        build(tmp_path / "site", mini, few[:2], plots=True)


def test_a_site_without_the_page(mini: Benchmark, tmp_path: Path) -> None:
    for count, is_wanted in ((3, False), (1, True)):
        build(tmp_path / "site", mini, entries_of(mini, count), plots=is_wanted)
        assert not (tmp_path / "site" / "plots").exists()
        assert b"plots/index.html" not in (tmp_path / "site" / "index.html").read_bytes()


# In a browser.

LOADED = "[...document.images].some((image) => image.offsetWidth > 0 && image.naturalWidth > 0)"


def opened(new_page: NewPage, folder: Path, address: str, width: int = 1280) -> Page:
    page = new_page(viewport={"width": width, "height": 900})
    page.goto((folder / "plots/index.html").as_uri() + address)
    assert settled(page, lambda: page.evaluate(LOADED), wanted=True)
    return page


SOURCES = (
    """() => [...document.images].filter((i) => i.offsetWidth).map((i) => i.getAttribute("src"))"""
)


def test_figures_follow_language_and_theme(new_page: NewPage, folder: Path) -> None:
    page = opened(new_page, folder, "?lang=en&theme=light")
    assert page.evaluate(SOURCES) == [f"{kind}.en.svg" for kind in KIND]
    for switch, end in (
        ("#theme", "en.svg#dark"),
        ("#language", "ja.svg#dark"),
        ("#theme", "ja.svg"),
    ):
        page.click(switch)
        assert page.evaluate(SOURCES) == [f"{kind}.{end}" for kind in KIND]


def test_a_phone_scrolls_figures_and_not_the_page(new_page: NewPage, folder: Path) -> None:
    page = opened(new_page, folder, "?lang=ja#intervals", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("#intervals img:visible").bounding_box()["width"] > 600  # type: ignore[index]
