"""Raw files are installed and converted: files, prompts and results are the reference's; the sample."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from helpers import SCRIPT, pfgen
from jpeval_data import PUBLISHED
from pfgen_rs.errors import InputError, InstallError, OutputError
from pfgen_rs.io.json_lines import lines
from pfgen_rs.llm_jp_eval import Conversion, convert, evaluation_files, registry
from pfgen_rs.llm_jp_eval.conversion import installing, raw_files
from pfgen_rs.llm_jp_eval.conversion.installing import (
    find_raw,
    install_raw,
    shown_names,
)
from pfgen_rs.llm_jp_eval.evaluation_files import find_data, installed_data, installed_raw
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
    assert time.process_time() - begun < 120  # thirty on a machine with nothing else to do


def test_missing_raw_files_are_reported(jpeval_mini: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(jpeval_mini / "raw_files", raw)
    (raw / "jnli_train.json").unlink()
    shutil.rmtree(raw / "dev")
    for path in list(raw.glob("jsem_*"))[5:]:
        path.unlink()
    found = convert(raw, tmp_path / "out")
    missing = {each.name: each for each in found.missing}
    left_out = [task for each in found.missing for task in each.tasks]
    assert set(left_out) == {"jnli", "jsem", *(task for task in COUNTS if "wiki" in task)}
    jnli = missing["JGLUE"]
    assert (jnli.missing, jnli.licence) == (("jnli_train.json",), "CC BY-SA 4.0")
    assert jnli.url == "https://github.com/yahoojapan/JGLUE/tree/v1.1.0"
    assert shown_names(missing["JSeM"].missing) == "17 files"
    assert shown_names(missing["Wikipedia Annotated Corpus"].missing) == "dev/"
    assert len(found.tasks) == 17 - len(left_out)
    with pytest.raises(InputError, match=r"missing raw files of jnli: jnli_train\.json"):
        convert(raw, tmp_path / "other", tasks=["jnli", "jamp"])
    found = convert(raw, tmp_path / "other", tasks=["NLI"])
    assert {each.tasks for each in found.missing} == {("jnli",), ("jsem",)}
    with pytest.raises(InputError, match="missing raw files of chabsa, jamp, janli"):
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
    assert machine["missing"][0]["tasks"] == ["mawps"]
    failed = pfgen(*command, "--tasks", "jamp,mawps")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "missing raw files of mawps" in failed.stderr


# Prompts, outputs and results


@pytest.fixture(scope="module")
def datas(jpeval_converted: Path) -> Mapping[str, evaluation_files.TaskData]:
    return {task: evaluation_files.read_task(jpeval_converted, task) for task in PUBLISHED}


@pytest.fixture(scope="module")
def replayed(jpeval_dir: Path) -> Mapping[str, list[str | None]]:
    found: defaultdict[str, list[str | None]] = defaultdict(list)
    for record in json_lines(jpeval_dir / "golden" / "replay_outputs.jsonl"):
        assert record["index"] == len(found[record["task"]])
        found[record["task"]].append(record["output"])
    return found


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_published_prompts(
    jpeval_dir: Path, datas: Mapping[str, evaluation_files.TaskData]
) -> None:
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


def test_prompts_of_own_templates(
    jpeval_dir: Path, datas: Mapping[str, evaluation_files.TaskData]
) -> None:
    records = json_lines(jpeval_dir / "golden" / "custom_templates.jsonl")
    assert len(records) == 4
    for record in records:
        data = datas[record["task"]]
        own = record["custom_prompt_template"], record["custom_fewshots_template"]
        made = template(data, record["shots"], *own)
        assert made == record["template"]
        assert filled(made, data.samples[record["index"]].input) == record["prompt"]


@pytest.mark.parametrize("profile", ["1.3.0", "swallow"])
def test_replayed_outputs(
    jpeval_dir: Path,
    datas: Mapping[str, evaluation_files.TaskData],
    replayed: Mapping[str, list[str | None]],
    profile: str,
) -> None:
    published = json.loads((jpeval_dir / "golden" / "replay_scores.json").read_text("utf-8"))
    found = evaluate([datas[task] for task in replayed], replayed, profile).scores
    expected = published["upstream" if profile == "1.3.0" else profile]
    assert len(expected) == 15
    assert found == {
        name: pytest.approx(value, abs=1e-12) if name.startswith("jsts") else value
        for name, value in expected.items()
    }


def test_the_published_result_file(
    jpeval_dir: Path,
    datas: Mapping[str, evaluation_files.TaskData],
    replayed: Mapping[str, list[str | None]],
) -> None:
    outputs = {task: texts[:3] for task, texts in replayed.items()}
    used = [data for task, data in datas.items() if task in outputs]
    found = evaluate(used, outputs, "swallow")
    templates = {data.task: PromptSettings().template(data) for data in used}
    expected = (jpeval_dir / "golden" / "result_example.json").read_bytes()
    assert result_content(found, templates, {}) == expected


@pytest.mark.parametrize("profile", ["1.3.0", "swallow"])
def test_gold_answers_as_outputs_score_one_but_for_documented_exceptions(
    datas: Mapping[str, evaluation_files.TaskData], profile: str
) -> None:
    golds: dict[str, list[str | None]] = {
        task: [sample.output for sample in data.samples] for task, data in datas.items()
    }
    found = evaluate(list(datas.values()), golds, profile)
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
    assert (
        evaluation_files.sample_path().resolve() == (ROOT / "data" / "llm-jp-eval-mini").resolve()
    )
    golden = jpeval_dir / "golden" / "mini" / "raw_files"
    assert files_below(evaluation_files.sample_path() / "raw_files") == files_below(golden)


def test_outputs_are_recorded_for_every_sample(tmp_path: Path) -> None:
    convert(evaluation_files.sample_path() / "raw_files", tmp_path, tuning=False)
    datas = evaluation_files.read_tasks(tmp_path, PUBLISHED)
    ids = {
        evaluation_files.item_id(d.task, "test", n) for d in datas for n in range(len(d.samples))
    }
    assert min(len(data.shots) for data in datas) == 3
    for name in ("3-shot", "0-shot"):
        path = evaluation_files.sample_path() / "outputs" / f"{name}.jsonl"
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


# Installing raw files: recognised by digests and paths, in folders and archives of any layout.


JNLI = 20073
Files = Mapping[str, bytes]


@pytest.fixture(scope="session")
def published_raw(jpeval_dir: Path) -> Mapping[str, bytes]:
    """The real raw files by the reference's names, without stand-ins."""
    found = find_raw(jpeval_dir / "raw", registry.tasks()).files
    return {name: file.content for name, file in found.items() if file.status == "published"}


