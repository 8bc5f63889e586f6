"""What is known of the models that a study is over, and subsets of them: `size < 15 and mode = 'qa'`.

Only the words and marks of conditions reach polars' SQL, and columns under names of our own: neither
functions nor tables.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import pl
from pfgen_rs.report.site.model_facts import ModelFacts
from pfgen_rs.studies.tables import BenchmarkTable

_FACTS = {"size": "parameters"}
_FACTS |= {name: name for name in ("released", "family", "kind", "licence", "weights")}
_OWN = {"score": "figure", **{name: name for name in ("model", "mode", "organisation", "length")}}


@dataclass(frozen=True, eq=False)
class Models:
    """The leaderboard's models with facts and another table's columns.

    `ours`: as by `Leaderboard.by_model`. `names`: the column of the table's names. `aliases`: keys of its
    models with ours.
    """

    ours: pl.DataFrame
    facts: ModelFacts
    theirs: BenchmarkTable
    names: str
    aliases: Mapping[str, str]

    def column(self, name: str) -> pl.Series:
        """Returns numbers or texts, one for each of `ours`, null if unknown.

        `score`, `model`, `mode`, `organisation`, `length`; a column of the other table; or, where that has
        none of the name, a fact about models: `size` in billions of parameters, `released` as text
        (2024-05-13), `family`, `kind`, `licence` or `weights`. Raises `InputError` for none.
        """
        if name in _OWN:
            return self.ours[_OWN[name]].alias(name)
        if name in _FACTS and name not in self.theirs.columns:
            kind: type[pl.DataType] = pl.Float64 if name == "size" else pl.String
            named = self.ours.select("organisation", "model").iter_rows()
            known = (
                self.facts.of(f"{by}/{model.rpartition('/')[2]}", model) for by, model in named
            )
            facts = (each.get(_FACTS[name]) for each in known)
            values = [fact and fact.value for fact in facts]
            return pl.Series(name, values, strict=False).cast(kind)
        found = self.theirs.values(self.names, self.theirs.find(name), self.aliases)
        kind = pl.String if any(isinstance(each, str) for each in found.values()) else pl.Float64
        return pl.Series(name, [found.get(key) for key in self.ours["key"]], dtype=kind)

    def numbers(self, name: str) -> pl.Series:
        """Returns a column as numbers to control for: sizes as their logarithms, dates as days.

        Raises `InputError` for texts that are no dates, and where nothing is known.
        """
        found = self.column(name)
        if found.is_null().all():
            raise InputError(f"{shortened(name)!r} is unknown for all models")
        try:
            if found.dtype == pl.String:
                return found.str.to_date("%Y-%m-%d").to_physical().cast(pl.Float64)
        except pl.exceptions.PolarsError:
            expected = "expected numbers, or dates such as 2024-05-13"
            raise InputError(f"{shortened(name)!r} has texts: {expected}") from None
        return found.log() if name == "size" else found

    def chosen(self, condition: str) -> pl.Series:
        """Returns whether each model meets a condition in SQL: booleans, null where unknown.

        Names of columns (in double quotes unless they are words, which may be joined with dots), numbers,
        texts in single quotes, comparisons, `and`, `or`, `not`, `in`, `between`, `like`, `is null` and
        parentheses: anything else raises `SettingsError`, with the place.
        """
        columns: dict[str, pl.Series] = {}
        parts = []
        for place, token in _tokens(condition):
            name = token["quoted"] or token["word"] or ""
            if name and (token["quoted"] or name.casefold() not in _WORDS):
                try:
                    columns.setdefault(name, self.column(name).alias(f"c{len(columns)}"))
                except InputError as error:
                    raise _wrong(condition, place, error.problem) from None
                parts.append(columns[name].name)
            else:
                parts.append(token[0])
        try:
            met = pl.sql_expr(" ".join(parts))
            found = pl.DataFrame([*columns.values()]).select(met).to_series()
        except pl.exceptions.SQLInterfaceError:  # its messages have names that nobody wrote
            found = pl.Series([0])
        except pl.exceptions.PolarsError as error:
            raise _wrong(condition, 0, shortened(str(error).splitlines()[0])) from None
        if found.dtype != pl.Boolean or not columns:
            raise _wrong(condition, 0, "expected a comparison of a column, such as size < 15")
        return found


_LONGEST = 1_000
_WORDS = frozenset({"and", "or", "not", "in", "between", "like", "is", "null"})
_TOKEN = re.compile(
    r"""\s*(?:'(?:[^']|'')*'|"(?P<quoted>[^"]+)"|(?P<word>[^\W\d][\w.]*)"""
    r"""|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|<=|>=|<>|!=|==|[=<>(),])""",
)


def _tokens(condition: str) -> Iterator[tuple[int, re.Match[str]]]:
    at, end = 0, len(condition.rstrip())
    if end > _LONGEST:  # which bounds how deeply conditions are nested
        raise _wrong(condition, _LONGEST, f"is longer than {_LONGEST:,} characters")
    while at < end:
        token = _TOKEN.match(condition, at)
        if token is None:
            at = end - len(condition[at:end].lstrip())
            raise _wrong(condition, at, f"{condition[at]!r} is no part of a condition")
        yield token.end() - len(token[0].lstrip()), token
        at = token.end()


def _wrong(condition: str, place: int, problem: str) -> SettingsError:
    return SettingsError(f"{shortened(condition)!r}, character {place + 1}: {problem}")
