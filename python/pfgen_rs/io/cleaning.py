"""What is made of a generated text before it is an answer, as pfgen-bench does it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from pfgen_rs.errors import SettingsError

__all__ = [
    "MODES",
    "THINK",
    "Clean",
    "Mode",
    "Think",
    "cleaned",
    "cleaning_mode",
    "default_stop",
    "stated_mode",
]

Mode = Literal["completion", "qa", "chat"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""Ways of prompting."""
Clean = bool | Mode
"""Whether answers are cleaned, and as generated in which mode."""

Think = Literal["keep", "strip"]
THINK: tuple[Think, ...] = get_args(Think)

_OPEN, _CLOSE = "<think>", "</think>"


def default_stop(mode: Mode) -> tuple[str, ...]:
    """Where answers end: before the next question, and before a blank line where nobody asked for a line."""
    return ("Q:", "\n\n") if mode == "completion" else ("Q:",)


def cleaning_mode(clean: Clean, config: Mapping[str, Any] | None = None) -> Mode | None:
    """Returns the mode as which answers are cleaned, or `None`.

    `True`: the mode that a run's `config.json` names, or `completion`. Raises `SettingsError` for an unknown
    mode.
    """
    if clean is False:
        return None
    if clean is True:
        return stated_mode(config) or "completion"
    if clean not in MODES:
        raise SettingsError(f"unknown mode {clean!r}: expected one of {', '.join(MODES)}")
    return clean


def stated_mode(config: Mapping[str, Any] | None) -> Mode | None:
    """Returns the mode that a run's `config.json` names, if it does."""
    return next((mode for mode in MODES if mode == (config or {}).get("mode")), None)


def cleaned(text: str, mode: Mode, stop: tuple[str, ...] = (), *, think: Think = "keep") -> str:
    """The answer in a text as an engine gave it; empty where there is none, and it is to be asked for again.

    With `think="strip"`, what a model thought aloud is dropped first, and the space that leads then:
    `<think>…</think>`, also where it is cut short, or where the prompt opened it. Then the text is cut before
    the first stop string; in `chat` and `qa` everything up to the first `A:` goes; and it is stripped.
    Characters that are no Unicode text become U+FFFD. Takes time linear in the text.
    """
    if think not in THINK:
        raise SettingsError(f"think must be one of {', '.join(THINK)}, not {think!r}")
    text = _without_lone_surrogates(text)
    if think == "strip":
        text = _without_thoughts(text)
    places = [place for end in stop if (place := text.find(end)) >= 0]
    text = text[: min(places, default=len(text))]
    if mode != "completion":
        before, named, after = text.partition("A:")
        text = after if named else before
    return text.strip()


def _without_thoughts(text: str) -> str:
    before, closed, after = text.partition(_CLOSE)
    if closed and _OPEN not in before:  # the prompt, or its template, has opened it
        text = after
    # Blank lines follow a thought, and would end the answer before it began.
    return "".join(_said(text)).lstrip()


def _said(text: str) -> Iterator[str]:
    place = 0
    while (begin := text.find(_OPEN, place)) >= 0:
        yield text[place:begin]
        end = text.find(_CLOSE, begin)
        if end < 0:
            return
        place = end + len(_CLOSE)
    yield text[place:]


def _without_lone_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
