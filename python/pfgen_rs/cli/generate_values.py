"""Parses the options of `pfgen-rs generate`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from pfgen_rs.errors import unreadable

__all__ = [
    "EngineName",
    "check_export",
    "check_thinking",
    "engine_options",
    "engine_settings",
    "number_or_none",
    "prices",
    "recorded_options",
    "stop_strings",
    "tokens_or_none",
]

_KEY = re.compile(r"_?[a-z][a-z0-9_]*")
_RESERVED = {
    "seed": "--seed-text",
    "prefix": "--prefix",
    "think": "--think",
    "enable_thinking": "--enable-thinking or --disable-thinking",
    "questions": "--questions",
    "concurrency": "--concurrency",
    "base_url": "--base-url",
    "timeout": "--timeout",
    "retries": "--retries",
    "name": "--name",
    "model": "MODEL",
}


class EngineName(StrEnum):
    """The engine that generates answers."""

    OPENAI = "openai"
    VLLM = "vllm"
    TRANSFORMERS = "transformers"
    COMMAND = "command"
    MANUAL = "manual"


def number_or_none(option: str, text: str) -> float | None:
    """Parse a number, or 'none' as `None`."""
    if _is_none_value(text):
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"invalid value {text!r}: expected a number or 'none'", param_hint=option
        ) from None


def check_export(answers: Path | None, export: Path | None, dry_run: bool) -> None:
    """Raise `BadParameter` if import and export are combined, or the folder of the export does not exist."""
    if answers is not None and (dry_run or export is not None):
        other = "--dry-run" if dry_run else "--export"
        raise typer.BadParameter(f"--import and {other} cannot be combined")
    if export is not None and not export.absolute().parent.is_dir():
        raise typer.BadParameter(f"{export.parent}: not a directory", param_hint="--export")


def check_thinking(engine: EngineName, thinking: bool | None) -> None:
    """Raise `BadParameter` if thinking is enabled or disabled for an engine other than openai."""
    if thinking is None or engine is EngineName.OPENAI:
        return
    option = "--enable-thinking" if thinking else "--disable-thinking"
    kwargs = json.dumps({"enable_thinking": thinking})
    raise typer.BadParameter(
        f"{option} requires the engine openai; for vllm and transformers, use "
        f"--set 'chat_template_kwargs={kwargs}'"
    )


def prices(engine: EngineName, text: str | None) -> tuple[float, float] | None:
    """Parse the prices of a million prompt tokens and a million completion tokens."""
    if text is None:
        return None
    if engine not in (EngineName.OPENAI, EngineName.VLLM):
        raise typer.BadParameter("--price requires the engine openai or vllm, which count tokens")
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != 2 or not all(0 <= price < math.inf for price in found):
        raise typer.BadParameter(
            f"invalid prices {text!r}: expected IN,OUT, the prices of a million prompt tokens and a million "
            "completion tokens, such as 0.15,0.6",
            param_hint="--price",
        )
    return found[0], found[1]


def tokens_or_none(option: str, text: str) -> int | None:
    """Parse a positive integer, or 'none' as `None`."""
    if _is_none_value(text):
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(
            f"invalid value {text!r}: expected a positive integer or 'none'",
            param_hint=option,
        )
    return number


def _is_none_value(text: str) -> bool:
    return text.strip().lower() == "none"


def stop_strings(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    r"""Parse stop strings, in which `\n` is a newline; a single 'none' or empty one means no stop strings."""
    if texts is None:
        return None
    if any(map(_is_none_value, texts)):
        if len(texts) > 1:
            raise typer.BadParameter(
                "'none' cannot be combined with other values", param_hint="--stop"
            )
        return ()
    return tuple(text.replace("\\n", "\n") for text in texts if text)


def engine_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Parse KEY=VALUE: the value is JSON if it is valid, a file's text after @, and text otherwise."""
    found = {}
    for pair in pairs:
        key, given, value = pair.partition("=")
        if not given or not _KEY.fullmatch(key):
            raise typer.BadParameter(
                f"invalid setting {pair!r}: expected KEY=VALUE", param_hint="--set"
            )
        if (plain := key.removeprefix("_")) in _RESERVED:
            raise typer.BadParameter(f"use {_RESERVED[plain]} for {plain}", param_hint="--set")
        found[key] = _generate_setting_value(value)
    return found


def _generate_setting_value(text: str) -> Any:
    if text.startswith("@"):
        return _generate_file_value(Path(text[1:]))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _generate_file_value(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        problem = f"{path}: {unreadable(error)}"
    raise typer.BadParameter(problem, param_hint="--set")


def recorded_options(
    given: Mapping[str, Any], *, seed: str, prefix: str, think: str, thinking: bool | None = None
) -> dict[str, Any]:
    """Returns the entries of `config.json` beyond the published parameters; empty for the defaults."""
    chosen = {"seed": seed, "prefix": prefix, "think": "" if think == "keep" else think}
    return {
        **{key: value for key, value in given.items() if not key.startswith("_")},
        **{key: value for key, value in chosen.items() if value},
        **({} if thinking is None else {"enable_thinking": thinking}),
    }


def engine_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the engine's own options: all settings, without the leading underscore."""
    return {key.removeprefix("_"): value for key, value in given.items()}
