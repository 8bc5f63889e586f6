"""Reading evaluation files of llm-jp-eval."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from jpeval_data import SAMPLES, SHOTS, evaluation_file, write_data, write_file
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval import data
from pfgen_rs.llm_jp_eval.data import installed_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def test_a_task_has_the_samples_of_its_split_and_the_examples_of_train(folder: Path) -> None:
    found = data.read_task(folder, "chabsa")
    assert [(s.input, s.output) for s in found.samples] == list(SAMPLES["chabsa"])
    assert [(s.input, s.output) for s in found.shots] == list(SHOTS["chabsa"])
    assert (found.output_length, found.metrics) == (191, ("set_f1",))
    content = (folder / "evaluation/test/chabsa.json").read_bytes()
    assert found.sha256 == hashlib.sha256(content).hexdigest() != found.shots_sha256


def test_the_file_counts_rather_than_the_catalog(folder: Path) -> None:
    path = folder / "evaluation/test/jamp.json"
    write_file(
        path,
        evaluation_file(
            "jamp", [("a", "b")], instruction="別", output_length=9, metrics=["char_f1", "set_f1"]
        ),
    )
    found = data.read_task(folder, "jamp")
    assert (found.instruction, found.output_length) == ("別", 9)
    assert found.metrics == ("char_f1", "set_f1")


@pytest.mark.parametrize("place", [".", "evaluation"])
def test_data_are_found_in_several_layouts(folder: Path, place: str) -> None:
    assert data.find_data(folder / place) == folder / place / ("evaluation" if place == "." else "")


def test_installed_data_are_used_without_a_folder() -> None:
    with pytest.raises(InputError, match="no data is installed: install raw files with 'pf"):
        data.find_data(None)
    write_data(installed_data())
    assert data.read_task(None, "jamp").task == "jamp"


def test_folders_without_data_say_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no evaluation files: expected evaluation/"):
        data.find_data(tmp_path)
    with pytest.raises(InputError, match="not found"):
        data.find_data(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="not a directory"):
        data.find_data(tmp_path / "file")


def test_missing_tasks_are_skipped_or_an_error(folder: Path) -> None:
    skipped: list[str] = []
    found = data.read_tasks(folder, ["mawps", "jamp", "jsem"], skipped=skipped.append)
    assert ([each.task for each in found], skipped) == (["jamp"], ["mawps", "jsem"])
    with pytest.raises(
        InputError, match=r"mawps\.json: no file of the task 'mawps' in the split test"
    ):
        data.read_tasks(folder, ["mawps", "jamp"])
    with pytest.raises(InputError, match=r"dev: no files of these tasks in the split dev"):
        data.read_tasks(folder, ["jamp"], "dev", skipped=skipped.append)


def test_the_train_file_must_exist(folder: Path) -> None:
    (folder / "evaluation/train/jamp.json").unlink()
    with pytest.raises(InputError, match=r"train.jamp\.json: not found: the examples of prompts"):
        data.read_task(folder, "jamp")


def test_unknown_splits_are_named(folder: Path) -> None:
    with pytest.raises(
        SettingsError, match="unknown split 'tset': expected one of train, dev, test"
    ):
        data.read_task(folder, "jamp", "tset")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instruction": 3}, "'instruction' must be text"),
        ({"instruction": "\ud800"}, "'instruction' contains a lone surrogate"),
        ({"output_length": True}, "'output_length' must be a whole number"),
        ({"output_length": 0}, "'output_length' must be at least 1, not 0"),
        ({"metrics": []}, "'metrics' is empty"),
        ({"metrics": ["bleu"]}, "unknown metric 'bleu': expected one of exact_match, char_f1,"),
        ({"metrics": [["char_f1"]]}, "unknown metric"),
        ({"metrics": ["char_f1", "char_f1"]}, "names a metric twice"),
        ({"samples": []}, "'samples' is empty"),
        ({"samples": {}}, "'samples' must be a list"),
        ({"samples": ["x"]}, "sample 0 must be an object"),
        ({"samples": [{"input": "x", "output": None}]}, "'output' of sample 0 must be text"),
        ({"samples": [{"input": "x\udfff", "output": ""}]}, "'input' of sample 0 contains a lone"),
    ],
)
def test_wrong_values_are_named(folder: Path, changes: dict[str, Any], message: str) -> None:
    path = folder / "evaluation/test/jamp.json"
    path.write_text(json.dumps(evaluation_file("jamp", [("a", "b")], **changes)))
    with pytest.raises(InputError, match=message) as error:
        data.read_task(folder, "jamp")
    assert error.value.path == path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b'{"instruction":\n\n', r"line 3: is not JSON"),
        (b"[]", "expected an object"),
        (b'{"samples": []}', "missing key 'instruction', found 'samples'"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"output_length": ' + b"9" * 5000 + b"}", "is not JSON"),
        ("{}".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_wrong_files_are_named(folder: Path, content: bytes, message: str) -> None:
    path = folder / "evaluation/test/jamp.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        data.read_task(folder, "jamp")
    assert error.value.path == path


def test_the_first_samples_are_used(folder: Path) -> None:
    found = data.read_task(folder, "jsts")
    assert [data.used(found, n) for n in (None, -1, 0, 1, 2, 3, 4)] == [3, 3, 3, 1, 2, 3, 3]


def test_anybody_can_recompute_the_digest_of_the_data(folder: Path) -> None:
    names = ["jamp", "jsts"]
    lines = "".join(
        f"{hashlib.sha256((folder / 'evaluation' / file).read_bytes()).hexdigest()}  {file}\n"
        for name in names
        for file in (f"test/{name}.json", f"train/{name}.json")
    )
    expected = hashlib.sha256(lines.encode()).hexdigest()[:8]
    assert data.raw_digest(data.read_tasks(folder, names)) == expected
