"""Runs tasks of llm-jp-eval on a real, small model behind a real server; kills that half-way, and resumes.

    python tests/llm_jpeval_check.py ENVIRONMENT [--record]

`make test-llm` makes ENVIRONMENT, with the server and the model, and runs this. `pfgen-rs llm-jp-eval run` is
killed when half of the requests are answered; a second call must ask for what is not in the journal, and for
nothing else; a third call must ask for nothing. The data are the real ones in PFGEN_DATA_DIR, otherwise
the bundled sample. `--record` instead writes the model's outputs for the bundled sample, which
`pfgen-rs llm-jp-eval demo` scores.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from llm_check import (
    CONCURRENCY,
    MODEL,
    SCRIPT,
    SECONDS,
    client_environment,
    expect,
    killed_half_way,
    server_command,
)
from llm_recorder import Recorder
from llm_server import Server, served
from pfgen_rs.io.json_lines import lines, write_objects
from pfgen_rs.llm_jp_eval.data import RUNS, read_tasks, sample_path
from pfgen_rs.llm_jp_eval.scoring import evaluate

ROOT = Path(__file__).parents[1]
TASKS = ("jamp", "jcommonsenseqa", "jemhopqa", "mawps")
SAMPLES = 20
SHOTS = 4
CONTEXT = 4096


def main(environment: Path, *, record: bool) -> None:
    """Check a run, or record the outputs of the bundled sample."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-llm-") as folder:
        command, port = server_command(environment, CONTEXT)
        with (
            served(command, port, Path(folder, "server.log")) as server,
            Recorder(port) as recorder,
        ):
            check = _JpevalCheck(server, recorder, Path(folder))
            if record:
                check.record()
            else:
                check.run_killed_and_resumed()


class _JpevalCheck:
    """A folder of converted data, and a server."""

    def __init__(self, server: Server, recorder: Recorder, folder: Path) -> None:
        self._server, self._recorder, self._folder = server, recorder, folder
        self._data = folder / "data"

    def run_killed_and_resumed(self) -> None:
        """Run half of the samples, then the rest, then nothing."""
        real = Path(os.environ.get("PFGEN_DATA_DIR", os.devnull), "jpeval", "raw")
        self._convert(real if real.is_dir() else sample_path() / "raw_files")
        datas = read_tasks(self._data, TASKS)
        golds = {data.task: [s.output for s in data.samples[:SAMPLES]] for data in datas}
        total = sum(map(len, golds.values()))
        out = self._folder / "run"
        command = ("run", MODEL, "--tasks", ",".join(TASKS), "--limit", SAMPLES, "--shots", SHOTS)
        command = (*command, *self._options(out))
        begun = time.monotonic()
        arguments = [str(SCRIPT), "llm-jp-eval", *map(str, command)]
        kept = killed_half_way(
            arguments, self._server, self._recorder, out / "outputs.jsonl", total
        )
        before = len(self._recorder.asked)
        asked = self._run(*command)
        expect(len(asked) == total - kept, f"{len(asked)} requests with {kept} outputs kept")
        expect(not self._run(*command), "outputs that are stored were asked for again")
        seconds = time.monotonic() - begun
        stored = {line.record["id"]: line.record["output"] for line in lines(out / "outputs.jsonl")}
        expect(len(stored) == total, f"{len(stored)} outputs are stored, not {total}")
        outputs = {
            task: [stored[f"{task}/test/{n}"] for n in range(len(texts))]
            for task, texts in golds.items()
        }
        scores = evaluate(datas, outputs).scores
        written = json.loads((out / "result.json").read_text(encoding="utf-8"))["scores"]
        for name, value in scores.items():
            expect(written[name] == f"{value:.4f}", f"{name} is {written[name]}, not {value:.4f}")
        oracle = evaluate(datas, golds).scores
        expect(set(oracle.values()) == {1.0}, f"expected outputs score {oracle}")
        print(
            f"{total} samples: {kept} outputs kept, {before + len(asked)} requests, {seconds:.0f} s; "
            + ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
        )

    def record(self) -> None:
        """Write the outputs for the bundled sample."""
        self._convert(sample_path() / "raw_files")
        for name in RUNS:
            out = self._folder / name
            shots = name.partition("-")[0]
            self._run("run", MODEL, "--shots", shots, *self._options(out))
            records = [
                {"id": line.record["id"], "output": line.record["output"]}
                for line in lines(out / "outputs.jsonl")
            ]
            place = ROOT / "data" / "llm-jp-eval-mini" / "outputs" / f"{name}.jsonl"
            write_objects(place, records)
            print(f"{place}: {len(records)} outputs")

    def _options(self, out: Path) -> tuple[Any, ...]:
        return (
            *("--engine", "openai", "--concurrency", CONCURRENCY),
            *("--data", self._data, "--out", out),
        )

    def _convert(self, raw: Path) -> None:
        code, _ = self._server.run(
            [str(SCRIPT), "llm-jp-eval", "convert", "--raw", str(raw), "--out", str(self._data)],
            SECONDS,
            client_environment(self._recorder),
        )
        expect(code == 0, f"exit code {code} of convert")

    def _run(self, *command: Any) -> list[str]:
        """Returns what a call asked the server for."""
        self._recorder.forget()
        arguments = [str(SCRIPT), "llm-jp-eval", *map(str, command)]
        code, _ = self._server.run(arguments, SECONDS, client_environment(self._recorder))
        expect(code == 0, f"exit code {code} of {command[0]}")
        return self._recorder.asked


if __name__ == "__main__":
    main(Path(sys.argv[1]), record="--record" in sys.argv[2:])
