"""What a leaderboard shows first: facts about models, leading models, and plots."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs.checkout.entries import Entry
from pfgen_rs.errors import InputError
from pfgen_rs.report.site.charts import Point, Scatter, date_ticks, size_ticks
from pfgen_rs.report.site.leaderboard import best_runs, leaderboard_page, overview
from pfgen_rs.report.site.model_facts import (
    FILE,
    Fact,
    ModelFacts,
    bundled_facts,
    parameters_in_name,
    read_facts,
)
from site_samples import Elements, hostile_entries, made_entries


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llm-jp-3-13b", 13),
        ("llm-jp-3-1.8b-instruct3", 1.8),
        ("llm-jp-3-150m", 0.15),
        ("Qwen3-30B-A3B-Base", 30),
        ("plamo-2-8b-4bit", 8),
        ("japanese-stablelm-3b-4e1t-base", 3),
        ("Meta-Llama-3.1-405B", 405),
        ("llama_7B_chat", 7),
        ("7b", 7),
        ("Mixtral-8x7B-v0.1", None),
        ("Qwen1.5-MoE-A2.7B", None),
        ("gemma-3n-E4B-it", None),
        ("Phi-3-medium-128k-instruct", None),
        ("distilled-7b-from-70b", None),
        ("same-7b-and-7B", 7),
        ("v1.7bit", None),
        ("GPT35b2", None),
        ("x-0.0m", None),
        ("x-1000000b", 1e6),
        ("x-1000001b", None),
        ("9" * 400 + "b", None),
        ("", None),
    ],
)
def test_sizes_are_read_from_names_that_are_clear(name: str, billions: float | None) -> None:
    assert parameters_in_name(name) == (None if billions is None else pytest.approx(billions))


@given(st.text(max_size=60))
def test_any_name_has_one_size_or_none(name: str) -> None:
    size = parameters_in_name(name)
    assert size is None or (math.isfinite(size) and size > 0)


def test_facts_of_the_package_have_sources_and_agree_with_names() -> None:
    facts = bundled_facts()
    everything = {**facts.parameters, **{f"{k} ": v for k, v in facts.released.items()}}
    assert len(everything) > 100
    assert all(fact.source.startswith("https://") for fact in everything.values())
    for name in facts.parameters:
        assert parameters_in_name(name.rpartition("/")[2]) is None, "the name says it already"
    days = [fact.value for fact in facts.released.values()]
    assert all(isinstance(day, date) and date(2020, 1, 1) < day < date(2030, 1, 1) for day in days)
    assert facts.parameters_of("deepseek-ai/DeepSeek-V3") == (
        671,
        "https://github.com/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md",
    )
    assert facts.released_of("chat", "META-LLAMA/llama-2-7b-hf") == (
        date(2023, 7, 18),
        "https://github.com/meta-llama/llama-models/blob/main/README.md",
    )
    assert facts.released_of("nobody/unknown") is None
    assert facts.parameters_of("nobody/unknown-3b") == (3, "name")


def written(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text, encoding="utf-8")
    return folder


RELEASED = '[[released]]\ndate = {date}\nsource = "s"\nmodels = ["a/b"]\n'
PARAMETERS = '[[parameters]]\nbillions = {n}\nsource = "s"\nmodels = ["a/b"]\n'


def test_facts_of_a_checkout_come_first(tmp_path: Path) -> None:
    assert read_facts(tmp_path) == bundled_facts()
    text = RELEASED.format(date="2021-02-03") + PARAMETERS.format(n="0.5")
    text += '[[released]]\ndate = 2022-01-01\nsource = "x"\nmodels = ["openai/GPT-4o", "own"]\n'
    facts = read_facts(written(tmp_path, text))
    assert facts.released_of("A/B") == (date(2021, 2, 3), "s")
    assert facts.parameters_of("a/b") == (0.5, "s")
    assert facts.released_of("openai/gpt-4o") == (date(2022, 1, 1), "x")
    assert facts.released_of("some-org/own") == (date(2022, 1, 1), "x"), "without organisation"
    assert facts.released_of("Qwen/Qwen-7B") is not None, "those of the package are still there"


DATE = "[[released]] 1: expected 'date', a date from 1950 to 2100"
SIZE = "[[parameters]] 1: expected 'billions', a number"
ONE = PARAMETERS.format(n="1")
WRONG = {
    "released = 3": DATE,
    "[models]": "unknown key 'models': expected 'released' or 'parameters'",
    "[[released]": "invalid TOML: ",
    RELEASED.format(date="2024-02-30"): "invalid TOML: ",
    **{
        RELEASED.format(date=day): DATE
        for day in ('"2024-13-01"', "2024-01-01T00:00:00", "9999-12-31", "1949-12-31", "2101-01-01")
    },
    **{PARAMETERS.format(n=size): SIZE for size in ('"7B"', "true", "0", "nan", "1000001")},
    RELEASED.format(date="2024-01-01") * 2: "[[released]] 2: 'a/b' has a value already",
    ONE.replace('["a/b"]', '["A", "a"]'): "'a' has a value already",
    "[[parameters]]\nbillions = 1\nmodels = []": SIZE,
    ONE + "license = 'x'": SIZE,
    ONE.replace('"s"', '" "'): SIZE,
    ONE.replace('["a/b"]', '"a/b"'): SIZE,
    ONE.replace('"a/b"', "3"): SIZE,
    "\udcff": "not UTF-8",
}


@pytest.mark.parametrize(("text", "problem"), WRONG.items())
def test_wrong_facts_are_named_with_file_and_entry(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        read_facts(tmp_path)
    assert str(tmp_path / FILE) in str(caught.value)


def test_facts_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_facts(tmp_path)


def named(models: Sequence[str]) -> list[Entry]:
    """Entries by falling score with these models."""
    made = [entry for entry in made_entries(len(models) + 1) if entry.rank is not None]
    return [
        replace(entry, model=model, organisation=model.split("/")[0])
        for entry, model in zip(made, models, strict=False)
    ]


def run_labels(entries: Sequence[Entry]) -> dict[str, str]:
    return {entry.run: entry.model for entry in entries}


def test_leaders_are_the_best_of_each_organisation() -> None:
    entries = named(["a/1", "a/2", "b/1", "A/3", "c/1", "d/1", "b/1", "c/1"])
    found = overview(entries, run_labels(entries), ModelFacts())
    assert found.leaders is not None
    assert [entry.model for entry in found.leaders.entries] == ["a/1", "b/1", "c/1", "d/1"]
    assert found.leaders.by_organisation
    assert found.models == len(best_runs(entries)) == 6
    few = overview(entries[:4], run_labels(entries), ModelFacts())
    assert few.leaders is not None
    assert [entry.model for entry in few.leaders.entries] == ["a/1", "a/2", "b/1", "A/3"]
    assert not few.leaders.by_organisation
    assert overview([], {}, ModelFacts()).leaders is None


def test_models_of_unknown_size_are_in_no_plot() -> None:
    entries = named(["a/x-1b", "b/x-7b", "c/unknown", "d/x-70b", "e/x-8x7b", "f/x-3b", "a/x-1b"])
    facts = ModelFacts({"e/x-8x7b": Fact(46.7, "s")}, {"a/x-1b": Fact(date(2024, 1, 1), "s")})
    found = overview(entries, run_labels(entries), facts)
    assert found.dates is None, "one date is no plot"
    assert found.sizes is not None
    points = {(point.name, point.text, point.source) for point in found.sizes.points}
    assert points == {
        ("a/x-1b", "1B", "name"),
        ("b/x-7b", "7B", "name"),
        ("d/x-70b", "70B", "name"),
        ("e/x-8x7b", "46.7B", "s"),
        ("f/x-3b", "3B", "name"),
    }
    assert (len(found.sizes.points), found.models) == (5, 6)


SCORES = st.floats(0, 1.2)
POINTS = st.lists(st.tuples(st.floats(-2, 4), SCORES), min_size=1, max_size=30)


def scatter(places: Sequence[tuple[float, float]]) -> Scatter:
    return Scatter(
        [Point(x, y, f"m{i}", "", "", str(i)) for i, (x, y) in enumerate(places)], size_ticks
    )


@given(POINTS)
def test_the_frontier_is_what_nothing_smaller_reaches(places: list[tuple[float, float]]) -> None:
    drawing = scatter(places)
    frontier = {(p.value, p.score) for p in drawing.frontier}
    for x, y in places:
        beaten = any(a <= x and b >= y and (a, b) != (x, y) for a, b in places)
        assert ((x, y) in frontier) == (not beaten)
    assert len(drawing.others) + len(drawing.frontier) == len(places)


@given(POINTS)
def test_points_and_labels_stand_in_the_drawing(places: list[tuple[float, float]]) -> None:
    drawing = scatter(places)
    for point in drawing.points:
        assert 34 <= drawing.x(point.value) <= 468
        assert 18 <= drawing.y(point.score) <= 156
    for i, label in enumerate(drawing.labels):
        assert 34 < label.x <= 468
        assert 10 <= label.y <= 156
        for other in drawing.labels[
            :i
        ]:  # all names are short: a line apart, or as short as the gap
            assert abs(label.y - other.y) >= 13 or abs(label.x - other.x) >= 5.9


def test_axes_have_round_labels() -> None:
    assert [text for _, text in size_ticks(-1.2, 2.9)] == ["100M", "1B", "10B", "100B"]
    days = (date(2023, 5, 17).toordinal(), date(2025, 5, 22).toordinal())
    assert [text for _, text in date_ticks(*days)] == ["2023-07", "2024-01", "2024-07", "2025-01"]
    longer = (date(2021, 5, 17).toordinal(), date(2025, 5, 22).toordinal())
    assert [text for _, text in date_ticks(*longer)] == ["2022", "2023", "2024", "2025"]


def test_the_page_shows_them_with_texts() -> None:
    entries = named(["a/x-1b", "b/x-7b", "c/<b>x-70b", "d/x-3b", "e/y-13b"])
    released = {
        entry.model.casefold(): Fact(date(2024, i + 1, 1), "s") for i, entry in enumerate(entries)
    }
    page = Elements(leaderboard_page(entries, facts=ModelFacts({}, released)))
    titles = [text for _, text in page.named("title")]
    assert f"<b>x-70b · {entries[2].score:.4f} · 70B" in titles
    assert len([attrs for attrs, _ in page.named("circle") if attrs.get("r") in ("3", "4")]) == 10
    drawings = [attrs for attrs, _ in page.named("svg") if attrs.get("role") == "img"]
    ids = {attrs.get("id") for _, attrs, _ in page.found}
    assert [attrs["aria-labelledby"] for attrs in drawings] == ["size-caption", "release-caption"]
    assert all(attrs["aria-labelledby"] in ids for attrs in drawings)


def test_hostile_names_are_texts_in_drawings() -> None:
    entries = [replace(entry, model=f"{entry.model[:200]}-7b") for entry in hostile_entries()]
    page = Elements(leaderboard_page(entries))
    assert {tag for tag, _, _ in page.found}.isdisjoint({"img", "b", "iframe"})
