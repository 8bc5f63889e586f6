"""Registries: what one file adds, here by a decorator, in another package by an entry point."""

from __future__ import annotations

import pkgutil
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from pfgen_rs.errors import PfgenError, SettingsError, meant

T = TypeVar("T")


def loaded(point: EntryPoint, kind: str, error: type[PfgenError] = SettingsError) -> Any:
    """Returns the object of an entry point; raises an error that names it if there is none.

    `kind`: what it contributes.
    """
    try:
        return point.load()
    except (ImportError, AttributeError) as reason:
        raise error(f"{kind} {point.name!r} of {point.value}: {reason}") from reason


class Registry(Generic[T]):
    """Contributions of one kind, by name.

    `kind`: its name in messages. `package`: each of its modules adds what it contributes when it is imported.
    `group`: the group of entry points of other packages. The name of an entry point is that of the
    contribution, its object the contribution, or what adds it when it is imported; none hides one of this
    package.
    """

    def __init__(
        self, kind: str, package: str, group: str, error: type[PfgenError] = SettingsError
    ) -> None:
        self._kind, self._package, self._group, self._error = kind, package, group, error
        self._added: dict[str, T] = {}

    def add(self, name: str, contribution: T) -> T:
        """Add a contribution, and return it."""
        self._added[name] = contribution
        return contribution

    def names(self) -> list[str]:
        """Returns all names: those of this package in the order of its files, then those of others."""
        return list(dict.fromkeys([*self._own, *self._foreign, *self._added]))

    def get(self, name: str) -> T:
        """Returns a contribution.

        Raises an error that lists all names for an unknown one, or says why one of another package
        cannot be loaded.
        """
        known = self.names()
        if name not in known:
            expected = f"expected one of {', '.join(known)}"
            raise self._error(f"unknown {self._kind} {name!r}{meant(name, known)}: {expected}")
        if name not in self._added:
            self._added.setdefault(name, loaded(self._foreign[name], self._kind, self._error))
        return self._added[name]

    def usable(self) -> dict[str, T]:
        """Returns all contributions by name, without those of other packages that cannot be loaded."""
        found = {}
        for name in self.names():
            with suppress(self._error):
                found[name] = self.get(name)
        return found

    @cached_property
    def _own(self) -> list[str]:
        for module in pkgutil.iter_modules(import_module(self._package).__path__):
            import_module(f"{self._package}.{module.name}")
        return list(self._added)

    @cached_property
    def _foreign(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self._group)}
