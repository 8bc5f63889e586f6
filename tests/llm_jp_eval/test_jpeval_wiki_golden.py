"""The tasks of the Wikipedia Annotated Corpus against the published tool's files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from jpeval_wiki import corpus, evaluation_file, made_up
from pfgen_rs.llm_jp_eval.conversion import wikipedia

Samples = Mapping[str, Sequence[tuple[str, str]]]

COUNTS = {
    "wiki_reading": (1517, 100, 200),
    "wiki_ner": (881, 64, 113),
    "wiki_dependency": (1517, 100, 200),
    "wiki_pas": (1514, 100, 199),
    "wiki_coreference": (1515, 100, 200),
}
SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def converted(jpeval_dir: Path) -> dict[str, Samples]:
    return {split: wikipedia.samples(docs) for split, docs in corpus(jpeval_dir).items()}


def test_all_files_are_the_published_ones(
    converted: Mapping[str, Samples], jpeval_dir: Path
) -> None:
    lines = (jpeval_dir / "golden" / "files.jsonl").read_text("utf-8").splitlines()
    digests = {record["path"]: record["sha256"] for record in map(json.loads, lines)}
    compared = 0
    for split, tasks in converted.items():
        for task, samples in tasks.items():
            if (path := f"evaluation/{split}/{task}.json") in digests:
                digest = hashlib.sha256(evaluation_file(task, samples)).hexdigest()
                assert digest == digests[path], path
                compared += 1
    assert compared == 12


def test_as_many_samples_as_published(converted: Mapping[str, Samples]) -> None:
    counts = {task: tuple(len(converted[split][task]) for split in SPLITS) for task in COUNTS}
    assert counts == COUNTS


def test_published_outputs_of_coreference_are_among_ours(
    converted: Mapping[str, Samples], jpeval_dir: Path
) -> None:
    lines = (jpeval_dir / "golden" / "metrics.jsonl").read_text("utf-8").splitlines()
    golds = {
        record["gold"]
        for record in map(json.loads, lines)
        if (record["dataset"], record["tag"]) == ("wiki_coreference", "set_f1 real")
    }
    outputs = {output for split in SPLITS for _, output in converted[split]["wiki_coreference"]}
    assert len(golds) == 15
    assert golds <= outputs


@pytest.mark.parametrize("split", SPLITS)
def test_made_up_documents(split: str, jpeval_dir: Path) -> None:
    folder = jpeval_dir / "golden" / "mini" / "evaluation" / split
    samples = wikipedia.samples(made_up(jpeval_dir, split))
    assert list(samples) == list(wikipedia.WIKI_TASKS)
    for task in set(wikipedia.WIKI_TASKS) - {"wiki_coreference"}:
        assert evaluation_file(task, samples[task]) == (folder / f"{task}.json").read_bytes()


def test_coreference_of_made_up_documents(jpeval_dir: Path) -> None:
    samples = wikipedia.samples(made_up(jpeval_dir, "test"))["wiki_coreference"]
    assert [output for _, output in samples] == [
        "東京大学 本郷 大学",
        "京都 A/B 5>3\n大人 2024年",
        "乙 丙 丁 彼",
    ]
