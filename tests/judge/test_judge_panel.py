"""Panels of judges: votes and probabilities by hand, and their folder in every other command."""

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from helpers import pfgen
from pfgen_rs.errors import InputError, OutputError, SettingsError
from pfgen_rs.judge import Pair, VerdictFolder, fleiss_kappa, sample_path
from pfgen_rs.judge.imported import Imported, write_folder
from pfgen_rs.judge.panel import write_panel
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED, Letter

Said = Mapping[str, str | tuple[str | tuple[float, float, float], ...]]
"""By pair: a letter for each order (of the pair; `-`: invalid), or probabilities of A, B and C."""


def judge(folder: Path, name: str, said: Said, *, text: str = "答") -> Path:
    """A folder of verdicts; letters and probabilities speak of the pair."""
    found = Imported("test")
    for key, orders in said.items():
        pair = Pair(key, "何？", ("m1", "m2"), (text, "別"), question_id=key[0])
        found.add_pair(pair)
        for order, each in enumerate(orders, 1):
            letter, p = as_shown(each, order)
            found.add_judgment(pair, order, name, letter, probabilities=p)
    write_folder(folder / name, found)
    return folder / name


def as_shown(
    each: str | tuple[float, float, float], order: int
) -> tuple[Letter | None, dict[Letter, float] | None]:
    names = LETTERS if order == 1 else tuple(SWAPPED[letter] for letter in LETTERS)
    if isinstance(each, str):
        return None if each == "-" else names["ABC".index(each)], None
    return names[each.index(max(each))], dict(zip(names, each, strict=True))


