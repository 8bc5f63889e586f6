"""`pfgen-rs leaderboard`, and what stands behind its columns."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len

from checkouts import BETTER, CONFIG, FIRST, SECOND, add_run, make_checkout
from helpers import GOOD, pfgen
from pfgen_rs import load_benchmark
from pfgen_rs.checkout.entries import Entry, entries, entries_frame, read_entries
from pfgen_rs.checkout.leaderboard import read_rows_file
from pfgen_rs.checkout.published import Published, published
from pfgen_rs.cli.leaderboard import read_rows
from pfgen_rs.errors import InputError
from pfgen_rs.report.plots.inputs import read_inputs
from pfgen_rs.report.update import report
from pfgen_rs.stats import from_summary

WORSE = [(question, answer[::-1]) for question, answer in GOOD]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two models and a system run."""
    folder = make_checkout(tmp_path / "checkout")
    system = {"engine": "system", "mode": "system", "model": "system/x"}
    add_run(folder, "result/system/x/0000000", WORSE, system)
    assert report(folder).problems == []
    return folder


def made(run: str, scores: Mapping[str, float], model: str = "a/b", **config: str) -> Published:
    """A result with these mean scores of questions."""
    spread = {"score_std": 0.1, "length": 90.0, "length_std": 5.0}
    figures = {
        key: {
            "question": key,
            "score": score,
            **spread,
            "scores": {"fluency": {"A": score}, "truthfulness": {"A": score}}
            | {"helpfulness": score, "average": score},
            "samples": [],
        }
        for key, score in scores.items()
    }
    mean = sum(scores.values()) / len(scores)
    result = {
        "metadata_hash": "0" * 40,
        "config": {**CONFIG, "model": model, **config},
        "num_trials": 10,
        "score": mean,
        **spread,
        "scores": {"fluency": {"A": mean}, "truthfulness": {"B": mean}}
        | {"helpfulness": mean, "average": mean},
        "questions": figures,
    }
    return published(json.dumps(result).encode(), Path(run), run)


def flat(score: float, questions: int = 20) -> dict[str, float]:
    """So many questions with nearly the same score."""
    return {f"Q{i:02}": score + i % 3 / 1000 for i in range(questions)}


# Entries.


def test_figures_are_those_of_the_result() -> None:
    run = made("result/a/b/1", {"Q01": 0.25, "Q02": 0.75})
    [entry] = entries([run])
    assert (entry.run, entry.model, entry.organisation) == ("result/a/b/1", "a/b", "a")
    assert (entry.score, entry.num_trials, entry.fluency) == (0.5, 10, 0.5)
    assert entry.sources == {"fluency": {"A": 0.5}, "truthfulness": {"B": 0.5}}
    assert entry.estimate == from_summary([0.25, 0.75], [0.1, 0.1], 10)
    assert entry.questions == {"Q01": 0.25, "Q02": 0.75}
    assert entry.signature.startswith("pfgen|set:00000000|variant:pfgen-bench|")


def test_organisations_come_from_names_or_folders() -> None:
    for run, model, organisation in (
        ("result/0", "a/b/c", "a"),
        ("result/0", "plain", None),
        ("result/0", "/x", ""),
        ("result/lab/plain/1234567", "plain", "lab"),
        ("result/plain/1234567", "plain", None),
        ("data/lab/plain/1234567", "plain", None),
    ):
        [entry] = entries([made(run, flat(0.5), model)])
        assert entry.organisation == organisation


def test_a_score_that_is_no_mean_of_the_questions_has_no_interval() -> None:
    """So no score ever lies outside of its interval; rounding alone takes none away."""
    kinds = [("rounded", 0.50099), ("other", 0.6), ("system", 0.7)]
    runs = [made(f"result/{name}", flat(0.5)) for name, _ in kinds]
    for run, (_, score) in zip(runs, kinds, strict=True):
        run.result["score"] = score
    runs[2].config["engine"] = "system"
    system, other, rounded = entries(runs)
    assert [system.score, other.score] == [0.7, 0.6]
    assert {bound for e in (system, other) for bound in (e.estimate.low, e.estimate.high)} == {None}
    assert (other.rank, other.rank_low, rounded.rank_low) == (1, None, 1)
    assert rounded.estimate == from_summary(list(flat(0.5).values()), [0.1] * 20, 10)
    assert entries_frame([system])["score_low"].to_list() == [None]


