"""Writes checkpoints as trainers do, slowly, and checks what a watcher is given.

    checkpoint_writer.py write TRAINER FOLDER CRASH STEP…
    checkpoint_writer.py answer TRAINER CHECKPOINT LOG

`write` saves the steps and removes all but the last two checkpoints; it kills itself in the middle of the
step CRASH. `answer` is the program of a watcher: it finds out by the contents which step it was given, writes
that to LOG (`torn`: none of them), and gives answers of a letter for every hundred steps.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

STEPS = range(100, 1000, 100)
KEPT, LETTERS = 2, 100
SHORT, LONG = 0.02, 1.8  # seconds; a watcher waits for less than the long ones


class Saved(NamedTuple):
    """What a trainer writes: `files` of `target` (itself a file if there are none), in their order.

    After a long pause, `last` files, and `tracker` (name, text) beside the checkpoint; then `after`.
    `marker`: an empty file beside it until it is complete. `renamed`: its name until then. `copy`: the
    ending of a copy.
    """

    target: str
    files: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    tracker: tuple[str, str] | None = None
    after: tuple[str, ...] = ()
    marker: str | None = None
    renamed: str | None = None
    copy: str | None = None


_NEMO = "checkpoints/gpt--val_loss=2.50-step={step}-consumed_samples=12800.0"
_SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
_INDEX = "model.safetensors.index.json"
_OF_TRAINER = ("config.json", *_SHARDS, _INDEX, "training_args.bin", "optimizer.pt")
_DISTRIBUTED = ("__0_0.distcp", "__1_0.distcp")
_ITERATION = ("latest_checkpointed_iteration.txt", "{step}")
TRAINERS = {
    "Megatron-LM": Saved(
        "iter_{step:07d}",
        ("common.pt", *_DISTRIBUTED, ".metadata", "metadata.json"),
        (),
        _ITERATION,
    ),
    "Megatron-LM, old": Saved(
        "iter_{step:07d}", ("mp_rank_00/model_optim_rng.pt",), (), _ITERATION
    ),
    "NeMo": Saved(
        _NEMO,
        ("weights/common.pt", "weights/__0_0.distcp", "weights/.metadata"),
        ("context/model.yaml",),
        marker=_NEMO + "-unfinished",
        copy="-last",
    ),
    "NeMo, file": Saved(_NEMO + ".ckpt", marker=_NEMO + "-unfinished"),
    "NeMo, archive": Saved(_NEMO + ".nemo"),
    "torchtitan": Saved("checkpoint/step-{step}", _DISTRIBUTED, (".metadata",)),
    "nanotron": Saved(
        "{step}",
        ("config.yaml", "model/a.safetensors", "optimizer/o.pt", "random/r.pt"),
        (),
        ("latest.txt", "{step}"),
        ("model_config.json",),
    ),
    "DeepSpeed": Saved(
        "global_step{step}",
        ("mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt"),
        (),
        ("latest", "global_step{step}"),
    ),
    "verl": Saved(
        "global_step_{step}", ("actor/model_world_size_1_rank_0.pt", "data.pt"), (), _ITERATION
    ),
    "Lightning": Saved("checkpoints/epoch=1-step={step}.ckpt"),
    "Lightning, folder": Saved(
        "checkpoints/epoch=1-step={step}.ckpt", _DISTRIBUTED, (".metadata", "meta.pt")
    ),
    "transformers": Saved(
        "checkpoint-{step}", _OF_TRAINER, ("trainer_state.json", "rng_state.pth")
    ),
    "transformers, renamed": Saved(
        "checkpoint-{step}", _OF_TRAINER, ("trainer_state.json",), renamed="tmp-checkpoint-{step}"
    ),
    "Composer": Saved("ep0-ba{step}-rank0.pt"),
    "others": Saved("step_{step}", ("config.json", *_SHARDS), (_INDEX,)),
}


def content(step: int, name: str) -> bytes:
    """What is in a file: long enough to be cut, in its format, and of this step only."""
    noise = b"".join(hashlib.sha256(f"{step}/{i}".encode()).digest() for i in range(500))
    out = io.BytesIO()
    if name.endswith(".safetensors"):
        about = {"w": {"dtype": "U8", "shape": [len(noise)], "data_offsets": [0, len(noise)]}}
        head = json.dumps({**about, "__metadata__": {"format": "pt"}}).encode()
        return len(head).to_bytes(8, "little") + head + noise
    if name.endswith(".index.json"):
        return json.dumps(
            {"weight_map": {f"w{i}": shard for i, shard in enumerate(_SHARDS)}}
        ).encode()
    if name.endswith((".pt", ".pth", ".bin", ".ckpt")):
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(zipfile.ZipInfo("data.pkl"), noise)
        return out.getvalue()
    if name.endswith(".nemo"):
        with tarfile.open(fileobj=out, mode="w") as tar:
            member = tarfile.TarInfo("model_weights.ckpt")
            member.size = len(noise)
            tar.addfile(member, io.BytesIO(noise))
        return out.getvalue()
    return noise


def contents(saved: Saved, step: int) -> dict[str, bytes]:
    """The files of a complete checkpoint, by their paths in it (`""`: itself)."""
    names = (*saved.files, *saved.last, *saved.after)
    if not names:
        return {"": content(step, saved.target)}
    return {name: content(step, name) for name in names}


class Writer:
    """A trainer that only saves."""

    def __init__(self, trainer: str, folder: str, crash: str) -> None:
        self.saved, self.folder, self.crash = TRAINERS[trainer], Path(folder), int(crash)

    def path(self, name: str, step: int) -> Path:
        path = self.folder / name.format(step=step)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def resume(self, step: int) -> None:
        """NeMo removes what is unfinished; others write into what is there."""
        if self.saved.marker and self.path(self.saved.marker, step).exists():
            self.remove(step)

    def save(self, step: int) -> None:
        saved = self.saved
        if saved.marker:
            self.path(saved.marker, step).touch()
        self.write(step, self.path(saved.renamed or saved.target, step))
        if saved.renamed:
            self.path(saved.renamed, step).rename(self.path(saved.target, step))
        if saved.marker:
            self.path(saved.marker, step).unlink()
        if saved.copy:
            for old in self.folder.glob(f"*/*{saved.copy}"):
                shutil.rmtree(old)
            complete = self.path(saved.target, step)
            shutil.copytree(complete, f"{complete}{saved.copy}")

    def write(self, step: int, target: Path) -> None:
        saved = self.saved
        for name in saved.files or ("",):
            slow = name == (saved.files or ("",))[-1]
            self.write_file(step, target / name, LONG if slow else SHORT)
        if saved.last or saved.tracker:
            time.sleep(LONG)
        for name in saved.last:
            self.write_file(step, target / name, SHORT)
        if saved.tracker:
            name, text = saved.tracker
            (target.parent / name).write_text(text.format(step=step))
        for name in saved.after:
            self.write_file(step, target / name, SHORT)

    def write_file(self, step: int, path: Path, pause: float) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = content(step, path.name)
        with path.open("wb") as file:
            file.write(whole[: len(whole) // 2])
            file.flush()
            if step == self.crash and pause == LONG:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(pause)
            file.write(whole[len(whole) // 2 :])

    def remove(self, step: int) -> None:
        path = self.path(self.saved.target, step)
        if not path.exists():
            return
        marker = self.saved.marker and self.path(self.saved.marker, step)
        if marker:
            marker.touch()
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        if marker:
            marker.unlink()


def write(trainer: str, folder: str, crash: str, *steps: str) -> None:
    writer = Writer(trainer, folder, crash)
    writer.resume(int(steps[0]))
    for step in map(int, steps):
        writer.save(step)
        writer.remove(step - KEPT * STEPS.step)


def given(saved: Saved, path: Path) -> int | None:
    """The step whose complete checkpoint is at `path`."""
    if path.is_file():
        found = {"": path.read_bytes()}
    else:
        files = (file for file in path.rglob("*") if file.is_file())
        found = {str(file.relative_to(path)): file.read_bytes() for file in files}
    return next((step for step in STEPS if contents(saved, step) == found), None)


def answer(trainer: str, checkpoint: str, log: str) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the watcher may be killed
    step = given(TRAINERS[trainer], Path(checkpoint))
    with Path(log).open("a") as file:
        file.write(f"{step}\n" if step else f"torn {checkpoint}\n")
    for line in sys.stdin:
        time.sleep(SHORT)
        text = "a" * ((step or 0) // LETTERS)
        print(json.dumps({"id": json.loads(line)["id"], "answer": text}), flush=True)


if __name__ == "__main__":
    (write if sys.argv[1] == "write" else answer)(*sys.argv[2:])
