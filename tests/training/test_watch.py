"""The watcher: checkpoints found, settled, evaluated once each; real programs and the real command."""

import os
import shlex
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import helpers
from engine_tasks import until
from pfgen_rs import SettingsError
from pfgen_rs.training import read_curve
from pfgen_rs.training.serving import EngineMaker
from pfgen_rs.training.watch import Watcher

# Answers with the head of the question, as long as the checkpoint says; `fail` and `crash` do what they say.
PROGRAM = """
import json, os, sys
text = open(os.path.join(sys.argv[1], "weights"), encoding="utf-8").read()
with open(sys.argv[2], "a") as log:
    log.write(os.path.basename(sys.argv[1]) + "\\n")
if text == "crash":
    sys.exit("no such thing")
for line in sys.stdin:
    task = json.loads(line)
    answer = {"error": "out of memory\\x1b[31m"} if text == "fail" else None
    answer = answer or {"answer": task["question"][:int(text)]}
    print(json.dumps({"id": task["id"], **answer}), flush=True)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the program, in a place that a shell would stumble over."""
    folder = tmp_path / "a b; $(c)"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    return folder


def checkpoint(place: Path, name: str, text: str = "5") -> Path:
    folder = place / "checkpoints" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_text(text)
    return folder


def command(place: Path) -> list[str]:
    return [sys.executable, "-S", str(place / "program.py"), "{checkpoint}", str(place / "log")]


def watcher(place: Path, **more: Any) -> Watcher:
    settings = {"benchmark": "mini", "questions": 3, "settle_seconds": 0, **more}
    return Watcher(place / "checkpoints", EngineMaker(command=command(place)), **settings)


def started(place: Path) -> list[str]:
    return (place / "log").read_text().splitlines()


