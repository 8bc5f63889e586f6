"""Reads Parquet that nobody vouches for: columns of single values, and no more text than said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.io.safe_text import shortened
from pfgen_rs.io.tables import table_errors
from pfgen_rs.studies.tables import LONGEST_NAME

__all__ = ["ParquetColumns"]

_DEEPEST = 20


class ParquetColumns:
    """The columns of a file with single values, those inside structs by names that are joined with dots.

    `height`: number of rows. `values`: an expression for each column; columns of lists and of bytes have no
    figures and are none. Raises `InputError` for files that cannot be read, for structs that are nested too
    deeply and for two columns of one name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _parquet_errors(path):
            self._scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
            self.height: int = self._scan.select(pl.len()).collect().item()
            self._schema = self._scan.collect_schema()
        self.values: dict[str, pl.Expr] = {}
        try:
            for name, kind in self._schema.items():
                for inner, value in _values_inside(pl.col(name), name, kind):
                    if inner in self.values:
                        raise InputError(f"two columns are called {shortened(inner)!r}: rename one")
                    self.values[inner] = value
        except InputError as error:
            raise InputError(error.problem, path=path) from None

    def rows(self, most_text: int) -> list[dict[str, Any]]:
        """Returns the rows; raises `InputError` for more than `most_text` bytes of text.

        A file may store a long text once for all rows, which Python would not.
        """
        with _parquet_errors(self._path):
            flat = self._scan.select(value.alias(name) for name, value in self.values.items())
            kinds = flat.collect_schema()
            texts = [name for name, kind in kinds.items() if kind in _TEXTS]
            sizes = flat.select(
                pl.col(name).cast(pl.String).str.len_bytes().cast(pl.UInt64).sum() for name in texts
            )
            if texts and sum(sizes.collect().row(0)) > most_text:
                raise InputError(
                    f"has more than {most_text >> 20} MiB of text: remove what is no table",
                    path=self._path,
                )
            return flat.collect().to_dicts()


_TEXTS = (pl.String, pl.Categorical, pl.Enum)


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except table_errors() as error:
        reason = str(error).split("\n\n")[0]  # the rest is advice on polars' own options
        raise InputError(f"cannot be read as .parquet: {reason}", path=path) from None


def _values_inside(
    value: pl.Expr, name: str, kind: object, depth: int = 0
) -> Iterator[tuple[str, pl.Expr]]:
    if depth > _DEEPEST:
        raise InputError("has values that are nested too deeply")
    if len(name) > LONGEST_NAME:  # before it is copied for each value below it
        raise InputError(
            f"the name of a column is longer than {LONGEST_NAME:,} characters: {shortened(name)!r}"
        )
    if isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _values_inside(
                value.struct.field(field.name), f"{name}.{field.name}", field.dtype, depth + 1
            )
    elif not isinstance(kind, pl.List | pl.Array | pl.Binary | pl.Object):
        yield name, value
