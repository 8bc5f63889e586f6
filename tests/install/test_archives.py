"""Archives of benchmarks: downloaded whole, checked, and unpacked nowhere else."""

import contextlib
import gzip
import lzma
import os
import random
import re
import socket
import tarfile
import zipfile
from pathlib import Path

import pytest

import install_sources as made
from install_sources import (
    FILES,
    GOOD,
    RIGHT_DIGEST,
    TREE,
    WRONG,
    WRONG_DIGEST,
    assert_installed,
    in_tree,
    leftovers,
    saved,
    special,
    tar_bytes,
    tar_gz,
    zip_bytes,
)
from pfgen_rs.errors import InstallError
from pfgen_rs.install import archive, installer, store


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(GOOD, id="tar.gz"),
        pytest.param(lzma.compress(tar_bytes(in_tree(FILES))), id="tar.xz"),
        pytest.param(tar_bytes(in_tree(FILES)), id="tar"),
        pytest.param(tar_bytes(in_tree(FILES, ".")), id="tar-of-dot"),
        pytest.param(tar_bytes(in_tree(FILES, f"./{TREE}")), id="tar-of-dot-tree"),
        pytest.param(zip_bytes([(f"{TREE}/{n}", c) for n, c in FILES.items()]), id="zip"),
        pytest.param(tar_gz([(Path(n).name, c) for n, c in FILES.items()]), id="bare-files"),
        pytest.param(
            tar_gz([*in_tree(FILES), (f"{TREE}/data/latest", special(tarfile.SYMTYPE, "/etc"))]),
            id="unwanted-link",
        ),
    ],
)
def test_archive_is_installed(content: bytes, tmp_path: Path, cache: Path) -> None:
    path = installer.install("tiny", saved(tmp_path, content))
    assert path == cache / "benchmarks" / "tiny"
    assert_installed(path)
    assert leftovers(cache) == []


@pytest.mark.parametrize("inner", ["", "data"], ids=["checkout", "data-folder"])
def test_folder_is_installed(inner: str, tmp_path: Path) -> None:
    for member, content in {**FILES, "data/config.json": b"{}"}.items():
        place = tmp_path / "checkout" / member
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    source = tmp_path / "checkout" / inner
    assert_installed(installer.install("tiny", source))


def test_path_may_be_a_string(tmp_path: Path) -> None:
    assert_installed(installer.install("tiny", str(saved(tmp_path, GOOD))))


Q1 = f"{TREE}/data/Q01.json"


def huge(name: str) -> bytes:
    return tar_gz([(name, bytes(archive.MEMBER_LIMIT + 1))])


def claiming(size: int, kind: bytes = tarfile.REGTYPE, name: str = Q1) -> bytes:
    """A tar file of one header that claims `size` bytes, with none behind it."""
    info = special(kind)
    info.name, info.size = name, size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


