"""Configurations: their one line, their hash, and the folders they name."""

from __future__ import annotations

import hashlib
import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import SettingsError
from pfgen_rs.generate import Example, read_examples
from pfgen_rs.generate.config import RunConfig, config_hash

EDITED = {"openai/gpt-4o", "openai/gpt-35-turbo", "pfnet/plamo-100b"}  # after they were named
OWN = ["engine", "model", "mode", "num_examples", "max_tokens", "temperature", "top_p"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


def of(config: dict[str, Any]) -> RunConfig:
    """The configuration that a published `config.json` states; what it lacks is left to the engine."""
    own = {key: config.get(key) for key in OWN}
    more = {key: value for key, value in config.items() if key not in [*OWN, "stop"]}
    return RunConfig(**own, stop=tuple(config.get("stop", ())), more=more)  # type: ignore[arg-type]


@pytest.mark.published
def test_published_folders_are_named_by_the_hash(published_dir: Path) -> None:
    edited = set()
    paths = sorted((published_dir / "result").rglob("config.json"))
    assert len(paths) == 24
    for path in paths:
        text = path.read_text(encoding="utf-8")
        config = json.loads(text)
        assert f"{of(config).to_json()}\n" == text
        if config_hash(config) != path.parent.name:
            edited.add(path.parent.parent.relative_to(published_dir / "result").as_posix())
        assert of(config).hash == config_hash(config)
    assert edited == EDITED


@pytest.mark.published
def test_defaults_are_the_published_ones(published_dir: Path) -> None:
    examples = read_examples(published_dir)
    config = RunConfig("vllm", "sbintuitions/tiny-lm").with_questions(examples)
    assert config.folder(published_dir / "result").is_dir()
    assert config.with_questions(examples[1:]).hash != config.hash


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), JSON, max_size=5))
def test_the_hash_is_that_of_the_line(config: dict[str, Any]) -> None:
    kept = {key: config[key] for key in reversed(list(config)) if not key.startswith("_")}
    try:
        line = json.dumps(kept, sort_keys=True, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        with pytest.raises(SettingsError):
            config_hash(config)
        return
    assert config_hash(config) == hashlib.sha1(line).hexdigest()[:7]
    assert config_hash(kept) == config_hash({**config, "_hidden": object()})


def test_the_line() -> None:
    config = RunConfig(
        "vllm", "組織/型", "chat", temperature=0, more={"_key": "x", "dtype": "float16"}
    )
    assert config.to_json() == (
        '{"dtype": "float16", "engine": "vllm", "max_tokens": 300, "mode": "chat", "model": "組織/型", '
        '"num_examples": 20, "stop": ["Q:"], "temperature": 0.0, "top_p": 0.98}'
    )
    assert config.folder("r") == Path("r/組織/型") / config.hash
    bare = RunConfig("e", "m", stop=(), max_tokens=None, temperature=None, top_p=None)
    assert json.loads(bare.to_json()).keys() == {"engine", "model", "mode", "num_examples"}


def test_what_deviates_has_another_hash() -> None:
    seen = {RunConfig("e", "m").hash}
    for change in ("think", "seed", "prefix", "dtype"):
        seen.add(RunConfig("e", "m", more={change: "strip"}).hash)
    seen.add(RunConfig("e", "m").with_questions([Example("何？", "これ。")]).hash)
    seen.add(RunConfig("e", "m").with_questions([Example("何？", "あれ。")]).hash)
    assert len(seen) == 7


@pytest.mark.parametrize(
    ("recorded", "used"),
    [
        ("前提\\n\\n", "前提\n\n"),
        ("a\\tb\nc", "a\tb\nc"),
        ("\\\\n", "\\n"),
        ("C:\\d\\", "C:\\d\\"),
        ("\\xe5\\x89\\x8d", "前"),
        ("\\u00e5\\u0089\\u008d", "前"),
    ],
)
def test_the_prefix_has_escapes(recorded: str, used: str) -> None:
    config = RunConfig("e", "m", more={"prefix": recorded})
    assert config.prefix == used
    assert json.loads(config.to_json())["prefix"] == recorded


@given(st.text())
def test_whatever_the_prefix_is_it_is_read_as_published_or_refused(text: str) -> None:
    try:
        used = RunConfig("e", "m", more={"prefix": text}).prefix
    except SettingsError:
        return
    assert used == text or "\\" in text
    with suppress(UnicodeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for unknown escapes
        assert used == text.encode().decode("unicode_escape").encode("latin-1").decode()


def test_thinking_is_disabled_as_published() -> None:
    more = {"enable_thinking": False, "prefix": "前\\n"}
    assert RunConfig("openai-api", "m", more=more).prefix == "/no_think\n前\n"
    assert RunConfig("vllm", "m", more=more).prefix == "前\n"
    enabled = RunConfig("openai-api", "m", more={"enable_thinking": True})
    assert enabled.prefix == ""
    assert list(json.loads(enabled.to_json()))[:2] == ["enable_thinking", "engine"]


@given(st.text(st.sampled_from("./\\a:é\n\0 C"), max_size=7))
def test_no_model_climbs_out_of_the_results(model: str) -> None:
    results = Path("some/results").absolute()
    try:
        folder = RunConfig("e", model).folder(results)
    except SettingsError:
        return
    assert folder.resolve().is_relative_to(results.resolve())
    assert folder.relative_to(results).parent.as_posix() == model
    assert all(part not in ("", ".", "..") for part in model.split("/"))


@pytest.mark.parametrize(
    "model",
    ["", "/", "/etc", "a/../b", "..", "a//b", "a/", "./a", "C:/a", "C:", "\\\\host\\a", "a\nb"],
)
def test_bad_models(model: str) -> None:
    with pytest.raises(SettingsError, match="invalid run name"):
        RunConfig("e", model)


BAD: list[dict[str, Any]] = [
    {"mode": "sing"},
    {"num_examples": -1},
    {"num_examples": 1.5},
    {"max_tokens": 0},
    {"max_tokens": True},
    {"temperature": -0.1},
    {"temperature": float("nan")},
    {"temperature": "1"},
    {"temperature": True},
    {"top_p": 0},
    {"top_p": 1.1},
    {"stop": "Q:"},
    {"stop": ("",)},
    {"stop": ("\ud800",)},
    {"more": {"model": "x"}},
    {"more": {"think": "hide"}},
    {"more": {"seed": 1}},
    {"more": {"prefix": None}},
    {"more": {"prefix": "\\x"}},
    {"more": {"prefix": "\\u3042"}},
    {"more": {"enable_thinking": "no"}},
    {"more": {"dtype": {1, 2}}},
    {"more": {"dtype": float("inf")}},
    {"more": {1: 2}},
]


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_bad_values(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        RunConfig("e", "m", **changes)


@pytest.mark.parametrize("name", ["api_key", "hf_token", "token", "password", "client_secret"])
def test_secrets_are_not_recorded(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} looks like a secret") as caught:
        RunConfig("e", "m", more={name: "sk-1"})
    assert "sk-1" not in str(caught.value)
    assert (
        "sk-1"
        not in RunConfig("e", "m", more={f"_{name}": "sk-1", "max_tokens_name": "n"}).to_json()
    )
