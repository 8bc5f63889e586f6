"""What is measured, what is asked of it, and the table and JSON that show both."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pfgen_rs

DATA = "PFGEN_DATA_DIR"
"""Names the folder of public data; CONTRIBUTING says how to get them."""
TIMES = "x"
"""Unit of ratios, where more is better; of all others less is better."""


def public_data(part: str) -> Path | None:
    """A subfolder of the public data, such as `pfgen-bench`; None if it is not there."""
    folder = Path(os.environ.get(DATA) or os.devnull, part)
    return folder if folder.is_dir() else None


@dataclass(frozen=True)
class Asked:
    """What a measure is, and what is asked of it."""

    what: str
    unit: str
    at_least: float
    aim: float


ASKED = {
    "three_sources": Asked("Fluency + Truthfulness, one thread, three sources", TIMES, 1000, 1300),
    "one_source": Asked("Fluency + Truthfulness, one thread, one source", TIMES, 400, 600),
    "all_metrics": Asked("score_batch, all metrics, one thread", TIMES, 750, 1000),
    "two_threads": Asked("score_batch, two threads over one", TIMES, 1.85, 1.95),
    "cold_build": Asked("cold build of all questions, all cores", TIMES, 110, 150),
    "opening": Asked("opening the cached index", "ms", 8, 4),
    "share_outside": Asked("score FILE: time outside decoding + scoring", "%", 15, 10),
    "peak_memory": Asked("score FILE: peak memory", "MB", 350, 250),
    "index_memory": Asked("index memory, all questions", "MB", 350, 200),
    "one_answer": Asked("one answer through bench.scorer()", "us", 12, 5),
    "singletons_speed": Asked("singletons: over a plain counter, one core", TIMES, 15, 40),
    "singletons_memory": Asked("singletons: peak memory, a million answers", "MB", 2000, 1000),
    "selection_seconds": Asked("selection: CPU time", "s", 10, 5),
    "selection_error": Asked("selection: error over a random subset's", "", 0.55, 0.50),
    "report_stale": Asked("report, all results stale", "s", 20, 8),
    "report_fresh": Asked("report, nothing stale", "s", 2, 0.5),
    "report_many_stale": Asked("report of 516 runs, all results stale", "s", 20, 14),
    "report_many_fresh": Asked("report of 516 runs, nothing stale", "s", 0.9, 0.4),
    "score_many": Asked("score of 516 runs", "s", 14, 10),
    "score_one": Asked("score of one run, start to exit", "s", 0.45, 0.3),
    "site_time": Asked("report --html, nothing stale", "s", 20, 8),
    "site_size": Asked("the site's size", "MB", 60, 25),
    "site_many_time": Asked("site of 516 runs, nothing stale", "s", 120, 60),
    "site_many_memory": Asked("the same: peak memory", "MB", 600, 400),
    "site_many_size": Asked("the same: the site's size", "MB", 200, 150),
    "site_many_files": Asked("the same: files a run", "", 3, 2),
    "site_many_again": Asked("the same again, nothing changed", "s", 3, 1),
    "compare_size": Asked("comparison page of 516 runs: its data", "MB", 1, 0.7),
    "compare_time": Asked("the same: ten runs compared after a choice", "ms", 1000, 300),
    "sorting": Asked("table of the models of 1,000 runs: sorted after a click", "ms", 300, 100),
    "highlighting": Asked("highlighting an answer, over a plain search", TIMES, 1000, 10_000),
    "prompts": Asked("prompts of 100 trials of 50 questions", "ms", 500, 100),
    "evaluator_blocking": Asked("StepEvaluator: what training waits for", "ms", 5, 1),
    "evaluator_slow_logger": Asked("the same with a logger that takes 1 s a call", "ms", 5, 1),
    "reward": Asked("rewards of 64 completions", "ms", 0.35, 0.2),
    "pretraining": Asked("examples/pretrain_tiny.py, start to exit", "s", 300, 300),
    "scoring_share": Asked("pretraining: what scoring adds to the rest", "%", 1, 1),
    "client_overhead": Asked("openai engine: overhead a request, 64 at a time", "ms", 2, 0.5),
    "generate_cpu": Asked("generate: CPU a request, records and journal included", "ms", 0.5, 0.4),
    "limit_refuses": Asked("hidden limit, refusals: below the best fixed concurrency", "%", 10, 5),
    "limit_queues": Asked("hidden limit, a queue: below the best fixed concurrency", "%", 10, 5),
    "run_time_64": Asked("openai engine: time of a run beyond the ideal, 64 at a time", "%", 10, 3),
    "run_time_256": Asked(
        "openai engine: time of a run beyond the ideal, 256 at a time", "%", 20, 5
    ),
    "put_off": Asked(
        "openai engine: delay of a run if one task is put off for a minute", "s", 1, 0.5
    ),
    "whole_build": Asked("whole build, one question, a million candidates", "s", 60, 25),
    "paper_pool": Asked("whole build, one question, three million: peak memory", "MB", 8000, 2000),
}


@dataclass(frozen=True)
class Measure:
    """A measure: one of `ASKED`, its value, and what stands behind it."""

    key: str
    value: float
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def asked(self) -> Asked:
        """What the measure is."""
        return ASKED[self.key]

    @property
    def verdict(self) -> str:
        """Which of the two bounds holds."""
        sign = 1 if self.asked.unit == TIMES else -1
        if sign * self.value >= sign * self.asked.aim:
            return "aim"
        return "yes" if sign * self.value >= sign * self.asked.at_least else "NO"


def shown(value: float, unit: str) -> str:
    """A value with its unit, three digits and more."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def lines(measures: Sequence[Measure]) -> Iterable[str]:
    """The table, a line a measure, and below it what stands behind each."""
    width = max(len(measure.asked.what) for measure in measures)
    yield f"{'':<{width}}{'measured':>12}{'at least':>12}{'aim':>12}  holds"
    for measure in measures:
        asked = measure.asked
        values = (measure.value, asked.at_least, asked.aim)
        columns = "".join(f"{shown(value, asked.unit):>12}" for value in values)
        yield f"{asked.what:<{width}}{columns}  {measure.verdict}"
    yield ""
    for measure in measures:
        yield f"- {measure.asked.what}: {measure.note}"


def machine() -> dict[str, Any]:
    """What the measures were measured on and with; nothing that names the machine."""
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu(),
        "system": platform.system(),
        "python": platform.python_version(),
        "pfgen_rs": pfgen_rs.__version__,
    }


def _cpu() -> str:
    """The processor as the system calls it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = (line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line)
    return next(found, platform.machine())


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write measures where `report.py` finds them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def as_json(measures: Sequence[Measure], data: str) -> dict[str, Any]:
    """All measures with bounds and verdicts."""
    rows = {f.key: {**asdict(f), **asdict(f.asked), "holds": f.verdict} for f in measures}
    return {"machine": machine(), "data": data, "measures": rows}
