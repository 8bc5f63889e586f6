"""Figures of files, by kind: what is drawn can be had as CSV, and what is left out is told."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from checkouts import BETTER, FIRST, SECOND, add_run, make_checkout
from figures import check_words_are_japanese
from helpers import pfgen
from pfgen_rs import errors
from pfgen_rs.report import plots
from pfgen_rs.report.plot_kinds import Drawn, draw, plot_kinds
from pfgen_rs.report.plots.inputs import PlotRequest, read_curve_rows
from pfgen_rs.report.update import report

OF_RUNS = {"metrics", "length", "intervals"}


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


def rows(drawn: Drawn) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(drawn.csv().decode())))


def result(checkout: Path, run: str) -> Any:
    return json.loads((checkout / run / "result.json").read_bytes())


@pytest.fixture(scope="module")
def requests(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, PlotRequest]:
    """What is drawn of the kinds that do not take a checkout of any runs."""
    steps = make_checkout(tmp_path_factory.mktemp("steps") / "checkout")
    for step in (10, 20):
        add_run(steps, f"result/m/step_{step}/{step:07}", BETTER, {"model": f"m/step_{step}"})
    assert report(steps).problems == []
    return {
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
    assert rows(drawn)
    plots.save(drawn.figure, tmp_path / "a.png")
    assert set(plot_kinds()[kind].options) <= {field.name for field in fields(PlotRequest)}


def test_a_figure_that_there_is_not() -> None:
    with pytest.raises(errors.PlotError, match="unknown figure 'yours': expected one of metrics"):
        draw("yours", PlotRequest([]))


@pytest.mark.parametrize("kind", sorted(OF_RUNS))
def test_numbers_of_runs_are_the_published_ones(checkout: Path, kind: str) -> None:
    found = rows(draw(kind, PlotRequest([str(checkout)])))
    assert [row["score"] for row in found] == sorted(
        (row["score"] for row in found), key=float, reverse=True
    )
    for row in found:
        published = result(checkout, row["run"])
        assert float(row["score"]) == published["score"]
        assert row["mode"] == published["config"]["mode"]
        if kind == "length":
            assert float(row["length"]) == published["length"]
        if kind == "metrics":
            assert float(row["helpfulness"]) == published["scores"]["helpfulness"]
    names = sorted(row["name"] for row in found)
    assert names == ["model · completion", "other/model · chat", "some/model · chat"]


def test_numbers_of_categories_are_means(checkout: Path) -> None:
    found = rows(draw("categories", PlotRequest([str(checkout)])))
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
        assert float(first[f"in {category or '?'}"]) == pytest.approx(sum(scores) / len(scores))


def test_numbers_of_convergence_are_running_means(checkout: Path) -> None:
    found = rows(draw("convergence", PlotRequest([str(checkout)])))
    last = {row["name"]: row for row in found}
    assert len(last) == 3
    for row in rows(draw("length", PlotRequest([str(checkout)]))):
        assert float(last[row["name"]]["mean"]) == pytest.approx(float(row["score"]), abs=1e-4)


def test_numbers_of_one_run(checkout: Path, tmp_path: Path) -> None:
    wish = PlotRequest([str(checkout / FIRST)], str(checkout / "data"))
    drawn = draw("spread", wish)
    answers = (checkout / FIRST / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    lengths = sorted(len(json.loads(line)["answer"]) for line in answers)
    assert sorted(int(row["length"]) for row in rows(drawn)) == lengths
    assert drawn.figure.get_suptitle().endswith(": model")
    for x in ("step", "tokens"):
        learning = draw("learning", PlotRequest([str(curve(tmp_path))], x=x))
        assert [row["tokens"] for row in rows(learning)] == ["0", "50"]
        assert "each" not in rows(learning)[0]
        assert learning.figure.axes[0].get_xlabel() == x.title()


def test_what_is_no_curve(tmp_path: Path) -> None:
    (tmp_path / "curve.parquet").write_bytes(b"PAR1")
    for paths, message in (
        (["a", "b"], "takes one curve.parquet, got 2 files"),
        ([str(tmp_path / "curve.parquet")], "expected a file such as curve.parquet"),
        ([str(tmp_path)], "expected a file such as curve.parquet"),
        ([str(tmp_path / "missing.parquet")], "not a learning curve"),
    ):
        with pytest.raises(errors.PfgenError, match=message):
            draw("learning", PlotRequest(paths))


def test_cut_lists_are_told(checkout: Path) -> None:
    for kind in ("intervals", "categories"):
        drawn = draw(kind, PlotRequest([str(checkout)], top=2))
        assert drawn.notes == ["2 of 3 runs shown, best first"]
        assert len(rows(drawn)) == 3  # the table has them all
        assert draw(kind, PlotRequest([str(checkout)])).notes == []


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
        ["--x", "epoch"],
        ["--x", "step"],
    ):
        failed = pfgen("plot", "intervals", checkout, "-o", tmp_path / "b.svg", *arguments)
        assert failed.returncode == 2
        assert ("requires the figure learning" in failed.stderr) == (arguments[-1] == "step")
        assert not (tmp_path / "b.svg").exists()


@pytest.mark.skipif(os.name != "posix", reason="names with a *")
def test_a_name_of_a_curve_is_no_pattern(tmp_path: Path) -> None:
    place = tmp_path / "step=5" / "[a]*.parquet"
    place.parent.mkdir()
    pl.DataFrame({"a": [1]}).write_parquet(place)
    pl.DataFrame({"a": [2]}).write_parquet(place.with_name("ab.parquet"))
    assert read_curve_rows([str(place)]).to_dict(as_series=False) == {"a": [1]}
