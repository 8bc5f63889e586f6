"""Random texts with everything that llm-jp-eval's metrics treat in a way of its own."""

from __future__ import annotations

from hypothesis import strategies as st

_ALPHABETS = (
    "あいうかがきぎハパバーゝ々〆〇日本語東京一二三。、・「」（）　",
    "abcABC019_ -.,'\"!",
    "éßüÅµªº²½×÷°·«»\xa0\xad\x85",
    "ΑΣΣσςάΆ̈́ΐ",
    "İIıiẞßŞşſ",
    "\u0301\u0307\u3099\u309a\u200b\u200d\ufe0f゛゜",
    "กำเด็กहिन्दीணி",
    "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u1680\u2003\u2028\u2029\u202f\u205f\u3000",
    "𠮷😀🏽𝔸𝟗𐐀𑁦",
    "ＡＢａｂ０９ｶﾞﾊﾟ①½Ⅳ㌔㈱ﬁĳǅ",
    "\0\x01\x7f",
)
_CHARACTERS = st.one_of(
    *(st.sampled_from(each) for each in _ALPHABETS), st.characters(codec="utf-8")
)
_PIECES = st.one_of(
    _CHARACTERS, st.sampled_from(["\n", "\n\n", "\r\n", " ", "ΑΣ", "東京 positive"])
)

TEXTS = st.lists(_PIECES, max_size=25).map("".join)
"""Valid Unicode. Neighbours often match, since the alphabets are small."""

WILD_TEXTS = st.lists(st.one_of(_PIECES, st.characters(categories=["Cs"])), max_size=12).map(
    "".join
)
"""With lone surrogates."""
