"""Names in tables and figures are shortened in the middle, and never become the same."""

import re

import pytest
from hypothesis import example, given, strategies as st
from rich.cells import cell_len

from pfgen_rs.drawing.names import short_names
from pfgen_rs.drawing.text_tables import first_that_fits, new_table, rendered

LONG = "organisation/model-7b-instruct-v0.3/4f2a91c"
MIDDLES = [f"organisation/a-model/step-{n:06}/seed-0/sampled-at-0.7" for n in (9, 10, 11)]


@given(st.lists(st.text("abあ漢-/…", max_size=60), max_size=12), st.integers(10, 40))
@example(MIDDLES, 16)
@example([f"{'a' * 40}{i:03}{'b' * 40}" for i in range(120)], 10)
def test_names_fit_and_differ(names: list[str], room: int) -> None:
    short = short_names(names, room)
    assert len(set(short)) == len(set(names))
    for name, shown in zip(names, short, strict=True):
        assert cell_len(shown) <= room
        assert (shown == name) or cell_len(name) > room


def test_what_differs_is_shown() -> None:
    assert short_names([LONG], 21) == ["organisati….3/4f2a91c"]
    assert short_names([LONG, LONG[:-1] + "d"], 21) == [
        "organisati….3/4f2a91c",
        "organisati….3/4f2a91d",
    ]
    assert short_names(MIDDLES, 24) == [
        "organis…09/seed-0/sampl…",
        *(f"organis…{n}/seed-0/sampl…" for n in (10, 11)),
    ]
    assert short_names(["日本語大規模言語モデル"], 11) == ["日本…モデル"]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_table_keeps_its_columns_as_long_as_names_can_be_shortened(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    numbers = ["a", "b"]
    rows = [[f"{i}{LONG * 2}", "1" * 20, "2" * 20] for i in range(3)]
    full, less = (
        new_table(
            "run", *numbers[:n], numbers=numbers, names=["run"], rows=[r[: n + 1] for r in rows]
        )
        for n in (2, 1)
    )
    shown = rendered(first_that_fits(full, less))
    assert max(map(cell_len, shown.splitlines())) == width
    found = re.findall(r"^ (\d)\S*…\S* +1{20}(  2{20})? *$", shown, re.MULTILINE)
    assert [number for number, _ in found] == ["0", "1", "2"]
    assert all(found[i][1] for i in range(3)) == (width > 60)
