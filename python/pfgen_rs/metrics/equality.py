"""Mathematical answers that are equal by sympy, compared in processes of their own with bounds."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pfgen_rs.errors import PfgenError

SECONDS, BYTES = 5.0, 2 << 30
"""What comparing one pair may take; memory is bounded on Linux alone."""
_SCRIPT = Path(__file__).with_name("equality_worker.py")


def equivalences(predictions: Sequence[str], golds: Sequence[str]) -> list[float]:
    """Returns 1.0 for each pair of answers that are equal, else 0.0.

    The process that compares ends with a pair that takes more than `SECONDS` or `BYTES`, which has 0.0, and
    another one goes on behind it. Raises `PfgenError` if it does not start.
    """
    values = [float(p.strip() == g.strip()) for p, g in zip(predictions, golds, strict=True)]
    rest = [place for place, value in enumerate(values) if not value]
    command = [sys.executable, "-P", str(_SCRIPT), str(SECONDS), str(BYTES)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    while rest:
        lines = "".join(f"{json.dumps([predictions[n], golds[n]])}\n" for n in rest)
        done = subprocess.run(  # noqa: S603 (our own script)
            command,
            input=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )
        ready, *answers = done.stdout.splitlines() or [""]
        if ready != "ready":
            raise PfgenError(
                f"the process that compares with sympy ({sys.executable}) does not start"
            )
        for place, answer in zip(rest, answers, strict=False):
            values[place] = float(answer == "true")
        rest = rest[len(answers) + 1 :]
    return values
