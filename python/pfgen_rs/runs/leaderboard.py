"""Leaderboards of scored runs: the table of `pfgen-rs score`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.runs.scored_run import ScoredRun

_TEXTS = ("name", "file", "input_hash", "signature")
_NUMBERS = ("score", "score_std", "trial_se", "question_se", "score_low", "score_high", "length")


def leaderboard(results: Iterable[ScoredRun]) -> Leaderboard:
    """Rank results by their score; `print` shows the table of `pfgen-rs score`.

    `results`: of `score_file`, `score_runs` and the like, and of `load_results`. Raises `InputError` for
    anything else, and for none.

    >>> import pfgen_rs
    >>> board = pfgen_rs.leaderboard(pfgen_rs.score_runs(list(pfgen_rs.sample_runs().values()), "mini"))
    >>> [f"{run.name} {run.score}" for run in board]
    ['mini/faithful 0.8256', 'mini/careless 0.4594', 'mini/babbling 0.1063']
    """
    return Leaderboard(results)


class Leaderboard:
    """Results by descending score; equal ones keep their order.

    >>> import pfgen_rs
    >>> board = pfgen_rs.leaderboard(pfgen_rs.score_runs(list(pfgen_rs.sample_runs().values()), "mini"))
    >>> board.to_polars().select("rank", "name", "score").rows()
    [(1, 'mini/faithful', 0.8256), (2, 'mini/careless', 0.4594), (3, 'mini/babbling', 0.1063)]
    """

    def __init__(self, results: Iterable[ScoredRun]) -> None:
        found = list(results)
        for i, each in enumerate(found):
            if not isinstance(each, ScoredRun):
                raise InputError(
                    f"results[{i}] is of type {type(each).__name__}: expected a result"
                )
        if not found:
            raise InputError("no results: expected at least one")
        self.results = sorted(found, key=lambda result: -result.score)
        """The results, best first."""

    def __iter__(self) -> Iterator[ScoredRun]:
        """Iterate over the results, best first."""
        return iter(self.results)

    def __len__(self) -> int:
        """Count the results."""
        return len(self.results)

    def rows(self) -> list[dict[str, Any]]:
        """Returns `summary()` and `generation` of each: what `pfgen-rs score --format json` prints."""
        return [{**each.summary(), "generation": each.generation} for each in self.results]

    def to_polars(self) -> pl.DataFrame:
        """Returns one row per result: `rank`, and the values of `summary()`."""
        rows = [{"rank": rank, **each.summary()} for rank, each in enumerate(self.results, 1)]
        types: dict[str, Any] = {
            **dict.fromkeys(_TEXTS, pl.String),
            **dict.fromkeys(_NUMBERS, pl.Float64),
            "missing_questions": pl.List(pl.String),
        }
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    def __str__(self) -> str:
        """The table of `pfgen-rs score`, for a window of this width, with the signatures."""
        from pfgen_rs.runs.tables import scores_text  # rich, which scoring does without

        return scores_text(self.rows())

    def __repr__(self) -> str:
        """Show the number of results, and the best one."""
        return f"{type(self).__name__}({len(self)} results, best: {self.results[0]!r})"

    def _repr_html_(self) -> str:
        """Show ranks, names, scores with intervals, and the metrics in notebooks."""
        from pfgen_rs.io import notebook  # which scoring does without
        from pfgen_rs.runs.tables import bounds, told_names

        rows = self.rows()
        cells = [
            (rank, name, f"{row['score']:.4f}", bounds(row), *(row[part] for part in PARTS))
            for rank, (name, row) in enumerate(zip(told_names(rows), rows, strict=True), 1)
        ]
        signatures = dict.fromkeys(row["signature"] for row in rows)
        return notebook.document(
            [
                notebook.table(("rank", "run", "score", "95 % interval", *PARTS), cells),
                *map(notebook.paragraph, signatures),
            ]
        )
