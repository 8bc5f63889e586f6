"""What the site's hooks make of pages: their order, anchors, links, help and scripts."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

import command_pages
import page_anchors
import page_links
import page_output
from page_lines import joined

ENGLISH = "# One\n\n```sh\n# no heading\n```\n\n## Two `x` – three\n\n## One\n"


def test_a_translation_has_the_anchors_of_the_english_page() -> None:
    japanese = "# 一\n\n```sh\n# 見出しではない\n```\n\n## 二\n\n## 一 {#own}\n"
    marked = page_anchors.with_anchors(japanese, ENGLISH)
    assert marked is not None
    assert [line for line in marked.splitlines() if "{" in line] == [
        "# 一 {#one}",
        "## 二 {#two-x--three}",
        "## 一 {#one_1}",
    ]
    assert "# 見出しではない\n" in marked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("採点します。\n次に比べます。", "採点します。次に比べます。"),
        ("- 一つ目。\n  続き。\n- 二つ目。", "- 一つ目。続き。\n- 二つ目。"),
        ("- **要点。** 説明です。", "- **要点。**説明です。"),
        ("段落。\n\n次の段落。",) * 2,
        ("| 表 |\n| --- |\n| 値。 |\n| 値。 |",) * 2,
        ("次のとおりです。\n```text\n一行目。\n二行目。\n```\n続きです。",) * 2,
        ("Python\nと Rust",) * 2,
    ],
)
def test_lines_of_japanese_paragraphs_are_joined(text: str, shown: str) -> None:
    assert joined(text) == shown


ADDRESS = "https://a.example/x"


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("[a](../../README.md)", f"[a]({ADDRESS}/blob/main/README.md)"),
        ("[a](../../README.md#b)", f"[a]({ADDRESS}/blob/main/README.md#b)"),
        ("[a](../../data/mini)", f"[a]({ADDRESS}/tree/main/data/mini)"),
        (
            "[`a`](../../deny.toml) `[b](../../c)`",
            f"[`a`]({ADDRESS}/blob/main/deny.toml) `[b](../../c)`",
        ),
        ("[a](b.md#c), [a](#c), [a](https://b.example)",) * 2,
        ("[a](../index.md)",) * 2,
        ("```md\n[a](../../README.md)\n```",) * 2,
    ],
)
def test_links_out_of_the_pages_lead_to_the_repository(text: str, linked: str) -> None:
    assert page_links.relinked(text, "how-to/page.md", ADDRESS) == linked


def test_pages_name_every_option() -> None:
    for name, top in command_pages.named_commands().items():
        page = command_pages.command_page(name)
        for named in command_pages.leaves(top):
            assert f"{named.path} " in page
            shown = [param for param in named.command.params if not param.hidden]
            for option in (
                o for param in shown if param.param_type_name == "option" for o in param.opts
            ):
                assert re.search(rf"^`[^`]*{re.escape(option)}\b", page, re.MULTILINE), (
                    named.path,
                    option,
                )


def test_the_overview_links_to_every_command() -> None:
    links = set(re.findall(r"\]\((\w+\.md#[\w-]+)\)", command_pages.overview_page()))
    for name, file in command_pages.page_of_commands().items():
        anchors = re.findall(r"\{#([\w-]+)\}", command_pages.command_page(name))
        assert anchors
        assert {f"{file}#{anchor}" for anchor in anchors} <= links


def test_links_between_objects_stay_in_the_language() -> None:
    file = SimpleNamespace(dest_uri="ja/reference/api/a.html", locale="en")
    link = '<a class="autorefs autorefs-internal" title="b" href="../../../reference/api/b.html#c">'
    switch = '<a href="../../../reference/api/a.html" hreflang="en">'
    text = f'<h1>a</h1>{link}{switch}{{"search": "../assets/javascripts/workers/search.0.min.js"}}'
    changed = page_output.on_post_page(text, page=SimpleNamespace(file=file))
    assert 'title="b" href="../../reference/api/b.html#c">' in changed
    assert switch in changed
    assert '<h1>a</h1>\n<p lang="ja">このページは docstring から' in changed
