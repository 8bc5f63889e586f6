"""The examples in docstrings run; those of READMEs and pages are run by `docs/test_snippets.py`."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import pfgen_rs

ROOT = Path(pfgen_rs.__file__).parent
MODULES = [
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if re.search(r"^ +>>> ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed


def test_there_are_docstring_examples() -> None:
    assert len(MODULES) > 20
