"""The example that pretrains a tiny model: how long it takes, what it reaches, what scoring costs it.

    python benches/pretraining.py [--json FILE] [--plot FILE.png] [--steps N]

Runs `examples/pretrain_tiny.py` as a process of its own, and keeps its plot.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import measures
import timing
from measures import Measure

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "pretrain_tiny.py"
COLOURS = 64  # as many as lines, letters and their edges need


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    parser.add_argument("--plot", type=Path, help="write the curve there, too (PNG)")
    parser.add_argument("--steps", type=int, default=800, help="of training")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        measured = measure(Path(name), options.steps)
        if options.plot:
            shrink(Path(name) / "curve.png", options.plot)
    print("\n".join(measures.lines(measured)))
    if options.json:
        what = "19,014 texts of the bundled benchmark"
        measures.write_json(options.json, measures.as_json(measured, what))


def measure(folder: Path, steps: int) -> list[Measure]:
    """One run from start to exit."""
    done = timing.process(EXAMPLE, "--out", folder, "--steps", str(steps))
    run = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return [
        Measure("pretraining", done.seconds, _reached(run, done), run),
        Measure("scoring_share", run["scoring_share"] * 100, _costs(run)),
    ]


def _reached(run: dict[str, Any], done: timing.Process) -> str:
    steps, scores = run["curve"]["step"], run["curve"]["score"]
    return (
        f"{steps[-1]} steps, {len(steps)} evaluations; score {scores[0]:.3f} at the start, "
        f"{scores[-1]:.3f} at the end; {done.cpu:.0f} s of CPU time, peak "
        f"{done.peak / 1e6:.0f} MB"
    )


def _costs(run: dict[str, Any]) -> str:
    return (
        f"{run['seconds_of_steps']:.1f} s of steps and {run['seconds_of_generation']:.1f} s of generation; "
        f"scoring held training up for {run['seconds_held_up_by_scoring'] * 1e3:.0f} ms in all"
    )


def shrink(drawn: Path, path: Path) -> None:
    """The plot with few colours: a third of the bytes, and nobody sees the difference."""
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
