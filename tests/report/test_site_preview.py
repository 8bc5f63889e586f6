"""The image that stands for a site beside links to it, and where pages say that it is."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from checkouts import make_checkout
from helpers import pfgen
from pfgen_rs import Benchmark
from pfgen_rs.drawing import style
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.report import site
from pfgen_rs.report.site import names
from pfgen_rs.report.site.leaderboard import leaderboard_page
from pfgen_rs.report.site.pages import IMAGE
from pfgen_rs.report.site.preview import PREVIEW, image_address, preview
from pfgen_rs.report.update import report
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


def image_of(page: Path) -> str | None:
    """Where a page says that the site's image is."""
    metas = [attrs for attrs, _ in Elements(page.read_bytes()).named("meta")]
    return next((m["content"] for m in metas if m.get("property") == "og:image"), None)


def test_all_pages_of_a_site_have_its_image(
    mini: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    site.build(tmp_path, mini, made_entries(5))
    assert (tmp_path / PREVIEW).read_bytes().startswith(b"\x89PNG")
    assert image_of(tmp_path / "index.html") == "preview.png"
    assert image_of(tmp_path / "benchmark" / "index.html") == "../preview.png"
    site.build(tmp_path, mini, made_entries(5), url="https://example.com/pfgen/")
    for page in (tmp_path / "index.html", tmp_path / "benchmark" / "index.html"):
        assert image_of(page) == "https://example.com/pfgen/preview.png"
    drawn = (tmp_path / PREVIEW).read_bytes()
    site.build(tmp_path, mini, made_entries(5, seed=1))
    assert (tmp_path / PREVIEW).read_bytes() != drawn, "other scores, another image"
    monkeypatch.setattr(style, "available", lambda: False)
    site.build(tmp_path, mini, made_entries(5))
    assert image_of(tmp_path / "index.html") is None
    assert not (tmp_path / PREVIEW).exists()


@pytest.mark.parametrize(
    "url",
    [
        "example.com",
        "file:///x",
        "https://",
        "https://:80/",
        "ftp://x/y",
        "https://x/?a=b",
        "https://x/?",
        "https://x/#",
        "https://x/a b/",
        "https://x/\n",
        " https://x/",
        "http://[",
    ],
)
def test_addresses_that_are_none_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="invalid URL"):
        image_address(url)
    with pytest.raises(SettingsError, match="invalid URL"):
        report(make_checkout(tmp_path / "checkout"), html=tmp_path / "site", url=url)
    assert not (tmp_path / "site").exists()


def test_the_command_takes_the_address(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    address = ["--url", "https://example.com/"]
    refused = pfgen("report", checkout, *address)
    assert refused.returncode != 0
    assert "--url requires --html" in refused.stderr
    pfgen("report", checkout, "--html", tmp_path / "site", *address)
    found = image_of(tmp_path / "site" / "index.html")
    assert found == ("https://example.com/preview.png" if style.available() else None)


def test_facts_of_the_checkout_are_shown_and_wrong_ones_refused(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    (checkout / "models.toml").write_text("[[sizes]]", encoding="utf-8")
    with pytest.raises(InputError, match=r"models\.toml: unknown key 'sizes'"):
        report(checkout, html=tmp_path / "site")
