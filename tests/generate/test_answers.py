"""What is made of generated texts, beside an oracle of regular expressions."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfgen_rs import SettingsError
from pfgen_rs.io.cleaning import MODES, THINK, cleaned, default_stop

PIECES = ["<think>", "</think>", "A:", "Q:", "\n\n", "\n", " ", "猫", "A", ":", "\ud800", "\u3000"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def oracle(text: str, mode: str, stop: tuple[str, ...], think: str) -> str:
    text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    if think == "strip":
        text = re.sub(r"\A((?!<think>).)*?</think>", "", text, flags=re.DOTALL)
        text = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL).lstrip()
    if stop:
        text = re.split("|".join(map(re.escape, stop)), text, maxsplit=1)[0]
    if mode in ("chat", "qa"):
        text = re.sub(r"\A.*?A:", "", text, count=1, flags=re.DOTALL)
    return text.strip()


@settings(max_examples=200)
@given(TEXTS, st.sampled_from(MODES), st.booleans(), st.sampled_from(THINK))
def test_any_text(text: str, mode: Any, stops: bool, think: Any) -> None:
    stop = default_stop(mode) if stops else ()
    assert cleaned(text, mode, stop, think=think) == oracle(text, mode, stop, think)


@pytest.mark.parametrize(
    ("text", "mode", "stop", "wanted"),
    [
        (" 猫です。\nQ: 犬は？", "completion", ("Q:",), "猫です。"),
        ("一行目。\n\n二行目。", "completion", ("Q:", "\n\n"), "一行目。"),
        ("A: 猫です。", "completion", (), "A: 猫です。"),
        ("Q: 何？\nA: 猫です。A: 犬", "qa", (), "猫です。A: 犬"),
        ("答えは A: 猫です。", "chat", ("Q:",), "猫です。"),
        ("xab", "chat", ("ab", "xa"), ""),
        ("  \n", "chat", (), ""),
    ],
)
def test_as_published(text: str, mode: Any, stop: tuple[str, ...], wanted: str) -> None:
    assert cleaned(text, mode, stop) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<think>Q: 何？\n\n</think>\n\n猫です。\n\n終わり", "猫です。"),
        ("考えた。</think>\n\n猫です。", "猫です。"),
        ("<think>長い", ""),
        ("猫<think>犬</think>です。", "猫です。"),
        ("猫です。", "猫です。"),
    ],
)
def test_thoughts(text: str, wanted: str) -> None:
    assert cleaned(text, "completion", default_stop("completion"), think="strip") == wanted


def test_default_stops() -> None:
    assert [default_stop(mode) for mode in MODES] == [("Q:", "\n\n"), ("Q:",), ("Q:",)]


def test_unknown_choice() -> None:
    with pytest.raises(SettingsError, match="keep, strip"):
        cleaned("猫", "qa", think="hide")  # type: ignore[arg-type]


def test_hostile_text_takes_linear_time() -> None:
    begun = time.process_time()
    for piece in ("<think>", "</think>", "<think></think>", "A:", "Q:"):
        cleaned(piece * 200_000, "qa", default_stop("qa"), think="strip")
    assert time.process_time() - begun < 5
