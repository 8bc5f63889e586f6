"""Formats of other tools: read into pairs, judgments and verdicts of people, and written from them."""

from typing import TYPE_CHECKING

__all__ = [
    "FORMATS",
    "Imported",
    "Rubric",
    "detect_format",
    "read_format",
    "read_level",
    "read_relative",
    "read_result",
    "write_format",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.formats.arena_hard import read_level
    from pfgen_rs.judge.formats.imported import Imported
    from pfgen_rs.judge.formats.prometheus import Rubric, read_relative, read_result
    from pfgen_rs.judge.formats.registry import FORMATS, detect_format, read_format, write_format
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "arena_hard": ("read_level",),
            "imported": ("Imported",),
            "prometheus": ("Rubric", "read_relative", "read_result"),
            "registry": ("FORMATS", "detect_format", "read_format", "write_format"),
        },
    )
