"""An adapter without its harness says which extra to install."""

import importlib
import sys

import pytest

from pfgen_rs import PfgenError

EXTRAS = {"inspect_ai": "inspect", "flexeval": "flexeval"}


@pytest.mark.parametrize("package", EXTRAS)
def test_the_extra_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = f"pfgen_rs.integrations.{package}"
    monkeypatch.delitem(sys.modules, adapter, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PfgenError, match=rf"pip install 'pfgen_rs\[{EXTRAS[package]}\]'"):
        importlib.import_module(adapter)
