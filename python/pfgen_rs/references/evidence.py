"""The page of evidence for suggested rules: what answers say at each place, with examples."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from pfgen_rs.references.mining import Mined
from pfgen_rs.references.places import Place
from pfgen_rs.references.review import numbered, rule_pattern
from pfgen_rs.report.site.pages import render, shown

__all__ = ["evidence_page"]


def evidence_page(mined: Sequence[Mined], review: str) -> bytes:
    """Returns the page, a single file of HTML; `review`: the name of the review file beside it."""
    return render(
        "suggest",
        nav=(),
        review=review,
        mined=mined,
        numbered=numbered,
        pattern=rule_pattern,
        marked=_marked_example,
    )


def _marked_example(example: str, place: Place, text: str) -> Markup:
    """Returns an answer as markup, with what it has at a place marked."""
    around = f"{place.before}{text}{place.after}"
    found = example.find(around)
    start = max(0, found) + len(place.before)
    if found < 0 or example[start : start + len(text)] != text:
        return shown(example)
    parts = example[:start], text, example[start + len(text) :]
    return Markup("{}<mark>{}</mark>{}").format(*map(shown, parts))
