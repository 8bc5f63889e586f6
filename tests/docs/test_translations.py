"""Japanese pages (`x.ja.md`, `README.ja.md`) say what the English ones do: headings, code, numbers, links."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import DOCS, ROOT

GENERATED = ("docs/reference/api", "docs/reference/commands")
"""Pages that are made from docstrings and help texts."""
ENGLISH = sorted(
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    if not page.name.endswith(".ja.md")
    and not page.relative_to(ROOT).as_posix().startswith(GENERATED)
)
TRANSLATED = [page for page in ENGLISH if page.with_suffix(".ja.md").exists()]

FENCE = re.compile(r"^ *```(.*?)\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(`+)(.+?)\1", flags=re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMENT = re.compile(r"(?:^|(?<=\s) |\s(?=<))\s*(?:# |<!--).*$")
JAPANESE = re.compile(r"[぀-ヿ㐀-鿿々！-～、-】]")
GAP = re.compile(r"(?<=\S) {4,}")
STRING = re.compile(r"""(["'])((?:(?!\1).)*)\1""")
NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)[ -]?(million|billion|trillion|[万億兆])?")
FACTORS = {
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "億": 10**8,
    "兆": 10**12,
}
JAPANESE_PAGES = sorted([*ROOT.glob("*.ja.md"), *DOCS.rglob("*.ja.md")])
SPELLING = {
    "フォルダー、ユーザー、…": re.compile("(?:フォルダ|ユーザ|サーバ|ブラウザ|トークナイザ)(?!ー)"),
    "打ち切り位置": re.compile("切り取り位置|カット位置"),
    "流暢さ": re.compile("流暢性"),
    "限界": re.compile(r"^# 制限|\[制限\]", re.MULTILINE),
    "自作のセット": re.compile("自分のセット"),
    "メモリ、パラメータ": re.compile("(?:メモリ|パラメータ)ー"),
    "同梱": re.compile("付属"),
    "bold, not slanted": re.compile(
        r"(?<!\*)\*(?=[^*\s])[^*\n]*[ぁ-ヿ一-鿿][^*\n]*(?<![*\s])\*(?!\*)"
    ),
    "キーワード規則": re.compile("キーワードの規則"),
    "わかる、かまいません": re.compile("分か[りる]|構いません"),
    "half-width letters and digits": re.compile("[Ａ-Ｚａ-ｚ０-９]"),
    "a space beside Latin letters and digits": re.compile(
        r"[ぁ-ヺ一-鿿ー][A-Za-z0-9]|[A-Za-z0-9][ぁ-ヺ一-鿿]"
    ),
}


def english_of(page: Path) -> Path:
    return page.with_name(page.name.replace(".ja.md", ".md"))


def texts(page: Path) -> tuple[str, str]:
    """An English page and its translation."""
    japanese = page.with_suffix(".ja.md")
    return page.read_text(encoding="utf-8"), japanese.read_text(encoding="utf-8")


def prose(text: str) -> str:
    return FENCE.sub("", text)


def same_line(english: str, japanese: str) -> bool:
    """Whether lines differ at most in comments, Japanese strings, and Japanese after a gap."""
    ours, theirs = (COMMENT.sub("", line).rstrip() for line in (japanese, english))
    gap = GAP.search(ours)
    if gap and JAPANESE.search(ours[gap.end() :]):
        ours, theirs = ours[: gap.start()], theirs[: gap.start()]
    pattern, end = "", 0
    for found in STRING.finditer(ours):
        if JAPANESE.search(found[2]):
            pattern += re.escape(ours[end : found.start(2)]) + r"""[^"']*"""
            end = found.end(2)
    return bool(re.fullmatch(pattern + re.escape(ours[end:]), theirs))


def differing(english: str, japanese: str) -> Iterator[tuple[str, str]]:
    """Blocks and lines of code that are not the same."""
    ours, theirs = FENCE.findall(japanese), FENCE.findall(english)
    if [info for info, _ in ours] != [info for info, _ in theirs]:
        yield str([info for info, _ in theirs]), str([info for info, _ in ours])
        return
    for (_, code), (_, translated) in zip(theirs, ours, strict=True):
        lines, other = code.splitlines(), translated.splitlines()
        if len(lines) != len(other):
            yield code, translated
        else:
            pairs = zip(lines, other, strict=True)
            yield from ((one, two) for one, two in pairs if not same_line(one, two))


