"""Recognises files that cannot be read as text by their first bytes, and says how to convert them."""

from __future__ import annotations

import re

from pfgen_rs.errors import InputError

HEAD = 64
"""Number of leading bytes by which a format is recognised."""

_CSV = "save it as CSV (UTF-8) and score that file"
_BINARY = (
    (b"\xd0\xcf\x11\xe0", f"is an Excel workbook (.xls) or another Office document: {_CSV}"),
    (b"PAR1", "is a Parquet file: its name must end in .parquet"),
    (b"ARROW1", "is an Arrow IPC file: its name must end in .arrow"),
)
_ZIP = b"PK\x03\x04"
_EXCEL = (b"[Content_Types].xml", b"xl/", b"_rels/", b"docProps/")
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(\x00[\t-\x7f]){4}|([\t-\x7f]\x00){4}")
# The characters of Japanese text: kana, ideographs, their punctuation and full-width forms.
_JAPANESE = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff60]")
_ENCODINGS = {"euc_jp": "EUC-JP", "cp932": "SHIFT_JIS"}
_ENOUGH = 0.8  # share of the non-ASCII characters


def refuse_other_format(head: bytes) -> None:
    """Raise `InputError` if `head` is the beginning of a workbook, an archive, a table or UTF-16 text."""
    if head.startswith(_ZIP):
        is_excel = any(name in head for name in _EXCEL)
        raise InputError(
            f"is an Excel workbook (.xlsx): {_CSV}" if is_excel else "is a ZIP archive: unpack it"
        )
    for magic, problem in _BINARY:
        if head.startswith(magic):
            raise InputError(problem)
    if _UTF_16.match(head):
        raise InputError(f"is UTF-16 text: {_format_conversion('UTF-16')}")


def other_encoding(text: bytes) -> str:
    """Returns the likely encoding of text that is not UTF-8 and how to convert it; empty if unknown."""
    for name, common in _ENCODINGS.items():
        try:
            decoded = text.decode(name)
        except UnicodeDecodeError:
            continue
        beyond = [character for character in decoded if not character.isascii()]
        if len(_JAPANESE.findall(decoded)) > _ENOUGH * len(beyond):
            shown = "Shift-JIS" if common == "SHIFT_JIS" else common
            return f"; it looks like {shown}: {_format_conversion(common)}"
    return ""


def _format_conversion(encoding: str) -> str:
    return f"convert it with: iconv -f {encoding} -t UTF-8"
