"""Prose of pages is in the project's style, as far as a program can tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from places import DOCS, ROOT

GENERATED = ("reference/api", "reference/commands")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if not page.relative_to(DOCS).as_posix().startswith(GENERATED)
    ),
]
ENGLISH = [page for page in PAGES if not page.name.endswith(".ja.md")]
JAPANESE = [page for page in PAGES if page.name.endswith(".ja.md")]
LONGEST = 150  # of a line, tables and what cannot be broken aside

FENCE = re.compile(r"^( *)(```+|~~~+).*?^ *\2 *$", flags=re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t).*\n(?:\n(?=    ))?)+", flags=re.MULTILINE)
CODE = re.compile(r"(`+)[^\n]+?\1")
ADDRESS = re.compile(r"\]\([^)\s]+\)|https?://\S+|<!--.*?-->|<[^>\n]+>", flags=re.DOTALL)
TABLE = re.compile(r"^\|.*", flags=re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "`", found[0])


def prose(text: str) -> str:
    """A page without code and addresses, in whose place there are marks, line by line."""
    for pattern in (FENCE, INDENTED, CODE, ADDRESS):
        text = pattern.sub(_blank, text)
    return text


def found(pattern: str, text: str, flags: int = 0) -> Iterator[str]:
    for match in re.finditer(pattern, text, flags):
        yield f"line {text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}"


# English

EMPTY = r"\b(simply|easily|easy|obviously|basically|of course|please note|in order to|utili[sz]e)\b"
AMERICAN = (
    r"\b\w*(behavior|color|favor|flavor|honor|labor|neighbor)(s|ed|ing|ful|able)?\b|\b(center|fiber|meter)(s|ed)?\b|"
    r"\b(analy|cataly)z(e|es|ed|ing)\b|\b\w{2,}(?<!s)(?<!pr)iz(e|es|ed|ing|ation|ations)\b|"
    r"\b(cancel|label|model|travel|signal)(ed|ing)\b(?<=led|ing)(?<!lled)(?<!lling)|\b(catalog|dialog|analog)s?\b"
)
PLAIN = {"size", "sizes", "sized", "sizing", "prize", "seize", "resize", "resized", "capsize"}


def empty_words(text: str) -> Iterator[str]:
    return found(EMPTY, re.sub('"[^"\n]*"', _blank, text), re.IGNORECASE)


def american_words(text: str) -> Iterator[str]:
    for fault in found(AMERICAN, text, re.IGNORECASE):
        if fault.partition("'")[2].rstrip("'").lower() not in PLAIN:
            yield fault


def double_spaces(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\S  +\S", line) and not line.lstrip().startswith("|"):
            yield f"line {number}: {line.strip()[:60]!r}"


def long_lines(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        is_breakable = " " in line[:LONGEST].lstrip("-*0123456789. ") and not line.startswith(
            ("|", "#")
        )
        if len(line) > LONGEST and is_breakable:
            yield f"line {number}: {len(line)} characters"


NAMES = re.compile(
    r"[A-Z0-9-]{2,}\w*|[A-Z]\w*[A-Z]\w*|\W*(Python|Rust|Slurm|Ray|Spark|Dask|Fluency|Truthfulness|Helpfulness|"
    r"Japanese|English|Arrow|Parquet|Inspect|Markdown|Windows|Linux|Hugging|Face|Lightning|Trainer|Holm|Student|"
    r"Docker|Daft|Java|Cohen|Fisher|Pearson|Spearman|Krippendorff|Bradley|Terry|Vicuna|Prometheus|Unicode|I|"
    r"Added|Changed|Fixed|Unreleased)\W*(s|'s)?"
)


def title_case(text: str) -> Iterator[str]:
    """Headings with a capital in the middle, unless it is of a name."""
    for heading in HEADING.findall(text):
        clean = re.sub(r"`+|\"[^\"]*\"", " ", heading)
        words = re.split(r"(?<=[:.?!—]) ", clean)
        for part in words:
            for word in re.findall(r"[\w'’.-]+", part)[1:]:
                if word[0].isupper() and not NAMES.fullmatch(word):
                    yield f"{heading!r}: {word}"


# Japanese

PLAIN_END = re.compile(
    r"(である|であった|だ|だった|った|いた|(?<![まで])した|れた|せた|えた|する|れる|せる|える|ける|べる|きる|ある|いる|なる|"
    r"[かさたなまらわ]ない|できない|べきだ|しよう|だろう|となる)$"
)
ASIDE = re.compile(r"（[^（）]*）|\([^()]*\)|「[^「」]*」|『[^『』]*』|[`*]+|[ ]+$")
SENTENCE = re.compile(r"[^。\n|]*[ぁ-んァ-ヶ一-鿿][^。\n|]*。")


def full_width(text: str) -> Iterator[str]:
    return found("[０-９Ａ-Ｚａ-ｚ，．　ｦ-ﾟ％]+", text)


def impolite_ends(text: str) -> Iterator[str]:
    """Sentences outside of tables that end in the plain form; a noun may end one in lists."""
    text = re.sub(TABLE, "", text)
    joined = re.sub(r"(?<=[^\n`|])\n(?=[^\n`|#*\-\d ])", "", text)
    for sentence in SENTENCE.findall(joined):
        if PLAIN_END.search(ASIDE.sub("", sentence.rstrip("。"))):
            yield sentence.strip()[-40:]


def half_width_marks(text: str) -> Iterator[str]:
    """Half-width commas, full stops and question marks behind Japanese, tables of words aside."""
    text = re.sub(TABLE, "", text)
    return found(r"[ぁ-んァ-ヶ一-鿿][,?!;](?!\w)|[ぁ-んァ-ヶ一-鿿]\.(?=\s|$)", text)


Check = Callable[[str], Iterator[str]]
OF_ENGLISH: tuple[Check, ...] = (empty_words, american_words, double_spaces, long_lines, title_case)
OF_JAPANESE: tuple[Check, ...] = (full_width, impolite_ends, half_width_marks, double_spaces)


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_english_pages_are_in_style(page: Path) -> None:
    text = prose(page.read_text(encoding="utf-8"))
    assert [f"{check.__name__}: {fault}" for check in OF_ENGLISH for fault in check(text)] == []


@pytest.mark.parametrize("page", JAPANESE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_japanese_pages_are_in_style(page: Path) -> None:
    text = prose(page.read_text(encoding="utf-8"))
    assert [f"{check.__name__}: {fault}" for check in OF_JAPANESE for fault in check(text)] == []


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (empty_words, "Simply run it.", 'A sample run, no "simply".'),
        (american_words, "It normalizes colors.", "The size of its colours is analysed."),
        (american_words, "Labeled models", "labelled models, sizes"),
        (double_spaces, "One  two", "| a   | b |\n    indented"),
        (long_lines, "word " * 40, "- [" + "x" * 150 + "](y)"),
        (title_case, "# How To Score", "# How to score `In` Python: Fluency"),
        (full_width, "１００ 文字、５０％", "100 文字、50 %"),
        (impolite_ends, "これは回答である。", "これは回答です（例）。"),
        (half_width_marks, "回答,設問 です.\n", "回答、設問です。`a,b`"),
    ],
)
def test_faults_of_style_are_found(check: Check, bad: str, good: str) -> None:
    assert list(check(prose(bad + "\n"))) != []
    assert list(check(prose(good + "\n"))) == []


def test_code_and_addresses_are_not_prose() -> None:
    text = "a `simply  x` [b](simply.md)\n\n```sh\nsimply\n```\n\n    simply\n\nc\n"
    assert "simply" not in prose(text)
    assert prose(text).count("\n") == text.count("\n")
    assert prose(text).startswith("a `")