def missing(found: installing.Installation) -> dict[str, tuple[str, ...]]:
    return {each.name: each.missing for each in found.datasets if each.missing}


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def tar_of(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def jnli_lines(count: int) -> bytes:
    line = {"sentence1": "雨が降る。", "sentence2": "水が落ちる。", "label": "entailment"}
    return (json.dumps(line, ensure_ascii=False) + "\n").encode() * count


def test_published_digests(jpeval_dir: Path, published_raw: Mapping[str, bytes]) -> None:
    published = raw_files.published()
    assert published_raw.keys() == published.keys()
    for name, content in published_raw.items():
        assert published[name] == (hashlib.sha256(content).hexdigest(), len(content))
    manifest = json.loads((jpeval_dir / "raw" / "manifest.json").read_bytes())
    for each in manifest:
        if "files" not in each and not each["note"].startswith("SURROGATE"):
            assert published[each["reference_name"]].sha256 == each["sha256"]
    repositories = {info.source.repository for info in registry.tasks().values() if info.source}
    listed = {each["repository"].split(" ")[0] for each in manifest}
    assert listed - repositories == {"odmishien/chABSA-dataset"}


def test_the_real_raw_files(jpeval_raw: Path) -> None:
    found = install_raw(jpeval_raw)
    assert found.folder == installed_raw()
    assert sum(found.taken.values()) == len(raw_files.published())
    assert {each.status for each in found.datasets} == {"published"}
    assert set(found.refused) == {"jnli_train.json", "jsquad_train.json"}
    assert all("found 0 of 1 published file" in reason for reason in found.refused.values())
    assert missing(found) == {"JGLUE": ("jnli_train.json", "jsquad_train.json")}
    assert convert(tasks=["jamp"]).folder == installed_data()


def test_renamed_files_are_found_by_digest(published_raw: Files, tmp_path: Path) -> None:
    wanted = ["jcommonsenseqa_train.json", "jamp_test.tsv", "jamp_train.tsv"]
    for number, name in enumerate(wanted):
        found = install_raw(put(tmp_path / str(number), {"downloads/x.txt": published_raw[name]}))
        assert found.taken == {name: 1}
        assert (installed_raw() / name).read_bytes() == published_raw[name]
    assert "Jamp" not in missing(found)


def test_documents_are_found_by_digest_without_lists(published_raw: Files, tmp_path: Path) -> None:
    documents = {n.split("/")[1]: c for n, c in published_raw.items() if n.endswith(".knp")}
    put(tmp_path, {"corpus.zip": zip_of({f"all/{n}": c for n, c in documents.items()})})
    found = find_raw(tmp_path, ["wiki_ner"])
    assert len(found.files) == 1817
    assert found.status("wiki_ner") == "published"


def test_checkouts_and_archives_side_by_side(published_raw: Files, tmp_path: Path) -> None:
    raw = published_raw
    chabsa = {n.removeprefix("chabsa/"): c for n, c in raw.items() if n.startswith("chabsa/")}
    jsem = {f"JSeM-master/data/v1.0/{n[5:]}": c for n, c in raw.items() if n.startswith("jsem_")}
    knp = {}
    for split in registry.SPLITS:
        names = sorted(n for n in raw if n.startswith(f"{split}/"))
        ids = [Path(n).stem for n in names]
        knp[f"WikipediaAnnotatedCorpus-1.1.2/id/{split}.id"] = "\n".join(ids).encode()
        for name, document in zip(names, ids, strict=True):
            knp[f"WikipediaAnnotatedCorpus-1.1.2/knp/{document[:8]}/{document}.knp"] = raw[name]
    put(
        tmp_path,
        {
            "temporalNLI_dataset/dataset/train_all.tsv": raw["jamp_train.tsv"],
            "temporalNLI_dataset/dataset/test_2.tsv": raw["jamp_test.tsv"],
            "temporalNLI_dataset/.git/config": b"[core]",
            "JaNLI/janli.tsv": raw["janli.tsv"],
            "JSICK/jsick/train.tsv": raw["jsick_train.tsv"],
            "JSICK/jsick/test.tsv": raw["jsick_test.tsv"],
            "JEMHopQA/corpus/train.json": raw["jemhopqa_train.json"],
            "JEMHopQA/corpus/dev.json": raw["jemhopqa_test.json"],
            "JEMHopQA/corpus_ver1.1/train.json": b"[]",
            "chABSA-dataset.zip": zip_of(chabsa | {"__MACOSX/chABSA-dataset/._x_ann.json": b"x"}),
            "JSeM-master.tgz": tar_of(jsem),
            "WikipediaAnnotatedCorpus-1.1.2.tar": tar_of(knp, "w:"),
        },
    )
    found = install_raw(tmp_path)
    complete = {each.name for each in found.datasets if each.status == "published"}
    others = {"Jamp", "JaNLI", "JSICK", "JEMHopQA", "JSeM", "chABSA"}
    assert complete == {*others, "Wikipedia Annotated Corpus"}


def test_a_real_checkout_of_jglue(published_raw: Mapping[str, bytes], tmp_path: Path) -> None:
    raw = published_raw
    files = {
        "jnli-v1.1/train-v1.1.json": jnli_lines(JNLI),
        "jnli-v1.1/valid-v1.1.json": raw["jnli_test.json"],
        "jsts-v1.3/train-v1.3.json": raw["jsts_train.json"],
        "jsts-v1.3/valid-v1.3.json": raw["jsts_test.json"],
    }
    found = find_raw(put(tmp_path / "datasets", files).parent, ["jnli", "jsts", "jsquad"])
    names = ("jnli_test.json", "jsts_train.json", "jsts_test.json")
    expected = dict.fromkeys(names, "published") | {"jnli_train.json": "unverified"}
    assert {name: str(file.status) for name, file in found.files.items()} == expected
    assert found.missing("jsquad") == ("jsquad_train.json", "jsquad_test.json")


def test_train_files_of_another_size_are_refused(tmp_path: Path) -> None:
    put(tmp_path, {"jnli-v1.1/train-v1.1.json": jnli_lines(JNLI - 1)})
    with pytest.raises(InputError, match="found 0 of 1 published file, 1 others"):
        install_raw(tmp_path)
    assert not installed_raw().exists()


def test_changed_files(published_raw: Files, jpeval_mini: Path, tmp_path: Path) -> None:
    changed = published_raw["janli.tsv"].replace(b"\n", b"\r\n")
    put(tmp_path, {"JaNLI/janli.tsv": changed, "jamp_test.tsv": published_raw["jamp_test.tsv"]})
    found = install_raw(tmp_path)
    assert found.taken == {"jamp_test.tsv": 1}
    assert str(tmp_path / "JaNLI/janli.tsv") in found.refused["janli.tsv"]
    assert not (installed_raw() / "janli.tsv").exists()
    with pytest.raises(InputError, match="contains none of the published raw files"):
        install_raw(jpeval_mini / "raw_files")


def test_folders_are_installed_whole(published_raw: Mapping[str, bytes], tmp_path: Path) -> None:
    chabsa = {n: c for n, c in published_raw.items() if n.startswith("chabsa/")}
    some = dict(list(chabsa.items())[:-1])
    with pytest.raises(InputError, match=r"found 229 of 230 published files, 0 others"):
        install_raw(put(tmp_path / "some", some))
    install_raw(put(tmp_path / "all", chabsa))
    found = find_raw(installed_raw(), ["chabsa"])
    assert found.status("chabsa") == "published"
    assert set(found.files) == set(chabsa)


def test_two_different_files_for_one_name(published_raw: Files, tmp_path: Path) -> None:
    put(tmp_path, {"a/janli.tsv": b"a", "b/janli.tsv": b"b", "c/janli.tsv": b"b"})
    with pytest.raises(InputError, match=r"a/janli\.tsv and .*janli\.tsv differ"):
        find_raw(tmp_path, ["janli"])
    put(tmp_path, {"d/janli.tsv": published_raw["janli.tsv"]})
    assert find_raw(tmp_path, ["janli"]).status("janli") == "published"


@pytest.mark.parametrize("place", ["knp/wiki0000/{}.knp", "train/{}.knp"])
def test_documents_of_another_version_keep_their_splits(place: str, tmp_path: Path) -> None:
    name = min(raw_files.published_names("train/"))
    put(tmp_path, {place.format(Path(name).stem): b"# S-ID:1\n", "id/train.id": b"x"})
    found = find_raw(tmp_path, ["wiki_ner"])
    assert {each.name: str(each.status) for each in found.files.values()} == {name: "changed"}
    with pytest.raises(InputError, match=r"found 0 of 1,517 published files, 1 others"):
        install_raw(tmp_path)


def bad_archives() -> Iterator[tuple[str, bytes, str]]:
    good = {"jsick/train.tsv": b"x\n" * 50}
    yield "a.tar.gz", tar_of({"../jsick/train.tsv": b"x"}), "points outside the archive"
    yield "a.zip", zip_of({"/jsick/train.tsv": b"x"}), "points outside the archive"
    yield "a.zip", zip_of(good)[:-30], "not a readable"
    yield "a.tar.xz", tar_of(good, "w:xz")[:90], "not a readable"
    yield "a.tar.gz", b"no archive", "not a readable"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        link = tarfile.TarInfo("jsick/train.tsv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    yield "a.tar.gz", stream.getvalue(), "is a link"


@pytest.mark.parametrize(("name", "content", "problem"), list(bad_archives()))
def test_bad_archives(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    put(tmp_path / "raw", {name: content})
    for source in (tmp_path / "raw", tmp_path / "raw" / name):
        with pytest.raises(InputError, match=problem) as caught:
            install_raw(source)
        assert str(caught.value.path).endswith(name)
    assert not installed_raw().exists()


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tar_of({"jsick/train.tsv": bytes(5000)}, "w:xz")
    put(tmp_path / "raw", {"a.tar.xz": bomb, "b/janli.tsv": bytes(5000)})
    monkeypatch.setattr(installing, "FILE_LIMIT", 4000)
    with pytest.raises(InputError, match="larger than 4000 bytes"):
        find_raw(tmp_path / "raw", registry.tasks())
    with pytest.raises(InputError, match="larger than 4,000 bytes"):
        find_raw(tmp_path / "raw" / "b", registry.tasks())


# Downloads, from a server that stands for GitHub.


class Repositories(ThreadingHTTPServer):
    """Serves raw files by their paths in the repositories, and an archive of the Wikipedia corpus."""

    def __init__(self, raw: Files) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.served: dict[str, bytes] = {}
        self.asked: list[str] = []
        knp = {}
        for info in registry.tasks().values():
            source = info.source
            if source is None or source.page:
                continue
            at = f"/{source.repository}/{source.revision}"
            for name, path in source.files.items():
                if name in raw:
                    self.served[f"{at}/{path}"] = raw[name]
            knp = {
                f"WAC-1/knp/{Path(n).stem[:8]}/{Path(n).name}": c
                for n, c in raw.items()
                if "knp" in n
            }
        corpus = registry.find_task("wiki_ner").source
        assert corpus is not None
        self.archive = f"/{corpus.repository}/archive/{corpus.revision}.tar.gz"
        self.served[self.archive] = tar_of(knp | {"WAC-1/README.md": b"#"})


class Handler(BaseHTTPRequestHandler):
    server: Repositories

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.served.get(unquote(self.path))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@pytest.fixture
def github(published_raw: Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repositories]:
    server = Repositories(dict(published_raw))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name in ("GITHUB", "FILES"):
        monkeypatch.setattr(installing, name, f"http://127.0.0.1:{server.server_address[1]}")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_is_missing_is_downloaded(github: Repositories, published_raw: Files) -> None:
    train = "/yahoojapan/JGLUE/v1.1.0/datasets/jnli-v1.1/train-v1.1.json"
    github.served[train] = jnli_lines(JNLI)
    found = install_raw(names=["jamp", "jnli", "wiki_ner"])
    documents = {"train/": 1517, "dev/": 100, "test/": 200}
    single = ("jamp_train.tsv", "jamp_test.tsv", "jnli_train.json", "jnli_test.json")
    assert found.taken == {**dict.fromkeys(single, 1), **documents}
    assert [str(each.status) for each in found.datasets] == ["published", "unverified", "published"]
    assert (missing(found), found.refused, len(github.asked)) == ({}, {}, 5)
    files = files_below(installed_raw())
    assert len(files) == 1821
    assert all(published_raw[n] == c for n, c in files.items() if n != "jnli_train.json")
    assert install_raw(names=["jamp", "wiki_pas"]).taken == {}
    assert len(github.asked) == 5
    assert convert(tasks=["jamp"]).tasks[0].status == "published"


def test_other_files_are_refused_and_downloads_go_on(
    github: Repositories, published_raw: Files
) -> None:
    jamp = "/tomo-ut/temporalNLI_dataset"
    [test] = [path for path in github.served if path.startswith(jamp) and "test" in path]
    del github.served[test]
    with pytest.raises(InstallError, match=r"test_2\.tsv: the server answered 404"):
        install_raw(names=["jamp", "janli"])
    assert list(files_below(installed_raw())) == ["jamp_train.tsv"]
    github.served[test] = b"another"
    found = install_raw(names=["jamp", "janli"])
    assert found.taken == {"janli.tsv": 1}
    assert "found 0 of 1 published file" in found.refused["jamp_test.tsv"]
    assert missing(found) == {"Jamp": ("jamp_test.tsv",)}
    assert len([path for path in github.asked if "train" in path]) == 1


def test_an_archive_that_lacks_a_document(github: Repositories, published_raw: Files) -> None:
    github.served[github.archive] = tar_of({"WAC/x.knp": published_raw[min(published_raw)]})
    found = install_raw(names=["wiki_ner", "chabsa"])
    assert not installed_raw().exists()
    assert [(each.tasks, each.url) for each in found.datasets if each.missing] == [
        (("chabsa",), "https://github.com/chakki-works/chABSA-dataset"),
        (("wiki_ner",), f"{installing.GITHUB}/ku-nlp/WikipediaAnnotatedCorpus/tree/v1.1.2"),
    ]
    assert [path for path in github.asked if "chABSA" in path] == []


def test_the_command_installs(published_raw: Mapping[str, bytes], tmp_path: Path) -> None:
    cache = {"PFGEN_RS_CACHE": str(tmp_path / "cache"), "COLUMNS": "80"}
    proxy = {"https_proxy": "http://127.0.0.1:9", **cache}
    offline = pfgen("llm-jp-eval", "install", "--tasks", "janli", env=proxy)
    assert (offline.returncode, offline.stdout) == (2, "")
    address = "https://raw.githubusercontent.com/verypluming/JaNLI/"
    assert address in offline.stderr.replace("\n", "")
    raw = put(tmp_path / "raw", {"x": published_raw["janli.tsv"], "jamp_test.tsv": b"x"})
    done = pfgen("llm-jp-eval", "install", "--from", raw, env=cache)
    assert done.returncode == 0
    assert "installed 1 raw file in" in done.stdout
    assert "jamp_test.tsv is not installed" in done.stderr
    options = ("--tasks", "chabsa,janli", "--format", "json")
    found = json.loads(pfgen("llm-jp-eval", "install", *options, env=cache).stdout)
    assert found["datasets"][0]["url"] == "https://github.com/chakki-works/chABSA-dataset"
    expected = {"name": "JaNLI", "tasks": ["janli"], "licence": "CC BY-SA 4.0", "files": 1}
    assert expected.items() <= found["datasets"][1].items()
    assert (found["datasets"][1]["missing"], found["datasets"][1]["status"]) == ([], "published")
    failed = pfgen("llm-jp-eval", "install", "--from", tmp_path / "nothing", env=cache)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "no such file or folder" in failed.stderr
    with pytest.raises(InputError, match="no raw files are installed"):
        convert()
