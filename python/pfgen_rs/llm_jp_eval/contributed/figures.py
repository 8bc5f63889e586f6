"""Equal numbers as Python reads them, `exact_match_figure`, and equal texts, `equal_texts`."""

from pfgen_rs.llm_jp_eval.measures import sample_metric


@sample_metric("exact_match_figure")
def exact_match_figure(prediction: str, gold: str) -> float:
    """Returns 1.0 if `float` reads the same double from both, else 0.0; nan equals nothing."""
    try:
        return float(float(prediction) == float(gold))
    except ValueError:
        return 0.0


@sample_metric("equal_texts")
def equal_texts(prediction: str, gold: str) -> float:
    """Returns 1.0 for equal texts, else 0.0; NUL characters count, unlike in `exact_match`."""
    return float(prediction == gold)
