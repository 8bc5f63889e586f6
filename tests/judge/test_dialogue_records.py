"""Dialogue records: what is read, and what is said of lines that cannot be."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from made_dialogues import made_dialogue, made_set, write_json_lines
from pfgen_rs.errors import ConfigError, InputError
from pfgen_rs.judge.dialogues import Answer, Dialogue, Fields, read_dialogues, read_fields
from pfgen_rs.judge.dialogues.records import CATEGORIES
from pfgen_rs.judge.dialogues.tables import sizes


def test_a_record(tmp_path: Path) -> None:
    [found] = read_dialogues(write_json_lines(tmp_path / "a.jsonl", [made_dialogue(11)]))
    assert found.id == "11"
    assert (found.category, found.turn2_type) == ("STEM", "same")
    assert (found.user1, found.user2) == ("空はなぜ青いのですか。", "夕焼けはなぜ赤いのですか。")
    assert found.first == Answer(
        "calm", "光が散乱するからです。", (Fraction(3), Fraction(4)), Fraction(4)
    )
    assert [answer.author for answer in found.seconds] == ["calm", "human"]
    assert found.seconds[0].mean == Fraction(5, 2)
    assert found.seconds[1].judge is None


def test_scores_are_exact(tmp_path: Path) -> None:
    record = made_dialogue("a", human1=[4.1, 4.2, 4.3], gpt1=3.7)
    [found] = read_dialogues(write_json_lines(tmp_path / "a.jsonl", [record]))
    assert found.first.mean == Fraction(42, 10)
    assert found.first.judge == Fraction(37, 10)


def test_missing_scores_and_answers(tmp_path: Path) -> None:
    record = made_dialogue("a")
    for key in ("human1", "gpt1", "answers2"):
        del record[key]
    other = made_dialogue("b", human1=None, gpt1=None, answers2=None)
    single = made_dialogue("c", human1=2, answers2=[{"author": "m", "text": ""}])
    first, second, third = read_dialogues(
        write_json_lines(tmp_path / "a.jsonl", [record, other, single])
    )
    for found in (first, second):
        assert (found.first.human, found.first.judge, found.seconds) == ((), None, ())
    assert third.first.human == (Fraction(2),)
    assert third.seconds == (Answer("m", ""),)


def test_compressed_files_blank_lines_and_byte_order_marks(tmp_path: Path) -> None:
    lines = [json.dumps(made_dialogue(name)).encode() for name in "ab"]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines[0] + b"\r\n\n  \n" + lines[1]))
    found = read_dialogues(path)
    assert [each.id for each in found] == ["a", "b"]
    assert [each.source for each in found] == lines


BAD: list[tuple[dict[str, Any], str]] = [
    ({"id": None}, "'id' must be a non-empty text or a number, found null"),
    ({"id": True}, "'id' must be a non-empty text or a number, found true"),
    ({"id": 1.5}, "'id' must be a non-empty text or a number, found 1.5"),
    (
        {"category": "math"},
        "unknown category 'math': expected one of human, roleplay, writing, STEM, reasoning",
    ),
    ({"turn2_type": "Same"}, "unknown turn2_type 'Same': expected one of same, free"),
    ({"turns": ["a", "b"]}, "'turns' must be a list of 3 texts"),
    ({"turns": ["a", "b", 3]}, "'turns' must contain texts only"),
    ({"turns": "abc"}, "'turns' must be a list of 3 texts"),
    ({"author1": 3}, "'author1' must be text, not 3"),
    ({"human1": [0]}, "'human1' must be a score from 1 to 5, not '0'"),
    ({"human1": [True]}, "'human1' must be a score from 1 to 5, not 'True'"),
    ({"human1": [float("nan")]}, "'human1' must be a score from 1 to 5, not 'nan'"),
    ({"gpt1": "4"}, "'gpt1' must be a score from 1 to 5, not '4'"),
    ({"gpt1": 5.01}, "'gpt1' must be a score from 1 to 5, not '5.01'"),
    ({"answers2": {}}, "'answers2' must be a list, not '{}'"),
    ({"answers2": ["x"]}, "'answers2', answer 1: expected an object, not 'x'"),
    ({"answers2": [{"author": "m"}]}, "'answers2', answer 1: missing key 'text'"),
    (
        {"answers2": [{"author": "m", "text": "", "human": [6]}]},
        "'answers2', answer 1: 'human' must be a score from 1 to 5, not '6'",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_fields_are_located(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_json_lines(
        tmp_path / "a.jsonl", [made_dialogue("a"), made_dialogue("b", **changes)]
    )
    with pytest.raises(InputError) as caught:
        read_dialogues(path)
    assert str(caught.value).startswith(f"{path}, line 2: {message}")


@pytest.mark.parametrize("key", ["id", "category", "turn2_type", "turns", "author1"])
def test_missing_fields_are_located(key: str, tmp_path: Path) -> None:
    record = made_dialogue("b")
    del record[key]
    path = write_json_lines(tmp_path / "a.jsonl", [made_dialogue("a"), record])
    with pytest.raises(InputError, match=rf"line 2: missing key '{key}': found .*\[fields\]"):
        read_dialogues(path)


def test_duplicate_ids_are_located(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", [made_dialogue(11), made_dialogue("11")])
    with pytest.raises(InputError, match="line 2: duplicate id '11': already on line 1"):
        read_dialogues(path)


def test_broken_lines_and_empty_files(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", [made_dialogue("a")])
    path.write_bytes(path.read_bytes() + b"{\n")
    with pytest.raises(InputError, match="line 2: is not JSON"):
        read_dialogues(path)
    path.write_bytes(b"\n")
    with pytest.raises(InputError, match=f"{path}: contains no dialogues"):
        read_dialogues(path)
    with pytest.raises(InputError, match=r"missing\.jsonl: cannot be read: No such file"):
        read_dialogues(tmp_path / "missing.jsonl")


def test_other_names_of_fields(tmp_path: Path) -> None:
    config = tmp_path / "fields.toml"
    config.write_text(
        "[fields]\nid = 'dialogue'\nturns = ['u1', 'a1', 'u2']\nanswers2 = 'replies'\n"
        "author = 'by'\ntext = 'body'\nhuman = 'people'\ngpt = 'judge'\n"
    )
    record = {
        "dialogue": 3,
        "category": "human",
        "turn2_type": "free",
        "u1": "一",
        "a1": "二",
        "u2": "三",
        "author1": "m",
        "replies": [{"by": "m", "body": "四", "people": [1], "judge": 2}],
    }
    path = write_json_lines(tmp_path / "a.jsonl", [record])
    [found] = read_dialogues(path, read_fields(config))
    assert (found.id, found.user1, found.first.text, found.user2) == ("3", "一", "二", "三")
    assert found.seconds == (Answer("m", "四", (Fraction(1),), Fraction(2)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fields]\nidd = 'x'", r"\[fields\]: unknown key 'idd': expected one of id, category"),
        ("[fields]\nid = 3", r"\[fields\]: id must be a key, not 3"),
        ("[fields]\nid = ['a', 'b', 'c']", r"\[fields\]: id must be a key, not"),
        ("[fields]\nturns = ['a']", r"\[fields\]: turns must be one key or a list of three keys"),
        ("id = 'x'", r"expected a table \[fields\], and nothing else"),
        ("", r"expected a table \[fields\], and nothing"),
        ("[fields", "invalid TOML"),
    ],
)
def test_bad_tables_of_fields(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "fields.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"^{path}: {message}"):
        read_fields(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_fields(tmp_path / "none.toml")
    assert Fields().turns == "turns"


def test_sizes_of_the_paper(tmp_path: Path) -> None:
    """Table 2: 2,280 + 2,982 = 5,262."""
    counts = {"same": (615, 378, 570, 420, 297), "free": (834, 444, 666, 555, 483)}
    records = [
        made_dialogue(f"{kind}{category}{i}", category=category, turn2_type=kind, answers2=[])
        for kind, row in counts.items()
        for category, count in zip(CATEGORIES, row, strict=True)
        for i in range(count)
    ]
    found = sizes(read_dialogues(write_json_lines(tmp_path / "a.jsonl", records)))
    assert found.rows() == [
        ("same", *counts["same"], 2280),
        ("free", *counts["free"], 2982),
        ("total", 1449, 822, 1236, 975, 780, 5262),
    ]


def test_the_sizes_of_a_set_without_some_categories(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", [made_dialogue("a"), made_dialogue("b")])
    assert sizes(read_dialogues(path)).rows() == [
        ("same", 0, 0, 0, 2, 0, 2),
        ("free", 0, 0, 0, 0, 0, 0),
        ("total", 0, 0, 0, 2, 0, 2),
    ]
    assert len(made_set(3)) == 30


def test_arrays_and_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([made_dialogue("a"), made_dialogue("b", gpt1=9)]))
    with pytest.raises(InputError, match="element 2: 'gpt1' must be a score from 1 to 5, not '9'"):
        read_dialogues(path)
    path.write_text(json.dumps([made_dialogue("a"), made_dialogue("b")]))
    assert [each.id for each in read_dialogues(path)] == ["a", "b"]
    packed = gzip.compress(
        b"".join(json.dumps(made_dialogue(i)).encode() + b"\n" for i in range(99))
    )
    path.write_bytes(packed[:-20])
    with pytest.raises(InputError, match=r"line \d+: the compressed data is damaged or cut short"):
        read_dialogues(path)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_dialogues(tmp_path)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(made_dialogue("a"))), anything)
def test_whatever_stands_in_a_field(tmp_path: Path, key: str, value: Any) -> None:
    """Either it is read, or the error has a place."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(made_dialogue("a", **{key: value})) + "\n")
    found: tuple[Dialogue, ...] | InputError
    try:
        found = read_dialogues(path)
    except InputError as error:
        found = error
    if isinstance(found, InputError):
        assert (found.path, found.line) == (path, 1)
    else:
        [dialogue] = found
        assert all(1 <= score <= 5 for answer in dialogue.seconds for score in answer.human)
        assert dialogue.category in CATEGORIES
