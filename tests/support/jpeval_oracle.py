"""Predictions and metrics of llm-jp-eval, obvious and slow, from llm-jp-eval 6 and 7; random texts."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

from hypothesis import strategies as st


def prediction(output: str, profile: str) -> str:
    text = output.split("\n\n")[0]
    if profile == "swallow":
        text = text.strip()
    return unicodedata.normalize("NFKC", text)


def value(metric: str, predicted: str, gold: str) -> float:
    """Value of one sample; `gold` as it stands in the file."""
    gold = unicodedata.normalize("NFKC", gold)
    metrics = {"exact_match": exact_match, "char_f1": char_f1, "set_f1": set_f1}
    return metrics[metric](predicted, gold)


def exact_match(predicted: str, gold: str) -> float:
    while predicted.endswith("\0"):
        predicted = predicted[:-1]
    while gold.endswith("\0"):
        gold = gold[:-1]
    return 1.0 if predicted == gold else 0.0


def tokens(text: str) -> str:
    kept = "".join(c for c in text if not 0x80 <= ord(c) <= 0xFF)
    words = "".join(c if c.isalnum() or c == "_" else " " for c in kept)
    lower = words.lower().strip()
    return " ".join(sorted(lower.split(), key=lambda token: [ord(c) for c in token]))


def longest_common_subsequence(one: str, other: str) -> int:
    above = [0] * (len(other) + 1)
    for c in one:
        row = [0]
        for place, d in enumerate(other):
            row.append(above[place] + 1 if c == d else max(row[place], above[place + 1]))
        above = row
    return above[-1]


def char_f1(predicted: str, gold: str) -> float:
    one, other = tokens(predicted), tokens(gold)
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    total = len(one) + len(other)
    d = total - 2 * longest_common_subsequence(one, other)
    return round(100 * (1.0 - d / total)) / 100


def set_f1(predicted: str, gold: str) -> float:
    items: list[str] = []
    for line in predicted.split("\n"):
        if line.strip() not in items:
            items.append(line.strip())
    lines = [line.strip() for line in gold.split("\n")]
    hits = sum(item in lines for item in items)
    pre, rec = hits / len(items), hits / len(lines)
    return 0.0 if pre + rec == 0 else 2 * (pre * rec) / (pre + rec)


def mean(values: list[float]) -> float:
    return float(sum(map(Fraction, values), Fraction(0)) / len(values))


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
_CHARACTERS = st.one_of(*map(st.sampled_from, _ALPHABETS), st.characters(codec="utf-8"))
_TOGETHER = st.sampled_from(["\n", "\n\n", "\r\n", " ", "ΑΣ", "東京 positive"])
_PIECES = st.one_of(_CHARACTERS, _TOGETHER)

TEXTS = st.lists(_PIECES, max_size=25).map("".join)
"""Valid Unicode. Neighbours often match, since the alphabets are small."""

WILD_TEXTS = st.lists(st.one_of(_PIECES, st.characters(categories=["Cs"])), max_size=12).map(
    "".join
)
"""With lone surrogates."""