BAD: dict[str, tuple[bytes, list[str]]] = {
    "wrong-digest": (
        tar_gz(in_tree(WRONG)),
        ["data/Q02.json", WRONG_DIGEST, RIGHT_DIGEST, "use revision 0123abcd"],
    ),
    "missing": (
        tar_gz(in_tree({"data/Q01.json": FILES["data/Q01.json"]})),
        ["missing 2 of 3 files", "data/Q02.json, data/questions.jsonl", "use revision 0123abcd"],
    ),
    "too-deep": (tar_gz(in_tree(FILES, "a/b")), ["missing 3 of 3"]),
    "duplicate": (tar_gz(in_tree(FILES) * 2), ["duplicate member data/Q01.json"]),
    "two-trees": (
        tar_gz(in_tree(FILES) + in_tree(FILES, "other")),
        ["duplicate member data/Q01.json"],
    ),
    "climbs": (tar_gz([("../evil.txt", b"!")]), ["'../evil.txt' points outside"]),
    "climbs-inside": (
        tar_gz([*in_tree(FILES), (f"{TREE}/../../data/x", b"!")]),
        ["points outside the archive"],
    ),
    "absolute": (tar_gz([("/data/Q01.json", b"!")]), ["'/data/Q01.json' points outside"]),
    "drive": (tar_gz([("C:/data/Q01.json", b"!")]), ["'C:/data/Q01.json' points outside"]),
    "backslashes": (tar_gz([("..\\data\\Q01.json", b"!")]), ["points outside"]),
    "symlink": (tar_gz([(Q1, special(tarfile.SYMTYPE, "/etc/passwd"))]), ["is a link, device"]),
    "hard-link": (tar_gz([(Q1, special(tarfile.LNKTYPE, "a/b"))]), ["is a link, device"]),
    "device": (tar_gz([(Q1, special(tarfile.CHRTYPE))]), ["is a link, device"]),
    "fifo": (tar_gz([(Q1, special(tarfile.FIFOTYPE))]), ["is a link, device"]),
    "folder-member": (tar_gz([(Q1, special(tarfile.DIRTYPE))]), ["is a link, device or folder"]),
    "zip-climbs": (zip_bytes([("../data/Q01.json", b"!")]), ["points outside"]),
    "zip-absolute": (zip_bytes([("/data/Q01.json", b"!")]), ["points outside"]),
    "zip-symlink": (zip_bytes([(zip_link(Q1), b"/etc/passwd")]), ["is a link, device"]),
    "zip-bomb": (
        zip_bytes([(Q1, bytes(archive.MEMBER_LIMIT + 1))]),
        ["data/Q01.json is larger than 16777216 bytes"],
    ),
    "zip-cut": (zip_bytes([(Q1, b"!")])[:-8], ["not a readable"]),
    "bomb": (huge(Q1), ["data/Q01.json is larger than 16777216 bytes"]),
    "header-bomb": (claiming(2**30, tarfile.XHDTYPE), ["damaged archive: a header of"]),
    "cut-member": (claiming(10_000), ["not a readable", "unexpected end of data"]),
    "cut-gzip": (GOOD[: len(GOOD) // 2], ["not a readable .tar.gz"]),
    "cut-xz": (lzma.compress(tar_bytes(in_tree(FILES)))[:200], ["not a readable"]),
    "gzip-of-text": (gzip.compress(b"no tar in here" * 99), ["not a readable"]),
    "web-page": (b"<!DOCTYPE html><title>Sign in</title>" * 40, ["not a readable"]),
    "empty": (b"", ["not a readable"]),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD.keys())
def test_bad_archive_is_refused(
    content: bytes, words: list[str], tmp_path: Path, cache: Path
) -> None:
    source = saved(tmp_path, content)
    before = {path for path in tmp_path.rglob("*") if cache not in path.parents}
    with pytest.raises(InstallError) as caught:
        installer.install("tiny", source)
    for word in [*words, str(source)]:
        assert word in str(caught.value)
    assert leftovers(cache) == []
    assert store.installed() == []
    after = {path for path in tmp_path.rglob("*") if cache not in path.parents}
    assert after - {cache} == before


def test_duplicate_in_zip_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        content = zip_bytes([(Q1, FILES["data/Q01.json"])] * 2)
    with pytest.raises(InstallError, match="duplicate member"):
        installer.install("tiny", saved(tmp_path, content))


def test_negative_size_does_not_loop(tmp_path: Path) -> None:
    # The header's end, less its size, is the header itself: some readers come back for ever.
    header = claiming(-tarfile.BLOCKSIZE, name="unwanted")
    content = claiming(0, name="first")[: tarfile.BLOCKSIZE] + header
    with pytest.raises(InstallError, match=r"damaged archive|not a readable"):
        installer.install("tiny", saved(tmp_path, content))


FUZZED = {
    "tar": tar_bytes(in_tree(FILES)),
    "tar.gz": GOOD,
    "tar.xz": lzma.compress(tar_bytes(in_tree(FILES))),
    "zip": zip_bytes([(f"{TREE}/{name}", content) for name, content in FILES.items()]),
}


@pytest.mark.parametrize("kind", FUZZED)
def test_any_damage_is_an_install_error(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    for _ in range(60):
        content = bytearray(FUZZED[kind])
        for _ in range(rng.choice([1, 1, 1, 4, 40])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        # Damage that the formats cannot see is left to the digests.
        members = archive.read_members(saved(tmp_path, bytes(content)), FILES)
        with contextlib.suppress(InstallError):
            assert set(dict(members)) <= set(FILES)


def test_unpacked_size_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "UNPACKED_LIMIT", 10_000)
    content = tar_gz([("unwanted", bytes(20_000)), *in_tree(FILES)])
    with pytest.raises(InstallError, match="unpacks to more than 10000 bytes"):
        installer.install("tiny", saved(tmp_path, content))


def test_number_of_members_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBERS_LIMIT", 3)
    with pytest.raises(InstallError, match="damaged archive, or more than"):
        installer.install("tiny", saved(tmp_path, GOOD))


def test_source_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match=r"absent\.zip: no such file or folder"):
        installer.install("tiny", tmp_path / "absent.zip")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipes_are_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Q01.json")
    with pytest.raises(InstallError, match=r"data/Q01\.json is not a regular file"):
        installer.install("tiny", tmp_path)
    with pytest.raises(InstallError, match="neither an archive file nor a folder"):
        installer.install("tiny", tmp_path / "Q01.json")


# Installing from a real local server: redirects, cut answers, silence.


@pytest.mark.parametrize(
    ("path", "total"),
    [
        ("/good", len(made.GOOD)),
        ("/chunked", None),
        ("/unannounced", None),
        ("/to//good", len(made.GOOD)),
        ("/to//to//chunked", None),
    ],
)
def test_download(path: str, total: int | None, server: made.Server, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    folder = installer.install("tiny", server.url + path, lambda *now: seen.append(now))
    made.assert_installed(folder)
    assert made.leftovers(cache) == []
    assert seen[-1] == (len(made.GOOD), total)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_publisher_is_the_default(server: made.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made.use(monkeypatch, made.entry_of(made.FILES, url=f"{server.url}/good"))
    made.assert_installed(installer.install("tiny"))
    assert server.requests == ["/good"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/short", f"ended after {len(made.GOOD)} of {len(made.GOOD) + 1} bytes"),
        ("/cutchunk", "cut short"),
        ("/cutbetween", "cut short"),
        ("/huge", "larger than 1073741824 bytes"),
        ("/wrong", f"expected SHA-256 {made.RIGHT_DIGEST}, found {made.WRONG_DIGEST}"),
        ("/to/file:///etc/passwd", "redirects to 'file:///etc/passwd', which is not allowed"),
        ("/to/ftp://127.0.0.1/x", "redirects to 'ftp://127.0.0.1/x', which is not allowed"),
        ("/loop", "infinite loop"),
        ("/missing", r"answered 404 \(Not Found\)"),
        ("/empty", "answered 204"),
        ("/nonsense", "cannot be downloaded"),
        ("/silent", "no data for 0.3 seconds"),
        ("/stalls", "no data for 0.3 seconds"),
    ],
)
def test_failed_download_leaves_nothing(
    path: str, words: str, server: made.Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "TIMEOUT", 0.3)
    with pytest.raises(InstallError, match=words) as caught:
        installer.install("tiny", server.url + path)
    assert server.url in str(caught.value)
    assert made.leftovers(cache) == []
    assert store.installed_path("tiny") is None


def test_https_is_not_left(https_server: made.Server, server: made.Server, cache: Path) -> None:
    source = f"{https_server.url}/to/{https_server.url}/to/{server.url}/good"
    problem = (
        f"{https_server.url}/to/{server.url}/good: redirects from https to '{server.url}/good', which is not "
        "encrypted: expected a redirect to https; download the archive yourself"
    )
    with pytest.raises(InstallError, match=re.escape(problem)):
        installer.install("tiny", source)
    assert server.requests == []
    assert made.leftovers(cache) == []
    assert store.installed_path("tiny") is None


def test_unknown_certificates_are_refused(
    https_server: made.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(InstallError, match="CERTIFICATE_VERIFY_FAILED"):
        installer.install("tiny", f"{https_server.url}/good")


def test_unannounced_size_is_limited(
    server: made.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "DOWNLOAD_LIMIT", 10)
    target = tmp_path / "out"
    with pytest.raises(InstallError, match="larger than 10 bytes"):
        installer.download(f"{server.url}/chunked", target)
    assert not target.exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        *(
            (url, "not an http or https URL: give a path")
            for url in ("file:///x", "ftp://h/x", "s3://b/x")
        ),
        *((f"http://{rest}", "http") for rest in ("", "[::1", "127.0.0.1:port/x", "127.0.0.1/a b")),
    ],
)
def test_other_urls(url: str, said: str) -> None:
    with pytest.raises(InstallError, match=said):
        installer.install("tiny", url)


def test_refused_connection() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/x"
        with pytest.raises(InstallError, match=r"cannot be downloaded: .*refused.*try again"):
            installer.install("tiny", url)