def test_ranks_leave_open_what_tests_do() -> None:
    runs = [made("result/1", flat(0.9)), made("result/2", flat(0.5)), made("result/3", flat(0.5))]
    found = entries([*runs, made("data", flat(1.0), engine="system")])
    ranges = [(entry.rank, entry.rank_low, entry.rank_high) for entry in found]
    assert ranges == [(None, None, None), (1, 1, 1), (2, 2, 3), (3, 2, 3)]
    own = [(entry.own_rank_low, entry.own_rank_high) for entry in found]
    assert own == [(None, None), (1, 1), (2, 3), (2, 3)]
    assert [entry.run for entry in found] == ["data", "result/1", "result/2", "result/3"]


def test_runs_of_other_questions_have_a_rank_but_no_range() -> None:
    runs = [made(f"result/{i}", flat(0.5 + i / 10)) for i in range(3)]
    found = entries([*runs, made("result/other", {"X": 0.1})])
    assert (found[-1].rank, found[-1].rank_low, found[-1].own_rank_low) == (4, None, None)
    assert [entry.rank_high for entry in found[:3]] == [1, 2, 3]


def test_columns() -> None:
    found = entries([made("result/1", flat(0.9)), made("result/2", flat(0.5, 1))])
    table = entries_frame(found)
    assert table["score_low"].to_list() == [entry.estimate.low for entry in found]
    assert table["questions"].to_list() == [20, 1]
    assert table["fluency_A"].to_list() == [entry.sources["fluency"]["A"] for entry in found]
    assert table.schema["rank_low"] == table.schema["own_rank_low"] == pl.Int64
    assert "fluency_B" not in table.columns
    nested = {"sources", "estimate", "config"}
    assert {field.name for field in fields(Entry)} - nested <= {*table.columns}
    assert table.columns[-2:] == ["own_rank_low", "own_rank_high"]  # added, so the last
    assert (entries([]), entries_frame([]).height) == ([], 0)


@pytest.mark.parametrize(
    "change", [{"average": 1e200}, {"average": math.nan}, {"helpfulness": -1e99}]
)
def test_impossible_numbers_spoil_one_result(checkout: Path, change: dict[str, float]) -> None:
    path = checkout / FIRST / "result.json"
    result = json.loads(path.read_bytes())
    next(iter(result["questions"].values()))["scores"].update(change)
    path.write_text(json.dumps(result))
    found, [problem] = read_entries(checkout)
    assert [entry.run for entry in found] == [SECOND, "result/system/x/0000000"]
    assert "has the wrong type or is out of range" in str(problem)


def test_a_current_table_is_read_instead(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = entries_frame(read_entries(checkout)[0]).to_dicts()
    monkeypatch.setattr("pfgen_rs.checkout.entries.read_published", None)  # fails when called
    assert read_rows(checkout) == (expected, [])


def test_a_table_of_other_results_is_not_read(checkout: Path) -> None:
    path, result = checkout / "leaderboard.json", checkout / FIRST / "result.json"
    good, table = path.read_bytes(), json.loads(path.read_bytes())
    changes: list[Callable[[], object]] = [
        lambda: path.write_bytes(good[:-9]),
        lambda: path.write_text(json.dumps({**table, "runs": [{"run": "x"}]})),
        lambda: path.write_text(json.dumps({**table, "results": "0" * 40})),
        path.unlink,
        lambda: (
            path.write_bytes(good),
            result.write_text(result.read_text().replace(": 0.", ": 0.0", 1)),
        ),
        result.unlink,
    ]
    for change in changes:
        change()
        found, problems = read_entries(checkout)
        assert read_rows(checkout) == (entries_frame(found).to_dicts(), problems)
    assert len(found) == 2


# The command.


def test_json_and_csv_are_the_tables(checkout: Path) -> None:
    rows = json.loads(pfgen("leaderboard", checkout, "--format", "json").stdout)
    assert rows == json.loads((checkout / "leaderboard.json").read_bytes())["runs"]
    assert rows == json.loads(
        pfgen("leaderboard", checkout / "leaderboard.json", "-f", "json").stdout
    )
    text = pfgen("leaderboard", checkout, "--format", "csv").stdout
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["run"] for row in found] == [row["run"] for row in rows]
    assert list(found[0]) == list(rows[0])


