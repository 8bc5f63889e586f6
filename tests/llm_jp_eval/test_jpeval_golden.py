"""Prompts, replayed outputs and the result file of the reference; the bundled sample and its demo."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers import pfgen
from pfgen_rs.io.json_lines import lines
from pfgen_rs.llm_jp_eval import catalog, convert
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, filled, template
from pfgen_rs.llm_jp_eval.scoring import evaluate, result_content
from places import ROOT


@pytest.fixture(scope="module")
def datas(jpeval_converted: Path) -> Mapping[str, catalog.TaskData]:
    return {task: catalog.read_task(jpeval_converted, task) for task in catalog.tasks()}


@pytest.fixture(scope="module")
def replayed(jpeval_dir: Path) -> Mapping[str, list[str | None]]:
    found: defaultdict[str, list[str | None]] = defaultdict(list)
    for record in json_lines(jpeval_dir / "golden" / "replay_outputs.jsonl"):
        assert record["index"] == len(found[record["task"]])
        found[record["task"]].append(record["output"])
    return found


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_published_prompts(jpeval_dir: Path, datas: Mapping[str, catalog.TaskData]) -> None:
    records = [
        record
        for path in sorted((jpeval_dir / "golden" / "prompts").glob("*.jsonl"))
        for record in json_lines(path)
    ]
    assert len(records) == 84
    for record in records:
        data = datas[record["task"]]
        made = template(data, record["shots"])
        prompt = filled(made, data.samples[record["index"]].input)
        assert record["template"] in (made, None)
        assert prompt == record["prompt"]
        assert hashlib.sha256(prompt.encode()).hexdigest() == record["sha256"]


def test_prompts_of_own_templates(jpeval_dir: Path, datas: Mapping[str, catalog.TaskData]) -> None:
    records = json_lines(jpeval_dir / "golden" / "custom_templates.jsonl")
    assert len(records) == 4
    for record in records:
        data = datas[record["task"]]
        own = record["custom_prompt_template"], record["custom_fewshots_template"]
        made = template(data, record["shots"], *own)
        assert made == record["template"]
        assert filled(made, data.samples[record["index"]].input) == record["prompt"]


@pytest.mark.parametrize("variant", ["upstream", "swallow"])
def test_replayed_outputs(
    jpeval_dir: Path,
    datas: Mapping[str, catalog.TaskData],
    replayed: Mapping[str, list[str | None]],
    variant: str,
) -> None:
    published = json.loads((jpeval_dir / "golden" / "replay_scores.json").read_text("utf-8"))
    found = evaluate([datas[task] for task in replayed], replayed, variant).scores
    expected = published[variant]
    assert len(expected) == 15
    assert found == {
        name: pytest.approx(value, abs=1e-12) if name.startswith("jsts") else value
        for name, value in expected.items()
    }


def test_the_published_result_file(
    jpeval_dir: Path,
    datas: Mapping[str, catalog.TaskData],
    replayed: Mapping[str, list[str | None]],
) -> None:
    outputs = {task: texts[:3] for task, texts in replayed.items()}
    used = [data for task, data in datas.items() if task in outputs]
    found = evaluate(used, outputs, "swallow")
    templates = {data.task: PromptSettings().template(data) for data in used}
    expected = (jpeval_dir / "golden" / "result_example.json").read_bytes()
    assert result_content(found, templates, {}) == expected


@pytest.mark.parametrize("variant", ["upstream", "swallow"])
def test_gold_answers_as_outputs_score_one_but_for_documented_exceptions(
    datas: Mapping[str, catalog.TaskData], variant: str
) -> None:
    golds: dict[str, list[str | None]] = {
        task: [sample.output for sample in data.samples] for task, data in datas.items()
    }
    found = evaluate(list(datas.values()), golds, variant)
    below = {name: value for name, value in found.scores.items() if abs(value - 1.0) > 1e-12}
    # Repeated lines in gold answers, and nothing else.
    repeated = found.frame.filter(found.frame["value"] < 1.0)
    for task, gold in repeated.select("task", "gold").iter_rows():
        lines = [line.strip() for line in gold.split("\n")]
        assert len(set(lines)) < len(lines), (task, gold)
    assert below.keys() == {
        "chabsa_set_f1",
        "wiki_dependency_set_f1",
        "wiki_pas_set_f1",
        "wiki_coreference_set_f1",
    }


# The bundled sample


def test_raw_files_are_those_of_the_golden_run(jpeval_dir: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        found = (path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}

    assert catalog.sample_path().resolve() == (ROOT / "data" / "llm-jp-eval-mini").resolve()
    golden = jpeval_dir / "golden" / "mini" / "raw_files"
    assert files(catalog.sample_path() / "raw_files") == files(golden)


def test_outputs_are_recorded_for_every_sample(tmp_path: Path) -> None:
    convert(catalog.sample_path() / "raw_files", tmp_path, tuning=False)
    datas = catalog.read_tasks(tmp_path, catalog.tasks())
    ids = {catalog.item_id(d.task, "test", n) for d in datas for n in range(len(d.samples))}
    assert min(len(data.shots) for data in datas) == 3
    for name in ("3-shot", "0-shot"):
        records = [
            line.record for line in lines(catalog.sample_path() / "outputs" / f"{name}.jsonl")
        ]
        assert {record["id"] for record in records} == ids
        assert len(records) == len(ids)


def test_the_demonstration_shows_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = pfgen("llm-jp-eval", "demo", env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("$ pfgen-rs")]
    assert [line.split()[3] for line in shown] == ["convert", "prompts", "score", "score", "report"]
    assert "AVR 0.1181" in done.stdout
    assert "AVR 0.0232" in done.stdout
    lines = [x for x in done.stdout.splitlines() if not x.startswith("llm-jp-eval|")]
    assert max(map(len, lines)) <= 110  # addresses of temporary files
    assert not list(tmp_path.iterdir())
