"""What goes wrong around an evaluation: engine, checkpoint, folder, curve, page and other watchers."""

import gc
import logging
import shutil
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from generating import FakeEngine
from pfgen_rs import InputError, OutputError, PfgenError, SettingsError
from pfgen_rs.training import read_curve, serving
from pfgen_rs.training.serving import EngineMaker, Job
from pfgen_rs.training.watch import Watcher
from served_checkpoints import ANSWER, PYTHON, checkpoint

Do = Callable[[Job], object]


def watcher(place: Path, do: Do = bool, **more: Any) -> Watcher:
    """One whose engine answers, having done something."""

    @contextmanager
    def engine_for(job: Job) -> Iterator[FakeEngine]:
        do(job)
        yield FakeEngine(lambda task: task.question)

    settings = {"benchmark": "mini", "questions": 2, "settle_seconds": 0, **more}
    return Watcher(place / "checkpoints", engine_for, **settings)


def outcomes(watching: Watcher) -> list[tuple[int, str | None]]:
    """The steps and errors of all evaluations."""
    return [(e.checkpoint.step, None if e.error is None else str(e.error)) for e in watching.once()]


class Model:
    """What an engine holds."""


def test_any_error_of_an_engine_fails_its_step_alone(tmp_path: Path) -> None:
    raised = (IndexError("vocabulary"), OSError("stale"), RuntimeError("CUDA out of memory"))
    held: list[weakref.ref[Model]] = []

    def broken(job: Job) -> None:
        gc.collect()
        assert not any(one() for one in held)  # one that failed has given its memory back
        model = Model()
        held.append(weakref.ref(model))
        if job.checkpoint.step < len(raised):
            raise raised[job.checkpoint.step]

    for step in range(4):
        checkpoint(tmp_path, step)
    said = [f"{type(error).__name__}: {error}" for error in raised]
    assert outcomes(watcher(tmp_path, broken)) == [*enumerate(said), (3, None)]

    def interrupted(_: Job) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcomes(watcher(tmp_path, interrupted))


def test_a_checkpoint_that_changes_meanwhile_is_evaluated_again(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 1) / "weights"
    first = iter(["other weights"])
    changed = watcher(tmp_path, lambda _: [path.write_text(text) for text in first])
    assert outcomes(changed) == [(1, f"{path} changed while it was evaluated"), (1, None)]
    checkpoint(tmp_path, 2)
    removed = watcher(tmp_path, lambda job: shutil.rmtree(job.checkpoint.path))  # as trainers do
    assert outcomes(removed) == [(2, None)]


def test_a_curve_that_is_removed_ends_the_watcher(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1)
    with pytest.raises(OutputError, match="pfgen: was removed or replaced while it was in use"):
        outcomes(watcher(tmp_path, lambda job: shutil.rmtree(job.folder)))
    assert outcomes(watcher(tmp_path)) == [(1, None)]


@pytest.mark.parametrize("gone", ["checkpoints", "out/curve.parquet"])
def test_what_cannot_be_read_for_a_while(
    tmp_path: Path, gone: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint(tmp_path, 1)
    watching = watcher(tmp_path, out=tmp_path / "out")
    found = watching.forever(every_seconds=0.01)
    assert next(found).checkpoint.step == 1
    path, aside = tmp_path / gone, tmp_path / "aside"
    path.rename(aside)
    path.write_text("something else")
    with pytest.raises(InputError):
        watcher(tmp_path, out=tmp_path / "out")
    sleeps = iter(range(3))

    def sleep(_: float) -> None:
        if next(sleeps) == 2:
            path.unlink()
            aside.rename(path)
            checkpoint(tmp_path, 2)

    monkeypatch.setattr("pfgen_rs.training.watch.time.sleep", sleep)
    with caplog.at_level(logging.WARNING, "pfgen_rs"):
        assert next(found).checkpoint.step == 2
    (warned,) = caplog.messages
    assert warned.startswith(str(path))
    assert warned.endswith(": looking again until it can be read")


def test_a_page_that_fails_leaves_the_row(tmp_path: Path) -> None:
    for step in (1, 2):
        checkpoint(tmp_path, step)
    page = tmp_path / "file" / "curve.html"
    (tmp_path / "file").touch()
    (found, _) = watcher(tmp_path, page=page).once()
    assert found.row is not None
    assert str(page) in str(found.error)
    curve, _ = read_curve(tmp_path / "checkpoints" / "pfgen" / "curve.parquet")
    assert curve["step"].to_list() == [1, 2]


def test_plots_that_cannot_be_are_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(tmp_path, 1)
    with pytest.raises(OutputError, match=r"unknown format '\.pdf'"):
        watcher(tmp_path, plot="curve.pdf")
    monkeypatch.setattr("pfgen_rs.drawing.style.available", lambda: False)
    with pytest.raises(OutputError, match="need matplotlib"):
        watcher(tmp_path, plot="curve.svg")


def test_one_watcher_of_a_process_uses_a_folder(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1)
    first = watcher(tmp_path).once()
    next(first)
    with pytest.raises(SettingsError, match="another watcher of this process uses it"):
        outcomes(watcher(tmp_path))
    first.close()  # type: ignore[attr-defined]
    assert outcomes(watcher(tmp_path)) == []


def test_a_conversion_in_use_is_not_removed_and_old_ones_are(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 1)
    copy = [sys.executable, "-S", "-c", "import shutil, sys; shutil.copytree(*sys.argv[1:])"]
    words: dict[str, Any] = {"convert": [*copy, "{checkpoint}", "{out}"]}
    words |= {"command": [*PYTHON, "-c", ANSWER, "{checkpoint}"], "converted": tmp_path / "made"}
    job = _job(tmp_path, "one")
    with EngineMaker(**words)(job):
        (made,) = (one for one in (tmp_path / "made").iterdir() if one.name[0] != ".")
        other = _job(tmp_path, "other", checks=[_end])
        with pytest.raises(PfgenError, match="waited"), EngineMaker(keep="remove", **words)(other):
            pass
        assert made.exists()
    (path / "weights").write_text("new")
    with EngineMaker(**words)(_job(tmp_path, "one")):
        (new,) = (one for one in (tmp_path / "made").iterdir() if one.name[0] != ".")
    assert new != made


def _job(place: Path, out: str, **more: Any) -> Job:
    (one,) = watcher(place).found()
    return Job(one, one.files(), place / out, **more)


def _end() -> None:
    raise PfgenError("waited")


def test_logs_are_bounded_and_may_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_LARGEST_LOG", 1000)
    checkpoint(tmp_path, 1)
    loud = "import time, sys\nfor _ in range(20): print('x' * 1000, flush=True); time.sleep(.02)\n"
    for code, size in ((loud, 10_000), ("import shutil; shutil.rmtree(sys.argv[3])", 0)):
        command = [*PYTHON, "-c", f"import sys; {code}" if size == 0 else code]
        job = _job(tmp_path, "out")
        words = [*command, "{checkpoint}", "{out}", str(job.folder)]
        maker = EngineMaker(convert=words, command=["{checkpoint}"])
        with pytest.raises(PfgenError, match=r"wrote nothing to \{out\}"), maker(job):
            pass
        log = job.folder / "logs" / "step_00000001.log"
        assert (log.stat().st_size if log.exists() else 0) <= size
