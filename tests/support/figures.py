"""What holds for every figure, whatever it draws."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from matplotlib.figure import Figure
from matplotlib.text import Text

from pfgen_rs.drawing.figures import svg
from pfgen_rs.drawing.style import JAPANESE

HOSTILE = "$x^2$ <script>alert(1)</script> ]]>--> & \n\u202eabc\x1b[31m 漢字" + "長" * 100_000


def texts(figure: Figure) -> list[str]:
    """The texts that are seen."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]


def check_names_are_inert(figure: Figure) -> None:
    """A figure that is titled `HOSTILE` is drawn as text and well-formed."""
    title = figure.get_suptitle()
    assert title.startswith("$x^2$ <script>alert(1)")
    assert "…" in title
    assert title.endswith("長長")
    assert not any(text.get_parse_math() for text in figure.findobj(Text))
    content = svg(figure)
    assert b"<script" not in content
    assert b"\x1b" not in content
    root = ET.fromstring(content)
    assert root.get("role") == "img"
    said = {node.tag.rpartition("}")[2]: node.text for node in list(root)[:2]}
    assert said == {"title": title, "desc": figure.get_label()}
    assert all(said.values())


def check_words_are_japanese(figure: Figure) -> None:
    """Every word of ours is in the list; where no font has its characters, warnings would tell."""
    found = texts(figure)
    english = set(JAPANESE) - set(JAPANESE.values())
    assert not english & set(found)
    assert any(not text.isascii() for text in found)
