"""Kinds of figures, from files and on a site's page: each has its numbers, and tells what it leaves out."""

import csv
import io
import json
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browser import NewPage, Page, settled
from checkouts import BETTER, FIRST, SECOND, add_run, make_checkout
from figures import check_words_are_japanese
from helpers import pfgen
from payload_texts import file_payloads
from pfgen_rs import Benchmark, errors
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.drawing import style
from pfgen_rs.drawing.figures import themed_svg
from pfgen_rs.report import plots
from pfgen_rs.report.plot_kinds import draw, plot_kinds
from pfgen_rs.report.plots.inputs import PlotRequest, read_table
from pfgen_rs.report.site import plots_page
from pfgen_rs.report.site.builder import FRONT, build
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.report.site.plots_page import are_plottable, plots_files, plots_key
from pfgen_rs.report.update import report
from pfgen_rs.runs.generation import summarised
from plot_data import CATEGORIES, question_table, runs
from site_samples import HOSTILE, made_entries

KIND = [name for name, kind in plot_kinds().items() if kind.of_sites and name != "steps"]
"""Those of every site; steps: where models are checkpoints."""


KNOWN = {"parameters": 7.0, "released": date(2024, 5, 13), "price": 2.5, "currency": "USD"}


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
    facts = {entry.run: KNOWN for entry in entries}
    return dict(plots_files(entries, mini, facts, frame=Frame("../", FRONT)))


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
    assert {"metrics", "length", "intervals", "categories"} <= {*KIND}
    pictures = {f"plots/{kind}.{language}.svg" for kind in KIND for language in ("en", "ja")}
    tables = {f"plots/{kind}.csv" for kind in (*KIND, "leaderboard")}
    assert files.keys() == pictures | tables | {"plots/index.html"}
    page = files["plots/index.html"].decode()
    for name in pictures | tables:
        assert f'"{Path(name).name}"' in page
    named = set(re.findall(r"pfgen-rs plot (\w+) ", page))
    assert named | {"steps"} == set(plot_kinds())


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


