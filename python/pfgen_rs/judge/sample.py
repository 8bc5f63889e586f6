"""The bundled, made-up sample: pairs, raters, two recorded judges and dialogues."""

from importlib import resources
from pathlib import Path

JUDGES = ("careful", "hasty")
"""The recorded judges, by the names of their folders in `verdicts/`."""


def sample_path() -> Path:
    """Returns the folder of the bundled sample for judges.

    It has `pairs.jsonl`, `humans.jsonl`, `dialogues.jsonl`, a verdict folder for each of `JUDGES` in
    `verdicts/`, verdicts on runs of the benchmark `mini` in `verdicts/runs`, ratings of them in
    `ratings`, and a README. Everything in it is made up: statistics on it are no findings.
    """
    return Path(str(resources.files("pfgen_rs") / "data" / "judge-sample"))
