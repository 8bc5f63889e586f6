"""What commands share: options by which they read responses, and tables in narrow and wide windows."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.cells import cell_len

import pfgen_rs.cli
from helpers import CATS, GOOD, SEAS, lines, on_terminal, pfgen, write_benchmark, write_run
from pfgen_rs import InputError, Result, score_file
from pfgen_rs.cli import data
from pfgen_rs.cli.app import COMMANDS
from pfgen_rs.cli.options import ReadingOptions, ScoringOptions
from pfgen_rs.cli.score_table import show_results
from pfgen_rs.comparisons import compare_runs
from pfgen_rs.judge.pairs import read_pairs
from pfgen_rs.questions.locate import Available, bundled_path

READING = {field.name for field in fields(ReadingOptions)}
SCORING = {field.name for field in fields(ScoringOptions)}
READERS = dict.fromkeys(("score", "compare"), SCORING)
READERS["verify"] = SCORING - {"run_field"}  # a folder is one run
READERS |= dict.fromkeys(("plan-trials", "study sources"), READING)
READERS |= {f"judge {name}": READING for name in ("grade", "plot", "pairs")}


def unclean(answers: Sequence[tuple[str, str]] = GOOD) -> bytes:
    return lines([(asked, f"\n {answer}\nQ: 次の設問\nA: はい") for asked, answer in answers])


def renamed(answers: Sequence[tuple[str, str]] = GOOD, **more: str) -> bytes:
    records = ({"q": asked, "a": answer, **more} for asked, answer in answers)
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def found(*arguments: str | Path) -> Any:
    done = pfgen(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parameters(command: str) -> set[str]:
    name, _, subcommand = command.partition(" ")
    loaded = COMMANDS[name].load(name)
    if subcommand:
        context = typer.Context(loaded)
        _, loaded, _ = loaded.resolve_command(context, [subcommand])
    return {parameter.name for parameter in loaded.params}


@pytest.mark.parametrize("command", READERS)
def test_a_command_that_reads_responses_has_the_options_of_the_others(command: str) -> None:
    assert READERS[command] - parameters(command) == set()


def test_answers_are_compared_as_they_are_scored(tmp_path: Path, benchmark: Path) -> None:
    (tmp_path / "plain.jsonl").write_bytes(lines())
    (tmp_path / "unclean.jsonl").write_bytes(unclean())
    runs = [tmp_path / "plain.jsonl", tmp_path / "unclean.jsonl"]
    asked: list[str | Path] = ["compare", *runs, "-b", benchmark]
    untouched = pfgen(*asked)
    assert re.search(r"^warning: .*unclean\.jsonl: .*--clean removes this", untouched.stderr, re.M)
    comparison = found(*asked, "--clean", "--metric", "average")
    assert comparison["signature"].endswith("|clean:completion|v:" + pfgen_rs.__version__)
    means = [each["mean"] for each in comparison["estimates"]["average"].values()]
    assert means[0] == means[1]
    raw = found(*asked, "--metric", "average")["estimates"]["average"].values()
    assert len({each["mean"] for each in raw}) == 2
    results = [score_file(runs[1], benchmark, clean=clean) for clean in (True, False)]
    with pytest.raises(InputError, match="score all of them alike"):
        compare_runs(results)


@pytest.mark.parametrize("command", ["compare", "plan-trials"])
def test_what_an_error_advises_can_be_done(command: str, tmp_path: Path, benchmark: Path) -> None:
    places = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    places[0].write_bytes(renamed())
    places[1].write_bytes(renamed(GOOD[::-1]))
    refused = pfgen(command, *places, "-b", benchmark)
    assert refused.returncode == 2
    assert "choose others with --question-field and --answer-field" in refused.stderr
    assert found(command, *places, "-b", benchmark, "--question-field", "q", "--answer-field", "a")


def test_runs_in_one_file_are_compared(tmp_path: Path, benchmark: Path) -> None:
    place = tmp_path / "all.jsonl"
    place.write_bytes(renamed(model="one") + renamed(GOOD[:2] + GOOD[:2], model="two"))
    fields = ("--question-field", "q", "--answer-field", "a", "--run-field", "model")
    comparison = found("compare", place, "-b", benchmark, *fields, "--ngrams", "1-3")
    assert comparison["runs"] == ["one", "two"]
    assert "|n:1-3|" in comparison["signature"]


def test_a_result_of_cleaned_answers_is_verified(tmp_path: Path, benchmark: Path) -> None:
    run = tmp_path / "run"
    write_run(run)
    (run / "trials.jsonl").write_bytes(unclean())
    assert pfgen("score", run, "-b", benchmark, "--clean", "--out", run).returncode == 0
    assert pfgen("verify", run, "-b", benchmark).returncode == 1
    assert pfgen("verify", run, "-b", benchmark, "--clean").returncode == 0


def test_pairs_are_made_of_cleaned_answers(tmp_path: Path, benchmark: Path) -> None:
    runs = [write_run(tmp_path / name, model=name) for name in ("a", "b")]
    (runs[1] / "trials.jsonl").write_bytes(unclean())
    out = tmp_path / "pairs.jsonl"
    assert pfgen("judge", "pairs", *runs, "-b", benchmark, "--clean", "--out", out).returncode == 0
    assert all(pair.answers[0] == pair.answers[1] for pair in read_pairs(out))


def test_a_checkout_advises_nothing_that_report_lacks(tmp_path: Path, benchmark: Path) -> None:
    shutil.copytree(benchmark, tmp_path / "checkout" / "data")
    run = write_run(tmp_path / "checkout" / "result" / "m" / "n" / "abc", model="m/n")
    (run / "trials.jsonl").write_bytes(renamed())
    (tmp_path / "checkout" / "README.md").write_text("", encoding="utf-8")
    refused = pfgen("report", tmp_path / "checkout").stderr
    assert "missing key 'question': found 'q', 'a'; runs of a checkout have the keys" in refused
    assert "--question-field" not in refused


HALF = '{"question": "' + CATS + '", "answer": "猫は眠る\\ud83d"}\n'
SPELLED = HALF.encode().replace(b"\\ud83d", b"\xed\xa0\xbd")
CUT = HALF.encode().replace(b"\\ud83d", b"\xe7\x8c")
INVALID = {
    "half.jsonl": (lines(GOOD[:1]) + HALF.encode() + lines(GOOD[1:]), "line 2"),
    "spelled.jsonl": (lines(GOOD[:1]) + SPELLED + lines(GOOD[1:]), "line 2"),
    "cut.jsonl": (lines(GOOD[:1]) + CUT + lines(GOOD[1:]), "line 2"),
    "array.json": (b"[" + b",".join([*lines().splitlines(), HALF.encode()]) + b"]", "element 5"),
    "table.csv": (
        f"question,answer\n{SEAS},海は青い\n{CATS},猫は眠る".encode() + b"\xe7\x8c\n",
        "row 2",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_character_refuses_no_run(name: str, tmp_path: Path, benchmark: Path) -> None:
    content, place = INVALID[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        score_file(path, benchmark)
    assert str(refused.value).startswith(f"{path}, {place}: ")
    assert "--replace-invalid (in Python: replace_invalid=True)" in str(refused.value)
    result = score_file(path, benchmark, replace_invalid=True)
    [read] = [text for text in result.frame["answer"] if "\ufffd" in text]
    assert read == "猫は眠る\ufffd"
    samples = [s for q in result.to_dict()["questions"].values() for s in q["samples"]]
    assert read in [sample["answer"] for sample in samples]


def test_another_encoding_is_not_replaced(tmp_path: Path, benchmark: Path) -> None:
    path = tmp_path / "sjis.jsonl"
    path.write_bytes(lines().decode().encode("cp932"))
    with pytest.raises(InputError, match="it looks like Shift-JIS"):
        score_file(path, benchmark, replace_invalid=True)


# Tables and progress in narrow and wide windows: metrics are shown, and what is left out is named.


WIDTHS = (40, 60, 80, 100, 120, 200)
METRICS = ("fluency", "truthfulness", "helpfulness")
LEGEND = "95 % interval over questions (Student's t)"

MISSING = re.compile(r"not shown: (.*) \(use a wider window or --format json\)")
OPTIONAL = ("[low, high]", "published ±", "length")
MODELS = (
    "an-organisation/a-model-with-quite-a-long-name-70b-instruct-v0.3",
    "ある研究所の組織/とても長い名前の日本語大規模言語モデル七十億",
    "m",
)


@pytest.fixture(scope="module")
def bundled() -> list[Result]:
    return [score_file(run) for run in sorted((bundled_path() / "runs").iterdir())]


def check(shown: str, results: Sequence[Result], width: int) -> None:
    """Metrics are there, and what is absent is named."""
    lines = shown.splitlines()
    end = max(i for i, line in enumerate(lines) if not line.strip()) + 1
    table, captions = "\n".join(lines[:end]), lines[end:]
    assert max(map(cell_len, lines[:end])) <= width
    for result in results:
        values = [result.score, *(getattr(result, metric) for metric in METRICS)]
        assert all(f"{value:.4f}" in table for value in values)
    assert any(LEGEND in line for line in captions) == ("[low, high]" in table)
    [missing] = [m[1] for line in captions if (m := MISSING.fullmatch(line))] or [""]
    assert missing == ", ".join(name for name in OPTIONAL if name not in table)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("models", [None, MODELS], ids=["bundled", "long"])
def test_all_metrics_are_shown(
    models: Sequence[str] | None,
    width: int,
    bundled: list[Result],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    configs = (
        [each.config for each in bundled] if models is None else [{"model": m} for m in models]
    )
    named = [replace(each, config=config) for each, config in zip(bundled, configs, strict=True)]
    show_results(named, "table")
    shown = capsys.readouterr().out
    check(shown, named, width)
    if models is None:
        assert ("published ±" in shown.split("not shown")[0]) == (width in {40, 100, 120, 200})
    else:  # long names are wrapped
        letters = re.sub(r"\W|[a-z0-9]", "", shown)
        assert all(letter in letters for letter in re.sub(r"\W", "", models[1]))


@pytest.mark.parametrize("width", [40, 80, 300])
def test_folders_of_benchmarks_stay_whole(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path("/", *["a-folder-of-a-long-name"] * 5)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(
        data, "inventory", lambda: [Available("mine", "installed", 50, folder, "0123456789ab")]
    )
    data.list_benchmarks()
    shown = capsys.readouterr().out
    assert str(folder) in shown
    tabular = [line for line in shown.splitlines() if str(folder) not in line]
    assert max(map(cell_len, tabular)) <= width


@pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")
@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_sees_one_line_of_progress(width: int, tmp_path: Path) -> None:
    run = write_run(tmp_path / ("とても長い名前のフォルダー" * 3) / "実行")
    benchmark = write_benchmark(tmp_path / "tiny")
    command = ["score", str(run), "-b", str(benchmark)]
    shown = on_terminal(command, width, stdout=subprocess.DEVNULL)
    frames = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", shown).split("\n")
    assert max(map(cell_len, (frame.strip() for frame in frames))) <= width
    assert "\x1b[1A\x1b[2K\x1b[1A" not in shown  # which goes up two lines
