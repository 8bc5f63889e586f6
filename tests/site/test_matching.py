"""Names of models: which mean the same, in any order, and what is told of the others."""

import csv
import random
import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from pfgen_rs.errors import ConfigError
from pfgen_rs.report.site.board import Column, Contribution, Section
from pfgen_rs.site.matching import identity, match
from pfgen_rs.studies import read_aliases
from site_samples import HOSTILE

SAME = [
    ("Qwen/Qwen2.5-7B", "qwen2.5-7b"),
    ("Qwen-3_8B", "qwen3 8b"),
    ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama 3.1 8B Instruct"),
    ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
    ("anthropic/claude-3-opus-20240229", "claude-3-opus"),
    ("openai/gpt-4o-2024-08-06", "gpt-4o-20240806"),
    ("openai--gpt-4o", "openai/gpt-4o"),
    ("org__m_7b", "org/m-7b"),
    ("ＧＰＴ－４", "gpt-4"),
    ("モデル１-7b", "モデル1 7B"),
]
DIFFERENT = [
    ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-72B"),
    ("Qwen2.5-7B", "Qwen2.5-7B-Instruct"),
    ("gemma-2-9b-it", "gemma-2-9b"),
    ("gemma-3-4b-pt", "gemma-3-4b-it"),
    ("llm-jp-3-13b-instruct2", "llm-jp-3-13b-instruct3"),
    ("llama-3-1b", "llama-3.1b"),
    ("m-1.1-2", "m-1-1.2"),
    ("m-1-18b", "m-11-8b"),
    ("gpt-1-2", "gpt-12"),
    ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
    ("gpt-4o-20241340", "gpt-4o"),  # no date
    ("a/m-7b", "b/m-7b"),
    ("Mistral-Nemo-2407", "Mistral-Nemo"),
    ("Llama-3.1-8B-FP8", "Llama-3.1-8B"),
    ("-", "--"),
    ("", " / "),
]


