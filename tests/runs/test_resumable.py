"""Interrupted scoring: what was scored before is not scored again, and nothing else differs."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from helpers import CATS, SEAS, lines, python, write_benchmark, write_run
from pfgen_rs import Result, _native, load_benchmark, score_file
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.source import Source
from pfgen_rs.runs import streaming
from pfgen_rs.runs.score_store import ResponseScores, Store, chunk_rows, stored_columns
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.inputs import text_columns

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

RESPONSES = 900
CHUNK = 50
# The command line with chunks and journals of a size that tests can fill; `ENDS` says where it ends early. It
# tells how many responses it scored.
COMMAND = """
import atexit, functools, os, signal, sys
from pfgen_rs import cli
from pfgen_rs.io import atomic, chunk
from pfgen_rs.runs import resumable
from pfgen_rs.runs import score_store
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.inputs import text_columns
resumable._JOURNALED_FROM = 100
chunk.Options = functools.partial(chunk.Options, rows=CHUNK, text_size=4000)
real, scored = batch.score_column, 0
ended = False

def end():
    global ended
    if not ended:  # whoever interrupts it once need not do so again for every chunk
        ended = True
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))

def counting(benchmark, codes, texts, **more):
    global scored
    if scored >= int(os.environ.get("SCORED", 10**9)):
        end()
    scored += len(codes)
    return real(benchmark, codes, texts, **more)

def torn(self, content, write=score_store.Journal._write):
    if scored >= int(os.environ.get("TORN", 10**9)):
        write(self, content[: len(content) // 2])
        end()
    write(self, content)

def replaced(self, target, replace=atomic.Path.replace):
    if "REPLACED" in os.environ and "out" in atomic.Path(target).parts:  # nothing of the cache
        end()
    return replace(self, target)

batch.score_column = counting
score_store.Journal._write = torn
atomic.Path.replace = replaced
if "FULL" in os.environ:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["FULL"]),) * 2)
try:
    cli.main()
finally:
    print("scored", scored)
