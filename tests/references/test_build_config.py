"""What a build reads: its configuration, and candidates."""

import json
import lzma
import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from pfgen_rs.errors import ConfigError, InputError, UnknownQuestionError
from pfgen_rs.metrics.languages import LANGUAGES
from pfgen_rs.questions.question import content_bytes
from pfgen_rs.references.candidates import Gathered, gather, input_files
from pfgen_rs.references.config import (
    STEPS,
    BuildConfig,
    Fields,
    Outline,
    read_config,
    read_outlines,
)
from pfgen_rs.references.filters import Duplicates, Singletons
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.rules import Normalise, Rules
from pfgen_rs.references.selection import Select
from pfgen_rs.references.sorting import SortedPool
from pfgen_rs.references.steps import COLUMNS, PART, Pool, PoolWriter, State
from places import DOCS

LEAST = 'candidates = ["a.jsonl"]\nout = "set"\n'


def config_file(folder: Path, text: str) -> Path:
    path = folder / "set.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_file_says_and_leaves_out(tmp_path: Path) -> None:
    text = LEAST + "seed = 7\nfields.answer = 'text'\nsingletons = { n = 4 }\nselect.max_n = 5"
    config = read_config(config_file(tmp_path, text))
    assert (config.candidates, config.seed, config.steps) == (("a.jsonl",), 7, tuple(STEPS))
    assert (config.fields.question, config.fields.answer) == ("question", "text")
    assert (config.singletons.n, config.singletons.threshold) == (4, 1)
    assert (config.select.count, config.select.max_n) == (1000, 5)
    assert config.path("a.jsonl") == tmp_path / "a.jsonl"
    assert config.path("/a.jsonl") == Path("/a.jsonl")
    assert config.with_changes(seed=3, out=None) == replace(config, seed=3)


