"""Real verdicts of judges and raters, as letters of the pair."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.judge.tokens import Letter

PANDALM: dict[int, Letter] = {0: "C", 1: "A", 2: "B"}
GPT: dict[str, Letter] = {"1": "A", "2": "B", "Tie": "C"}
VICUNA: dict[str, Letter] = {"model_1": "A", "model_2": "B", "tie": "C"}


def golden(folder: Path) -> Any:
    return json.loads((folder / "vectors" / "agreement.json").read_bytes())


@dataclass(frozen=True)
class PandaLM:
    """999 pairs: verdicts of three raters (a list each), and of two judges."""

    raters: list[list[Letter]]
    judges: dict[str, list[Letter | None]]


def pandalm(folder: Path) -> PandaLM:
    place = folder / "data" / "pandalm"
    pairs = json.loads((place / "testset-v1.json").read_bytes())
    raters = [[PANDALM[pair[f"annotator{i}"]] for pair in pairs] for i in (1, 2, 3)]
    own = json.loads((place / "pandalm-7b-testset-v1.json").read_bytes())
    gpt = json.loads((place / "gpt-3.5-turbo-testset-v1.json").read_bytes())
    assert [p["idx"] for p in pairs] == [p["idx"] for p in own] == [p["idx"] for p in gpt]
    judges = {
        "pandalm-7b": [PANDALM.get(row["pandalm_result"]) for row in own],
        "gpt-3.5-turbo": [GPT.get(row["gpt_result"]) for row in gpt],
    }
    return PandaLM(raters, judges)


def vicuna_files(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of the six files of pairs of models, by file name."""
    paths = sorted((folder / "data" / "ja-vicuna-qa" / "pairwise-gpt-4").glob("*.jsonl"))
    return {
        path.name: [json.loads(row) for row in path.read_bytes().splitlines()] for path in paths
    }


def vicuna_verdicts(rows: list[dict[str, Any]]) -> tuple[list[Letter | None], list[Letter | None]]:
    """Letters of order 1 and of order 2; winners already speak of models."""
    first = [VICUNA.get(row["g1_winner"]) for row in rows]
    return first, [VICUNA.get(row["g2_winner"]) for row in rows]
