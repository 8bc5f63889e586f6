"""Figures of classifications: `balanced_accuracy`."""

from collections import Counter
from collections.abc import Sequence

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.measures import normalized_gold, task_metric


@task_metric("balanced_accuracy")
def balanced_accuracy(predictions: Sequence[str], golds: Sequence[str]) -> float:
    """Returns the mean recall of the classes that golds have (both in NFKC), summed by first appearance.

    A prediction that is no class is merely wrong. Raises `InputError` without samples.
    """
    if not golds:
        raise InputError("no samples: a balanced accuracy needs at least one")
    expected = list(map(normalized_gold, golds))
    counts = Counter(expected)
    hits = Counter(g for p, g in zip(predictions, expected, strict=True) if p == g)
    total = 0.0  # a running sum in this order, on which the last digit depends
    for name, count in counts.items():
        total += hits[name] / count
    return total / len(counts)
