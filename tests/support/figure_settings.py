"""A fixture for tests that draw: matplotlib is imported in it, since some environments of tests lack it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def settings_stay() -> Iterator[None]:
    """Fails if matplotlib's settings are others after the test."""
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
