"""Stands in for a converter of Megatron-LM checkpoints, as `pfgen-rs watch --convert` calls one.

    pfgen-rs watch checkpoints --convert 'python convert_megatron.py {checkpoint} {out} --like base' …

Joins the tensor-parallel shards `mp_rank_00`, `mp_rank_01`, … of a checkpoint, NumPy archives here, into one
file beside the configuration and tokenizer of the folder `--like`. A real converter, such as that of your
fork of Megatron-LM, goes in its place: it gets one path to read and one to write, which does not exist yet.
It ends with exit code 0 only if everything is written, and says on its output what is wrong.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

AXES = {"column.weight": 0, "row.weight": 1}
"""Weights that are cut, and along which axis, by the end of their names; every rank has the others whole."""


def joined(shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns whole weights."""
    whole = {}
    for name, first in shards[0].items():
        axis = next((axis for end, axis in AXES.items() if name.endswith(end)), None)
        whole[name] = first if axis is None else np.concatenate([s[name] for s in shards], axis)
    return whole


def main() -> None:
    """Convert a checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path, help="folder such as iter_0000100")
    parser.add_argument("out", type=Path, help="folder to make")
    parser.add_argument("--like", type=Path, required=True, help="folder with config and tokenizer")
    given = parser.parse_args()
    paths = sorted(given.checkpoint.glob("mp_rank_*/model.npz"))
    if not paths:
        sys.exit(f"{given.checkpoint}: no mp_rank_*/model.npz")
    weights = joined([dict(np.load(path, allow_pickle=False)) for path in paths])
    shutil.copytree(given.like, given.out)
    np.savez(given.out / "model.npz", **weights)
    print(f"{len(paths)} shards, {sum(each.size for each in weights.values())} weights")


if __name__ == "__main__":
    main()
