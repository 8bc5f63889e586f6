"""Small pieces of HTML for notebooks: self-contained, and with texts of unknown origin escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pfgen_rs.io.safe_text import shortened, visible

__all__ = ["document", "heading", "paragraph", "shown", "span", "table"]

_LONGEST = 300  # characters of a text
_LONGEST_SPAN = 2_000
_MOST = 50  # rows of a table


def shown(text: object, most: int = _LONGEST) -> str:
    """A text as HTML: shortened, acting characters as escapes, its writing direction kept to itself."""
    return f"<bdi>{escape(visible(shortened(str(text), most)))}</bdi>"


def heading(text: object) -> str:
    """A text as a line in bold."""
    return f"<div><b>{shown(text)}</b></div>"


def paragraph(text: str) -> str:
    """A text as a line; nothing for no text."""
    return f"<div>{shown(text)}</div>" if text else ""


def span(text: str, style: str) -> str:
    """A text with CSS that is ours; shortened, if it is very long."""
    content = escape(visible(shortened(text, _LONGEST_SPAN)))
    return f'<span style="{style}">{content}</span>' if style else content


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of texts and numbers (floats with four decimals); of very many rows the first ones."""
    head = "".join(f"<th>{shown(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:_MOST])
    more = len(rows) - _MOST
    rest = paragraph(f"… and {more} more") if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def document(parts: Iterable[str]) -> str:
    """Pieces as one, for `_repr_html_`."""
    return f"<div>{''.join(parts)}</div>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"<td>{value:.4f}</td>"
    return f"<td>{'–' if value is None else shown(value)}</td>"
