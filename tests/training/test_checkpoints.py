"""Checkpoints as trainers write them: found, with the right step, and complete."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import checkpoint_writer
import helpers
import places
from checkpoint_writer import TRAINERS
from engine_tasks import until
from pfgen_rs import InputError
from pfgen_rs.training import read_curve
from pfgen_rs.training.checkpoints import (
    CONVENTIONS,
    Checkpoint,
    Settling,
    _by_convention,
    find_checkpoints,
)

LONG = 120.0  # seconds: all run at the same time
WRITER = [sys.executable, "-S", checkpoint_writer.__file__]


class Training:
    """A trainer and a watcher in a folder, as processes."""

    def __init__(self, trainer: str, place: Path) -> None:
        self.trainer, self.folder, self.log = trainer, place / "run", place / "log"
        self.folder.mkdir()
        self.log.touch()
        answer = shlex.join([*WRITER, "answer", trainer])
        command = f"{answer} {{checkpoint}} {shlex.quote(str(self.log))}"
        self.watch = ["watch", str(self.folder), "--command", command]

    def write(self, *args: int) -> int:
        words = [*WRITER, "write", self.trainer, self.folder, *args]
        return subprocess.run(
            list(map(str, words)), timeout=helpers.TIMEOUT, check=False
        ).returncode

    @contextmanager
    def watching(self) -> Iterator[subprocess.Popen[bytes]]:
        often = ["--every", "0.1", "--settle", "1", "--limit", "2", "-b", "mini"]
        process = subprocess.Popen([helpers.SCRIPT, *self.watch, *often], env=helpers.environment())
        try:
            yield process
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()

    def seen(self) -> list[str]:
        return self.log.read_text().splitlines()

    def curve(self) -> list[tuple[int, float]]:
        path = self.folder / "pfgen" / "curve.parquet"
        return read_curve(path)[0].select("step", "length").rows() if path.exists() else []


def trained(trainer: str, place: Path) -> dict[str, object]:
    """A trainer that is killed in the middle of a checkpoint and started again, and a watcher likewise."""
    training = Training(trainer, place)
    with suppress(AssertionError):  # what is there by then tells more
        with training.watching():
            assert training.write(200, 100, 200) == -signal.SIGKILL
            until(lambda: bool(training.seen()), LONG)
        with training.watching():
            until(lambda: bool(training.curve()), LONG)
            assert training.write(0, 200, 300) == 0
            until(lambda: "300" in training.seen() and len(training.curve()) == 3, LONG)
    first, *others = training.seen()
    return {"curve": training.curve(), "given": [first, *others[others[0] == first :]]}


def test_every_step_once_and_none_half_written(tmp_path: Path) -> None:
    """Of every trainer, all at the same time."""
    expected = {"curve": [(100, 1.0), (200, 2.0), (300, 3.0)], "given": ["100", "200", "300"]}
    places = [tmp_path / str(number) for number, _ in enumerate(TRAINERS)]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(len(TRAINERS)) as pool:
        found = dict(zip(TRAINERS, pool.map(trained, TRAINERS, places), strict=True))
    assert found == dict.fromkeys(TRAINERS, expected)


def test_checkpoints_are_complete_when_they_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("pfgen_rs.training.checkpoints.time.monotonic", lambda: now)
    settling = Settling(5)
    assert settling.settled(Checkpoint(1, tmp_path)) is None
    now = 9
    assert settling.settled(Checkpoint(1, tmp_path)) is None  # an empty folder is no checkpoint
    (tmp_path / "a").write_text("1")
    assert settling.settled(Checkpoint(1, tmp_path)) is None
    now = 12
    (tmp_path / "a").write_text("12")
    os.utime(tmp_path / "a", (0, 0))  # copied with its old time
    assert settling.settled(Checkpoint(1, tmp_path)) is None
    now = 16
    assert settling.settled(Checkpoint(1, tmp_path)) is None
    now = 17
    assert settling.settled(Checkpoint(1, tmp_path)) is not None
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b").write_text("")
    assert settling.settled(Checkpoint(1, tmp_path)) is None


def test_checkpoints_are_complete_when_marked(tmp_path: Path) -> None:
    settling = Settling(1000, "done")
    (tmp_path / "a").write_text("1")
    assert settling.settled(Checkpoint(1, tmp_path)) is None
    (tmp_path / "done").write_text("")
    assert settling.settled(Checkpoint(1, tmp_path)) is not None


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("megatron_gpt--val_loss=2.5-step=500-consumed_samples=12800", 500),
        *(("epoch=1-step=700.ckpt", 700), ("global_step1000-loss2", 1000)),
        *(("iter_0000250-hf4", 250), ("checkpoint-30", 30), ("run2.b40-seed7", 7)),
        *(
            (name, None)
            for name in ("step_x", "step_2k", "step_1.5k", "step_1e5", "step_1_000_000")
        ),
        *((name, None) for name in ("step_500万", "ckpt-2k", "step_5.bak", "step_5.deleting")),
    ],
)
def test_a_step_is_read_where_a_name_says_it(tmp_path: Path, name: str, step: int | None) -> None:
    (tmp_path / name).mkdir()
    assert [one.step for one in find_checkpoints(tmp_path, "*")] == ([step] if step else [])


def test_one_folder_for_each_step(tmp_path: Path) -> None:
    for name in ("step_7", "step_0012", "step_1-of-3", "other_9", "step_12"):
        (tmp_path / name).mkdir()
    (tmp_path / "step_5").write_text("a file")
    found = [(c.step, c.path.name) for c in find_checkpoints(tmp_path, "step_*")]
    assert found == [(1, "step_1-of-3"), (7, "step_7"), (12, "step_0012")]
    assert [c.step for c in find_checkpoints(tmp_path, "other_*")] == [9]
    with pytest.raises(InputError, match="cannot be read"):
        find_checkpoints(tmp_path / "no", "*")


@pytest.mark.parametrize("trainer", TRAINERS)
def test_nothing_is_complete_while_a_trainer_is_busy(
    trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every long pause of a save, before which a watcher may have seen no change for long enough."""
    pauses, complete, settling = 0, list[int](), Settling(0)

    def pause(seconds: float) -> None:
        nonlocal pauses
        if seconds == checkpoint_writer.LONG:
            pauses += 1
            found = find_checkpoints(tmp_path)
            assert [one.step for one in found if settling.settled(one)] == complete

    monkeypatch.setattr("checkpoint_writer.time.sleep", pause)
    writer = checkpoint_writer.Writer(trainer, str(tmp_path), "0")
    writer.save(100)
    saved = TRAINERS[trainer]
    assert pauses == (2 if saved.last or saved.tracker else 1)
    (found,) = find_checkpoints(tmp_path)
    assert (found.step, found.path) == (100, writer.path(saved.target, 100))
    assert found.convention
    assert found.convention.name == trainer.split(",")[0]
    assert found.lacking() is None
    assert settling.settled(found)
    complete = [100]
    writer.save(200)
    assert [one.step for one in find_checkpoints(tmp_path) if settling.settled(one)] == [100, 200]