def letters(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    rows = VerdictFolder(folder).decisions().select("pair", "v1", "v2").iter_rows()
    return {pair: (one, two) for pair, one, two in rows}


THREE: dict[str, Said] = {
    "x": {"1a": "AB", "1b": "AA", "2a": "C-", "2b": "BA"},
    "y": {"1a": "AA", "1b": "BA", "2a": "CA", "2b": "AA"},
    "z": {"1a": "BA", "1b": "CA", "2a": "BB"},
}


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return [judge(tmp_path, name, said) for name, said in THREE.items()]


def test_majorities_by_hand(three: list[Path], tmp_path: Path) -> None:
    found = write_panel(three, tmp_path / "panel")
    assert letters(tmp_path / "panel") == {
        "1a": ("A", "A"),
        "1b": ("C", "A"),  # A, B and C: an equal lead
        "2a": ("C", "C"),  # A and B of the two that are valid
        "2b": ("C", "A"),  # B and A of the two judges that have the pair
    }
    rows = (
        VerdictFolder(tmp_path / "panel").decisions().rows_by_key("pair", named=True, unique=True)
    )
    assert [rows["1a"][f"p1_{x}"] for x in "abc"] == pytest.approx([2 / 3, 1 / 3, 0])
    assert [rows["2a"][f"p2_{x}"] for x in "abc"] == [0.5, 0.5, 0]
    assert rows["1a"]["probability"] == "A"
    assert (found.pairs, found.incomplete) == (4, 1)
    assert "1 of 4 pairs are not judged by every judge: decided by those that did" in found.notes


def test_agreement_with_the_panel_and_with_the_others(three: list[Path], tmp_path: Path) -> None:
    found = write_panel(three, tmp_path / "panel")
    rows = {row["judge"].split()[0]: row for row in found.judges.iter_rows(named=True)}
    # Order 1 of all pairs, then order 2: the panel says A C C C, A A C A.
    assert {name: row["judgments"] for name, row in rows.items()} == {"x": 7, "y": 8, "z": 6}
    # x says A A C B, B A - A; y A B C A, A A A A; z B C B -, A A B -.
    shares = {name: row["panel"] * row["judgments"] for name, row in rows.items()}
    assert shares == pytest.approx({"x": 4, "y": 5, "z": 3})
    # The others of x say C C C A, A A C A; of y C C C B, C A B A; of z A C C -, C A A -.
    others = {name: row["others"] * row["compared"] for name, row in rows.items()}
    assert {name: row["compared"] for name, row in rows.items()} == {"x": 7, "y": 8, "z": 6}
    assert others == pytest.approx({"x": 3, "y": 3, "z": 2})
    for row in rows.values():
        for name in ("panel", "others"):
            assert 0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1
    votes = ["AAB", "ABC", "CCB", "BA", "BAA", "AAA", "AB", "AA"]
    assert found.statistic == "krippendorff_alpha"
    assert found.value == pytest.approx(fleiss_kappa(votes, allow_missing=True))


def test_without_gaps_the_statistic_is_fleiss_kappa(tmp_path: Path) -> None:
    said: list[Said] = [{"1": "AB", "2": "CA"}, {"1": "AA", "2": "CB"}]
    folders = [judge(tmp_path, f"j{n}", each) for n, each in enumerate(said)]
    found = write_panel(folders, tmp_path / "panel")
    assert (found.statistic, found.incomplete, found.notes) == ("fleiss_kappa", 0, [])
    assert found.value == pytest.approx(fleiss_kappa(["AA", "CC", "BA", "AB"]))


def test_probabilities_are_averaged_over_those_that_have_them(tmp_path: Path) -> None:
    folders = [
        judge(tmp_path, "x", {"1": ((0.5, 0.4, 0.1), (0.2, 0.6, 0.1))}),
        judge(tmp_path, "y", {"1": ((0.1, 0.6, 0.2), "A")}),
        judge(tmp_path, "z", {"1": ((0.2, 0.1, 0.6),), "2": ("-", (0.3, 0.3, 0.2))}),
    ]
    write_panel(folders, tmp_path / "panel", by="probability")
    rows = (
        VerdictFolder(tmp_path / "panel").decisions().rows_by_key("pair", named=True, unique=True)
    )
    assert [rows["1"][f"p1_{x}"] for x in "abc"] == pytest.approx([0.8 / 3, 1.1 / 3, 0.3])
    assert [rows["1"][f"p2_{x}"] for x in "abc"] == pytest.approx([0.2, 0.6, 0.1])
    assert letters(tmp_path / "panel") == {"1": ("B", "B"), "2": (None, "C")}
    assert rows["2"]["judged_1"]  # invalid, not missing


def test_samples_vote_and_have_probabilities(tmp_path: Path) -> None:
    """Of a member with several samples, its most frequent letter and its estimated probabilities count."""
    found, pair = Imported("test"), Pair("1", "何？", ("m1", "m2"), ("答", "別"))
    found.add_pair(pair)
    for order, said in ((1, "AAB"), (2, "BBB")):
        for sample, letter in enumerate(said):
            shown, _ = as_shown(letter, order)
            found.add_judgment(pair, order, "k", shown, sample=sample)
    write_folder(tmp_path / "k", found)
    one = judge(tmp_path, "x", {"1": ((0.2, 0.7, 0.1), "B")})
    other = judge(tmp_path, "y", {"1": "AB"})
    write_panel([tmp_path / "k", other, one], tmp_path / "votes")
    assert letters(tmp_path / "votes") == {"1": ("A", "B")}
    write_panel([tmp_path / "k", one], tmp_path / "means", by="probability")
    row = VerdictFolder(tmp_path / "means").decisions().row(0, named=True)
    assert [row[f"p1_{x}"] for x in "abc"] == pytest.approx([0.7 / 2, (1 / 3 + 0.7) / 2, 0.8 / 6])
    assert [row[f"p2_{x}"] for x in "abc"] == pytest.approx([1 / 6, 4 / 6, 1 / 6])


def test_equal_sums_of_fractions_are_a_tie(tmp_path: Path) -> None:
    """Means of estimated probabilities that tie exactly may differ by rounding."""
    pair, folders = Pair("1", "何？", ("m1", "m2"), ("答", "別")), []
    for name, said in (("x", "BCC"), ("y", "BBB"), ("z", "ACC")):
        found = Imported("test", {"1": pair})
        for order, sample in product((1, 2), range(3)):
            shown, _ = as_shown(said[sample], order)
            found.add_judgment(pair, order, name, shown, sample=sample)
        folders.append(tmp_path / name)
        write_folder(folders[-1], found)
    write_panel(folders, tmp_path / "panel", by="probability")
    assert letters(tmp_path / "panel") == {"1": ("C", "C")}
    assert VerdictFolder(tmp_path / "panel").decisions()["probability"].to_list() == ["C"]


def test_the_configuration_names_the_members(three: list[Path], tmp_path: Path) -> None:
    write_panel(three, tmp_path / "panel")
    folder = VerdictFolder(tmp_path / "panel")
    assert folder.judge_name == "panel · majority"
    members = [{"name": path.name, "folder": str(path)} for path in three]
    assert folder.config["members"] == members
    assert folder.read()[1].stale == 0


def test_what_is_no_panel(three: list[Path], tmp_path: Path) -> None:
    other = judge(tmp_path, "w", THREE["x"], text="ほか")
    silent = judge(tmp_path, "s", {"1a": "--"})
    for folders, by, message in (
        (three[:1], "majority", "at least two judges"),
        ([three[0], other], "majority", "pair '1a' has other texts"),
        (three, "probability", "has no probabilities: decide by majority"),
        ([*three, three[0]], "majority", "a folder is named twice"),
        ([three[0], silent], "majority", "has no verdicts"),
    ):
        with pytest.raises(InputError, match=message):
            write_panel(folders, tmp_path / "panel", by=by)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="unknown way to decide 'mean'"):
        write_panel(three, tmp_path / "panel", by="mean")  # type: ignore[arg-type]
    assert not (tmp_path / "panel").exists()
    with pytest.raises(OutputError, match="already exists"):
        write_panel(three, three[0])


def test_every_command_takes_a_panel(tmp_path: Path) -> None:
    sample, out = sample_path(), tmp_path / "panel"
    folders = [sample / "verdicts" / name for name in ("careful", "hasty")]
    done = pfgen("judge", "panel", *folders, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "agreement with the panel and with the other judges, %" in done.stdout
    assert "agreement of the judges: Krippendorff's α" in done.stdout
    again = pfgen("judge", "panel", *folders, "--out", out, "--format", "json")
    assert again.returncode != 0
    assert "already exists" in again.stderr
    humans: list[str | Path] = ["--humans", sample / "humans.jsonl"]
    for command, more in (("decide", humans[:0]), ("rank", humans), ("agree", humans)):
        done = pfgen("judge", command, out, *more)
        assert done.returncode == 0, done.stderr
        assert "no judgment has probabilities" not in done.stderr
    page = tmp_path / "page.html"
    assert pfgen("judge", "page", out, *humans, "--out", page).returncode == 0
    assert "panel" in page.read_text("utf-8")
    more = ["--by", "probability", "--format", "json", "--out", tmp_path / "p"]
    shown = pfgen("judge", "panel", *folders, *more)
    assert json.loads(shown.stdout)["by"] == "probability"