def test_each_checkpoint_once(place: Path) -> None:
    for step in (10, 9, 100):
        checkpoint(place, f"step_{step}", str(step // 4))
    found = list(watcher(place).once())
    assert [(e.checkpoint.step, e.error) for e in found] == [(9, None), (10, None), (100, None)]
    curve, _ = read_curve(place / "checkpoints" / "pfgen" / "curve.parquet")
    assert curve["step"].to_list() == [9, 10, 100]
    assert [e.row["score"] for e in found if e.row] == curve["score"].to_list()
    assert curve["length"].to_list()[:2] == [2, 2]
    checkpoint(place, "step_0", "0")
    assert [e.checkpoint.step for e in watcher(place).once()] == [0]
    assert started(place) == ["step_9", "step_10", "step_100", "step_0"]
    with pytest.raises(SettingsError, match="another sample"):
        watcher(place, trials=2)


def test_one_that_fails_does_not_stop_the_others(place: Path) -> None:
    checkpoint(place, "step_1", "fail")
    checkpoint(place, "step_2", "crash")
    checkpoint(place, "step_3")
    outcomes: Iterator[Any] = watcher(place).forever(0.05)
    first, second, third = islice(outcomes, 3)
    checkpoint(place, "step_1", "4")
    again = next(outcomes)
    assert "3 of 3 answers failed: out of memory" in str(first.error)
    assert "before sending all results" in str(second.error)
    assert third.row is not None
    assert (again.checkpoint.step, again.error) == (1, None)  # its files have changed
    assert started(place) == ["step_1", "step_2", "step_3", "step_1"]
    outcomes.close()  # type: ignore[attr-defined]
    assert [e.checkpoint.step for e in watcher(place).once()] == [2]  # another watcher tries again


# Answers when as many have begun as its third argument says; the earlier the step, the later.
TOGETHER = """
import json, os, sys, time
checkpoint, place, expected, worker = sys.argv[1:]
step = int(checkpoint.rpartition("_")[2])
with open(os.path.join(place, f"begun_{step}_{worker}"), "w"):
    pass
end = time.monotonic() + 20
while sum(name.startswith("begun") for name in os.listdir(place)) < int(expected):
    assert time.monotonic() < end
    time.sleep(0.01)
time.sleep(0.3 / step)
for line in sys.stdin:
    task = json.loads(line)
    print(json.dumps({"id": task["id"], "answer": "a" * step}), flush=True)
"""


def together(place: Path, workers: int) -> Watcher:
    (place / "program.py").write_text(TOGETHER)
    words = [*command(place)[:4], str(place), str(workers), "{worker}"]
    settings: Any = {"benchmark": "mini", "questions": 2, "settle_seconds": 0}
    return Watcher(place / "checkpoints", EngineMaker(command=words), workers=workers, **settings)


def test_several_at_once_in_order(place: Path) -> None:
    for step in (0, 1, 2, 3):
        checkpoint(place, f"step_{step + 1}")
    watching = together(place, 4)
    found = list(watching.once())
    assert [(e.checkpoint.step, e.error) for e in found] == [(i, None) for i in (1, 2, 3, 4)]
    assert watching.record.frame.select("step", "length").rows() == [(i, i) for i in (1, 2, 3, 4)]
    workers = sorted(path.name.rpartition("_")[2] for path in place.glob("begun_*"))
    assert workers == ["0", "1", "2", "3"]


def test_a_new_checkpoint_does_not_wait_for_a_long_one(place: Path) -> None:
    """The first one is not done before the second one has begun, which appears later."""
    checkpoint(place, "step_1")
    watching = together(place, 2)

    def appear() -> None:
        until(lambda: any(place.glob("begun_1_*")))
        checkpoint(place, "step_2")

    threading.Thread(target=appear).start()
    outcomes: Iterator[Any] = watching.forever(every_seconds=0.05)
    found = list(islice(outcomes, 2))
    outcomes.close()  # type: ignore[attr-defined]
    assert [(e.checkpoint.step, e.error) for e in found] == [(1, None), (2, None)]


# Gives two answers, and then no more.
HANGING = """
import json, os, sys, time
with open(sys.argv[2], "a") as log:
    log.write(f"{os.getpid()}\\n")
for i, line in enumerate(sys.stdin):
    if i == 2:
        time.sleep(1000)
    print(json.dumps({"id": json.loads(line)["id"], "answer": "a"}), flush=True)
"""


def hanging(place: Path, **more: Any) -> Watcher:
    (place / "program.py").write_text(HANGING)
    return watcher(place, **more)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_is_stopped_at_the_end_of_its_budget(place: Path) -> None:
    checkpoint(place, "step_1")
    checkpoint(place, "step_2")
    found = list(hanging(place, budget=2).once())
    assert [(e.missing, e.error) for e in found] == [(1, None), (1, None)]
    assert [e.row["answers"] for e in found if e.row] == [2, 2]
    assert not any(map(is_running, map(int, started(place))))


def test_programs_are_stopped_with_the_watcher(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2, 3):
        checkpoint(place, f"step_{step}")

    def interrupted(*_: Any) -> None:
        until(lambda: (place / "log").exists() and len(started(place)) == 2)
        raise KeyboardInterrupt

    monkeypatch.setattr("pfgen_rs.training.watch._wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(hanging(place, workers=2).once())
    assert len(started(place)) == 2
    assert not any(map(is_running, map(int, started(place))))


def test_commands_that_cannot_be() -> None:
    for wrong, match in (
        ("run me", "does not contain {checkpoint}"),
        ("run '{checkpoint}", "split"),
        ("", "does not contain"),
    ):
        with pytest.raises(SettingsError, match=match):
            EngineMaker(command=wrong)


def run(place: Path, *more: str | Path, folder: str = "checkpoints") -> Any:
    """The command, on checkpoints that are complete when they have weights."""
    text = shlex.join(command(place)[:3]) + " {checkpoint} " + shlex.quote(str(place / "log"))
    once = ["--command", text, "--once", "--marker", "weights", "--limit", "3", "-b", "mini"]
    return helpers.pfgen("watch", place / folder, *once, *more)


def test_the_command(place: Path) -> None:
    checkpoint(place, "step_3", "20")
    checkpoint(place, "step_4\x1b[31m", "fail")
    folder, plot = place / "checkpoints", place / "curve.svg"
    done = run(place, "--plot", plot, "--pattern", "step_*")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr
    row = read_curve(folder / "pfgen" / "curve.parquet")[0].row(0, named=True)
    assert done.stdout.startswith(f"step_3: score {row['score']:.4f} (")
    begun, warned = done.stderr.splitlines()
    assert begun == f"watching {folder} for step_*: 2 found"
    assert warned.startswith("warning: step_4\\x1b[31m: 3 of 3 answers failed: out of memory")
    assert plot.read_text().startswith("<?xml")
    answers = pl.read_parquet(folder / "pfgen" / "answers" / "step_00000003.parquet")
    assert answers["answer"].to_list() == [question[:20] for question in answers["question"]]
    bad = helpers.pfgen("watch", folder, "--command", "run")
    assert bad.returncode == 2
    assert "does not contain {checkpoint}" in bad.stderr


# Has the checkpoint written again when it has failed; the second step takes long enough for that.
AGAIN = """
import json, sys, time
path = sys.argv[1] + "/weights"
text = open(path).read()
if text == "again":
    open(path, "w").write("5")
    sys.exit(1)
time.sleep(float(text) / 5)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "a"}), flush=True)
"""


def test_the_command_counts_what_is_open_at_the_end(place: Path) -> None:
    checkpoint(place, "step_1", "again")
    checkpoint(place, "step_2")
    (place / "program.py").write_text(AGAIN)
    done = run(place)
    assert done.returncode == 0
    assert [line[:6] for line in done.stdout.splitlines()] == ["step_2", "step_1"]
    assert [line[:15] for line in done.stderr.splitlines()[1:]] == ["warning: step_1"]


def test_the_command_with_several_workers_and_a_budget(place: Path) -> None:
    checkpoint(place, "step_1")
    checkpoint(place, "step_2")
    (place / "program.py").write_text(HANGING)
    done = run(place, "--workers", "2", "--budget", "2")
    assert [line[:13] for line in done.stdout.splitlines()] == ["step_1: score", "step_2: score"]
    assert done.stderr.splitlines()[1:] == [
        f"warning: step_{step}: 1 of 3 answers were not given in time" for step in (1, 2)
    ]
    assert done.returncode == 0
    wrong = run(place, "--budget", "0")
    assert wrong.returncode == 2
    assert "`budget` must be a positive number of seconds, not 0" in wrong.stderr


def test_the_command_says_what_it_looks_for(place: Path) -> None:
    checkpoint(place, "checkpoint-3")  # as transformers' Trainer calls them
    checkpoint(place, "other-7")
    done = run(place)
    assert (done.returncode, done.stdout[:19]) == (0, "checkpoint-3: score")
    page = place / "curve.html"
    again = run(place, "--page", page)
    assert (again.returncode, again.stdout) == (0, "")
    assert page.exists()
    assert again.stderr.endswith("checkpoints: 1 found (1 already evaluated)\n")
    both = run(place, "--pattern", "a*", "--pattern", "other*")
    assert (both.returncode, both.stdout[:14]) == (0, "other-7: score")
    none = run(place, "--pattern", "epoch*")
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr.endswith(" for epoch*: 0 found\n")
    (place / "checkpoints" / "step_5").mkdir()
    empty = run(place)
    assert (empty.returncode, empty.stdout) == (0, "")
    assert empty.stderr.endswith("warning: 1 skipped: empty or not complete\n")
    (place / "empty" / "step_5").mkdir(parents=True)
    assert run(place, folder="empty").returncode == 1
    missing = run(place, folder="no")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no: cannot be read: No such file" in missing.stderr
    assert not (place / "no").exists()


def test_a_run_whose_score_fell_is_stopped(place: Path) -> None:
    gate = ["--limit", "14", "--gate", "3"]
    for number, text in enumerate(["30", "40", "0", "0", "0", "40"]):
        checkpoint(place, f"step_{number}", text)
    done = run(place, *gate)
    assert done.returncode == 1
    scores = [line.split()[2] for line in done.stdout.splitlines()]
    best = max((0, 1), key=lambda number: float(scores[number]))
    fallen = ", ".join(f"{number} ({scores[number]})" for number in (2, 3, 4))
    said = f"stopped: the score fell: steps {fallen} after {best} ({scores[best]})"
    assert done.stderr.splitlines()[1:] == [said]
    programs = started(place)  # the next one may have begun, and is stopped
    again = run(place, *gate)
    assert (again.returncode, again.stdout, started(place)) == (1, "", programs)
    goes_on = run(place, *gate, "--max-drop", "0.9")
    assert (goes_on.returncode, goes_on.stdout[:6]) == (0, "step_5")
    assert "invalid largest drop 2" in run(place, *gate, "--max-drop", "2").stderr