def tree(folder: Path, *names: str) -> None:
    """Made-up files (`name=text` or `name`) and folders (`name/`)."""
    for name in names:
        path = folder / name.partition(":")[0]
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(name.partition(":")[2] or "x")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["iter_0000100/", "iter_0000200/", "release/"], [(100, "iter_0000100"), (200, "iter_0000200")]),
        (["checkpoint-5.tmp/", "tmp-checkpoint-5/", "step_5_tmp/", ".step_5/", "iter_5.partial/"], []),
        (["epoch=1-step=7-unfinished/", "last.ckpt", "last-v1.ckpt", "step=x.ckpt", "step_5"], []),
        (["epoch=1-step=7.ckpt", "epoch=1-step=7-v1.ckpt"], [(7, "epoch=1-step=7.ckpt")]),
        (["epoch=1-step=7-v1.ckpt/", "epoch=0-step=3.ckpt"],
         [(3, "epoch=0-step=3.ckpt"), (7, "epoch=1-step=7-v1.ckpt")]),
        (["a-step=5-consumed_samples=12.0-last.ckpt", "a-step=5-consumed_samples=12.0.ckpt"],
         [(5, "a-step=5-consumed_samples=12.0.ckpt")]),
        (["ep1-ba500-rank0.pt", "ep1-ba500-rank1.pt", "latest-rank0.pt", "ep2-ba900/"],
         [(500, "ep1-ba500-rank0.pt"), (900, "ep2-ba900")]),
        ([f"step_{number}/" for number in ("2k", "1e5", "1.5k", "1_000_000", "5,000", "500万")], []),
        (["step_5_optim/", "step_5_samples/", "step_5.bak/", "step_5.deleting/", "step_6.optim.pt"], []),
        (["step_5_optim.pt", "step_5.pt", "step_6-v2.pth", "step_7_loss=2.5-last/"],
         [(5, "step_5.pt"), (6, "step_6-v2.pth"), (7, "step_7_loss=2.5-last")]),
        (["a-step=5-consumed_samples=12.0-EMA.ckpt", "step=6-EMA.ckpt"], []),
        (["step=7-loss=-1.5e-3_x=nan.ckpt", "step=8" + "--a=1" * 40 + "-EMA.ckpt"],
         [(7, "step=7-loss=-1.5e-3_x=nan.ckpt")]),
        (["10/", "9/", "best/", "1234567890123456789/"], [(9, "9"), (10, "10")]),
        (["checkpoints/step_2/", "checkpoint/step-1/", "pfgen/step_3/"], [(1, "step-1"), (2, "step_2")]),
    ],
)  # fmt: skip
def test_names(names: list[str], expected: list[tuple[int, str]], tmp_path: Path) -> None:
    tree(tmp_path, *names)
    assert [(one.step, one.path.name) for one in find_checkpoints(tmp_path)] == expected


