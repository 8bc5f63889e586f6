"""URLs in place of paths: what is read and written there, and what is refused before any work.

Object storage is one in memory here; `tests/distributed` asks a server.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import lzma
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pfgen_rs
from helpers import GOOD, lines, pfgen, write_run, zstd
from pfgen_rs import InputError, OutputError, load_benchmark, score_file
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.remote import files, storage, web
from pfgen_rs.io.remote.files import RemoteSource, expanded_url
from pfgen_rs.io.remote.storage import RemoteTarget, Storage
from pfgen_rs.io.remote.urls import is_url, parsed_options, shown_url
from pfgen_rs.io.run_files import expand, expand_runs, output_names, refuse_overwriting, run_name
from pfgen_rs.io.source import Source
from pfgen_rs.io.tables import table_chunks, table_schema
from pfgen_rs.runs.resumable import Job

obstore = pytest.importorskip("obstore")


BUCKETS: dict[str, Any] = {}
"""Object storage in memory: buckets by their URLs, made when they are first opened."""
OPENED = storage._opened_store


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from obstore.store import MemoryStore

    def opened(kind: str, url: str, *_: object) -> Any:
        return BUCKETS.setdefault(url, MemoryStore())

    BUCKETS.clear()
    monkeypatch.setattr(storage, "_opened_store", opened)


def bucket(objects: Mapping[str, bytes]) -> Any:
    """Returns the bucket `s3://b` with these objects."""
    store = storage._opened_store("s3", "s3://b", {}, {})
    for key, content in objects.items():
        store.put(key, content)
    return store


def keys(store: Any) -> list[str]:
    return sorted(entry["path"] for page in store.list() for entry in page)


def parquet() -> bytes:
    frame, file = pl.DataFrame(GOOD, ["question", "answer"], orient="row"), io.BytesIO()
    frame.with_columns(seed=pl.arange(1, 5)).write_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://b/x.jsonl", "s3://b/x.jsonl"),
        ("s3:/b/x.jsonl", "s3://b/x.jsonl"),  # what `Path` makes of it
        ("S3://b/x", "S3://b/x"),
        ("s3://key:secret@b/x", "s3://…"),
        ("az://b/x?sig=secret", "az://b/x"),
        ("https://me:secret@host/a?X-Amz-Signature=secret#part", "https://host/a"),
        ("https:/host/a?token=secret", "https://host/a"),
        ("https://me:sec/secret@host/a", "https://…"),
        ("https://[::1]:8080/a", "https://[::1]:8080/a"),
        ("ftp://host:21/a@b", "ftp://host:21/a@b"),
        ("s3://key:sec/secret@b/x", "s3://…"),
        ("s3://key:secret/x", "s3://…"),
        ("s3://b/12:00@x", "s3://b/12:00@x"),
        ("gs://b/x?sig=secret/abc", "gs://b/x"),
        ("az://b/x?sv=1&sig=secret/a/b", "az://b/x"),
        ("hf://me:secret/x@datasets/u/n@v1/x", "hf://…"),
        ("hf://datasets/u/n@v1/x", "hf://datasets/u/n@v1/x"),
        ("abfss://box@a.dfs.core.windows.net/x", "abfss://box@a.dfs.core.windows.net/x"),
    ],
)
def test_urls_are_recognised_and_shown_without_secrets(text: str, shown: str) -> None:
    assert is_url(text)
    assert shown_url(text) == shown
    assert "secret" not in shown_url(Path(text))
    for path in ("x.jsonl", "/a//b", "C:\\x", "a:b", "-", "c://x", "", f"./{text}"):
        assert not is_url(path)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/x", "unknown scheme 'ftp'"),
        ("file:///x/y", "write its path alone"),
        ("s3://key:secret@b/x", "credentials in a URL are not used"),
        ("az://b/x?sv=1&sig=secret", "credentials in a URL are not used"),
        ("s3://key:secret/x@b/x", "credentials in a URL are not used"),
        ("gs://b/x?sig=secret/a", "credentials in a URL are not used"),
        ("https://[x/a.jsonl", "invalid web address"),
        ("s3:///x", "names no bucket"),
        ("s3://user@b/x", "credentials in a URL are not used"),
        ("s3://b:443/x", "credentials in a URL are not used"),
        ("s3://b#c/x", "invalid name of a bucket"),
        ("s3://b?c/x", "must be named, not matched"),
        ("s3://b\t/x", "invalid name of a bucket"),
        ("s3://b/*.none", "no file matches"),
        ("s3://b*/x", "bucket must be named"),
        ("https://host/*.jsonl", "globs are read in object storage alone"),
        ("hf://datasets/u/n@v1/*.jsonl", "globs are read in object storage alone"),
    ],
)
def test_urls_that_are_not_read(url: str, words: str) -> None:
    bucket(FILES)
    for read in (pfgen_rs.score_runs, pfgen_rs.scan):
        with pytest.raises(InputError, match=words) as caught:
            read(url)
        assert "secret" not in str(caught.value)


FILES = {
    "a/1.jsonl": b"1",
    "a/2.jsonl": b"22",
    "a/.hidden.jsonl": b"",
    "a/deep/3.jsonl": b"333",
    "ab/4.jsonl": b"",
    "a/deep/er/5.parquet": b"",
    "6.jsonl": b"",
    ".tmp/7.jsonl": b"",
}


@pytest.mark.parametrize(
    "pattern",
    ["*", "*.jsonl", "a/*.jsonl", "a/[2-9].jsonl", "a/?.jsonl", "*/*.jsonl", "**/*.jsonl", "a/**",
     "a*/**/*.jsonl", "**/deep/**/*.p*", "a/deep/*", "a/.h*", "*/deep/3.jsonl", "**"],
)  # fmt: skip
def test_globs_match_what_they_match_in_folders(pattern: str, tmp_path: Path) -> None:
    bucket(FILES)
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    expected = [p for p in expand([f"{tmp_path}/{pattern}"]) if Path(p).is_file()]
    names = [Path(path).relative_to(tmp_path).as_posix() for path in expected]
    assert names
    found = Storage()
    assert expanded_url(f"s3://b/{pattern}", found) == [f"s3://b/{name}" for name in sorted(names)]
    assert found.sizes == {f"s3://b/{name}": len(FILES[name]) for name in names}


def test_folders_of_runs(tmp_path: Path) -> None:
    names = ["m/trials.jsonl.xz", "m/trials.jsonl", "m/old/trials.jsonl", "deep/n/trials.jsonl.gz",
             ".hidden/trials.jsonl", "m-2/trials.jsonl", "other/x.jsonl"]  # fmt: skip
    bucket({f"r/{name}": b"1" for name in names})
    for name in names:
        (tmp_path / "r" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "r" / name).write_bytes(b"")
    expected = {Source(path).path for path in expand_runs([str(tmp_path / "r")])}
    found = expand_runs(["s3://b/r/"], Storage())
    assert {str(tmp_path / url.removeprefix("s3://b/")) for url in found} == expected
    assert expand_runs(["s3://b/r/m/"], Storage()) == ["s3://b/r/m/trials.jsonl.xz"]
    with pytest.raises(InputError, match=r"^s3://b/r/other/: neither the folder nor those below"):
        expand_runs(["s3://b/r/other/"], Storage())


CONTENTS: dict[str, bytes] = {
    ".jsonl": lines(),
    ".jsonl.gz": gzip.compress(lines()),
    ".jsonl.xz": lzma.compress(lines()),
    ".jsonl.zst": zstd.compress(lines()),
    ".csv": pl.read_ndjson(lines()).write_csv().encode(),
    ".parquet": parquet(),
}


@pytest.mark.parametrize("suffix", CONTENTS)
def test_remote_files_score_as_local_ones(suffix: str, bench: Path, tmp_path: Path) -> None:
    content, folder = CONTENTS[suffix], tmp_path / "run"
    folder.mkdir()
    (folder / f"x{suffix}").write_bytes(content)
    (folder / "config.json").write_text('{"model": "m"}')
    bucket({f"run/x{suffix}": content, "run/config.json": b'{"model": "m"}'})

    local = score_file(folder / f"x{suffix}", bench)
    remote = score_file(f"s3://b/run/x{suffix}", bench)
    assert remote.to_bytes() == local.to_bytes()  # whose samples are read again
    remote.to_json("s3://b/result.json")
    assert BUCKETS["s3://b"].get("result.json").bytes() == local.to_bytes()
    assert (remote.name, remote.path) == (local.name, f"s3://b/run/x{suffix}")
    assert remote.frame.equals(local.frame)
    scanned = pfgen_rs.scan(f"s3://b/run/*{suffix}", bench).collect(engine="streaming")
    expected = pfgen_rs.scan(folder / f"x{suffix}", bench).collect()
    assert scanned.drop("file").equals(expected.drop("file"))
    assert scanned["file"].unique().to_list() == [f"s3://b/run/x{suffix}"]


def test_no_part_of_a_large_file_is_missing_or_doubled() -> None:
    content = b"".join(b"%015d\n" % number for number in range(1_500_000))  # 24 MB
    bucket({"x.jsonl": content})
    source = RemoteSource("s3://b/x.jsonl", Storage())
    with source.open() as raw:
        assert raw.size == len(content)
        assert raw.read() == content
        for at in (0, 5, 1 << 20, 23_000_000, len(content), 7):
            raw.seek(at)
            assert raw.read(40) == content[at : at + 40]
        raw.seek(-16, 2)
        assert raw.read() == content[-16:]
    assert source.size == len(content)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columns_of_a_large_table_are_known_without_its_rows(suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"question": ["x"] * 60_000, "n": range(60_000)})
    frame = frame.with_columns(answer=pl.col("n").cast(pl.String).str.zfill(100))
    path = tmp_path / f"x{suffix}"
    if suffix == ".parquet":
        frame.write_parquet(path, compression="uncompressed", row_group_size=1000)
    else:
        frame.write_ipc(path, record_batch_size=1000)
    bucket({f"x{suffix}": path.read_bytes()})
    source = RemoteSource(f"s3://b/x{suffix}", Storage())
    assert table_schema(source) == dict(frame.schema)
    content = Path(source.schema_file()).read_bytes()
    assert len(content) == path.stat().st_size == source.size
    middle = len(content) // 2
    assert not any(content[middle : middle + 1000])
    assert sum(map(len, (chunk for chunk in table_chunks(source, Options())))) == frame.height


def test_large_copies_of_tables_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet()
    bucket({f"{i}.parquet": content for i in range(4)})
    monkeypatch.setattr(files, "_LARGEST_COPIES", 2 * len(content))
    sources = [RemoteSource(f"s3://b/{i}.parquet", Storage()) for i in range(4)]
    places = [Path(source.file()) for source in sources]
    assert all(place.is_file() for place in places)  # while they are being read
    for source in sources:
        source.release()
    assert [place.is_file() for place in places] == [False, False, True, True]
    assert Path(sources[0].file()).read_bytes() == content
    del source, sources
    gc.collect()
    assert not any(place.is_file() for place in places)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_file_that_changes_is_not_mixed(suffix: str, bench: Path, tmp_path: Path) -> None:
    content = lines() if suffix == ".jsonl" else parquet()
    store = bucket({f"x{suffix}": content})
    [result] = pfgen_rs.score_runs(f"s3://b/x{suffix}", bench)
    store.put(f"x{suffix}", content)  # the same bytes, and still another version
    if suffix == ".parquet":
        result.responses._source.drop()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="changed while it was in use"):
        result.to_bytes()


def test_a_missing_object_is_named(bench: Path) -> None:
    with pytest.raises(InputError, match=r"^s3://b/none\.jsonl: there is no such object$"):
        score_file(Path("s3://b/none.jsonl"), bench)


def test_outputs_are_those_of_a_local_run(bench: Path, tmp_path: Path) -> None:
    for name, answers in (("m", GOOD), ("n", GOOD[:2])):
        write_run(tmp_path / "in" / name, answers)
        store = bucket({f"in/{name}/trials.jsonl": lines(answers)})
    before = set(tmp_path.iterdir())
    for place in ("s3://b", str(tmp_path)):
        assert set(tmp_path.iterdir()) == before
        paths = [f"{place}/in/{name}/trials.jsonl" for name in "mn"]
        outputs: dict[str, Any] = {"out": f"{place}/out", "per_response": f"{place}/x.csv"}
        with Job(load_benchmark(bench), paths, Options(), **outputs) as job:
            job.run()
            job.write()
    for name in "mn":
        expected = (tmp_path / "out" / name / "result.json").read_bytes()
        assert store.get(f"out/{name}/result.json").bytes() == expected
    local = pl.read_csv(tmp_path / "x.csv").drop("file")
    assert pl.read_csv(bytes(store.get("x.csv").bytes())).drop("file").equals(local)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".arrow"])
def test_nothing_is_uploaded_before_everything_is_scored(
    suffix: str, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    store = bucket({"in.jsonl": lines() + b'{"question": 1}\n'})
    target = f"s3://b/x{suffix}"
    job = Job(load_benchmark(bench), ["s3://b/in.jsonl"], Options(), per_response=target)
    with job, pytest.raises(InputError, match=r"s3://b/in\.jsonl, line 5"):
        job.run()
    assert keys(store) == ["in.jsonl"]
    options = Options(skip_bad_lines=True)
    with Job(load_benchmark(bench), ["s3://b/in.jsonl"], options, per_response=target) as job:
        job.run()
        assert keys(store) == ["in.jsonl"]
        job.write()
    assert keys(store) == ["in.jsonl", f"x{suffix}"]
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"per_response": "https://host/x.csv"}, "nothing can be written there"),
        ({"out": "hf://datasets/u/n/x"}, "nothing can be written there"),
        ({"out": "ftp://host/x"}, "unknown scheme"),
        ({"per_response": "s3://b/in.jsonl"}, "is one of the inputs"),
    ],
)
def test_impossible_outputs_are_refused_first(how: dict[str, Any], words: str, bench: Path) -> None:
    bucket({"in.jsonl": lines()})
    with pytest.raises(OutputError, match=words):
        Job(load_benchmark(bench), ["s3://b/in.jsonl"], Options(), **how)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("s3://b/in.jsonl", "s3a://b/in.jsonl"),
        ("s3a://b/in.jsonl", "S3://b/in.jsonl"),
        ("s3://b/in.jsonl", "s3://B//in.jsonl/"),
        ("az://b/in.jsonl", "abfs://b/in.jsonl"),
        ("azure://b/in.jsonl", "abfss://b@account.dfs.core.windows.net/in.jsonl"),
    ],
)
def test_an_input_is_not_overwritten_by_another_name(source: str, target: str) -> None:
    with pytest.raises(OutputError, match="is one of the inputs"):
        refuse_overwriting(target, ["-", "x.jsonl", source])
    refuse_overwriting(target.replace("in.", "out."), [source])
    refuse_overwriting(target, ["https://b/in.jsonl", "gs://b/in.jsonl", "s3://c/in.jsonl"])


@pytest.mark.parametrize("key", ["/x.jsonl", "a//x.jsonl", "x.jsonl/"])
def test_keys_that_would_be_changed_are_refused(key: str) -> None:
    bucket({"x.jsonl": lines(), "a/x.jsonl": lines()})
    with pytest.raises(InputError, match="not the name of an object"):
        Storage().object(f"s3://b/{key}")
    with pytest.raises(OutputError, match="not the name of an object"):
        RemoteTarget(f"s3://b/{key}").check()


@pytest.mark.parametrize("key", ["a[1].jsonl", "a?.jsonl", "a*.jsonl", "[ab]/x.jsonl"])
def test_an_object_is_not_taken_for_a_glob(key: str) -> None:
    others = {"a1.jsonl": b"", "ab.jsonl": b"", "a/x.jsonl": b""}
    store = bucket({key: b"literal", **others})
    found = Storage()
    assert expanded_url(f"s3://b/{key}", found) == [f"s3://b/{key}"]
    assert found.sizes[f"s3://b/{key}"] == 7
    store.delete(key)
    assert set(expanded_url(f"s3://b/{key}", found)) <= {f"s3://b/{name}" for name in others}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endpoint": "localhost:9000"}, "'endpoint': expected an address that begins with https"),
        ({"endpoint": "http://a b"}, "'endpoint': expected an address"),
        ({"endpoint": "http://[x"}, "'endpoint': expected an address"),
        ({"region": "\u00fc"}, "'region': it has other characters than printable ASCII"),
        ({"aws_endpoint_url": ""}, "'aws_endpoint_url': expected an address"),
        ({"session_token": "secret\n"}, "'session_token': it has other characters"),
        ({"timeout": 5}, "'timeout': expected a string, not int"),
        ({"secret_access_key": 5}, "'secret_access_key': expected a string, not int"),
        ({"AWS_ENDPOINT_URL": "localhost:9000"}, "AWS_ENDPOINT_URL: "),
        ({"AWS_SESSION_TOKEN": "secret\n"}, "AWS_SESSION_TOKEN: "),
        ({"AZURE_ENDPOINT": "host"}, "AZURE_ENDPOINT: "),
    ],
)
def test_settings_that_obstore_fails_with(
    options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in capitals stand in the environment."""
    if in_environment := words.endswith(": "):
        for name in options:
            monkeypatch.setenv(name, options[name])
    given = {} if in_environment else options
    begin = "" if in_environment else "storage option:? "
    with pytest.raises(pfgen_rs.SettingsError, match=f"^invalid {begin}{words}") as caught:
        Storage(given).object("az://b/x" if "AZURE_ENDPOINT" in options else "s3a://b/x")
    assert "secret\n" not in str(caught.value)
    if in_environment:
        Storage({"skip_signature": "true"}).object("gs://b/x")  # which it does not concern


