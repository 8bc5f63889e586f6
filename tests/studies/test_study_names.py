"""Models of different tables are the same by one rule; aliases and near misses help where it does not."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs.errors import ConfigError
from pfgen_rs.studies import model_key, read_aliases
from pfgen_rs.studies.benchmark_table import near_misses
from study_tables import key_of

NAMES = {
    "meta-llama/Meta-Llama-3.1_8B": "meta-llama-3-1-8b",
    "Ｌｌａｍａ－３": "llama-3",
    "ガンマ／モデル３": "モデル3",
    "ﾓﾃﾞﾙ": "モデル",
    "a/b/C": "c",
    "__x__": "x",
    "Straße": "strasse",
    "ΣΊΣΥΦΟΣ": "σίσυφοσ",
    "モデル（改）v２": "モデル-改-v2",
    "x²": "x2",
    "org/": "",
    "": "",
    "--/--": "",
    "GPT‑4o mini": "gpt-4o-mini",  # a hyphen that does not break
    "a\u202eb": "a-b",
}


@pytest.mark.parametrize(("name", "key"), NAMES.items())
def test_keys(name: str, key: str) -> None:
    assert model_key(name) == key == key_of(name)


@given(st.text(max_size=40))
def test_any_name(name: str) -> None:
    key = model_key(name)
    assert key == key_of(name)
    assert not set(key) & set("/_ ")
    assert "--" not in key
    assert key == key.strip("-")
    assert all(c == "-" or c.isalnum() for c in key)
    assert model_key(unicodedata.normalize("NFKC", name)) == key
    assert model_key(f"organisation/{name}") == key


@given(
    st.text(st.characters(categories=["Ll", "Nd"], max_codepoint=0x7F), min_size=1),
    st.text(st.characters(categories=["Ll", "Nd"], max_codepoint=0x7F), min_size=1),
    st.text("-_. :,+|()", min_size=1),
)
def test_separators_are_all_alike(one: str, other: str, between: str) -> None:
    assert model_key(f"{one}{between}{other}") == f"{one}-{other}"
    assert model_key(f"{between}{one.upper()}{between}") == one


def write(folder: Path, text: str) -> Path:
    path = folder / "aliases.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_aliases(tmp_path: Path) -> None:
    text = '# theirs = ours\n"gpt-4-0613" = "openai/gpt-4"\nこれ = "それ"\n'.replace(
        "これ", '"これ"'
    )
    assert read_aliases(write(tmp_path, text)) == {"gpt-4-0613": "openai/gpt-4", "これ": "それ"}
    assert read_aliases(write(tmp_path, "")) == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = 1", "a: expected a name in quotes"),
        ('gpt-3.5 = "gpt"', "gpt-3: expected a name in quotes"),  # a table in TOML
        ("a =", "invalid TOML"),
        ('"--" = "b"', "'--': a name needs a letter or a digit"),
        ('a = "/"', "'/': a name needs a letter or a digit"),
        ('a = "b"\na = "c"', "invalid TOML"),
    ],
)
def test_aliases_that_are_none(text: str, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_aliases(path)
    assert str(caught.value).startswith(f"{path}: {problem}")


def test_aliases_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_aliases(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="invalid TOML"):
        read_aliases(tmp_path / "a.toml")


def test_near_misses() -> None:
    ours = ["llama-3-8b", "llama-3-70b", "qwen2-5-7b-instruct", "mistral-7b"]
    assert near_misses(["llama3-8b", "llama-38b"], ours) == {"llama3-8b": "llama-3-8b"}
    assert near_misses(["llamas-3-8b", "qwen-2-5-7b-instruct"], ours) == {
        "llamas-3-8b": "llama-3-8b",
        "qwen-2-5-7b-instruct": "qwen2-5-7b-instruct",
    }
    assert near_misses(["llama-3-8b-instruct-gguf", "m" * 10_000], ours) == {}
