"""What the running Python says of code points, for native code to go by."""

from __future__ import annotations

from functools import cache
from unicodedata import category, normalize

from pfgen_rs import _native

__all__ = ["code_points", "page"]

SIZE = 256
WORD, SPACE, NFKC, NFKC_IN_CONTEXT, LOWER, LOWER_IN_CONTEXT = 1, 2, 4, 8, 16, 32
"""As in `rust/jpeval/src/code_points.rs`."""

Page = tuple[bytes, list[tuple[int, str]], list[tuple[int, str]]]

_SURROGATES = range(0xD8, 0xE0)  # pages; native code never meets them
_SIGMA = "Σ"  # the only letter whose lower case depends on its neighbours
_JAMO = range(0x1100, 0x1200)  # combine with what precedes them
_APART = (range(0x1D400, 0x1D800), range(0x1F000, 0x20000), range(0x20000, 0x40000))
"""Beyond the basic plane: mathematical letters, symbols such as emoji, and kanji never combine."""


@cache
def code_points() -> _native.CodePoints:
    """Returns the table of this process, which is filled as texts need it."""
    return _native.CodePoints(page)


def page(number: int) -> Page:
    """Returns flags of 256 code points, and what NFKC and lower case make of those that they change.

    Texts are given with the place of the code point on the page.
    """
    if number in _SURROGATES:
        return bytes(SIZE), [], []
    characters = list(map(chr, range(number * SIZE, (number + 1) * SIZE)))
    if _is_page_of_kanji("".join(characters)):
        return bytes([WORD]) * SIZE, [], []
    flags, nfkc, lower = bytearray(SIZE), [], []
    for place, character in enumerate(characters):
        normal, small = normalize("NFKC", character), character.lower()
        flags[place] = _flags_of(character, normal, small)
        if flags[place] & NFKC:
            nfkc.append((place, normal))
        if flags[place] & LOWER:
            lower.append((place, small))
    return bytes(flags), nfkc, lower


def _is_page_of_kanji(text: str) -> bool:
    """Whether these are letters and digits that nothing changes (most pages are)."""
    return (
        text.isalnum()
        and text.lower() == text == normalize("NFKC", text)
        and not _may_combine(text[0])
        and not _may_combine(text[-1])
    )


def _flags_of(character: str, normal: str, small: str) -> int:
    flags = WORD if character.isalnum() or character == "_" else 0
    flags |= SPACE if character.isspace() else 0
    if _may_combine(normalize("NFKD", character)[0]):
        flags |= NFKC_IN_CONTEXT
    elif normal != character:
        flags |= NFKC
    if character == _SIGMA:
        return flags | LOWER_IN_CONTEXT
    return flags | (LOWER if small != character else 0)


def _may_combine(character: str) -> bool:
    """Whether NFKC may join it with characters before it or change their order.

    Marks and jamo do; beyond the basic plane, where Unicode still adds scripts, all but a few blocks may.
    """
    point = ord(character)
    if point >= 0x10000:
        return not any(point in block for block in _APART)
    return point in _JAMO or category(character)[0] == "M"
