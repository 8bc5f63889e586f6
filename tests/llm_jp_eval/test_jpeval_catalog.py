"""The catalog of llm-jp-eval's tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, chosen_tasks, find_task, tasks


def test_instructions_are_those_published(jpeval_dir: Path) -> None:
    published = json.loads((jpeval_dir / "instructions.json").read_text("utf-8"))
    ours = {
        name: {
            "instruction": info.instruction,
            "output_length": info.output_length,
            "metrics": list(info.metrics),
        }
        for name, info in tasks().items()
    }
    assert ours == published
    assert len(ours) == 17


def test_tasks_are_chosen_by_name_and_category() -> None:
    assert [t.name for t in chosen_tasks(["mawps", "QA", "mawps"])] == [
        "jemhopqa",
        "mawps",
        "niilc",
    ]
    assert chosen_tasks() == chosen_tasks(["all", "jamp"]) == list(tasks().values())
    assert {t.category for t in chosen_tasks()} == set(CATEGORIES)


def test_unknown_tasks_are_named() -> None:
    with pytest.raises(SettingsError, match="unknown task 'jamb': expected one of chabsa, jamp"):
        find_task("jamb")
    with pytest.raises(SettingsError, match=r"unknown task 'nli'.* STS, all"):
        chosen_tasks(["nli"])