def test_options_of_other_types_are_kept() -> None:
    options = {"timeout": timedelta(seconds=5), "allow_http": True, "service_account_key": "{\n}"}
    assert Storage(options).options == options
    for endpoint in ("http://127.0.0.1:9000", "HTTPS://[::1]:80/a/", "https://s3.x_y.example"):
        assert Storage({"endpoint": endpoint}).options["endpoint"] == endpoint


class Refusing:
    """A store that answers everything with an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: object, **__: object) -> Any:
            raise self.error

        return refuse


def refusing(monkeypatch: pytest.MonkeyPatch, kind: str, message: str) -> None:
    error = getattr(obstore.exceptions, kind)(message)
    monkeypatch.setattr(storage, "_opened_store", lambda *_: Refusing(error))


GENERIC, DENIED = "GenericError", "PermissionDeniedError"
S3 = "Generic S3 error: Error performing "
GET = f"{S3}GET http://"
NO_KEY = "status code: 403 Forbidden: <Code>InvalidAccessKeyId</Code>"
ASKED = f"{S3}PUT http://169.254.169.254/latest/api/token in 1s - HTTP error: error sending request"


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        (DENIED, f"GET https://h/x?sig=secret - {NO_KEY}\n\nD",
         r"access was denied \(403 Forbidden, InvalidAccessKeyId\): check the credentials$"),
        (GENERIC, f"{ASKED}\n\nDebug", "no credentials were found: set them in the environment"),
        (GENERIC, "Generic X error: Account must be specified\n", "reached: Account must be"),
        ("UnauthenticatedError", "no", r"access was denied \(no reason given\)"),
        (GENERIC, "GET https://h/x?sig=secret in 3 ms: error\n\nD", r"GET … in 3 ms: error$"),
        (GENERIC, "status code: 503 Slow Down: x", "the answer was 503 Slow Down$"),
        ("InvalidPathError", 'Path "a//x" contained an empty path segment\n\nDebug',
         'an object there has .* rename .*"a//x"'),
    ],
)  # fmt: skip
def test_errors_of_storage_are_one_line(
    kind: str, message: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, kind, message)
    with pytest.raises(InputError, match=f"^s3://b/x.parquet: .*{words}") as caught:
        score_file("s3://b/x.parquet", "mini")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=rf"^s3://b/\*\*: .*{words}"):
        expanded_url("s3://b/**", Storage())
    with pytest.raises(OutputError, match=r"^s3://b/y: cannot be written: "):
        RemoteTarget("s3://b/y").put(b"")


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        (GENERIC, f"{GET}h/x in 1s - status code: 416 Range Not Satisfiable: ", ""),
        (GENERIC, f"{GET}h/x - status code: 400 Bad Request: <Code>InvalidRange</Code>", ""),
        (DENIED, "status code: 403 Forbidden: <Code>AccessDenied</Code>", ""),
        (DENIED, "<Code>SignatureDoesNotMatch</Code>", "check the credentials"),
        (GENERIC, f"{GET}range.localhost/x in 1s - HTTP error: error", "cannot be reached"),
        (GENERIC, f"{GET}h/x - status code: 503 range: x", "cannot be reached"),
    ],
)
def test_who_may_only_write_writes_an_object_that_need_not_be_there(
    kind: str, message: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, kind, message)
    target = RemoteTarget("s3://b/range/x")
    if not words:
        target.check()
        return
    with pytest.raises(OutputError, match=words):
        target.check()


def test_a_panic_of_obstore_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})
    monkeypatch.setattr(storage, "_opened_store", lambda *_: Refusing(panic("secret")))
    with pytest.raises(InputError, match=r"^s3://b/x: cannot be used: obstore has") as caught:
        Storage().object("s3://b/x").get()
    assert "secret" not in str(caught.value)
    monkeypatch.setattr(storage, "_opened_store", lambda *_: Refusing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        Storage().object("s3://b/x").get()


def test_options_of_storage_and_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_opened_store", OPENED)
    options = parsed_options(["AWS_Endpoint=http://x=y", "timeout=5s", "aws_allow_http=true"])
    assert storage._sorted_options(options) == (
        {"aws_endpoint": "http://x=y"},
        {"timeout": "5s", "allow_http": "true"},
    )
    for wrong in ("endpoint", "=x", ""):
        with pytest.raises(pfgen_rs.SettingsError, match="expected KEY=VALUE"):
            parsed_options([wrong])
    with pytest.raises(pfgen_rs.SettingsError, match=r"invalid storage option: .*'nonsense'"):
        score_file("s3://b/x.jsonl", "mini", storage_options={"nonsense": "1"})


def test_addresses_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/")
    addresses = {
        "datasets/u/n/a/x.jsonl": "datasets/u/n/resolve/main/a/x.jsonl",
        "datasets/u/n@refs%2Fpr%2F1/x y.jsonl": "datasets/u/n/resolve/refs%2Fpr%2F1/x%20y.jsonl",
        "spaces/u/n@v1/x.jsonl": "spaces/u/n/resolve/v1/x.jsonl",
        "u/n/x.jsonl": "u/n/resolve/main/x.jsonl",
    }
    for path, address in addresses.items():
        assert web.hub_address(f"hf://{path}") == f"http://127.0.0.1:9/{address}"


def test_names_of_runs_behind_urls() -> None:
    assert run_name("s3://b/part-1.parquet") == "part-1"
    paths = ["s3://b/m/trials.jsonl", "gs://b/m/trials.jsonl", "s3://c/x.jsonl"]
    assert output_names(paths) == ["s3/b/m", "gs/b/m", "s3/c/x"]


@pytest.mark.parametrize("url", ["s3://b/x", "https://host/x", "nonsense://x"])
def test_nothing_local_is_called_like_a_scheme(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=f"^{url}: is a URL"):
        write_atomic(url, b"")
    for read in (Source, lambda path: expand([path])):
        with pytest.raises(InputError, match=f"^{url}: is a URL"):
            read(url)
    assert not list(tmp_path.iterdir())


COMMANDS = [
    ["compare", "s3://b/x.jsonl", "s3://b/y.jsonl"],
    ["verify", "s3://b/run"],
    ["leaderboard", "https://host/checkout"],
    ["plot", "metrics", "x.jsonl", "--out", "s3://b/plot.svg"],
    ["score", "x.jsonl", "--out", "http://host/x"],
    ["score", "x.jsonl", "--per-response", "s3:///x.csv"],
    ["score", "s3://b/x.jsonl", "--storage-option", "nonsense"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_refuse_urls_that_they_do_not_take(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.jsonl").write_bytes(lines())
    done = pfgen(*command)
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(pfgen_rs.PfgenError, match=r"pip install 'pfgen_rs\[remote\]'"):
        score_file("s3://b/x.jsonl", "mini")


def test_config_beside_a_remote_file_must_be_sound(bench: Path) -> None:
    bucket({"x.jsonl": lines(), "config.json": b"{"})
    with pytest.raises(InputError, match=r"^s3://b/config\.json: is not valid JSON"):
        score_file("s3://b/x.jsonl", bench)
    bucket({"config.json": json.dumps({"mode": "qa"}).encode()})
    assert score_file("s3://b/x.jsonl", bench).config == {"mode": "qa"}


@pytest.mark.parametrize(
    ("urls", "kind"),
    [
        (["s3://box/x", "s3a://box/x"], "S3Store"),
        (["gs://box/x"], "GCSStore"),
        (["az://box/x", "azure://box/x", "abfss://box@a.dfs.core.windows.net/x"], "AzureStore"),
        (["https://host/x?y=z", "hf://datasets/u/n/x"], "HTTPStore"),
    ],
)
def test_storage_is_opened(urls: list[str], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_opened_store", OPENED)
    monkeypatch.setattr(web, "final_address", lambda address, *_: address)
    options = {"account_name": "a"} if kind == "AzureStore" else {}
    for url in urls:
        found = Storage({**options, "timeout": "5s", "skip_signature": "true"}).object(url)
        assert type(found.store).__name__ == kind
        if kind != "HTTPStore":
            assert (found.key, "box" in repr(found.store)) == ("x", True)


def test_columns_of_remote_csv_are_kept(bench: Path, tmp_path: Path) -> None:
    frame = pl.read_ndjson(lines()).with_columns(seed=pl.lit("7"))
    bucket({"x.csv": frame.write_csv().encode()})
    table = tmp_path / "x.parquet"
    with Job(load_benchmark(bench), ["s3://b/x.csv"], Options(), per_response=table) as job:
        job.run()
        job.write()
    assert pl.read_parquet(table)["seed"].to_list() == ["7"] * len(GOOD)


def test_a_copy_that_does_not_fit_says_where(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket({"x.parquet": parquet()})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"x\.parquet: cannot be copied to .*none: No such file"):
        score_file("s3://b/x.parquet", bench)
