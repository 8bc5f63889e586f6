"""The examples in docstrings run; those of README and pages are run by `docs/test_snippets.py`."""

import doctest
from types import ModuleType

import pytest

from pfgen_rs import benchmark
from pfgen_rs.metrics import ngram_index, units
from pfgen_rs.questions import locate
from pfgen_rs.training import rewards


@pytest.mark.parametrize("module", [benchmark, locate, ngram_index, rewards, units])
def test_docstring_examples_run(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed
