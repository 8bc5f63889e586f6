"""Tables and progress in narrow and wide windows: metrics are shown, and what is left out is named."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from helpers import on_terminal, write_benchmark, write_run
from pfgen_rs import Result, score_file
from pfgen_rs.cli import data
from pfgen_rs.cli.score_table import show_results
from pfgen_rs.questions.locate import Available, bundled_path

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
