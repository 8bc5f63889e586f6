"""Documents of the Wikipedia Annotated Corpus, real and made up, and samples made of them."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st

from pfgen_rs.llm_jp_eval.conversion.raw_files import RawFile
from pfgen_rs.llm_jp_eval.conversion.wikipedia import WIKI_TASKS, document_samples

REST = "6 * 0 * 0 * 0 NIL"
TYPES = ["=", "=", "=", "=≒", "=≒", "=構", "=構≒"]
TYPES += ["ガ", "ガ2", "が", "から", "ニ≒", "ヲ", "ト", "修飾"]
REFERENTS = ["著者", "読者", "不特定:人", "不特定:人1", "不特定:人２"]
REFERENTS += ["前文1", "後文", "なし", "国"]

_surfaces = st.sampled_from(["東", "京", "都", "2", ">", "𠮟", "か\u3099", "　", "*", "EOS", "/"])
_readings = st.sampled_from(["とう", "よむ/とむ", "/", " ", "　", "A", "NHK", "Ｎ", "か\u3099"])
_kinds = st.sampled_from(["名詞", "名詞", "動詞", "助詞", "特殊", "判定詞"])


@st.composite
def tags(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(TYPES))
    mode = draw(st.sampled_from(["", "", "", ' mode="AND"', ' mode="OR"', ' mode="？"']))
    if draw(st.integers(0, 4)) == 0:
        return f'<rel type="{kind}"{mode} target="{draw(st.sampled_from(REFERENTS))}"/>'
    sid, number = draw(st.sampled_from(("", "a-1", "a-2", "a-3", "x"))), draw(st.integers(0, 4))
    return f'<rel type="{kind}"{mode} target="都" sid="{sid}" id="{number}"/>'


@st.composite
def names(draw: st.DrawFn) -> str:
    category = draw(st.sampled_from(["PERSON", "PERSON", "DATE", "OPTIONAL", "UNKNOWN"]))
    name = draw(st.sampled_from(["東", "東京", "京都", r"2\>", "𠮟", "", "都都"]))
    return f"<NE:{category}:{name}>"


@st.composite
def sentences(draw: st.DrawFn, comment: str) -> str:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    parents = st.integers(-1, len(sizes) - 1)
    base_parents = st.integers(-1, sum(sizes) - 1)
    features = st.lists(st.one_of(tags(), tags(), names()), max_size=3).map("".join)
    lines = [comment]
    for size in sizes:
        lines.append(f"* {draw(parents)}D")
        for _ in range(size):
            text = draw(features)
            lines.append(f"+ {draw(base_parents)}P" + (f" {text}" if text else ""))
            lines += [
                f"{draw(_surfaces)} {draw(_readings)} x {draw(_kinds)} {REST}"
                for _ in range(draw(st.integers(1, 3)))
            ]
    return "\n".join([*lines, "EOS", ""])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Correct documents, but for parents that form circles."""
    remarks = []
    for _ in range(draw(st.integers(1, 3))):
        place = f" MEMO: 括弧始:（ 括弧終:） 括弧位置:{draw(st.integers(0, 9))}"
        remarks += draw(st.sampled_from([[""], [""], [" 括弧削除", place], [place], [" MEMO:"]]))
    comments = [f"# S-ID:a-{number}{remark}" for number, remark in enumerate(remarks, start=1)]
    return "".join([draw(sentences(comment)) for comment in comments])


@st.composite
def damaged_documents(draw: st.DrawFn) -> bytes:
    """Documents with lines and characters lost, doubled, moved or replaced."""
    lines = draw(documents()).split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        cut = draw(st.integers(0, len(lines[at])))
        scrap = draw(st.sampled_from(["", " ", "9", '"', "-2", "\0", "\ufeff", "\r", "+ 99D"]))
        lines[at : at + 1] = draw(
            st.sampled_from(
                [[], [lines[at]] * 2, [lines[at][:cut] + scrap + lines[at][cut + 1 :]], ["", scrap]]
            )
        ) or [""]
    content = "\n".join(lines).encode()
    if draw(st.integers(0, 5)) == 0:
        cut = draw(st.integers(0, len(content)))
        content = content[:cut] + draw(st.binary(max_size=3)) + content[cut + 1 :]
    return content


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


def raw_file(content: str | bytes, name: str = "knp/a.knp") -> RawFile:
    data = content if isinstance(content, bytes) else content.encode()
    return RawFile(name, name, data)


def samples(documents: Iterable[tuple[str, bytes]]) -> dict[str, list[tuple[str, str]]]:
    """Inputs and outputs of each of the five tasks, from names and contents of documents, by name."""
    found: dict[str, list[tuple[str, str]]] = {task: [] for task in WIKI_TASKS}
    for name, content in sorted(documents):
        for task, sample in document_samples(raw_file(content, name)).items():
            found[task].append(sample)
    return found
