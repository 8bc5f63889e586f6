"""Names of the fields of dialogue records, which a TOML file can change."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pfgen_rs.errors import ConfigError, unreadable

__all__ = ["Fields", "read_fields"]

_TURNS = 3


@dataclass(frozen=True)
class Fields:
    """The keys of a dialogue record.

    `turns`: one key with a list of three texts, or three keys with one text each. `author`, `text`, `human`
    and `gpt` are keys of each second answer, the others of the record.
    """

    id: str = "id"
    category: str = "category"
    turn2_type: str = "turn2_type"
    turns: str | tuple[str, ...] = "turns"
    author1: str = "author1"
    human1: str = "human1"
    gpt1: str = "gpt1"
    answers2: str = "answers2"
    author: str = "author"
    text: str = "text"
    human: str = "human"
    gpt: str = "gpt"


def read_fields(path: str | os.PathLike[str]) -> Fields:
    """Read the table `[fields]` of a TOML file. Raises `ConfigError` with the file and the offending key."""
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(unreadable(error), path=path) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"invalid TOML: {error}", path=path) from None
    unknown = next((key for key in data if key != "fields"), None)
    if unknown is not None:
        raise ConfigError(f"unknown key {unknown!r}: expected a table [fields]", path=path)
    table = data.get("fields")
    if not isinstance(table, dict):
        raise ConfigError("missing table [fields]", path=path)
    return Fields(**_checked_fields(table, path))


def _checked_fields(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    known = [each.name for each in fields(Fields)]
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(
                f"[fields]: unknown key {key!r}: expected one of {', '.join(known)}",
                path=path,
            )
        if key == "turns" and isinstance(value, list):
            if len(value) != _TURNS or not all(isinstance(each, str) for each in value):
                raise ConfigError(
                    f"[fields]: turns must be one key or a list of three keys, not {value!r}",
                    path=path,
                )
            found[key] = tuple(value)
        elif isinstance(value, str):
            found[key] = value
        else:
            raise ConfigError(f"[fields]: {key} must be a key, not {value!r}", path=path)
    return found