def test_the_configuration_of_the_page(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "building.md"
    [text] = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    config = read_config(config_file(tmp_path, text))
    assert replace(config, select=replace(config.select, stratify="")) == replace(
        read_config(config_file(tmp_path, 'candidates = ["samples/*.jsonl.zst"]\nout = "my-set"')),
        questions="questions.toml",
        normalise=Normalise(("my-style.toml",), ("wave-dash",)),
        rules=Rules("rules.toml"),
    )


def test_the_preset_of_the_papers(tmp_path: Path) -> None:
    config = read_config(config_file(tmp_path, 'preset = "paper"\n' + LEAST))
    assert config.preset == "paper"
    assert config.steps == tuple(step for step in STEPS if step not in ("ranking", "consensus"))
    assert config.duplicates == Duplicates("all")
    assert config.singletons == Singletons(5, 1, repeat=False, at_least=0)
    assert config.length == Length(100, 30_000, share=1.0)
    assert config.select == Select(1_000)
    named = BuildConfig(candidates=("a.jsonl",), out="set", preset="paper")
    assert named == config
    unnamed = BuildConfig(candidates=("a.jsonl",), out="set")
    assert replace(unnamed, preset="paper") == config
    assert config.with_changes(seed=3).length == config.length


def test_explicit_values_override_a_preset(tmp_path: Path) -> None:
    text = 'preset = "paper"\n' + LEAST + '[length]\ntarget = 80\n[duplicates]\nkeep = "once"'
    config = read_config(config_file(tmp_path, text))
    assert config.length == Length(80, 30_000, share=1.0)
    assert config.duplicates.keep == "once"
    explicit = BuildConfig(("a",), "set", preset="paper", length=Length(), steps=("select",))
    assert (explicit.length.share, explicit.steps) == (0.35, ("select",))
    assert explicit.duplicates.keep == "all"
    assert BuildConfig.from_dict({"candidates": ["a"], "out": "x", "length": {"share": 1}}) == (
        BuildConfig(("a",), "x", length=Length(share=1.0))
    )


def test_what_a_language_decides(tmp_path: Path) -> None:
    given = {"candidates": ["a"], "out": "x", "language": "en-GB"}
    english = BuildConfig.from_dict(
        {**given, "length": {"share": 0.5}, "normalise": {"extra": ["b"]}}
    )
    assert (english.unit, english.length) == ("word", Length(50, share=0.5))
    assert english.normalise == Normalise(("b",), style="en")
    assert english.skipped == LANGUAGES["en"].skipped
    assert english.provenance()["language"] == "en-GB"
    explicit = BuildConfig(("a",), "x", language="ko", unit="word", length=Length(9), skipped="^$")
    assert (explicit.unit, explicit.length.target, explicit.skipped) == ("word", 9, "^$")
    assert BuildConfig(("a",), "x", language="ja") == replace(
        BuildConfig(("a",), "x"), language="ja"
    )
    papers = BuildConfig(("a",), "x", language="zh", preset="paper")
    assert papers.length == Length(65, 30_000, share=1.0)
    text = (
        LEAST
        + 'language = "fr"\nunit = "word"\nskipped = "."\nsteps = ["select"]\nlength.target = 9'
    )
    assert read_config(config_file(tmp_path, text)).skipped == "."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('language = "fr"', "also set unit, skipped, length.target, normalise.style"),
        ('language = "fr"\nunit = "word"\nlength.share = 1', "set skipped, length.target, norm"),
        ('normalise.style = "jp"', "unknown style 'jp': expected one of ja, en, zh, ko, none"),
        ('preset = "papers"', "unknown preset 'papers': expected one of paper"),
        ("preset = 3", "unknown preset 3: expected one of paper"),
        ("[length]\nshare = 0", "[length]: share must be greater than 0 and at most 1, not"),
        ("[length]\nshare = nan", "[length]: share must be greater than 0 and at most 1"),
        ("[length]\ndeviation = -1", "[length]: deviation must be at least 0, not -1"),
        ("[singeltons]\nn = 5", "unknown key 'singeltons' (did you mean 'singletons'?)"),
        ("[length]\ntraget = 5", r"[length]: unknown key 'traget' (did you mean 'target'?)"),
        ("[length]\ntarget = 0", "[length]: target must be at least 1, not 0"),
        ('[length]\ntarget = "x"', "length.target: expected an integer, not 'x'"),
        ("[length]\ntarget = true", "length.target: expected an integer, not True"),
        ("length = 3", "length: expected a table, not 3"),
        ("steps = [3]", "steps: expected a list of strings"),
        ('steps = ["dance"]', "steps must be some of normalise, "),
        ('steps = ["select", "length"]', "select must come last"),
        ('steps = ["rules", "normalise"]', "normalise must come first"),
        ('steps = ["rules", "rules"]', "duplicate step 'rules'"),
        ("[select]\nseconds = 1", "unknown key 'seconds'"),
        ("[modls.a]\nlicence = 'x'", "unknown key 'modls' (did you mean 'models'?)"),
        ("[models.a]\nlicense = 'x'", "not license = 'x' (did you mean 'licence'?)"),
        ('[select]\nstratify = "name"', "select.stratify: expected one of"),
        ("[select]\nmin_n = 3\nmax_n = 2", "[select]: max_n must be at least 3, not 2"),
        ('[duplicates]\nkeep = "some"', "duplicates.keep: expected one of"),
        ('[fields]\nmodel = "answer"', "[fields]: duplicate field names"),
        ('unit = "byte"', "unit: expected one of 'character', 'word', 'token', not 'byte'"),
        ("seed = -1", "seed must be between 0 and "),
        ("examples = -1", "examples must be at least 0"),
        ('candidates = []\nout = "x"', "candidates: name at least one file"),
        ('candidates = ["x"]\nout = ""', "must not be empty"),
        ('candidates = ["x"]', "missing key 'out'"),
        ("candidates = ", "invalid TOML"),
        ("folder = 3", "unknown key 'folder'"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = config_file(tmp_path, text if text.startswith("candidates") else LEAST + text)
    with pytest.raises(ConfigError) as raised:
        read_config(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert told in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_config(tmp_path / "set.toml")
    (tmp_path / "set.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="invalid TOML"):
        read_config(tmp_path / "set.toml")


TOML = """
[[question]]
question_id = "Q01"
question = "猫とは何ですか？"
keywords = [{ t = "動物" }]

[[question]]
question_id = "Q02"
question = "空とは何ですか？"
category = "geography"
note = "広い塩水です。"
"""


def test_outlines(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(TOML, encoding="utf-8")
    first, second = read_outlines(tmp_path / "q.toml")
    assert first == Outline("Q01", "猫とは何ですか？", "", "", ({"t": "動物"},))
    assert (second.category, second.note) == ("geography", "広い塩水です。")
    (tmp_path / "q.jsonl").write_text('{"question_id": "Q9", "question": "x"}\n\n', "utf-8")
    assert read_outlines(tmp_path / "q.jsonl") == [Outline("Q9", "x")]
    assert [each.question_id for each in read_outlines(Path("data/mini"))][:2] == ["Q01", "Q02"]
    keys = ["question_id", "question", "category", "note", "keywords", "answers"]
    assert list(json.loads(content_bytes(vars(second), {"X": ["y"]}, None))) == keys


ASKED = '{"question_id": "Qa", "question": "b"'


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("q.toml", "x = ", "invalid TOML"),
        ("q.toml", "", "no questions"),
        ("q.jsonl", "{", "invalid JSON lines"),
        ("q.jsonl", "3", "question 1: expected an object, not 3"),
        ("q.jsonl", '{"question": "a"}', "question 1: missing key 'question_id'"),
        ("q.jsonl", '{"question_id": "Qa", "question": ""}', "question 1: question must not be"),
        ("q.jsonl", ASKED + ', "note": 3}', "question 1: note: expected a string, not 3"),
        ("q.jsonl", ASKED + ', "answers": []}', "question 1: unknown key 'answers'"),
        ("q.jsonl", ASKED + ', "keywords": [{"x": 1}]}', "question 1: keywords[0]"),
        ("q.jsonl", (ASKED + "}\n") * 2, "duplicate question 'Qa'"),
        ("q.jsonl", ASKED + '}\n{"question_id": "qA", "question": "c"}', "duplicate question 'qA'"),
        ("q.jsonl", '{"question_id": "../Q1", "question": "b"}', "question 1: invalid id '../Q1'"),
    ],
)
def test_wrong_outlines(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_outlines(tmp_path / name)
    assert told in str(raised.value)


# Reading candidates: every format, source and model where there are any, a pool for each question.


CATS, SEAS = "猫とは何ですか？", "空とは何ですか？"
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
    assert sorted(pool(tmp_path / "pools", "Q01")) == [
        ("", "P", "a"),
        ("動物です。", "P", "a"),
        ("動物です。", "S", ""),
        ("犬ではありません。", "X", ""),
    ]
    assert pool(tmp_path / "pools", "Q02") == [("広いです。", "X", "b")]


def test_sorted_pools_are_the_same_in_any_memory(tmp_path: Path) -> None:
    chance = random.Random(3)
    texts = ["".join(chance.choices("あいうえお", k=90)) for _ in range(3_000)]
    rows = [(chance.choice(texts), chance.choice("PS"), chance.choice("abc")) for _ in range(9_000)]
    found = []
    for piece, memory in ((9_000, 1 << 30), (700, 1 << 16), (64, 1 << 19)):
        chance.shuffle(rows)
        folder = tmp_path / str(piece)
        sorted_ = SortedPool(folder)
        for at in range(0, len(rows), piece):
            sorted_.add(pl.DataFrame(rows[at : at + piece], schema=COLUMNS, orient="row"))
            if piece < 9_000 and chance.random() < 0.2:
                sorted_.spill()
        sorted_.finish(memory)
        assert [path.suffix for path in folder.iterdir()] == [".arrow"] * len(Pool(folder).parts)
        found.append(pool(tmp_path, str(piece)))
    assert found[0] == found[1] == found[2]
    assert sorted(found[0]) == sorted(rows)
    places = [text for text, _, _ in found[0]]
    assert sum(a != b for a, b in pairwise(places)) == len(set(places)) - 1


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
    with pytest.raises(UnknownQuestionError, match=r"a\.jsonl, line 2, question '空"):
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
