"""What the running Python says of code points, of which native code is told page by page."""

from functools import cache
from unicodedata import category, normalize

from pfgen_rs import _native

Page = tuple[bytes, list[tuple[int, str]], list[tuple[int, str]]]

SIZE = 256
WORD, SPACE, NFKC, NFKC_IN_CONTEXT, LOWER, LOWER_IN_CONTEXT = 1, 2, 4, 8, 16, 32
"""As in `rust/jpeval/src/code_points.rs`."""

_SIGMA = "Σ"  # the only letter whose lower case depends on its neighbours
_JAMO = range(0x1100, 0x1200)  # combine with what precedes them
_SELECTORS = range(0xFE00, 0xFE10)  # of variants, as of emoji: marks that never combine
_APART = (range(0x1D400, 0x1D800), range(0x1F000, 0x40000), range(0xE0000, 0xE0200))
"""Beyond the basic plane: mathematical letters, symbols, kanji and selectors of variants never combine."""


@cache
def known() -> _native.CodePoints:
    """Returns the table of this process, which is filled as texts need it."""
    return _native.CodePoints(page)


def page(number: int) -> Page:
    """Returns flags of 256 code points, and what NFKC and lower case make of those that they change.

    Texts are given with the place of the code point on the page.
    """
    characters = list(map(chr, range(number * SIZE, (number + 1) * SIZE)))
    if _is_kanji("".join(characters)):
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


def _is_kanji(text: str) -> bool:
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
    return point in _JAMO or (category(character)[0] == "M" and point not in _SELECTORS)
