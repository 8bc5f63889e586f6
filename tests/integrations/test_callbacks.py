"""What integrations say of wrong settings and of packages that are not installed."""

import importlib
import sys
from typing import Any

import pytest

from generating import FakeEngine
from pfgen_rs import PfgenError, SettingsError
from pfgen_rs.integrations.callbacks import Evaluating


def test_settings_that_cannot_be() -> None:
    known = "batch_size, budget, device, engine, every, "
    for wrong, match in (
        ({"evry": 2}, f"unknown setting `evry`: expected one of {known}"),
        ({"is_main": True}, f"unknown setting `is_main`: expected one of {known}"),
        ({"loggers": "x"}, "`loggers` must be one or more functions"),
        ({"temperature": -1}, "`temperature` must be at least 0, not -1"),
        ({"temperature": "1"}, "not '1'"),
        ({"temperature": float("nan")}, "not nan"),
        ({"top_p": 0}, "`top_p` must be positive and at most 1"),
        ({"top_p": 1.01}, "at most 1, not 1.01"),
        ({"batch_size": 0}, "`batch_size` must be"),
        ({"max_new_tokens": 1.5}, "`max_new_tokens` must be"),
        ({"limit": 0}, "`limit` must be a positive number of seconds, not 0"),
        ({"limit": float("inf")}, "not inf"),
        ({"engine": FakeEngine(), "top_p": 1}, "`top_p` cannot be combined with `engine`"),
    ):
        settings: dict[str, Any] = wrong
        with pytest.raises(SettingsError, match=match):
            Evaluating("mini", None, settings)


def test_settings_are_split() -> None:
    given = {"every": 2, "temperature": 0, "top_p": 1, "loggers": print, "folder": "x"}
    found = Evaluating("mini", None, given)
    assert found.sampling == {"temperature": 0, "top_p": 1}
    assert found.settings == {"every": 2, "loggers": (print,), "folder": "x", "on_error": "warn"}
    assert Evaluating("mini", None, {"on_error": "raise"}).settings["on_error"] == "raise"


def test_prompts_are_checked_when_training_begins() -> None:
    """And scores are handed to the trainer's own loggers, on its thread."""
    checked: list[int] = []

    class Generate:
        def __call__(self, tasks: Any) -> list[str]:
            return ["猫"] * len(tasks)

        def check(self, tasks: Any) -> None:
            checked.append(len(tasks))

    callback = Evaluating("mini", None, {"questions": 3})
    with callback._new_evaluator(Generate(), every=500, is_main=True) as evaluator:
        assert [evaluator(step) for step in (0, 499, 500)] == [True, False, True]
    assert checked == [3]
    assert [step for step, _ in callback._finished.take()] == [0, 500]
    assert list(callback._finished.take()) == []


# An adapter without its harness says which extra to install.


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
