"""The page of studies: its correlations are those of scipy, over the models that have both."""

import math
import random
from collections.abc import Mapping

import numpy as np
import pytest

from pfgen_rs.report.site.board import Board, Cell, Column, Contribution, Value, board_of
from pfgen_rs.report.site.model_facts import bundled_facts
from pfgen_rs.report.site.pages import ALONE
from pfgen_rs.site.studies_page import agreements, studies_section
from site_samples import made_entries

COLUMNS = [
    Column("t:a", "t", "number", ("甲 <b>", "a <b>")),
    Column("t:few", "t", "number", ("乙", "few")),
    Column("t:same", "t", "number", ("丙", "same")),
    Column("t:name", "t", "text", ("丁", "name")),
    Column("parameters", "facts", "number", ("規模", "size")),
]


def board(models: int) -> Board:
    chance = random.Random(models)
    rows: dict[str, Mapping[str, Cell]] = {"nobody/none": {"t:a": 3.0, "t:few": 1.0}}
    for i, entry in enumerate(made_entries(models)):
        figure = entry.score + chance.gauss(0, 0.2)
        own: dict[str, Cell] = {"t:a": Value(figure, 0, 1) if i % 2 else figure, "t:same": 1.0}
        own |= {"t:few": figure} if i < 2 else {}
        own |= {"parameters": 10 ** chance.uniform(0, 2)} if i % 3 else {}
        rows[entry.model] = {**own, "t:name": "x"} if i % 5 else {}
    given = Contribution(COLUMNS, rows, groups={"t": ("表", "table")})
    return board_of(made_entries(models), None, bundled_facts(), [given])


@pytest.mark.parametrize("models", [14, 40])
def test_correlations_are_those_of_scipy(models: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    made = board(models)
    [found] = agreements(made)
    own = [m for m in made.models if m.runs and not m.is_system and m.values.get("t:a") is not None]
    x = [m.runs[0].score for m in own]
    y = [each.value if isinstance(each := m.values["t:a"], Value) else each for m in own]
    known = found.correlation
    pearson = stats.pearsonr(x, y)
    assert (found.column.key, known.n) == ("t:a", len(own))
    assert known.pearson == pytest.approx(pearson.statistic, abs=1e-12)
    assert [known.pearson_low, known.pearson_high] == pytest.approx(
        [*pearson.confidence_interval(0.95)]
    )
    assert known.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    sized = [i for i, m in enumerate(own) if m.values.get("parameters")]
    table = np.array(
        [[x[i], y[i], math.log10(own[i].values["parameters"])] for i in sized]  # type: ignore[arg-type]
    )
    inverse = np.linalg.inv(np.corrcoef(table.T))
    partial = -inverse[0, 1] / math.sqrt(inverse[0, 0] * inverse[1, 1])
    assert found.sized == len(sized)
    assert found.partial == pytest.approx(partial, abs=1e-9)


def test_the_page_is_there_if_three_models_have_both() -> None:
    assert studies_section(board(3)) == []
    [section] = studies_section(board(8))
    [(path, page)] = section.files(ALONE)
    text = page.decode()
    assert path == section.path
    assert "a &lt;b&gt;" in text
    assert "<b>" not in text
    assert "draw.y=t%3Aa" in text
