"""Documents of the Wikipedia Annotated Corpus, and evaluation files made of them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

from pfgen_rs.llm_jp_eval.catalog import find_task

CORPUS = "raw/ku-nlp+WikipediaAnnotatedCorpus/wac-v1.1.2-id-knp.tar.xz"


def corpus(jpeval: Path) -> dict[str, list[tuple[str, bytes]]]:
    """Names and contents of the real documents, by split."""
    contents: dict[str, bytes] = {}
    with tarfile.open(jpeval / CORPUS) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                contents[member.name] = file.read()
    return {
        split: [
            (name := f"knp/{each[:8]}/{each}.knp", contents[name])
            for each in contents[f"id/{split}.id"].decode().split()
        ]
        for split in ("train", "dev", "test")
    }


def made_up(jpeval: Path, split: str) -> list[tuple[str, bytes]]:
    """Names and contents of the made-up documents of a split."""
    folder = jpeval / "golden" / "mini" / "raw_files" / split
    return [(str(path), path.read_bytes()) for path in folder.glob("*.knp")]


def evaluation_file(task: str, samples: Sequence[tuple[str, str]]) -> bytes:
    """The published file of a task with these samples."""
    info = find_task(task)
    content = {
        "instruction": info.instruction,
        "output_length": info.output_length,
        "metrics": list(info.metrics),
        "few_shots": [],
        "samples": [{"input": given, "output": expected} for given, expected in samples],
    }
    return json.dumps(content, ensure_ascii=False, indent=4).encode()
