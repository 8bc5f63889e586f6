"""User-supplied chat templates that replace the model's own."""

from __future__ import annotations

from pathlib import Path

from pfgen_rs.errors import SettingsError

__all__ = ["read_chat_template"]


def read_chat_template(given: str | None) -> str | None:
    """Returns the template: `given` itself if it contains a brace, else the contents of the file it names.

    Raises `SettingsError` if the file cannot be read.
    """
    if given is None or "{" in given:
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingsError(f"the chat template {given!r} cannot be read: {error}") from None
