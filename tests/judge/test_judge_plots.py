"""Figures about judges hold the numbers that they were given, whatever the names."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from figures import HOSTILE, check_names_are_inert, check_words_are_japanese
from helpers import pfgen
from pfgen_rs import errors, load_benchmark, score_runs
from pfgen_rs.io.run_files import named_results
from pfgen_rs.judge import agree, plots, rank
from pfgen_rs.judge.agreement.measures import UNDECIDED, Calibration, agreements, calibration
from pfgen_rs.judge.grading import mean_ratings, read_ratings, run_correlation
from pfgen_rs.judge.pairs import read_humans, sample_path
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.questions.locate import sample_runs
from pfgen_rs.stats.resampling import share_of


def made_calibration(pairs: int = 200) -> Calibration:
    chance = np.random.default_rng(pairs)
    p = chance.uniform(0.35, 1, pairs)
    decided = chance.integers(0, 3, pairs).astype(np.int8)
    right = chance.random(pairs) < p
    raters = np.where(right, decided, (decided + 1) % 3).astype(np.int8)
    return calibration(decided, p, np.stack([raters] * 3))


def ranking(names: list[str]) -> pl.DataFrame:
    value = np.linspace(0.8, 0.2, len(names))
    return pl.DataFrame(
        {
            "model": names,
            "strength": value,
            "strength_low": value - 0.1,
            "strength_high": value + 0.05,
            "best_rank": range(1, len(names) + 1),
            "worst_rank": [min(i + 2, len(names)) for i in range(len(names))],
        }
    )


def letters(names: list[str]) -> dict[str, Any]:
    chance = np.random.default_rng(1)
    return {name: chance.integers(-1, 4, 50).astype(np.int8) for name in names}


def rated(names: list[str]) -> pl.DataFrame:
    score = np.linspace(0.9, 0.1, len(names))
    columns = {"model": names, "score": score, "rating": 1 + 8 * score, "se": [0.2] * len(names)}
    return pl.DataFrame(columns)


FIGURES: dict[str, Callable[..., Figure]] = {
    "reliability": lambda names, **look: plots.reliability(
        {name: made_calibration(100 + i) for i, name in enumerate(names)}, **look
    ),
    "position": lambda names, **look: plots.position_bars(
        {name: share_of(i, 9) for i, name in enumerate(names)}, **look
    ),
    "agreement": lambda names, **look: plots.agreement_matrix(agreements(letters(names)), **look),
    "ranks": lambda names, **look: plots.ranks(ranking(names), **look),
    "scores": lambda names, **look: plots.rating_scores(rated(names), 0.5, (0.1, 0.8), **look),
}
NAMES = ["judge a", "judge b", "judge c"]
pytestmark = pytest.mark.usefixtures("settings_stay")


def test_a_reliability_diagram_has_ten_bins_with_counts() -> None:
    found = made_calibration()
    above, below = plots.reliability({"judge": found}).axes
    rows = [row for row in found.table.to_dicts() if row["pairs"]]
    assert 5 < len(rows) < 10
    drawn: Any = above.lines[-1].get_xydata()
    assert drawn.tolist() == [[row["probability"], row["share"]] for row in rows]
    [intervals] = above.collections
    spans = [segment[:, 1].tolist() for segment in intervals.get_segments()]  # type: ignore[attr-defined]
    assert spans == [[row["low"], row["high"]] for row in rows]
    bars: Any = below.patches
    assert [bar.get_height() for bar in bars] == found.table["pairs"].to_list()
    assert [text.get_text() for text in below.texts] == [
        str(count or "") for count in found.table["pairs"]
    ]
    assert f"ECE = {found.error:.3f} (n = 200)" in above.get_title(loc="left")


def test_position_bars_add_up() -> None:
    shares = {"a": share_of(3, 4), "b": share_of(0, 0), "c": share_of(1, 10)}
    [axes] = plots.position_bars(shares).axes
    bars: Any = axes.patches
    widths = [(bar.get_y(), bar.get_width()) for bar in bars if bar.get_width()]
    assert [width for _, width in widths] == pytest.approx([0.75, 0.25, 0.1, 0.9])
    assert {round(y + 0.31) for y, _ in widths} == {0, 2}
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["a\nn = 4", "b\nn = 0", "c\nn = 10"]


def test_a_matrix_is_symmetrical_and_shows_its_numbers() -> None:
    table = pl.DataFrame(
        {"one": ["x", "x", "y"], "other": ["y", "z", "z"], "kappa": [0.5, -0.25, None]}
    )
    axes = plots.agreement_matrix(table).axes[0]
    cells: Any = np.asarray(axes.images[0].get_array(), dtype=float)
    nan = np.nan
    np.testing.assert_array_equal(cells, [[nan, 0.5, -0.25], [0.5, nan, nan], [-0.25, nan, nan]])
    assert sorted(text.get_text() for text in axes.texts) == ["0.50", "0.50", "−0.25", "−0.25"]


def test_ranks_are_in_order_with_their_ranges() -> None:
    table = ranking(["m1", "m2", "m3", "m4"])
    [axes] = plots.ranks(table.sample(fraction=1, shuffle=True, seed=3)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["m1", "m2", "m3", "m4"]
    values: Any = axes.lines[-1].get_xdata()
    assert values.tolist() == table["strength"].to_list()
    spans = [line.get_segments()[0][:, 0].tolist() for line in axes.collections]  # type: ignore[attr-defined]
    assert spans == [list(row) for row in table.select("strength_low", "strength_high").rows()]
    assert [text.get_text() for text in axes.texts] == ["rank range", "1–2", "2–3", "3–4", "4"]


def test_ratings_are_drawn_against_scores() -> None:
    table = rated([f"m{i}" for i in range(6)])
    axes = plots.rating_scores(table, 0.98961, (0.9, 0.99)).axes[1]
    lines: Any = [line for line in axes.lines if line.get_marker() == "v"]
    points = [(x, y) for line in lines for x, y in zip(*line.get_data(), strict=True)]
    assert points == table.select("score", "rating").rows()
    assert axes.get_title(loc="right") == "r = 0.9896 [0.9000, 0.9900] (n = 6)"
    assert plots.rating_scores(table, None).axes[1].get_title(loc="right") == "r = – (n = 6)"


@pytest.mark.parametrize("kind", FIGURES)
def test_names_are_inert_words_japanese_and_bytes_the_same(kind: str) -> None:
    draw_kind = FIGURES[kind]
    names = [f"{i}{HOSTILE}" for i in range(3)]
    check_names_are_inert(draw_kind(names, title=HOSTILE, language="ja"))
    check_words_are_japanese(draw_kind(NAMES, language="ja"))
    assert plots.svg(draw_kind(NAMES)) == plots.svg(draw_kind(NAMES))


NOBODY = np.full(3, -1, dtype=np.int8)
EMPTY = calibration(NOBODY, np.full(3, np.nan), np.stack([NOBODY]))
NOTHING = "nothing to draw"


@pytest.mark.parametrize(
    ("drawn", "problem"),
    [
        *((lambda draw=draw: draw([]), NOTHING) for draw in FIGURES.values()),
        (lambda: plots.reliability({"judge": EMPTY}), NOTHING),
        (lambda: plots.agreement_matrix(agreements({"one": NOBODY, "other": NOBODY})), NOTHING),
        (lambda: plots.reliability(dict.fromkeys("0123456789", EMPTY)), "judges .*: 10, at most 9"),
        (lambda: drawn_sample("reliability", humans=None), "needs verdicts of people"),
        (lambda: drawn_sample("pie"), "unknown figure 'pie': expected one of agreement"),
        (lambda: drawn_sample("agreement", rule="x"), "unknown rule 'x'"),
        (lambda: drawn_sample("ranks"), "one folder of verdicts, found 2"),
    ],
)
def test_what_cannot_be_drawn(drawn: Callable[[], object], problem: str) -> None:
    with pytest.raises(errors.PfgenError, match=problem):
        drawn()


def test_pairs_without_a_decision_equal_nothing() -> None:
    none = -1
    found = agreements(
        {
            "judge": np.array([0, 0, 1, UNDECIDED, UNDECIDED], dtype=np.int8),
            "rater": np.array([0, 1, 1, 2, none], dtype=np.int8),
            "other": np.array([UNDECIDED] * 4 + [none], dtype=np.int8),
        }
    )
    assert found["pairs"].to_list() == [4, 4, 4]
    assert found["share"].to_list() == [0.5, 0.0, 0.0]
    chance = (2 * 1 + 1 * 2) / 16  # A and B; the rater has no fourth letter, the judge no C
    assert found["kappa"][0] == pytest.approx((0.5 - chance) / (1 - chance), abs=1e-12)


# Figures of folders.


SAMPLE = sample_path()
FOLDERS = [SAMPLE / "verdicts" / judge for judge in ("careful", "hasty")]
HUMANS = SAMPLE / "humans.jsonl"


def drawn_sample(kind: Any, folders: Sequence[Path] = FOLDERS, **changes: Any) -> str:
    """What a figure of the sample says, and its notes."""
    drawn = plots.figure_of_verdicts(kind, folders, **{"humans": HUMANS, **changes})
    return f"{drawn.figure.get_label()} {drawn.notes}"


def test_figures_of_the_sample_have_the_values_of_agree_and_rank() -> None:
    matrix, diagram = drawn_sample("agreement"), drawn_sample("reliability")
    for path in FOLDERS:
        folder = VerdictFolder(path)
        decisions = folder.decisions()
        found = agree(decisions, read_humans(HUMANS, decisions["pair"]))
        for row in found.cohen.to_dicts():
            assert f"{folder.judge_name} – {row['rater']}: {row['kappa']:.3f}" in matrix
        assert found.calibration is not None
        assert f"ECE = {found.calibration.error:.3f} (n = {found.calibration.pairs})" in diagram
        said = drawn_sample("ranks", [path])
        ranking_ = rank(decisions)
        for model, number in ranking_.models.select("model", "strength").rows():
            assert f"{model} {number:.3f}" in said
        assert str(list(ranking_.notes)) in said


def test_judges_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS[1], tmp_path / "again")
    drawn = drawn_sample("position", [FOLDERS[1], tmp_path / "again"])
    assert drawn.count(VerdictFolder(FOLDERS[1]).judge_name[:10]) == 2
    assert drawn.split("; ")[0] != drawn.split("; ")[1]


def test_ratings_of_the_sample_have_the_correlation_of_its_runs() -> None:
    runs = [str(path) for path in sample_runs().values()]
    results = named_results(score_runs(runs, load_benchmark("mini")))
    figure = plots.figure_of_ratings(SAMPLE / "ratings", results, "mini").figure
    scores = {name: result.score for name, result in results.items()}
    found = run_correlation(mean_ratings(read_ratings(SAMPLE / "ratings")), scores)
    assert found.pearson is not None
    assert f"r = {found.pearson:.4f}" in str(figure.get_label())
    assert f"(n = {len(found.runs)})" in str(figure.get_label())


def test_the_command_line_plots(tmp_path: Path) -> None:
    out = tmp_path / "figure.png"
    pfgen("judge", "plot", "position", FOLDERS[1], "--language", "ja", "--out", out)
    assert out.read_bytes().startswith(b"\x89PNG")
    done = pfgen("judge", "plot", "scores", *FOLDERS, "--out", out)
    assert "scores requires one folder of ratings, and its runs: --run RUN" in done.stderr
