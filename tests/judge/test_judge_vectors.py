"""Golden values of verdicts, decisions and ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pfgen_rs.judge import Verdict, decide, read_rating, read_verdict, read_verdict_text

EXACT = 1e-12


def vectors(folder: Path, name: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "vectors" / name).read_bytes().splitlines()]
    assert rows
    return rows


def test_verdicts(judging_dir: Path) -> None:
    for row in vectors(judging_dir, "verdicts.jsonl"):
        if "tokens" in row:
            found = read_verdict(row["tokens"], row["which"])
        else:
            found = read_verdict_text(row["text"], row["which"])
        assert found.shown == row["shown"], row
        assert found.probabilities == pytest.approx(row["probabilities"], abs=EXACT), row


def test_decisions(judging_dir: Path) -> None:
    for row in vectors(judging_dir, "decisions.jsonl"):
        decision = decide(Verdict(row["shown1"], row["p1"]), Verdict(row["shown2"], row["p2"]))
        for name, expected in row["expected"].items():
            found = getattr(decision, name)
            if isinstance(expected, bool | str) or expected is None:
                assert found == expected, (name, row)
            else:
                assert found == pytest.approx(expected, abs=EXACT), (name, row)


def test_ratings(judging_dir: Path) -> None:
    for row in vectors(judging_dir, "ratings.jsonl"):
        low, high = row["scale"]
        assert read_rating(row["text"], low, high, row["brackets"]) == row["rating"], row
