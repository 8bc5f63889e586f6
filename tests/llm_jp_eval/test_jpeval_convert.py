"""Converted files, prompts, replayed outputs and result files against the reference; the bundled sample."""

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers import SCRIPT, pfgen
from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io.json_lines import lines
from pfgen_rs.llm_jp_eval import Conversion, catalog, convert
from pfgen_rs.llm_jp_eval.catalog import find_data, installed_data
from pfgen_rs.llm_jp_eval.conversion.installing import shown_names
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, filled, template
from pfgen_rs.llm_jp_eval.scoring import evaluate, result_content
from places import ROOT

COUNTS = {
    "jamp": (8955, 995, 348),
    "janli": (12312, 1368, 720),
    "jsem": (12667, 1583, 1584),
    "jsick": (4500, 500, 4927),
    "jemhopqa": (953, 106, 120),
    "niilc": (715, 80, 198),
    "jcommonsenseqa": (8045, 894, 1119),
    "chabsa": (2572, 321, 322),
    "wiki_reading": (1517, 100, 200),
    "wiki_ner": (881, 64, 113),
    "wiki_dependency": (1517, 100, 200),
    "wiki_pas": (1514, 100, 199),
    "wiki_coreference": (1515, 100, 200),
    "mawps": (16, 500, 500),
    "jsts": (11205, 1246, 1457),
}