def are_same(one: str, other: str) -> bool:
    """Whether two names of two sources are the same model."""
    found = match([], {"one": [one], "other": [other]}).models
    return found["one"][one] == found["other"][other]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same(one: str, other: str) -> None:
    assert are_same(one, other)
    assert are_same(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different(one: str, other: str) -> None:
    assert not are_same(one, other)
    assert not are_same(other, one)


MAKERS, SIZES = ("", "org/", "ORG--", "other/"), ("7b", "7B", "70b", "1.5b", "1-5b", "")
KINDS, DATES = ("", "-Instruct", "_base", "-hf"), ("", "-2024-05-13", "-20240513", "-2024-08-06")
PARTS = st.tuples(
    *map(st.sampled_from, (MAKERS, ("m", "m2-", "m-2", "M 2.1 "), SIZES, KINDS, DATES))
)
NAMES = st.one_of(
    PARTS.map("".join), st.sampled_from([*HOSTILE[:-1], "長" * 99]), st.text(max_size=9)
)
SOURCES = st.lists(st.lists(NAMES, max_size=4), min_size=1, max_size=3)


def size_of(name: str) -> list[str]:
    """The digits before a lone b, in plain Python."""
    return re.findall(r"(?<![\d.])([\d.]+)b(?![a-z])", name.casefold())


@given(SOURCES, SOURCES, st.randoms(use_true_random=False))
def test_matching_does_not_depend_on_order(
    ours: list[list[str]],
    theirs: list[list[str]],
    chance: random.Random,
) -> None:
    own = [name for names in ours for name in names]
    sources = {str(i): names for i, names in enumerate(theirs)}
    first = match(own, sources)
    mixed = {label: chance.sample(names, len(names)) for label, names in reversed(sources.items())}
    second = match(chance.sample(own, len(own)), mixed)
    assert first.models == {label: second.models[label] for label in first.models}
    assert (first.alone, first.unclear) == (second.alone, second.unclear)
    for found in first.models.values():
        assert len(set(found.values())) == len(found), "two names of a source for one model"
        for name, model in found.items():
            assert are_same(name, model) or name == model
            if len(a := size_of(name)) == len(b := size_of(model)) == 1:
                assert a == b
            assert not {"instruct", "base"} & (words(name) ^ words(model))


def words(name: str) -> set[str]:
    return set(re.findall("[a-z]+", name.casefold()))


DATED = [*permutations(("gpt-4o", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06"))]


@pytest.mark.parametrize("order", DATED)
def test_a_name_that_may_be_several_stands_for_itself(order: Sequence[str]) -> None:
    found = match(["openai/gpt-4o"], {"table": order})
    assert found.models["table"] == {
        "gpt-4o": "openai/gpt-4o",  # of the same date: none
        **{name: name for name in order if name != "gpt-4o"},
    }
    assert found.unclear["gpt-4o"] == ["gpt-4o-2024-05-13", "gpt-4o-2024-08-06"]
    assert any("'gpt-4o' stands for itself" in note for note in found.left_out())


def test_two_rows_of_a_source_for_one_model_are_told_and_not_used() -> None:
    found = match(["a/phi-4"], {"table": ["phi-4", "a/Phi_4", "b"]})
    assert found.models["table"] == {"b": "b"}
    assert found.twice == {"table": [["phi-4", "a/Phi_4"]]}
    assert [*found.left_out(), *found.notes()] == [
        "table: 'phi-4', 'a/Phi_4' are the same model, so none of them is used: leave out all but one",
        "table: no run of 'b'",
    ]
    section = Section("judges", "t", "p", "k", lambda _: (), ["b", "phi-4"])
    given = Contribution(
        [Column("c", "g", "number", ("", ""))], {"phi-4": {"c": 1}, "b": {"c": 2}}, [section]
    )
    applied = found.applied("table", given)
    assert applied.rows == {"b": {"c": 2}}
    assert list(applied.sections[0].models) == ["b"]


def test_models_of_runs_stay_apart() -> None:
    runs = ["l/Llama-2-7b", "l/Llama-2-7b-hf", "l/LLAMA-2-7b"]
    found = match(runs, {"table": ["llama-2-7b", "l/Llama-2-7b-hf"]})
    assert found.models["table"] == {name: name for name in ("llama-2-7b", "l/Llama-2-7b-hf")}
    assert found.unclear["llama-2-7b"] == sorted(runs)


def test_names_are_those_of_runs_then_of_aliases_then_whole_ones() -> None:
    sources = {"one": ["M-7B", "n-1b", "k"], "two": ["org/m-7b", "x/N 1b", "K!"], "three": ["nn"]}
    found = match(
        ["m_7b"], sources, {"K Model": "K Model", "k": "K Model", "nn": "n-1b", "n-1b": "n-1b"}
    )
    assert found.models["one"] == {"M-7B": "m_7b", "n-1b": "n-1b", "k": "K Model"}
    assert found.models["two"] == {"org/m-7b": "m_7b", "x/N 1b": "n-1b", "K!": "K Model"}
    assert found.models["three"] == {"nn": "n-1b"}
    assert found.alone["one"] == ["k", "n-1b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"m" = 1', "'m': expected a list of names"),
        ('"m" = [1]', "'m': expected a list of names"),
        ('"m" = [""]', "'m': expected a list of names"),
        ('"m" = ["x"]\n"n" = ["X"]', "'X' means two models, 'm' and 'n'"),
        ('"m" = ["n"]\n"n" = ["o"]', "'n' means two models, 'm' and 'n'"),
        ("m = [", "invalid TOML"),
    ],
)
def test_wrong_aliases_are_named_with_their_file(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "aliases.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(problem)) as caught:
        read_aliases(path, identity)
    assert str(path) in str(caught.value)


def test_aliases(tmp_path: Path) -> None:
    path = tmp_path / "aliases.toml"
    path.write_text('"openai/gpt-4o-2024-08-06" = ["GPT-4o (Aug)"]', encoding="utf-8")
    runs = ["openai/gpt-4o-2024-08-06"]
    found = match(runs, {"table": ["gpt-4o  (aug)"]}, read_aliases(path, identity))
    assert found.models["table"] == {"gpt-4o  (aug)": runs[0]}
    apart = match([*runs, "gpt-4o (aug)"], {}, read_aliases(path, identity))
    assert [text.partition(" stay")[0] for text in apart.left_out()] == [
        "'gpt-4o (aug)', 'openai/gpt-4o-2024-08-06'"
    ]


def test_public_names(studies_dir: Path) -> None:
    """Counts of models that the leaderboard and two public tables share, looked through by hand."""

    def column(file: str, name: str) -> list[str]:
        with (studies_dir / file).open(encoding="utf-8", newline="") as lines:
            return [row[name] for row in csv.DictReader(lines)]

    text = (studies_dir / "swallow-leaderboard.yml").read_text(encoding="utf-8")
    swallow = [row["name"] for row in yaml.safe_load(text)]
    sources = {"swallow": swallow, "shaberi": column("shaberi.csv", "model_name")}
    found = match(column("published.csv", "model"), sources)
    shared = {label: len(own) - len(found.alone[label]) for label, own in found.models.items()}
    assert shared == {"swallow": 34, "shaberi": 57}
    assert found.models["swallow"]["Llama 3.1 8B"] == "meta-llama/Meta-Llama-3.1-8B"
    assert found.models["swallow"]["Gemma 2 9B"] == "google/gemma-2-9b"
    assert "PLaMo 2 1B" in found.unclear, "a copy by another organisation is in a table"
    assert ["meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"] in (
        found.twice["shaberi"]
    )