@pytest.mark.parametrize(
    ("pattern", "name", "step"),
    [
        ("model-{step}-final", "model-12-final", 12),
        ("model-{step}-*", "model-12-of-13", 12),
        ("*{step}", "run7-model-120", 120),
        ("*-{step}-*", "a-7b-120-2", 120),
        ("e*_{step}.pt", "e3_0040.pt", 40),
        ("model-{step}", "model-12-final", None),
        ("model.{step}", "model-12", None),
        ("{step}", "1", 1),
        ("step_{step}*", "step_2k", None),
        ("model_{step}_*", "model_500_2", 500),
        ("model-{step}steps", "model-500steps", 500),
        ("[", "step_1", None),
    ],
)
def test_templates(pattern: str, name: str, step: int | None, tmp_path: Path) -> None:
    tree(tmp_path, name + "/")
    found = [one.step for one in find_checkpoints(tmp_path, "no-*", pattern)]
    assert found == ([] if step is None else [step])


@pytest.mark.parametrize(
    ("tracker", "complete"),
    [("100", [0, 100]), ("200\n", [0, 100, 200]), ("v2-bf16-150", [0, 100]), ("release", []), ("", []),
     ("99", [0]), ("9" * 5000, []), ("\udcff", [])],
)  # fmt: skip
def test_trackers(tracker: str, complete: list[int], tmp_path: Path) -> None:
    tree(tmp_path, "iter_0000000/a", "iter_0000100/a", "iter_0000200/a")
    (tmp_path / "latest_checkpointed_iteration.txt").write_text(tracker, errors="surrogateescape")
    assert [c.step for c in find_checkpoints(tmp_path) if not c.lacking()] == complete


@pytest.mark.parametrize("text", ["release", "", "\udcff", "99"])
def test_what_is_said_of_trackers(text: str, tmp_path: Path) -> None:
    tree(tmp_path, "global_step100/a")
    (tmp_path / "latest").write_text(text, errors="surrogateescape")
    said = "does not name" if text == "99" else "names no step: --pattern 'global_step{step}' does"
    assert said in str(find_checkpoints(tmp_path)[0].lacking())


@pytest.mark.parametrize(("tracker", "complete"), [("100", True), ("1000", False)])
def test_a_tracker_of_an_earlier_run(tracker: str, complete: bool, tmp_path: Path) -> None:
    """A checkpoint that is written again, while the tracker still names a later step."""
    tree(tmp_path, f"latest_checkpointed_iteration.txt:{tracker}", "iter_0000100/a")
    os.utime(tmp_path / "latest_checkpointed_iteration.txt", (0, 0))
    (checkpoint,) = find_checkpoints(tmp_path)
    assert (checkpoint.lacking() is None) is complete


def test_links_are_followed(tmp_path: Path) -> None:
    tree(tmp_path, "step_1/a", "data/b")
    (tmp_path / "step_1" / "weights").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "back").symlink_to(tmp_path / "step_1")  # a circle
    (checkpoint,) = find_checkpoints(tmp_path)
    settled = Settling(0).settled(checkpoint)
    assert settled
    assert [Path(path).name for path, *_ in settled] == ["a", "b"]
    assert checkpoint.lacking() is None
    (tmp_path / "data" / "c.txt").symlink_to(tmp_path / "no")
    assert str(checkpoint.lacking()).startswith("c.txt")
    (checkpoint.path / "a").unlink()
    (checkpoint.path / "weights").unlink()
    (checkpoint.path / "weights").symlink_to(tmp_path / "no")
    assert str(checkpoint.lacking()).startswith("weights")
    assert Settling(0).settled(checkpoint) is None


def header(size: int, text: str) -> bytes:
    return size.to_bytes(8, "little") + text.encode()