@pytest.mark.parametrize("width", [40, 80, 140])
def test_the_table_fits_the_window(checkout: Path, width: int) -> None:
    done = pfgen("leaderboard", checkout, env={"COLUMNS": str(width)})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    end = max(i for i, line in enumerate(lines) if not line.strip())
    table, captions = "\n".join(lines[:end]), "\n".join(lines[end + 1 :])
    assert max(map(cell_len, lines[:end])) <= width
    for heading in ("other/", "[low, high]", "truth-" if width == 80 else "truthfulness"):
        assert heading in table
    for said in (
        "95 % interval over questions",
        "\nrange: ranks that",
        "\nown range: the same for",
    ):
        assert said in captions
    assert ("not shown: own range, length" in done.stdout) == (width == 80)
    assert captions.endswith(load_benchmark(checkout / "data").signature)


def test_runs_of_one_model_are_told_apart(tmp_path: Path) -> None:
    """By their modes, and where these are the same by their folders; other names stay as they are."""
    checkout = make_checkout(tmp_path / "checkout")
    for name, mode in (("1", "qa"), ("2", "chat"), ("3", "chat")):
        add_run(checkout, f"result/a/b/{name}", BETTER, {"model": "a/b", "mode": mode})
    report(checkout)
    shown = pfgen("leaderboard", checkout).stdout
    for name in ("a/b (qa)", "a/b (result/a/b/2)", "a/b (result/a/b/3)", "other/model  "):
        assert f"  {name} " in shown
    assert "💬 chat or qa" in shown


def test_a_leaderboard_of_an_earlier_version(checkout: Path, tmp_path: Path) -> None:
    rows, _ = read_rows(checkout)
    earlier = [
        {name: value for name, value in row.items() if "own_rank" not in name} for row in rows
    ]
    path = tmp_path / "leaderboard.json"
    path.write_text(json.dumps({"runs": earlier}), encoding="utf-8")
    shown = pfgen("leaderboard", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "own range" not in shown.stdout
    assert read_inputs([str(path)]).runs["run"].to_list() == [row["run"] for row in rows]


def test_one_mode_is_chosen_and_what_there_is_is_named(checkout: Path, tmp_path: Path) -> None:
    done = pfgen("leaderboard", checkout, "--mode=completion", "-f", "json")
    assert [row["run"] for row in json.loads(done.stdout)] == [FIRST]
    for form, shown in (("table", ""), ("csv", ""), ("json", "[]\n")):
        done = pfgen("leaderboard", checkout, "--mode=chta", "-f", form)
        assert (done.returncode, done.stdout) == (0, shown)
        said = "no run with mode 'chta': expected one of chat, completion, system"
        assert done.stderr == f"warning: {said}\n"
    (tmp_path / "none.json").write_text('{"runs": []}')
    assert pfgen("leaderboard", tmp_path / "none.json").stderr == "warning: no run\n"


def test_a_hostile_name_stays_in_its_line(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    add_run(checkout, SECOND, BETTER, {"model": "a\x1b[31m\nb\u202e[bold]"})
    report(checkout)
    assert r"a\x1b[31m\nb\u202e[bold]" in pfgen("leaderboard", checkout).stdout


def test_problems_are_told_after_the_table(checkout: Path) -> None:
    (checkout / FIRST / "result.json").write_bytes(b"{}")
    done = pfgen("leaderboard", checkout, "-f", "csv")
    assert done.returncode == 1
    assert done.stdout.count("\n") == 3
    assert done.stderr.startswith(f"error: {checkout / FIRST / 'result.json'}: the file: missing")


def test_what_is_no_leaderboard(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.json"
    for content, message in {
        b"{": "invalid JSON",
        b"[]": "expected a JSON object",
        b"{}": "no list of 'runs'",
        b'{"runs": [1]}': "run 1: 'run' is missing",
        b'{"runs": [{"run": "x", "model": 1}]}': "run 1: 'model' is missing or has the wrong type",
    }.items():
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_rows_file(path)


def test_what_is_no_checkout(tmp_path: Path) -> None:
    damaged = tmp_path / "leaderboard.json"
    damaged.write_bytes(b"{")
    for place, message in (
        (tmp_path, "not a checkout"),
        (tmp_path / "x", "not a directory"),
        (damaged, f"error: {damaged}: invalid JSON: "),
    ):
        done = pfgen("leaderboard", place)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
