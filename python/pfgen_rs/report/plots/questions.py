"""The heat map of runs and questions, ordered such that those that are alike stand together."""

from functools import partial
from typing import Unpack

from pfgen_rs import extras
from pfgen_rs.drawing import figures, style
from pfgen_rs.lazy import Figure, Floats, np, pl
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import inputs, points
from pfgen_rs.report.plots.spread import QUESTIONS

_RUNS, _QUESTIONS = 60, 150
_CELL = 0.115, 0.2  # inches
_WIDTH = 8.0


@plot_kind("questions", "a heat map of runs and questions, clustered", of_sites=True, top=_RUNS)
def _questions(request: inputs.PlotRequest) -> Plot:
    """Returns the plot of the kind `questions`."""
    scores, _, overall = request.category_scores
    top = request.top or _RUNS
    best = sorted(overall, key=lambda name: -overall[name])[:top]
    table = clustered(scores.filter(pl.col("name").is_in(best)))
    notes = [*request.category_notes, *points.cut_note(points.RUNS, top, len(overall))]
    notes += points.cut_note(QUESTIONS, _QUESTIONS, table.width - 1)
    draw = partial(question_map, table, of=len(overall))
    return Plot(table, draw, notes)


def clustered(scores: "pl.DataFrame") -> "pl.DataFrame":
    """Returns scores with a row for each run and a column for each question, each in the order of its tree.

    `scores`: columns `name`, `question_id`, `score`. The trees join by average linkage of Euclidean
    distances, their leaves ordered such that neighbours are near (scipy), the better end first. A score that
    is missing counts as the mean of its question. Time O(runs · questions · (runs + questions)). Needs scipy
    (extra `plots`).
    """
    found = inputs.drawable(scores, ["name", "question_id"], ["score"])
    table = found.pivot("question_id", index="name", values="score", maintain_order=True)
    known = table.drop("name").select(pl.all().fill_null(pl.all().mean())).to_numpy()
    rows, columns = _tree_order(known), _tree_order(known.T)
    names = [table.columns[1 + place] for place in columns]
    return table[rows].select("name", *names)


def _tree_order(items: Floats) -> list[int]:
    if len(items) < 2:
        return [0] * len(items)
    hierarchy = extras.needed("scipy.cluster.hierarchy", "plots")
    tree = hierarchy.linkage(items, method="average", optimal_ordering=True)
    order = [int(place) for place in hierarchy.leaves_list(tree)]
    half = len(order) // 2
    is_rising = items[order[:half]].mean() < items[order[-half:]].mean()
    return order[::-1] if is_rising else order


def question_map(
    table: "pl.DataFrame", *, of: int | None = None, **options: Unpack[style.LookOptions]
) -> Figure:
    """Draw the scores of runs by question as a heat map.

    `table`: as of `clustered`; of more than 150 questions, those that differ most between runs are shown.
    `of`: the number of all runs.
    """
    known = table.drop("name")
    spread = np.ptp(np.nan_to_num(known.to_numpy()), axis=0)
    widest = np.argsort(-spread, kind="stable")[:_QUESTIONS]
    shown = known[:, sorted(widest.tolist())]
    with style.drawing(**options) as look:
        size = max(_WIDTH, 4.4 + _CELL[0] * shown.width), 2.2 + _CELL[1] * len(shown)
        figure = look.figure(look.title, "Score by question", *size)
        axes = figure.subplots()
        labels = [look.name(key, 12) for key in shown.columns]
        figures.score_map(
            axes, shown.insert_column(0, table["name"]), look, labels, shrink=0.8, size=0
        )
        said = [points.cut_in_figure(look, points.RUNS, len(table), of or 0)]
        said += [points.cut_in_figure(look, QUESTIONS, len(labels), known.width)]
        said += [look.say("both ordered by likeness (average linkage)")]
        axes.set_xlabel("; ".join(filter(None, said)), fontsize=8.5, color=style.FAINT)
        description = f"{look.say('Runs')}: {len(table)}; {look.say('Questions')}: {known.width}"
        return figures.finish(figure, description)
