"""Files of responses and question files, damaged at random from a seed, and what holds all the same.

`python tests/support/mutations.py TARGET SECONDS` tries new seeds for so long (`make fuzz`); the tests try
a few.
"""

from __future__ import annotations

import faulthandler
import gzip
import json
import lzma
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from pfgen_rs import InputError, PfgenError, load_benchmark
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source
from pfgen_rs.metrics import expressions

_PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress}

Rows = list[tuple[int, str, str]]

_PATIENCE = 20.0
"""Seconds of the processor that a case may take."""
_TEXTS = ["", "水は青い。", 'a "quoted" one', "two\nlines", "a,b\tc", "'", "\\n", "😀", "\r"]
_TEXTS.append("x" * 90)
_PIECES = [
    b'"', b'""', b",", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\\ud800", b"{", b"}", b"[", b"]", b"[" * 300, b"null", b"NaN", b"1e999",
    b"-1", b"0.5", b"9" * 5000, b"true", b"\\", b'{"t": "(a+)+$"}', b'{"t": "\\\\b(a|a)*b"}',
    b'{"and": []}', b'"importance": 2', b'"name": 3', b"(?", b"a{1000}", b"#", b"'",
    b"\xfd7zXZ\0", b"\x1f\x8b", b"PAR1",
]  # fmt: skip


def _damaged(random: Random, content: bytes) -> bytes:
    """The content with up to six changes: pieces inserted, removed, repeated, reversed, other bytes."""
    for _ in range(random.choice([0, 1, 1, 2, 3, 6])):
        start, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
        if random.random() < 0.7:
            end = min(end, start + 8)
        cut = content[start:end]
        kind = random.randrange(6)
        if kind == 0:
            content = content[:start] + random.choice(_PIECES) + content[start:]
        elif kind == 1:
            content = content[:start] + random.choice(_PIECES) + content[end:]
        elif kind == 2:
            content = content[:start] + content[end:]
        elif kind == 3:
            content = content[:end] + cut * random.choice([1, 2, 20]) + content[end:]
        elif kind == 4:
            content = (
                content[:start] + bytes(random.randrange(256) for _ in cut[:4]) + content[end:]
            )
        else:
            content = (
                content[:start]
                if random.random() < 0.3
                else content[:start] + cut[::-1] + content[end:]
            )
    return content


def _packed(random: Random, content: bytes) -> tuple[str, bytes]:
    """A suffix for the name, and content packed as it says; sometimes damaged behind that."""
    suffix = random.choice(["", "", *_PACKERS])
    packed = _PACKERS[suffix](content) if suffix else content
    return suffix, _damaged(random, packed) if suffix and random.random() < 0.5 else packed


def _outcome(path: Path, size: int) -> Rows | None:
    """What is read, so many bytes at once; `None` for an error that says what is wrong."""
    rows: Rows = []
    try:
        for chunk in Reading(Source(path), Options(text_size=size)).chunks():
            if chunk.problems:
                return None
            rows += zip(
                chunk.lines.tolist(),
                chunk.questions.to_list(),
                chunk.answers.to_list(),
                strict=True,
            )
    except InputError as error:
        if str(path) not in str(error):
            raise AssertionError("the error does not name the file") from error
        return None
    return rows


def _check_responses(random: Random, folder: Path, content: bytes, suffix: str) -> None:
    text = _damaged(random, content)
    packing, content = _packed(random, text)
    path = folder / f"responses{suffix}{packing}"
    path.write_bytes(content)
    whole, parts = _outcome(path, 8 << 20), _outcome(path, random.choice([70, 100, 300]))
    assert whole == parts, f"read at once {whole!r}, in parts {parts!r}"


def _quoted(random: Random, text: str) -> str:
    plain = text.isalnum() and random.random() < 0.5
    return text if plain else '"' + text.replace('"', '""') + '"'


def _check_csv(random: Random, folder: Path) -> None:
    separator, suffix = random.choice([(",", ".csv"), ("\t", ".tsv")])
    end = random.choice(["\n", "\r\n"])
    records = [random.sample(["question", "answer", "x"], 3)]
    records += [random.choices(_TEXTS, k=3) for _ in range(random.randrange(12))]
    quoted = [[_quoted(random, text) for text in record] for record in records]
    text = end.join(separator.join(record) for record in quoted) + end
    _check_responses(random, folder, text.encode(), suffix)


def _check_json(random: Random, folder: Path) -> None:
    records = [
        {
            "question": random.choice(_TEXTS),
            "answer": random.choice(_TEXTS),
            "x": [1.5, None, {"y": "z"}],
        }
        for _ in range(random.randrange(12))
    ]
    plain = random.random() < 0.5
    if random.random() < 0.3:
        text = json.dumps(records, ensure_ascii=plain, indent=random.choice([None, 1]))
    else:
        text = "".join(json.dumps(record, ensure_ascii=plain) + "\n" for record in records)
    _check_responses(random, folder, text.encode(), random.choice([".jsonl", ".json"]))


def _check_questions(random: Random, folder: Path) -> None:
    patterns = ["水", "青い?", "(a+)+$", r"(?<=水)は", r"\d{2}", "[^水]$"]
    keywords = [
        random.choice(
            [{"t": p}, {"or": [{"t": p}, {"and": [{"t": "光"}], "name": "n"}], "importance": 0.5}]
        )
        for p in random.sample(patterns, random.randrange(4))
    ]
    question = {
        "question_id": "Q1",
        "question": "なぜ？",
        "category": "c",
        "note": "水は青い。",
        "keywords": keywords,
        "answers": {source: random.choices(_TEXTS[1:], k=3) for source in "PR"},
    }
    text = json.dumps(question, ensure_ascii=random.random() < 0.5).encode()
    packing, content = _packed(random, _damaged(random, text))
    (folder / f"Q1.json{packing}").write_bytes(content)
    (folder / "provenance.json").write_bytes(_damaged(random, b'{"settings": {"unit": "word"}}'))
    try:
        benchmark = load_benchmark(folder)
        [name] = [question.id for question in benchmark]
        scores = [
            benchmark.score(name, answer).average for answer in ("水は青い。10", "a" * 30 + "b", "")
        ]
        assert all(0 <= score < 1e6 for score in scores), scores
    except PfgenError as error:
        if str(folder) not in str(error) and "Q1" not in str(error):
            raise AssertionError("the error names neither file nor question") from error


TARGETS: dict[str, Callable[[Random, Path], None]] = {
    "csv": _check_csv,
    "json": _check_json,
    "questions": _check_questions,
}


def check(target: str, seed: int) -> None:
    """Try one case; raises whatever an error of pfgen_rs does not explain, or `AssertionError`."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        TARGETS[target](Random(f"{target} {seed}"), Path(folder))
    took = time.process_time() - started
    assert took < _PATIENCE, f"took {took:.0f} seconds of the processor"


def run(target: str, seconds: float) -> None:
    """Try new seeds; names the one that fails."""
    started, first = time.monotonic(), time.time_ns()
    seed = first
    while time.monotonic() - started < seconds:
        # Whatever does not end at all.
        faulthandler.dump_traceback_later(10 * _PATIENCE, exit=True, file=2)
        try:
            check(target, seed)
        except Exception:
            sys.stderr.write(f"failed: add ({target!r}, {seed}) to SEEDS of test_mutations.py\n")
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
        seed += 1
    sys.stdout.write(f"{target}: {seed - first} cases in {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    expressions.TIME_LIMIT = 0.2
    run(sys.argv[1], float(sys.argv[2]))
