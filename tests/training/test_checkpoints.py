"""Checkpoints as trainers write them: found, with the right step, and complete."""

import os
from pathlib import Path

import pytest

from pfgen_rs import InputError
from pfgen_rs.training.checkpoints import Checkpoint, Settling, find_checkpoints


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
        ("step_x", None),
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
