"""Packages whose exports, and modules that, are loaded when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["ArrayLike", "Axes", "Figure", "Floats", "NDArray", "exports", "module", "np", "pl"]


def exports(
    package: str,
    names: Mapping[str, Collection[str]],
    modules: Collection[str] = (),
    inner: Collection[str] = (),
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a package.

    `names`: what the package exports, by the module that defines it. `modules`: modules that are loaded when
    they are used as attributes; so are those of `inner`, which `dir` leaves out. For type checkers the
    package imports the same under `TYPE_CHECKING`.
    """
    homes = {name: module for module, defined in names.items() for name in defined}
    namespace = vars(sys.modules[package])

    def find(name: str) -> object:
        if name in homes:
            namespace[name] = getattr(import_module(f"{package}.{homes[name]}"), name)
            return namespace[name]
        if name in modules or name in inner:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*namespace["__all__"], *modules})

    return find, listed


class _Module:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


def module(name: str) -> Any:
    """Returns a module that is imported when something of it is first used, in whichever thread."""
    return _Module(name)


# numpy and polars, which much of the package needs, but neither starting it nor scoring JSON lines; and types
# of figures.
if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
else:
    np, pl = module("numpy"), module("polars")
    # Stand for types, which are only checked.
    ArrayLike = NDArray = Floats = Axes = Figure = list
