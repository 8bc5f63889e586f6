"""Lines of Japanese paragraphs are joined on the site, and nothing else is."""

import pytest

from page_lines import joined


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("採点します。\n次に比べます。", "採点します。次に比べます。"),
        ("公開されているスコアと\n同じ計算", "公開されているスコアと同じ計算"),
        ("- 一つ目。\n  続き。\n- 二つ目。", "- 一つ目。続き。\n- 二つ目。"),
        ("終わります。\n`x` を使います。", "終わります。`x` を使います。"),
        ("終わります。\n**強調**です。", "終わります。**強調**です。"),
        ("**終わります。**\n次です。", "**終わります。**次です。"),
        ("- **要点。** 説明です。", "- **要点。**説明です。"),
        ("**要点。** `x` です。", "**要点。**`x` です。"),
    ],
)
def test_a_paragraph_is_one_line(text: str, shown: str) -> None:
    assert joined(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "段落。\n\n次の段落。",
        "# 見出し\n本文",
        "手順：\n\n1. 一つ目。\n2. 二つ目。",
        "- 一つ目。\n- 二つ目。",
        "| 表 |\n| --- |\n| 値。 |\n| 値。 |",
        "次のとおりです。\n```text\n一行目。\n二行目。\n```\n続きです。",
        "Python\nと Rust",
        "**強調** です。",
        "```text\n**一行目。** 続き\n```",
        "これは\nPython です",
        "本文。\n<div>\n中身。\n</div>",
    ],
)
def test_other_breaks_stay(text: str) -> None:
    assert joined(text) == text
