"""Builds self-contained HTML for notebooks, with untrusted text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pfgen_rs.io.text import shortened, visible

_LONGEST = 300  # characters of a text
_LONGEST_SPAN = 2_000
_MOST = 50  # rows of a table


def shown(text: object, most: int = _LONGEST) -> str:
    """Returns a text as HTML: shortened, escaped, and with its writing direction isolated."""
    return f"<bdi>{escape(visible(shortened(str(text), most)))}</bdi>"


def heading(text: object) -> str:
    """Returns a text as a bold line."""
    return f"<div><b>{shown(text)}</b></div>"


def paragraph(text: str) -> str:
    """Returns a text as a line; nothing for an empty text."""
    return f"<div>{shown(text)}</div>" if text else ""


def span(text: str, style: str) -> str:
    """Returns a text, shortened if very long, with CSS `style`, which must be trusted."""
    content = escape(visible(shortened(text, _LONGEST_SPAN)))
    return f'<span style="{style}">{content}</span>' if style else content


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a table of texts and numbers (floats with four decimals), limited to the first rows."""
    head = "".join(f"<th>{shown(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_notebook_cell, row))}</tr>" for row in rows[:_MOST])
    more = len(rows) - _MOST
    rest = paragraph(f"… and {more} more") if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def document(parts: Iterable[str]) -> str:
    """Join pieces into one document, for `_repr_html_`."""
    return f"<div>{''.join(parts)}</div>"


def _notebook_cell(value: object) -> str:
    if isinstance(value, float):
        return f"<td>{value:.4f}</td>"
    return f"<td>{'–' if value is None else shown(value)}</td>"
