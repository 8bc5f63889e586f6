"""The image that stands for a site beside links to it, and where pages say that it is."""

from __future__ import annotations

import struct

import pytest

from pfgen_rs.drawing import style
from pfgen_rs.report.site import names
from pfgen_rs.report.site.leaderboard import leaderboard_page
from pfgen_rs.report.site.pages import IMAGE
from pfgen_rs.report.site.preview import PREVIEW, preview
from site_samples import Elements, hostile_entries, made_entries


def test_the_image_is_1200_by_630_and_the_same_each_time() -> None:
    pytest.importorskip("matplotlib")
    entries = hostile_entries()
    image = preview(entries, names.labels(entries), "pfgen-bench")
    assert image is not None
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", image[16:24]) == (1200, 630)
    assert preview(entries, names.labels(entries), "pfgen-bench") == image


def test_there_is_none_without_matplotlib_or_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preview([], {}, "pfgen-bench") is None
    monkeypatch.setattr(style, "available", lambda: False)
    entries = made_entries(3)
    assert preview(entries, names.labels(entries), "pfgen-bench") is None


@pytest.mark.parametrize(
    ("nav", "address"),
    [
        ((), None),
        (((IMAGE, PREVIEW),), PREVIEW),
        (
            ((IMAGE, f"https://example.com/?a=1&b=2/{PREVIEW}"),),
            f"https://example.com/?a=1&b=2/{PREVIEW}",
        ),
    ],
)
def test_pages_say_where_the_image_is(
    nav: tuple[tuple[str, str], ...], address: str | None
) -> None:
    page = Elements(leaderboard_page(made_entries(3), nav=nav))
    found = [
        attrs["content"] for attrs, _ in page.named("meta") if attrs.get("property") == "og:image"
    ]
    assert found == ([] if address is None else [address])
    assert not page.named("nav"), "it is no page to go to"
