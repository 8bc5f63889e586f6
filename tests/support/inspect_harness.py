"""The command `inspect eval` on a model whose answers are known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from helpers import environment
from places import ROOT

TIMEOUT = 120


class Harness:
    """The command `inspect eval`, with this package installed as pyproject.toml declares it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls.jsonl"
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        installed = self._install(project["entry-points"]["inspect_ai"])
        self.env = environment(
            PYTHONPATH=os.pathsep.join(
                map(str, [installed, ROOT / "python", ROOT / "tests" / "support"])
            ),
            XDG_DATA_HOME=str(folder),
            NO_COLOR="1",
        )

    def eval(self, task: str, answers: dict[str, list[str]], *options: str) -> dict[str, Any]:
        """The log of a run."""
        told = self.folder / "answers.json"
        told.write_text(json.dumps(answers), encoding="utf-8")
        model = ["--model", "told/model", "-M", f"answers={told}", "-M", f"calls={self.calls}"]
        done = self.command(task, *model, "--log-format", "json", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        [path] = (self.folder / "logs").glob("*.json")
        log: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        assert log["status"] == "success", log["error"]
        return log

    def score(self) -> dict[str, Any]:
        """The log of the run, scored again by `inspect score`."""
        [path] = (self.folder / "logs").glob("*.json")
        scorer = ["--scorer", "pfgen_rs/pfgen_scorer", "-S", "benchmark=mini", "-S", "mode=qa"]
        done = self.command(
            str(path), *scorer, "--action", "overwrite", "--overwrite", verb="score"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        log: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return log

    def command(self, *args: str, verb: str = "eval") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "inspect_ai", verb, *args, "--display", "plain"]
        return subprocess.run(
            command,
            capture_output=True,
            timeout=TIMEOUT,
            env=self.env,
            cwd=self.folder,
            check=False,
            encoding="utf-8",
        )

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls.read_text(encoding="utf-8").splitlines()]

    def _install(self, entries: dict[str, str]) -> Path:
        folder = self.folder / "installed" / "pfgen_rs-0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pfgen_rs\nVersion: 0\n")
        lines = [f"{name} = {place}" for name, place in entries.items()]
        lines = ["[inspect_ai]", *lines, "told = inspect_model"]
        (folder / "entry_points.txt").write_text("\n".join(lines))
        place = {"url": ROOT.as_uri(), "dir_info": {"editable": True}}
        (folder / "direct_url.json").write_text(json.dumps(place))
        return folder.parent
