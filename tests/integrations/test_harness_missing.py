"""An adapter without its harness says which extra to install."""

import importlib
import sys

import pytest

from pfgen_rs import PfgenError

NEEDED = {
    "arrow": ("pyarrow", "arrow"),
    "flexeval": ("flexeval", "flexeval"),
    "inspect_ai": ("inspect_ai", "inspect"),
    "lightning": ("lightning.pytorch", "lightning"),
    "transformers": ("transformers", "transformers"),
}
"""What each adapter cannot be imported without, and the extra that has it."""


@pytest.mark.parametrize("name", NEEDED)
def test_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, (package, extra) = f"pfgen_rs.integrations.{name}", NEEDED[name]
    monkeypatch.delitem(sys.modules, adapter, raising=False)
    for loaded in [module for module in sys.modules if f"{module}.".startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        PfgenError, match=rf"{package} cannot be imported.*pip install 'pfgen_rs\[{extra}\]'"
    ):
        importlib.import_module(adapter)
