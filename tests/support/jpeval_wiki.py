"""Documents of the Wikipedia Annotated Corpus, and samples made of them."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path

from pfgen_rs.llm_jp_eval.conversion.knp import read_document
from pfgen_rs.llm_jp_eval.conversion.wikipedia import WIKI_TASKS, document_samples

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


def samples(documents: Iterable[tuple[str, bytes]]) -> dict[str, list[tuple[str, str]]]:
    """Inputs and outputs of each of the five tasks, from names and contents of documents, by name."""
    found: dict[str, list[tuple[str, str]]] = {task: [] for task in WIKI_TASKS}
    for name, content in sorted(documents):
        for task, sample in document_samples(read_document(name, content)).items():
            found[task].append(sample)
    return found
