"""What the tests left out, and what they would need: a pytest plugin, and the last lines of `.ci/run`.

Each run of pytest says it at its end. With PFGEN_SKIPS_FILE it also adds a JSON line for everything skipped
to that file; `python tests/support/skips.py FILE` sums up the runs that did so.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

FILE = "PFGEN_SKIPS_FILE"
_NEEDS = (
    r"(PFGEN_\w+)\b.* is not set",
    r"(?:the package )?(\S+) is not installed",
    r"could not import '([^'.]+)",
    r"there is no (\S+)$",
    r"needs (.+)",
)


def need_of(reason: str) -> str:
    """What a skipped test says that it needs, or its reason."""
    reason = reason.removeprefix("Skipped: ")
    found = (re.match(pattern, reason) for pattern in _NEEDS)
    return next((f"need {match[1]}" for match in found if match), reason)


def summary(skipped: Iterable[Mapping[str, str]]) -> str:
    """How much was skipped, and for what; records have `kind` (`test` or `module`) and `reason`."""
    records = list(skipped)
    if not records:
        return "no tests were skipped"
    kinds = Counter(record["kind"] for record in records)
    needs = Counter((need_of(record["reason"]), record["kind"]) for record in records)
    total = " and ".join(_counted(kinds[kind], kind) for kind in ("test", "module") if kinds[kind])
    parts = [
        f"{count if kind == 'test' else _counted(count, kind)} {_agreeing(need, count)}"
        for (need, kind), count in sorted(needs.items(), key=lambda item: (-item[1], item[0]))
    ]
    return f"{total} {'was' if len(records) == 1 else 'were'} skipped: {', '.join(parts)}"


def _counted(count: int, kind: str) -> str:
    return f"{count} {kind}{'' if count == 1 else 's'}"


def _agreeing(need: str, count: int) -> str:
    if not need.startswith("need "):
        return f"({need})"
    return f"needs {need[5:]}" if count == 1 else need


class _Skips:
    """Collects what one run skips; workers of pytest-xdist hand over the modules that they skip."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.records: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._add("test", report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._add("module", report)

    @pytest.hookimpl(optionalhook=True)  # pytest-xdist's
    def pytest_testnodedown(self, node: Any) -> None:
        self.records |= getattr(node, "workeroutput", {}).get("skips", {})

    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workeroutput"):
            modules = {k: v for k, v in self.records.items() if v["kind"] == "module"}
            self.config.workeroutput["skips"] = modules

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if hasattr(self.config, "workeroutput"):
            return  # the run that started this worker says it
        if self.records:
            terminalreporter.write_line(summary(self.records.values()))
        if path := os.environ.get(FILE):
            with Path(path).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in self.records.values())

    def _add(self, kind: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        self.records[report.nodeid] = {"kind": kind, "name": report.nodeid, "reason": reason}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Skips(config), "skips-of-this-run")


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    sys.stdout.write(summary(map(json.loads, lines)) + "\n")