def numbers(text: str) -> Counter[float]:
    found = NUMBER.findall(re.sub(r"\ba(?= [mbtr]+illion)", "1", text))
    return Counter(float(n.replace(",", "")) * FACTORS.get(unit, 1) for n, unit in found)


def lost(english: str, japanese: str) -> Counter[float]:
    return numbers(english) - numbers(japanese)


def inlines(text: str) -> set[str]:
    return {" ".join(code.split()) for _, code in INLINE.findall(prose(text))}


def rows(text: str) -> list[str]:
    return [line for line in prose(text).splitlines() if line.lstrip().startswith("|")]


each_page = pytest.mark.parametrize(
    "page", TRANSLATED, ids=lambda page: page.relative_to(ROOT).as_posix()
)


@pytest.mark.parametrize("page", JAPANESE_PAGES, ids=lambda page: page.name)
def test_japanese_is_spelled_alike(page: Path) -> None:
    text = LINK.sub("]", INLINE.sub("", prose(page.read_text(encoding="utf-8"))))
    found = [
        (why, match[0]) for why, pattern in SPELLING.items() for match in pattern.finditer(text)
    ]
    assert found == []


def test_every_page_is_in_both_languages() -> None:
    assert len(ENGLISH) > 40
    assert [page for page in ENGLISH if page not in TRANSLATED] == []
    assert [page for page in JAPANESE_PAGES if not english_of(page).exists()] == []


@each_page
def test_headings_are_of_equal_levels(page: Path) -> None:
    english, japanese = (re.findall(r"^#+ ", prose(text), re.MULTILINE) for text in texts(page))
    assert japanese == english


@each_page
def test_code_is_the_same(page: Path) -> None:
    assert list(differing(*texts(page))) == []


@each_page
def test_names_in_the_text_are_the_same(page: Path) -> None:
    english, japanese = (inlines(text) for text in texts(page))
    translated = {code for code in japanese - english if JAPANESE.search(code)}
    assert japanese - english == translated
    assert len(english - japanese) <= len(translated), english - japanese


@each_page
def test_tables_have_the_same_numbers(page: Path) -> None:
    english, japanese = (rows(text) for text in texts(page))
    assert len(japanese) == len(english)
    for ours, theirs in zip(japanese, english, strict=True):
        assert not lost(theirs, ours), (theirs, ours)
        added = set(numbers(ours) - numbers(theirs))
        assert max(added, default=0) <= 12, (theirs, ours)  # those that English writes as words


@each_page
def test_numbers_of_the_text_are_kept(page: Path) -> None:
    english, japanese = (set(numbers(prose(text))) for text in texts(page))
    assert english <= japanese, english - japanese


@each_page
def test_links_lead_to_the_same_places(page: Path) -> None:
    english, japanese = (
        Counter(link.replace(".ja.", ".") for link in LINK.findall(prose(text)))
        for text in texts(page)
    )
    assert japanese == english


@pytest.mark.parametrize(
    ("english", "japanese", "same"),
    [
        ("a = 1  # one", "a = 1  # 一つ", True),
        ("a = 1  # one", "a = 2  # 一つ", False),
        ('print("a")', 'print("あ")', True),
        ('print("a", 1)', 'print("あ", 2)', False),
        ("run x          or y", "run x          または y", True),
        ("run x          or y", "run z          または y", False),
        ("x    1    2", "x    1    3", False),
        ("#SBATCH --mem=8G", "#SBATCH --mem=9G", False),
    ],
)
def test_lines_of_code_are_compared(english: str, japanese: str, same: bool) -> None:
    assert same_line(english, japanese) is same


def test_numbers_are_compared_by_value() -> None:
    assert not lost("150 million of 1,000", "1.5 億のうち 1,000")
    assert lost("0.3 and 12", "0.3") == {12.0: 1}
