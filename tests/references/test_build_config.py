"""The configuration of a build: what it says, and what is wrong with it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pfgen_rs.errors import ConfigError
from pfgen_rs.references.config import STEPS, BuildConfig, Outline, read_config, read_outlines
from pfgen_rs.references.filters import Duplicates, Singletons
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.rules import Normalise, Rules
from pfgen_rs.references.selection import Select
from places import DOCS

LEAST = 'candidates = ["a.jsonl"]\nout = "set"\n'


def config_file(folder: Path, text: str) -> Path:
    path = folder / "set.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_a_file_says_and_leaves_out(tmp_path: Path) -> None:
    text = LEAST + "seed = 7\nfields.answer = 'text'\nsingletons = { n = 4 }\nselect.seconds = 2"
    config = read_config(config_file(tmp_path, text))
    assert (config.candidates, config.seed, config.steps) == (("a.jsonl",), 7, tuple(STEPS))
    assert (config.fields.question, config.fields.answer) == ("question", "text")
    assert (config.singletons.n, config.singletons.threshold) == (4, 1)
    chosen = config.select
    assert (chosen.count, chosen.seconds, chosen.proposals) == (1000, 2.0, None)
    assert config.path("a.jsonl") == tmp_path / "a.jsonl"
    assert config.path("/a.jsonl") == Path("/a.jsonl")
    assert config.with_changes(seed=3, out=None) == replace(config, seed=3)


def test_the_configuration_of_the_page(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "build-configuration.md"
    [text] = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    config = read_config(config_file(tmp_path, text))
    assert replace(config, select=replace(config.select, stratify="", seconds=None)) == replace(
        read_config(config_file(tmp_path, 'candidates = ["samples/*.jsonl.zst"]\nout = "my-set"')),
        questions="questions.toml",
        normalise=Normalise(("my-style.toml",), ("wave-dash",)),
        rules=Rules("rules.toml"),
    )


def test_the_preset_of_the_papers(tmp_path: Path) -> None:
    config = read_config(config_file(tmp_path, 'preset = "paper"\n' + LEAST))
    assert config.preset == "paper"
    assert config.steps == tuple(step for step in STEPS if step != "consensus")
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
    assert (explicit.length.share, explicit.steps) == (0.2, ("select",))
    assert explicit.duplicates.keep == "all"
    assert BuildConfig.from_dict({"candidates": ["a"], "out": "x", "length": {"share": 1}}) == (
        BuildConfig(("a",), "x", length=Length(share=1.0))
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
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
        ("[select]\nseconds = 1\nproposals = 2", "[select]: proposals and seconds are mutually"),
        ("[select]\nseconds = nan", "[select]: seconds must be at least 0"),
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
question = "海とは何ですか？"
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
    assert list(second.to_dict({"X": ["y"]})) == keys


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
        ("q.jsonl", '{"question_id": "../Q1", "question": "b"}', "question 1: invalid id '../Q1'"),
    ],
)
def test_wrong_outlines(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_outlines(tmp_path / name)
    assert told in str(raised.value)
