"""Predictions and char_f1 of a million outputs of llm-jp-eval, beside a loop in plain Python.

    python benches/jpeval_metrics.py [--json FILE] [--quick]

With PFGEN_DATA_DIR set: outputs for three tasks with char_f1, in equal parts, with made-up differences.
Gold answers are such outputs as well. The loop follows fuzzywuzzy's formula: prediction, words, sorted
tokens, and rapidfuzz (Python package) for the similarity. It scores a sample; its values must equal ours.
Characters of Latin-1 are deleted by a table, as there, or by an expression (`quick_loop`), which takes less
time. Microseconds an output and ratios to the loops are told for 1,000 rows and for all of them: `lists` are
`predictions` and `metric`, `outputs` is `output_metric_column` of lists, `columns` that of columns. CPU time
is told as well, since the machine may be shared. Peak memory is that of a process that scores a Parquet file
as a polars query.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import polars as pl
from rapidfuzz.distance import Indel

import measures
import timing
from pfgen_rs.llm_jp_eval import mean, metric, predictions
from pfgen_rs.llm_jp_eval.metrics import metric_column, output_metric_column, prediction_column

ROWS, QUICK_ROWS, FEW_ROWS = 1_000_000, 20_000, 1_000
SAMPLE = 10_000  # outputs that the loop scores in a repeat
REPEATS = 3
TASKS = ("jemhopqa", "jsquad", "wiki_reading")
_ASKED_RATIO = 20.0
_LATIN_1 = re.compile("[\x80-\xff]+")
_TABLE = dict.fromkeys(range(0x80, 0x100))
_NOT_WORD = re.compile(r"\W")

Pairs = tuple[list[str], list[str]]

QUERY = """
import sys
import polars as pl
from pfgen_rs.llm_jp_eval.metrics import metric_expression, prediction_expression
value = metric_expression("char_f1", prediction_expression("output"), "gold").alias("value")
found = pl.scan_parquet(sys.argv[1]).select(value).collect(engine="streaming")
print(len(found))
"""


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=None, help="write what was measured")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script")
    options = parser.parse_args()
    folder = measures.public_data("jpeval")
    if not folder:
        raise SystemExit(f"{measures.DATA} has no jpeval, the folder with golden/")
    outputs, golds = made_pairs(folder, QUICK_ROWS if options.quick else ROWS)
    found: dict[str, Any] = {
        "machine": measures.machine(),
        "outputs": len(outputs),
        "characters_an_output": sum(map(len, outputs)) / len(outputs),
        "asked_ratio": _ASKED_RATIO,
        **beside_loop(outputs, golds),
        **memory(outputs, golds),
    }
    for name, value in found.items():
        print(f"{name:28} {value:10.2f}" if isinstance(value, float) else f"{name:28} {value}")
    if options.json:
        measures.write_json(options.json, found)


def beside_loop(outputs: list[str], golds: list[str]) -> dict[str, float]:
    """Microseconds an output, and how often that is the loop's time, by rows and by the way they come."""
    calls = (partial(loop_mean, by_table), partial(loop_mean, by_expression))
    some = outputs[:SAMPLE], golds[:SAMPLE]
    if len({call(*some) for call in (*calls, of_lists, of_columns, of_predictions)}) > 1:
        raise SystemExit("the loop has other values")
    found: dict[str, float] = {}
    for rows in sorted({min(FEW_ROWS, len(outputs)), len(outputs)}):
        some = outputs[:rows], golds[:rows]
        columns = pl.Series(some[0]), pl.Series(some[1])
        sample = tuple(texts[:: max(rows // SAMPLE, 1)] for texts in some)
        works = {
            "loop": partial(loop_mean, by_table, *sample),
            "quick_loop": partial(loop_mean, by_expression, *sample),
            "lists": partial(of_lists, *some),
            "outputs": partial(of_columns, *some),
            "columns": partial(of_columns, *columns),
            "columns_with_predictions": partial(of_predictions, *columns),
            "columns_one_thread": partial(of_columns, *columns, threads=1),
        }
        rounds = timing.interleaved(list(works.values()), REPEATS)
        scale = rows / len(sample[0])
        for at, (name, work) in enumerate(works.items()):
            each = len(sample[0]) if "loop" in name else rows
            cpu = min(timing.cpu_seconds(work) for _ in range(REPEATS))
            found[f"{rows}_{name}_us"] = min(e[at] for e in rounds) / each * 1e6
            found[f"{rows}_{name}_cpu_us"] = cpu / each * 1e6
            if "loop" not in name:
                ratio = timing.median_ratio([(e[0] * scale, e[at]) for e in rounds])
                found[f"{rows}_{name}_ratio"] = ratio
                found[f"{rows}_{name}_quick_ratio"] = timing.median_ratio(
                    [(e[1] * scale, e[at]) for e in rounds]
                )
    return found


def of_columns(outputs: Any, golds: Any, threads: int | None = None) -> float:
    """Mean of char_f1 by way of columns."""
    return mean(output_metric_column("char_f1", outputs, golds, threads=threads))


def of_predictions(outputs: Any, golds: Any) -> float:
    """The same with a column of predictions in between."""
    return mean(metric_column("char_f1", prediction_column(outputs), golds))


def of_lists(outputs: Sequence[str], golds: Sequence[str]) -> float:
    """Mean of char_f1 with `predictions` and `metric`."""
    return mean(metric("char_f1", predictions(outputs), golds))


def loop_mean(deleted: Callable[[str], str], outputs: Sequence[str], golds: Sequence[str]) -> float:
    """The same in plain Python; `deleted` deletes characters of Latin-1."""
    values = []
    for output, gold in zip(outputs, golds, strict=True):
        one = _loop_tokens(deleted(normalize("NFKC", output.split("\n\n")[0])))
        other = _loop_tokens(deleted(normalize("NFKC", gold)))
        if one == other:
            values.append(1.0)
        elif not one or not other:
            values.append(0.0)
        else:
            values.append(round(100 * Indel.normalized_similarity(one, other)) / 100)
    return mean(values)


def by_table(text: str) -> str:
    """Delete characters of Latin-1."""
    return text.translate(_TABLE)


def by_expression(text: str) -> str:
    """Delete characters of Latin-1."""
    return _LATIN_1.sub("", text)


def _loop_tokens(text: str) -> str:
    words = _NOT_WORD.sub(" ", text).lower().strip()
    return " ".join(sorted(words.split()))


def memory(outputs: list[str], golds: list[str]) -> dict[str, float]:
    """Peak memory in MB of a query over all outputs, and over four times as many."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as folder:
        frame = pl.DataFrame({"output": outputs, "gold": golds})
        for times in (1, 4):
            path = Path(folder) / "outputs.parquet"
            pl.concat([frame] * times).write_parquet(path, row_group_size=50_000)
            done = timing.process("-c", QUERY, path)
            found[f"query_{times}_times_s"] = done.seconds
            found[f"query_{times}_times_peak_mb"] = done.peak / 1e6
    return found


def made_pairs(folder: Path, rows: int) -> Pairs:
    """Outputs and gold answers of the tasks, drawn at random, with some characters left out or doubled."""
    by_task: dict[str, list[str]] = {task: [] for task in TASKS}
    with (folder / "golden" / "replay_outputs.jsonl").open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["task"] in by_task:
                by_task[record["task"]].append(record["output"])
    generator = random.Random(0)
    outputs, golds = [], []
    for row in range(rows):
        texts = by_task[TASKS[row % len(TASKS)]]
        output = generator.choice(texts)
        gold = output if generator.random() < 0.7 else generator.choice(texts)
        outputs.append(_changed(output, generator))
        golds.append(_changed(gold.partition("\n\n")[0], generator))
    return outputs, golds


def _changed(text: str, generator: random.Random) -> str:
    for _ in range(generator.randrange(4)):
        at = generator.randrange(len(text) + 1)
        text = (
            text[:at] + text[at + 1 :] if generator.random() < 0.5 else text[:at] + text[at - 1 :]
        )
    return text


if __name__ == "__main__":
    main()
