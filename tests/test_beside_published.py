"""`make bench` beside the published scorer: with a stand-in that behaves as the published README says."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import pytest

from pfgen_rs.questions.locate import bundled_path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benches"))
import published

RESPONSES = 40
SCRIPT = """
import json, lzma, pathlib, time
for trials in pathlib.Path("result").glob("*/*/*/trials.jsonl.xz"):
    assert trials.with_name("config.json").is_file()
    with lzma.open(trials) as file:
        count = sum(1 for line in file if json.loads(line)["answer"])
    time.sleep(0.1 + 0.03 * count)
    trials.with_name("result.json").write_text(json.dumps({"count": count}))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose `make` evaluates the runs under `result`, 30 ms for each response."""
    folder = tmp_path / "checkout"
    run = folder / "result" / "maker" / "model" / "abc1234"
    run.mkdir(parents=True)
    (folder / "data").symlink_to(bundled_path())
    (folder / "evaluate.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "Makefile").write_text(f"all:\n\t{sys.executable} evaluate.py\n", encoding="utf-8")
    (run / "config.json").write_text("{}", encoding="utf-8")
    line = json.dumps({"question": "光合成とは何ですか？", "answer": "光合成です。"}) + "\n"
    (run / "trials.jsonl.xz").write_bytes(lzma.compress(line.encode() * RESPONSES))
    return folder


def test_published_scorer_runs_on_a_copy(monkeypatch: pytest.MonkeyPatch, checkout: Path) -> None:
    before = sorted(checkout.rglob("*"))
    monkeypatch.setenv(published.VARIABLE, str(checkout))
    (line,) = published.lines((5, RESPONSES))
    assert f"{RESPONSES} responses, start to exit" in line
    shown = line.partition("exit; ")[2]
    # 30,000 us by sleeping, and a little for starting that differs between the two calls
    assert 20_000 < float(shown.partition(" us")[0].replace(",", "")) < 80_000
    assert line.endswith(" x")
    assert sorted(checkout.rglob("*")) == before
    (checkout / "Makefile").unlink()
    (line,) = published.lines()
    assert "cannot be measured: there is no Makefile" in line
