"""What the reference shows of the package: an extension of griffe, which reads signatures and docstrings."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Class, Extension, Module

__all__ = ["HIDDEN", "PublicNames"]

_UNSAID = "del eq getattr getstate hash post_init reduce repr setstate str"
_SPECIAL = {f"__{name}__" for name in _UNSAID.split()}

HIDDEN = {
    "metrics.ngram_index.NgramIndex.native",
    "metrics.settings.Settings.native",
}
"""Members that only the package itself uses, below `pfgen_rs`."""


class PublicNames(Extension):
    """Hides what users do not call, and finds functions whose module has the same name."""

    def __init__(self) -> None:
        super().__init__()
        self._shadowing: list[tuple[str, str]] = []

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Make room for `ranks.py` in a package that has `from .ranks import ranks`."""
        for name, target in mod.imports.items():
            if target == f"{mod.path}.{name}.{name}" and name in mod.members:
                mod.del_member(name)
                self._shadowing.append((mod.path, name))

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Change what is there when all modules are read."""
        for path, name in self._shadowing:
            _give_way(pkg[path.removeprefix(f"{pkg.path}.")], name)
        for hidden in HIDDEN:
            pkg.del_member(hidden)

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Leave out the special methods that are nobody's business."""
        for name in _SPECIAL & cls.members.keys():
            cls.del_member(name)


def _give_way(package: Module, name: str) -> None:
    """Puts a function, and what else comes from its module, where the module of the same name was."""
    module = package.members[name]
    for imported, target in package.imports.items():
        if target == f"{module.path}.{imported}":
            found = Alias(imported, module.members[imported], parent=package)
            package.set_member(imported, found)
