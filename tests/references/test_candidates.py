"""Reading candidates: every format, source and model where there are any, a pool for each question."""

import json
import lzma
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from pfgen_rs.errors import ConfigError, InputError, UnknownQuestionError
from pfgen_rs.references.candidates import Gathered, gather, input_files
from pfgen_rs.references.config import BuildConfig, Fields, Outline
from pfgen_rs.references.steps import PART, Pool, PoolWriter, State

CATS, SEAS = "猫とは何ですか？", "海とは何ですか？"
Rows = Sequence[Mapping[str, str | None]]
ROWS: Rows = [
    {"question": CATS, "answer": "動物です。", "source": "P", "model": "a"},
    {"question": SEAS, "answer": "広いです。", "source": None, "model": "b"},
    {"question": CATS, "answer": "動物です。", "source": "S", "model": None},
    {"question": CATS, "answer": "", "source": "P", "model": "a"},
]
PLAIN = [{"question": CATS, "answer": "犬ではありません。"}]


def lines(rows: Rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.jsonl": lambda path: path.write_bytes(lines(ROWS)),
    "a.jsonl.xz": lambda path: path.write_bytes(lzma.compress(lines(ROWS))),
    "a.parquet": lambda path: pl.DataFrame(ROWS).write_parquet(path),
    "a.arrow": lambda path: pl.DataFrame(ROWS).write_ipc(path),
    "a.csv": lambda path: pl.DataFrame(ROWS).write_csv(path),
}


def config(folder: Path, *names: str, **more: object) -> BuildConfig:
    return BuildConfig(candidates=names, out="set", folder=folder, **more)  # type: ignore[arg-type]


def gathered(
    config: BuildConfig, outlines: Sequence[Outline] | None = None, memory: int = 1 << 20
) -> Gathered:
    folder = config.folder / "pools"
    shutil.rmtree(folder, ignore_errors=True)
    return gather(config, input_files(config), outlines, folder, memory=memory)


def pool(folder: Path, question_id: str) -> list[tuple[str, str, str]]:
    frames = Pool(folder / question_id).frames("answer", "source", "model")
    return [row for frame in frames for row in frame.rows()]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("memory", [4, 1 << 20])
def test_every_format(tmp_path: Path, name: str, memory: int) -> None:
    WRITERS[name](tmp_path / name)
    (tmp_path / "b.jsonl").write_bytes(lines(PLAIN))
    found = config(tmp_path, name, "b.*")
    sorted_ = gathered(found, memory=memory)
    assert [each.name for each in sorted_.inputs] == [name, "b.jsonl"]
    assert [each.candidates for each in sorted_.inputs] == [4, 1]
    assert sorted_.questions == [(Outline("Q01", CATS), 4), (Outline("Q02", SEAS), 1)]
    assert pool(tmp_path / "pools", "Q01") == [
        ("動物です。", "P", "a"),
        ("動物です。", "S", ""),
        ("", "P", "a"),
        ("犬ではありません。", "X", ""),
    ]
    assert pool(tmp_path / "pools", "Q02") == [("広いです。", "X", "b")]


def test_one_source_and_some_questions(tmp_path: Path) -> None:
    WRITERS["a.jsonl"](tmp_path / "a.jsonl")
    found = config(tmp_path, "a.jsonl", per_source=False, source="Y", only=("Q02",))
    sorted_ = gathered(found)
    assert sorted_.questions == [(Outline("Q02", SEAS), 1)]
    assert pool(tmp_path / "pools", "Q02") == [("広いです。", "Y", "b")]
    assert not (tmp_path / "pools" / "Q01").exists()
    wrong = config(tmp_path, "a.jsonl", only=("Q03",))
    with pytest.raises(ConfigError, match="unknown question 'Q03'"):
        gathered(wrong)


def test_questions_that_are_not_asked(tmp_path: Path) -> None:
    WRITERS["a.jsonl"](tmp_path / "a.jsonl")
    outlines = [Outline("Q07", CATS), Outline("Q08", "x")]
    strict, lax = config(tmp_path, "a.jsonl"), config(tmp_path, "a.jsonl", skip_bad_lines=True)
    with pytest.raises(UnknownQuestionError, match=r"a\.jsonl, line 2, question '海"):
        gathered(strict, outlines)
    found = gathered(lax, outlines)
    assert [(each.candidates, each.left_out) for each in found.inputs] == [(3, 1)]
    assert found.questions == [(outlines[0], 3), (outlines[1], 0)]


def test_ids_serve_as_questions(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines([{"question": "Q07", "answer": "a"}]))
    found = config(tmp_path, "a.jsonl")
    gathered(found, [Outline("Q07", CATS)])
    assert pool(tmp_path / "pools", "Q07") == [("a", "X", "")]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "line 2: is not JSON"),
        (b'{"question": "a"}', "line 2: missing key 'answer': found 'question'; set fields.answer"),
        (b'{"question": "a", "answer": "b", "model": 3}', "line 2: 'model' must be text, not 3"),
    ],
)
def test_bad_lines(tmp_path: Path, line: bytes, told: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(PLAIN) + line + b"\n")
    found = config(tmp_path, "a.jsonl")
    with pytest.raises(InputError, match=told):
        gathered(found)
    lax = config(tmp_path, "a.jsonl", skip_bad_lines=True)
    [read] = gathered(lax).inputs
    assert (read.candidates, read.left_out) == (1, 1)


def test_a_column_that_is_no_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"question": [CATS], "answer": ["a"], "model": [3]})
    frame.write_parquet(tmp_path / "a.parquet")
    found = config(tmp_path, "a.parquet")
    with pytest.raises(InputError, match="the column 'model' must be text"):
        gathered(found)
    other = config(tmp_path, "a.parquet", fields=Fields(model="name"))
    gathered(other)
    assert pool(tmp_path / "pools", "Q01") == [("a", "X", "")]


def test_no_candidates(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    found = config(tmp_path, "a.jsonl")
    with pytest.raises(InputError, match="no candidates"):
        gathered(found)


def test_pools_in_parts(tmp_path: Path) -> None:
    writer = PoolWriter(tmp_path / "pool")
    answers = [str(i) for i in range(PART + 5)]
    for rows in (answers[:3], answers[3:]):
        writer.add(pl.DataFrame({"answer": rows, "source": "X", "model": ""}))
    writer.flush()
    found = Pool(tmp_path / "pool")
    assert len(found.parts) == 2
    kept = pl.Series(range(PART + 5)).to_numpy() % 2 == 1
    state = State(found, kept)
    assert pl.concat(list(state.batches("answer")())).to_list() == answers[1::2]
    narrowed = state.narrowed(pl.Series(range(state.height)).to_numpy() < 2)
    assert pl.concat(list(narrowed.batches("answer")())).to_list() == ["1", "3"]
    assert narrowed.models() == {}
    masks = {name: mask.tolist() for name, mask in narrowed.by_source().items()}
    assert masks == {"X": [True, True]}