def test_key_of_drawing(
    mini: Benchmark, entries: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, few = entries[0], entries_of(mini, 3)
    assert plots_key(few) == json.loads(json.dumps(plots_key(entries_of(mini, 3))))
    others = (replace(first, length=1.0), replace(first, questions={**first.questions, "?": 0.5}))
    keys = {str(plots_key([each, *entries[1:]])) for each in (first, *others)}
    assert len({*keys, str(plots_key(few))}) == 4
    monkeypatch.setattr(style, "available", lambda: False)
    assert str(plots_key(entries)) not in keys


def test_without_matplotlib(mini: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots_page, "available", lambda: False)
    found = dict(plots_files(entries_of(mini, 5), mini))
    assert {name.rpartition(".")[2] for name in found} == {"csv", "html"}
    page = found["plots/index.html"].decode()
    assert "<code>pip install 'pfgen_rs[plots]'</code>" in page
    assert "<img" not in page


def test_steps_and_categories(mini: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
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
    figure = plots.category_map(plots.category_means(question_table(runs(3)), CATEGORIES))
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


def test_a_site_draws_once(
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


# Of files, by kind.


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, one of them in two modes."""
    folder = make_checkout(tmp_path_factory.mktemp("plots") / "checkout")
    add_run(folder, "result/some/model/7654321", BETTER, {"mode": "chat"})
    assert report(folder).problems == []
    return folder


def curve(folder: Path) -> Path:
    path = folder / "curve.parquet"
    scores = {name: [0.1, 0.2] for name in ("score", "fluency", "truthfulness", "helpfulness")}
    pl.DataFrame(
        {"step": [0, 5], "tokens": [0, 50], **scores, "each": [[1.0], [2.0]]}
    ).write_parquet(path)
    return path


def result(checkout: Path, run: str) -> Any:
    return json.loads((checkout / run / "result.json").read_bytes())


class _Known(PlotRequest):
    @property
    def known(self) -> dict[str, Any]:
        return dict.fromkeys(self.inputs.runs["run"], KNOWN)


@pytest.mark.parametrize(
    ("tokens", "currency", "cost"),
    [
        ([500, 250, 1500], "USD", 0.6 * 2250 / 1e6),
        ([500, None, 1500], "USD", None),
        ([500, 250, 1500], "JPY", None),
        ([], "USD", None),
    ],
)
def test_the_cost_of_a_run_is_that_of_its_output_where_it_is_known(
    tokens: list[int | None], currency: str, cost: float | None, tmp_path: Path
) -> None:
    place = make_checkout(tmp_path / "checkout")
    records = [{"usage": n and {"completion_tokens": n, "prompt_tokens": 9}} for n in tokens]
    said = {**summarised(records), "journal_bytes": 0, "calls": []}
    (place / FIRST / "generation.json").write_text(json.dumps(said), encoding="utf-8")
    price = f'per_million = 0.6\ncurrency = "{currency}"\ndate = 2024-07-18\nsource = "s"'
    (place / "models.toml").write_text(f'[[price]]\n{price}\nmodels = ["some/model"]')
    assert report(place, html=tmp_path / "site").problems == []
    values = file_payloads((tmp_path / "site" / "board.js").read_bytes())["board"]["runs"]
    costs = dict(zip(values["name"], values["values"].get("cost", [None] * 2), strict=True))
    assert costs == {"some/model": cost, "other/model": None}
    known = PlotRequest([str(place)]).known
    assert {run: own["cost"] for run, own in known.items()} == {FIRST: cost, SECOND: None}
    if cost is not None:
        plot = plot_kinds()["cost"].make(PlotRequest([str(place)]))
        assert plot.table["cost"].to_list() == [cost]


@pytest.fixture(scope="module")
def requests(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, PlotRequest]:
    """What is drawn of the kinds that do not take a checkout of any runs."""
    steps = make_checkout(tmp_path_factory.mktemp("steps") / "checkout")
    for step in (10, 20):
        add_run(steps, f"result/m/step_{step}/{step:07}", BETTER, {"model": f"m/step_{step}"})
    assert report(steps).problems == []
    known = _Known([str(checkout)])
    return {
        **dict.fromkeys(("scatter", "size", "released", "cost"), known),
        "learning": PlotRequest([str(curve(steps))]),
        "spread": PlotRequest([str(checkout / FIRST)], str(checkout / "data")),
        "steps": PlotRequest([str(steps)]),
    }


@pytest.mark.parametrize("kind", plot_kinds())
def test_every_kind_is_drawn(
    kind: str, checkout: Path, requests: dict[str, PlotRequest], tmp_path: Path
) -> None:
    request = requests.get(kind, PlotRequest([str(checkout)]))
    look = {"title": "<script>$x$", "language": "ja"}
    drawn = draw(kind, replace(request, look=look))
    assert drawn.figure.get_suptitle() == "<script>$x$"
    assert b"<script" not in plots.svg(drawn.figure)
    check_words_are_japanese(drawn.figure)
    assert rows(drawn.csv())
    plots.save(drawn.figure, tmp_path / "a.png")
    assert set(plot_kinds()[kind].options) <= {field.name for field in fields(PlotRequest)}


def test_a_figure_that_there_is_not() -> None:
    with pytest.raises(
        errors.PlotError, match=r"unknown figure 'yours'.*: expected one of .*metrics"
    ):
        draw("yours", PlotRequest([]))


OTHER = """
from pfgen_rs.drawing.style import drawing
from pfgen_rs.report.plot_kinds import Plot, plot_kind

@plot_kind("theirs", "nothing but words", of_sites=True)
def theirs(request):
    return Plot(request.inputs.runs.select("name", "score"), draw)

def draw(**options):
    with drawing(**options) as look:
        return look.figure(look.title, "Words of theirs", 6, 4)
"""


def test_a_kind_of_another_package(checkout: Path, tmp_path: Path) -> None:
    """Words that have no Japanese stay as they are; a kind that cannot be loaded is in nobody's way."""
    about = tmp_path / "theirs-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    points = ["theirs = their_plots:theirs", "broken = their_plots:missing"]
    (about / "entry_points.txt").write_text("\n".join(["[pfgen_rs.plots]", *points]))
    (tmp_path / "their_plots.py").write_text(OTHER)
    env, table = {"PYTHONPATH": str(tmp_path)}, tmp_path / "a.csv"
    asked = ("--language=ja", "-o", tmp_path / "a.svg", "--csv", table)
    done = pfgen("plot", "theirs", checkout, *asked, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Words of theirs" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert len(rows(table.read_bytes())) == 3
    broken = pfgen("plot", "broken", checkout, "-o", tmp_path / "b.svg", env=env)
    assert broken.returncode == 2
    assert "figure 'broken' of their_plots:missing: " in broken.stderr


def test_numbers_of_categories_are_means(checkout: Path) -> None:
    found = rows(draw("categories", PlotRequest([str(checkout)])).csv())
    [first] = [row for row in found if row["name"] == "other/model · chat"]
    assert float(first["all"]) == result(checkout, SECOND)["score"]
    categories = {
        json.loads(path.read_bytes())["question_id"]: json.loads(path.read_bytes())["category"]
        for path in (checkout / "data").glob("Q*.json")
    }
    for category in set(categories.values()):
        scores = [
            entry["scores"]["average"]
            for question, entry in result(checkout, SECOND)["questions"].items()
            if categories[question] == category
        ]
        assert float(first[f"category:{category or '?'}"]) == pytest.approx(
            sum(scores) / len(scores)
        )


def test_numbers_of_convergence_are_running_means(checkout: Path) -> None:
    found = rows(draw("convergence", PlotRequest([str(checkout)])).csv())
    last = {row["name"]: row for row in found}
    assert len(last) == 3
    for row in rows(draw("length", PlotRequest([str(checkout)])).csv()):
        assert float(last[row["name"]]["mean"]) == pytest.approx(float(row["score"]), abs=1e-4)


def test_numbers_of_one_run(checkout: Path, tmp_path: Path) -> None:
    wish = PlotRequest([str(checkout / FIRST)], str(checkout / "data"))
    drawn = draw("spread", wish)
    answers = (checkout / FIRST / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    lengths = sorted(len(json.loads(line)["answer"]) for line in answers)
    assert sorted(int(row["length"]) for row in rows(drawn.csv())) == lengths
    assert drawn.figure.get_suptitle().endswith(": model")
    for x in ("step", "tokens"):
        learning = draw("learning", PlotRequest([str(curve(tmp_path))], x=x))
        assert [row["tokens"] for row in rows(learning.csv())] == ["0", "50"]
        assert "each" not in rows(learning.csv())[0]
        assert learning.figure.axes[0].get_xlabel() == x.title()


def test_what_is_no_curve(tmp_path: Path) -> None:
    (tmp_path / "curve.parquet").write_bytes(b"PAR1")
    for paths, message in (
        (["a/c.parquet", "b/c.parquet"], r"a.c\.parquet: cannot be read: No such file"),
        ([str(tmp_path / "curve.parquet")], "expected a table such as curve.parquet"),
        ([str(tmp_path)], "cannot be read: "),
    ):
        with pytest.raises(errors.PfgenError, match=message):
            draw("learning", PlotRequest(paths))


def test_the_command_writes_the_table_and_tells_what_is_cut(checkout: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "a.svg", tmp_path / "a.csv"
    done = pfgen("plot", "intervals", checkout, "--top", "1", "-o", out, "--csv", table)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "warning: 1 of 3 runs shown, best first\n"
    assert "1 of 3 runs shown" in out.read_text(encoding="utf-8")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 4
    for arguments in (
        ["--csv", tmp_path / "no" / "a.csv"],
        ["--csv", tmp_path / "b.svg"],  # the figure itself
        ["--top", "0"],
        ["--x", "step"],
    ):
        failed = pfgen("plot", "intervals", checkout, "-o", tmp_path / "b.svg", *arguments)
        assert failed.returncode == 2
        assert ("requires the figure scatter or learning" in failed.stderr) == ("--x" in arguments)
        assert not (tmp_path / "b.svg").exists()


@pytest.mark.skipif(os.name != "posix", reason="names with a *")
def test_a_name_of_a_curve_is_no_pattern(tmp_path: Path) -> None:
    place = tmp_path / "step=5" / "[a]*.parquet"
    place.parent.mkdir()
    pl.DataFrame({"a": [1]}).write_parquet(place)
    pl.DataFrame({"a": [2]}).write_parquet(place.with_name("ab.parquet"))
    assert read_table(place).to_dict(as_series=False) == {"a": [1]}
