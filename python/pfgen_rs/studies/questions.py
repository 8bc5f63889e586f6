"""Item analysis: what each question tells about models, and which few of them would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pfgen_rs import InputError, score_runs
from pfgen_rs.checkout.items import analysed_items
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import pl
from pfgen_rs.report.plots.inputs import Score, read_inputs


@dataclass(frozen=True, eq=False)
class QuestionStudy:
    """The questions of a benchmark, analysed by the scores of models.

    `found`: what `stats.items.item_analysis` returns. `texts`: the questions by id. `notes`: what was left
    out.
    """

    found: dict[str, Any]
    texts: dict[str, str]
    notes: tuple[str, ...] = ()

    def frame(self) -> pl.DataFrame:
        """Returns a row a question, in the order of their ids, with the columns of `items` and its `text`.

        `misjudged` is the model whose score is furthest from what model and question make expect, and `z` how
        far. `place`: at which a subset takes the question, from 1.
        """
        places = {key: place for place, key in enumerate(self.found["subset"]["order"], 1)}
        rows = [
            {**item, "misjudged": model["model"], "z": model["z"], "place": places[item["id"]]}
            for item in self.found["items"]
            for model in item["misjudged"][:1]
        ]
        texts = [self.texts[row["id"]] for row in rows]
        return pl.DataFrame(rows, infer_schema_length=None).with_columns(text=pl.Series(texts))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Returns by title what is told of the whole: reliability, standard errors, and subsets by size."""
        subset = self.found["subset"]
        rows = {
            "reliability": [self.found["whole"]],
            "standard errors": self.found["errors"],
            f"agreement of subsets with the whole, {subset['splits']} splits": subset["curve"],
            "fewest questions whose lower bound is high enough": [
                {key: subset[key] for key in ("agreement", "enough", "enough_random")}
            ],
        }
        return {title: pl.DataFrame(each, infer_schema_length=None) for title, each in rows.items()}

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return {**self.found, "texts": self.texts, "notes": list(self.notes)}


def study_questions(
    places: Sequence[str],
    benchmark: str | None = None,
    *,
    score: Score = score_runs,
    **options: Any,
) -> QuestionStudy:
    """Analyse the questions of a benchmark by the scores of models, the best run of each.

    `places`, `benchmark` and `score` as for `report.plots.inputs.read_inputs`; `options` as for
    `stats.items.item_analysis` and `stats.subsets.subset_curve`. Runs of other questions than most are left
    out with a note. Needs the extra `study`. Raises `InputError` for fewer than 10 models and for a
    leaderboard file, which has no questions, and errors of reading and scoring.
    """
    inputs = read_inputs(places, benchmark, score)
    if not inputs.results:
        raise InputError("a leaderboard file has no questions: pass a checkout or runs")
    found = analysed_items(inputs.entries, **options)
    models = sum(entry.rank is not None for entry in inputs.entries)
    other = models - len(found["models"])
    why = "of a model with a better one, of other questions, or with a score that is not their mean"
    notes = [f"left out: {counted(other, 'run')} {why}"] if other else []
    results = inputs.results.values()
    texts = {key: own["question"] for result in results for key, own in result["questions"].items()}
    return QuestionStudy(found, texts, (*inputs.notes, *notes))