INDEX = "model.safetensors.index.json"
CUT = [
    *(("a.safetensors", content) for content in (b"", b"1234", header(2, "[]"), header(2, "{"))),
    ("a.safetensors", header(1 << 62, "{}")),
    ("a.safetensors", header(30, '{"w":{"data_offsets":[0,99]}} ')),
    ("a.safetensors", header(30, '{"w":{"data_offsets":["0"]}}  ')),
    ("a.safetensors", header(200_000, "[" * 200_000)),
    *((INDEX, content) for content in (b"", b"[]", b"{}", b'{"weight_map":{"w":1}}', b"\xff")),
    (INDEX, b'{"weight_map":{"w":"no.safetensors"}}'),
    (INDEX, b'{"weight_map":{"w":"../step_1/whole"}}'),
    *(("a.pt", content) for content in (b"", b"P", b"PK\3\4" + bytes(99))),
    *(("a.nemo", content) for content in (b"", b"x" * 2048)),
    ("model-00001-of-00002.bin", b"old"),
    ("__0_0.distcp", b"x"),
    (".metadata", b"\x8c\x0d__10_0.distcp\x94."),
    (".metadata", bytes((1 << 20) - 5) + b"__0_0.distcp"),
]


@pytest.mark.parametrize(("name", "content"), CUT)
def test_files_that_are_cut(name: str, content: bytes, tmp_path: Path) -> None:
    tree(tmp_path, "step_1/whole")
    (checkpoint,) = find_checkpoints(tmp_path)
    assert checkpoint.lacking() is None
    (checkpoint.path / name).write_bytes(content)
    assert str(checkpoint.lacking()).startswith(name)
    tree(tmp_path, "step_1-v1/whole")  # another of the step, which is complete
    assert [one.path.name for one in find_checkpoints(tmp_path)] == ["step_1-v1"]


def test_old_and_packed_files_are_taken_as_they_are(tmp_path: Path) -> None:
    tree(tmp_path, "step_1/optimizer.pt:old", "step_1/trainer_state.json", "step_1/a.index.json:[]")
    tree(tmp_path, "step_1/__0_0.distcp", "step_1/.metadata:\x0c__0_0.distcp.")
    (tmp_path / "step_1" / "a.nemo").write_bytes(b"\x1f\x8b" + b"x")
    (checkpoint,) = find_checkpoints(tmp_path)
    assert checkpoint.lacking() is None


@pytest.mark.parametrize("language", ["", ".ja"])
def test_the_table_is_of_what_is_recognised(language: str, tmp_path: Path) -> None:
    text = (places.ROOT / "docs" / "how-to" / f"training{language}.md").read_text("utf-8")
    cells = (line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|"))
    rows = [row for row in cells if len(row) == 4 and "500" in row[1]]
    assert len(rows) == len(CONVENTIONS)
    for (name, names, complete, _), convention in zip(rows, CONVENTIONS, strict=True):
        assert convention.name in (name.strip(), "others")
        for example in re.findall("`([^`]{3,})`", names):
            if "500" in example:
                found = _by_convention(tmp_path / example)
                assert found == Checkpoint(500, tmp_path / example, convention)
        needed = {convention.tracker, *convention.within} - {None}
        assert needed == set(re.findall("`([^`-]*)`", complete))


def test_markers_of_nemo(tmp_path: Path) -> None:
    stem = "a-step=5-consumed_samples=12.0"
    for name in (f"{stem}.ckpt", f"{stem}-EMA.ckpt", f"{stem}.nemo", stem):
        checkpoint = Checkpoint(5, tmp_path / name)
        tree(tmp_path, name, f"{stem}-last-unfinished")
        assert "exists" not in (checkpoint.lacking() or "")
        tree(tmp_path, f"{stem}-unfinished")
        assert checkpoint.lacking() == f"{stem}-unfinished exists"
        (tmp_path / f"{stem}-unfinished").unlink()


def test_the_command_says_why_one_is_not_complete(tmp_path: Path) -> None:
    tree(tmp_path, "iter_0000100/a", "model-7-final/a")
    once = [
        "watch",
        str(tmp_path),
        "--command",
        "no-such-program {checkpoint}",
        "--once",
        "-b",
        "mini",
    ]
    done = helpers.pfgen(*once, "--settle", "0")
    assert done.returncode == 1  # the curve is empty
    why = "(iter_0000100: latest_checkpointed_iteration.txt is missing: --pattern 'iter_{step}' does without)"
    assert done.stderr.splitlines()[1].endswith(f"not complete {why}")
    found = helpers.pfgen(*once, "--settle", "0", "--pattern", "model-{step}-*")
    assert "for model-{step}-*: 1 found" in found.stderr
    assert found.returncode == 1
    assert helpers.pfgen(*once, "--settle", "inf").returncode == 2