def files_below(folder: Path) -> dict[str, bytes]:
    """Contents of all files by their paths in the folder."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_all_published_files_byte_for_byte(jpeval_dir: Path, jpeval_conversion: Conversion) -> None:
    ours = {file.path: file for file in jpeval_conversion.files}
    lines = (jpeval_dir / "golden" / "files.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 84
    for published in map(json.loads, lines):
        file = ours[published["path"]]
        content = (jpeval_conversion.folder / file.path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == published["sha256"] == file.sha256, file.path
        assert len(content) == published["bytes"] == file.size
        assert (file.task, file.split) == (published["task"], published["split"])
        assert file.samples == published["samples"]


def test_as_many_samples_as_the_contract_says(jpeval_conversion: Conversion) -> None:
    found = {each.task: each for each in jpeval_conversion.tasks}
    assert len(found) == 17
    assert jpeval_conversion.missing == ()
    for task, counts in COUNTS.items():
        assert tuple(found[task].samples.values()) == counts, task
        assert found[task].status == "published"
    for task, count in (("jnli", 2434), ("jsquad", 4442)):
        assert (found[task].status, found[task].samples["test"]) == ("changed", count)
    assert len(jpeval_conversion.files) == 17 * 6


def test_made_up_files_byte_for_byte(jpeval_mini: Path, tmp_path: Path) -> None:
    found = convert(jpeval_mini / "raw_files", tmp_path / "out")
    ours = files_below(tmp_path / "out")
    theirs = files_below(jpeval_mini)
    compared = [path for path in theirs if path.startswith(("evaluation/", "tuning/"))]
    assert len(compared) == 84
    for path in compared:
        assert ours[path] == theirs[path], path
    assert len(ours) == len(found.files) == 17 * 6
    assert {each.status for each in found.tasks} == {"changed"}


def test_files_of_an_existing_folder_are_replaced(jpeval_mini: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "evaluation" / "dev").mkdir(parents=True)
    (out / "evaluation" / "dev" / "jamp.json").write_text("old")
    (out / "evaluation" / "dev" / "mine.json").write_text("mine")
    convert(jpeval_mini / "raw_files", out, tasks=["jamp"])
    written = files_below(out)
    assert written.pop("evaluation/dev/mine.json") == b"mine"
    assert len(written) == 6
    for path, content in written.items():
        assert content == (jpeval_mini / path).read_bytes()


def test_a_failure_changes_nothing(jpeval_mini: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(jpeval_mini / "raw_files", raw)
    (raw / "niilc_test.xml").write_text("<questions>")  # among the last tasks
    with pytest.raises(InputError, match="niilc_test"):
        convert(raw, tmp_path / "new" / "out")
    assert list((tmp_path / "new").iterdir()) == []
    old = tmp_path / "old"
    convert(raw, old, tasks=["jamp"])
    before = files_below(old)
    with pytest.raises(InputError, match="niilc_test"):
        convert(raw, old)
    assert files_below(old) == before
    assert sorted(path.name for path in old.iterdir()) == ["evaluation", "tuning"]


def test_places_that_cannot_be_written(jpeval_mini: Path, tmp_path: Path) -> None:
    raw = jpeval_mini / "raw_files"
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="file: not a directory"):
        convert(raw, tmp_path / "file", tasks=["jamp"])
    with pytest.raises(OutputError, match="cannot be written"):
        convert(raw, tmp_path / "file" / "out", tasks=["jamp"])
    out = tmp_path / "out"
    (out / "tuning" / "dev" / "jamp.json").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"jamp\.json: a directory"):
        convert(raw, out, tasks=["jamp"])
    assert files_below(out) == {}


def test_several_processes_convert_at_once(jpeval_mini: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    raw = jpeval_mini / "raw_files"
    command: list[str | Path] = [SCRIPT, "llm-jp-eval", "convert", "--raw", raw, "--out", out]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    assert len(files_below(out)) == 17 * 6
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_leftovers_of_killed_processes_are_removed(jpeval_mini: Path, tmp_path: Path) -> None:
    old, new = tmp_path / ".converting.a.tmp", tmp_path / ".converting.b.tmp"
    for folder in (old, new):
        (folder / "content").mkdir(parents=True)
    os.utime(old, (0, 0))
    convert(jpeval_mini / "raw_files", tmp_path / "out", tasks=["jamp"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "out"]


def test_converting_takes_seconds(jpeval_raw: Path, tmp_path: Path) -> None:
    begun = time.process_time()
    convert(jpeval_raw, tmp_path / "out")
    assert time.process_time() - begun < 60  # ten on a machine with nothing else to do


def test_missing_raw_files_are_reported(jpeval_mini: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(jpeval_mini / "raw_files", raw)
    (raw / "jnli_train.json").unlink()
    shutil.rmtree(raw / "dev")
    for path in list(raw.glob("jsem_*"))[5:]:
        path.unlink()
    found = convert(raw, tmp_path / "out")
    missing = {each.task: each for each in found.missing}
    assert set(missing) == {"jnli", "jsem", *(task for task in COUNTS if "wiki" in task)}
    jnli = missing["jnli"]
    assert (jnli.names, jnli.licence) == (("jnli_train.json",), "CC BY-SA 4.0")
    assert jnli.urls == ("https://github.com/yahoojapan/JGLUE/archive/v1.1.0.tar.gz",)
    assert shown_names(missing["jsem"].names) == "17 files"
    assert shown_names(missing["wiki_pas"].names) == "dev/ (100 files)"
    assert len(found.tasks) == 17 - len(missing)
    with pytest.raises(InputError, match=r"missing raw files of jnli: jnli_train\.json"):
        convert(raw, tmp_path / "other", tasks=["jnli", "jamp"])
    left_out = convert(raw, tmp_path / "other", tasks=["NLI"])
    assert [each.task for each in left_out.missing] == ["jnli", "jsem"]
    with pytest.raises(InputError, match="found no task with all its raw files"):
        convert(tmp_path / "out", tmp_path / "other")


def test_the_command(jpeval_mini: Path, tmp_path: Path) -> None:
    raw, out = tmp_path / "raw", tmp_path / "out"
    shutil.copytree(jpeval_mini / "raw_files", raw)
    (raw / "mawps" / "test.json").unlink()
    assert convert(raw, tasks=["jsts"]).folder == installed_data()
    assert find_data() == installed_data() / "evaluation"
    command = ("llm-jp-eval", "convert", "--raw", raw, "--out", out)
    done = pfgen(*command, env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert "wiki_coreference" in done.stdout
    assert f"wrote 96 files to {out}" in done.stdout
    assert "all tasks: not comparable" in done.stderr
    assert "left out: mawps" in done.stderr
    assert "MAWPS in Japanese (Apache-2.0): missing mawps/test.json\n  https://" in done.stderr
    machine = json.loads(pfgen(*command, "--format", "json").stdout)
    assert machine["folder"] == str(out)
    assert len(machine["files"]) == 96
    assert machine["missing"][0]["task"] == "mawps"
    failed = pfgen(*command, "--tasks", "jamp,mawps")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "missing raw files of mawps" in failed.stderr


# Prompts, outputs and results


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
    paths = sorted((jpeval_dir / "golden" / "prompts").glob("*.jsonl"))
    records = [record for path in paths for record in json_lines(path)]
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
    exceptions = ("chabsa", "wiki_dependency", "wiki_pas", "wiki_coreference")
    assert below.keys() == {f"{task}_set_f1" for task in exceptions}


# The bundled sample


def test_raw_files_are_those_of_the_golden_run(jpeval_dir: Path) -> None:
    assert catalog.sample_path().resolve() == (ROOT / "data" / "llm-jp-eval-mini").resolve()
    golden = jpeval_dir / "golden" / "mini" / "raw_files"
    assert files_below(catalog.sample_path() / "raw_files") == files_below(golden)


def test_outputs_are_recorded_for_every_sample(tmp_path: Path) -> None:
    convert(catalog.sample_path() / "raw_files", tmp_path, tuning=False)
    datas = catalog.read_tasks(tmp_path, catalog.tasks())
    ids = {catalog.item_id(d.task, "test", n) for d in datas for n in range(len(d.samples))}
    assert min(len(data.shots) for data in datas) == 3
    for name in ("3-shot", "0-shot"):
        path = catalog.sample_path() / "outputs" / f"{name}.jsonl"
        records = [line.record for line in lines(path)]
        assert {record["id"] for record in records} == ids
        assert len(records) == len(ids)


def test_the_demo_shows_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