""".replace("CHUNK", str(CHUNK))


def responses() -> list[tuple[str, str]]:
    """Different answers to two questions, unevenly."""
    return [
        (SEAS if i % 3 else CATS, "猫は赤い光を吸う狩りのために眠ります。"[: i % 19] + str(i))
        for i in range(RESPONSES)
    ]


def arguments(tmp_path: Path, *more: str) -> list[str]:
    files = [str(tmp_path / "a"), str(tmp_path / "b.jsonl")]
    out, table = tmp_path / "out", tmp_path / "out" / "scores.parquet"
    named = [f"--benchmark={tmp_path / 'tiny'}", f"--out={out}", f"--per-response={table}"]
    return ["score", *files, *named, "-f", "csv", *more]


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    write_benchmark(tmp_path / "tiny")
    write_run(tmp_path / "a", responses())
    (tmp_path / "b.jsonl").write_bytes(lines(responses()[::-1]))
    return tmp_path


def command(arguments: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    done = python(COMMAND, *arguments, env=env)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def outputs(tmp_path: Path) -> tuple[list[bytes], pl.DataFrame]:
    found = [(tmp_path / "out" / name / "result.json").read_bytes() for name in ("a", "b")]
    return found, pl.read_parquet(tmp_path / "out" / "scores.parquet")


def work(tmp_path: Path) -> Path:
    return tmp_path / "out" / ".scores.parquet.pfgen-rs"


def scored(done: subprocess.CompletedProcess[str]) -> int:
    return int(done.stdout.split()[-1])


def expected(tmp_path: Path) -> tuple[list[bytes], pl.DataFrame]:
    results = [score_file(tmp_path / name, tmp_path / "tiny") for name in ("a", "b.jsonl")]
    frames = [
        r.frame.select(
            pl.lit(r.path).alias("file"), pl.all(), pl.lit(r.signature).alias("signature")
        )
        for r in results
    ]
    return [result.to_bytes() for result in results], pl.concat(frames)


KILL = str(int(signal.SIGKILL))
POINTS = [{"SCORED": "300"}, {"SCORED": "1250"}, {"TORN": "700"}, {"REPLACED": ""}]


@pytest.mark.parametrize("point", POINTS, ids=lambda p: "".join(f"{k}{v}" for k, v in p.items()))
def test_killed_and_resumed(prepared: Path, point: dict[str, str]) -> None:
    killed = command(arguments(prepared), SIGNAL=KILL, **point)
    assert killed.returncode == -signal.SIGKILL
    assert not list(prepared.glob("out/**/result.json"))
    assert work(prepared).is_dir()
    resumed = command(arguments(prepared))
    assert resumed.returncode == 0
    before = int(next(iter(point.values())) or 2 * RESPONSES)
    # Scored, but not written down, are those that the journal had not yet got.
    assert scored(resumed) <= 2 * RESPONSES - before + 6 * CHUNK
    results, table = outputs(prepared)
    expected_results, expected_table = expected(prepared)
    assert results == expected_results
    assert_frame_equal(table, expected_table, check_exact=True)
    assert sorted(path.name for path in (prepared / "out").iterdir()) == [
        "a",
        "b",
        "scores.parquet",
    ]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_and_resumed(prepared: Path, number: signal.Signals, code: int) -> None:
    stopped = command(arguments(prepared), SIGNAL=str(int(number)), SCORED="500")
    assert stopped.returncode == code
    assert f"{work(prepared)}" in stopped.stderr
    assert "run the same command again" in stopped.stderr
    assert sorted(path.name for path in (prepared / "out").iterdir()) == [work(prepared).name]
    resumed = command(arguments(prepared))
    assert 0 < scored(resumed) <= 2 * RESPONSES - 500 + 6 * CHUNK
    assert outputs(prepared)[0] == expected(prepared)[0]
    assert sorted(path.name for path in (prepared / "out").iterdir()) == [
        "a",
        "b",
        "scores.parquet",
    ]


def test_what_was_scored_otherwise_is_not_used(prepared: Path) -> None:
    command(arguments(prepared), SIGNAL=KILL, SCORED="700")
    changed = command(arguments(prepared, "--variant", "paper"))
    assert (changed.returncode, scored(changed)) == (0, 2 * RESPONSES)
    assert not work(prepared).exists()


def test_changed_input_is_scored_anew(prepared: Path) -> None:
    command(arguments(prepared), SIGNAL=KILL, SCORED="1200")
    write_run(prepared / "a", [*responses()[:-1], (CATS, "別の答え")])
    resumed = command(arguments(prepared))
    assert resumed.returncode == 0
    assert 0 < scored(resumed) < 2 * RESPONSES
    assert outputs(prepared)[0] == expected(prepared)[0]


@pytest.mark.parametrize("damage", [0, 1, 40, 200, -1])
def test_a_damaged_journal_ends_where_it_is_damaged(tmp_path: Path, damage: int) -> None:
    benchmark = load_benchmark(write_benchmark(tmp_path / "tiny"))
    path = tmp_path / "journal"
    frame = benchmark.score_batch([CATS, SEAS, CATS], ["猫", "海", "狩り"])
    places = _native.Places(pl.Series([1, 2, 3]).to_numpy())
    found = text_columns([CATS, SEAS, CATS], ["猫", "海", "狩り"])
    codes, coded, _ = batch.numbered_responses(benchmark, found)
    scored = batch.score_column(benchmark, codes, coded)
    chunk = chunk_rows(benchmark.ids, codes, places, scored)

    def store() -> Store:
        path.touch()
        opened = lambda: (path.open("r+b", buffering=0), path)  # noqa: E731
        names = stored_columns(benchmark.sources)
        return Store(names, about={"x": 1}, open_file=opened, in_memory=0)

    first = store()
    for key in "abc":
        first.add(lambda key=key: key, *chunk)  # type: ignore[misc]
    content = bytearray(path.read_bytes())
    content[damage] ^= 1
    path.write_bytes(content)
    second = store()
    assert second.resume() == {-1: 6}.get(damage, 0)
    part = second.add(lambda: "d", *chunk)
    scores = ResponseScores(second)
    scores.parts.append(part)
    assert_frame_equal(scores.frame(part).select(frame.columns), frame)
    assert store().resume() == {-1: 9}.get(damage, 3)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet", "a.arrow", "a.csv"])
def test_chunks_of_every_format_are_known_again(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = load_benchmark(write_benchmark(tmp_path / "tiny"))
    path, journal = tmp_path / name, tmp_path / "journal"
    journal.touch()
    table = pl.DataFrame(responses(), schema=["question", "answer"], orient="row")
    writers: dict[str, Callable[[Path], object]] = {
        ".parquet": table.write_parquet,
        ".arrow": table.write_ipc,
        ".csv": table.write_csv,
        ".jsonl": lambda path: path.write_bytes(lines(responses())),
        ".gz": lambda path: path.write_bytes(gzip.compress(lines(responses()))),
    }
    writers[path.suffix](path)

    def scored() -> Result:
        store = streaming.new_store(
            benchmark, open_file=lambda: (journal.open("r+b", buffering=0), journal), in_memory=0
        )
        store.resume()
        options = Options(text_size=4000, rows=CHUNK)
        [result] = streaming.score_sources(benchmark, [Source(path)], options, store)
        return result

    first = scored()
    monkeypatch.setattr(batch, "score_column", lambda *_, **__: pytest.fail("scored again"))
    again = scored()
    assert again.to_bytes() == first.to_bytes()
    assert_frame_equal(again.frame, first.frame, check_exact=True)


@pytest.mark.parametrize("full", ["0", "100", "2000", "60000"])
def test_a_full_disk_leaves_a_journal_only_with_scores(prepared: Path, full: str) -> None:
    kept, done = full == "60000", command(arguments(prepared), FULL=full)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert ("run the same command again" in done.stderr) == kept
    assert [path.name for path in (prepared / "out").iterdir()] == [work(prepared).name] * kept
    if kept:
        assert 0 < scored(command(arguments(prepared))) < 2 * RESPONSES
        assert outputs(prepared)[0] == expected(prepared)[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_a_record_leaves_nothing(prepared: Path, number: signal.Signals) -> None:
    stopped = command(arguments(prepared), SIGNAL=str(int(number)), TORN="0")
    assert stopped.returncode == 128 + number
    assert stopped.stderr == ""
    assert not work(prepared).exists()
