"""Item analysis of leaderboards: the best run of each model, and families of models."""

import re
from collections.abc import Iterable
from typing import Any

from pfgen_rs.checkout.entries import Entry
from pfgen_rs.checkout.leaderboard import model_key, run_labels
from pfgen_rs.lazy import np
from pfgen_rs.stats.items import item_analysis

# Base models of which others publish descendants that carry the name.
_BASE = re.compile(r"llama|qwen|mistral|mixtral|gemma|phi(?=-?\d)|deepseek|calm|plamo|llm-jp")


def family(entry: Entry) -> str:
    """Returns what related models share: the base model in their name or, without one, the organisation.

    Bases that names do not tell are not known.
    """
    base = _BASE.search(entry.model.rpartition("/")[2].casefold())
    return base[0] if base else (entry.organisation or entry.model).casefold()


def analysed_items(entries: Iterable[Entry], **options: Any) -> dict[str, Any]:
    """Returns `stats.items.item_analysis` of a leaderboard, with its options; raises what that raises.

    `entries`: best first. The best run of each model counts, so that copies of a model are no evidence, of
    those that have ranges of ranks: with the questions of most runs, and a score that is their mean. Names of
    models are short (`run_labels`); splits keep families together.
    """
    ranked = [entry for entry in entries if entry.rank_low is not None]
    runs = list({model_key(entry): entry for entry in reversed(ranked)}.values())[::-1]
    ids = sorted(runs[0].questions) if runs else []
    labels = run_labels(runs)
    errors = [run.estimate.trial_se for run in runs]
    means = [[run.questions[key] for key in ids] for run in runs]
    return item_analysis(
        np.array(means).reshape(len(runs), len(ids)),
        ids,
        [labels[run.run] for run in runs],
        noise=[np.nan if error is None else error**2 * len(ids) for error in errors],
        families=[family(run) for run in runs],
        **options,
    )
