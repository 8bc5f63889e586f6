"""Mathematical answers that are equal by sympy: `mathematical_equivalence`."""

from functools import partial

from pfgen_rs.llm_jp_eval.measures import absent_packages, sample_metric
from pfgen_rs.metrics.equality import equivalences


@sample_metric(
    "mathematical_equivalence",
    column=equivalences,
    lacks=partial(absent_packages, "sympy", "antlr4", extra="metrics"),
)
def mathematical_equivalence(prediction: str, gold: str) -> float:
    r"""Returns 1.0 if two answers, in LaTeX or plain, are equal as sympy simplifies them, else 0.0.

    Of each, the last `\boxed{…}` counts if there is one. A unit that only one side has does not matter. What
    cannot be read as mathematics is compared as text. See `equivalences` for the bounds.
    """
    return equivalences([prediction], [gold])[0]
