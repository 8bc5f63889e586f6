"""Averages of boards, to the last bit: the sums that they take, and what their code leaves out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pfgen_rs.llm_jp_eval.measures import task_figure
from pfgen_rs.llm_jp_eval.registry import Profile
from pfgen_rs.stats.means import kahan_mean, mean, numpy_mean, running_mean, running_sum

Values = Mapping[str, Any]
Averages = dict[str, float | None]

_JASTER = {"0shot": "AVG_jaster_0shot", "2shot": "AVG_jaster_2shots"}
"""Names of averages by numbers of examples."""
_OUTSIDE = ("jhumaneval", "jmmlu_IncorrectChoice", "jmmlu_SymbolChoice")
"""Tasks that are no columns of Nejumi's tables."""
TOTALS = ("汎用的言語性能(GLP)_AVG", "アラインメント(ALT)_AVG", "TOTAL_SCORE")
"""Nejumi's averages of which the last needs both others."""
_SKIPPED = {"score": 2, "control": 1}
"""Number of columns that the means of Nejumi's tables leave out, by mistake."""


MEANS: Mapping[str, Callable[[Sequence[float]], float]] = {"exact": mean, "kahan": kahan_mean}
"""How a task's values become its score, by the names that profiles use."""


def means(profile: Profile, values: Values) -> Averages:
    """Returns categories, then averages, as exactly rounded means of what is there.

    What has no member is left out, unless the profile says what it counts as (`lacking`).
    """
    scores = values.get("scores", values)
    found: Averages = {}
    for name, members in {**profile.categories, **profile.averages}.items():
        known: Values = found if name in profile.averages else scores
        own = [known[each] for each in members if each in known]
        if own or profile.lacking is not None:
            found[name] = mean(own) if own else profile.lacking
    return found


# Swallow.


def swallow(profile: Profile, values: Values) -> Averages:
    """Returns categories from texts of four decimals, -1.0 where a score is missing; no total.

    With `jmmlu_counts`, hits and samples by subject, and `nli_records`, pairs of gold and prediction by task,
    also the figures that follow from these.
    """
    scores = values.get("scores", values)
    texts = {name: float(f"{value:.4f}") for name, value in scores.items()}
    found: Averages = {}
    for name, members in profile.categories.items():
        every = all(each in texts for each in members)
        found[name] = running_mean([texts[each] for each in members]) if every else -1.0
    shares = _shares(profile, values.get("jmmlu_counts", {}))
    return {**found, **shares, **_nli(profile, values.get("nli_records", {}))}


def _shares(profile: Profile, counts: Mapping[str, Sequence[int]]) -> Averages:
    """Returns hits / samples of each group of subjects that has samples, and of all together."""
    found: Averages = {}
    for name, subjects in {"jmmlu": tuple(counts), **profile.groups}.items():
        hits, n = (sum(counts[s][place] for s in subjects if s in counts) for place in (0, 1))
        if n:
            found[name] = hits / n
    return found


def nli_tasks(profile: Profile) -> list[str]:
    """Returns the tasks of the category NLI."""
    return [name.removesuffix("_exact_match") for name in profile.categories.get("NLI", ())]


def _nli(profile: Profile, records: Mapping[str, Sequence[Sequence[str]]]) -> Averages:
    found: Averages = {}
    for task, pairs in records.items():
        classes = len({gold for gold, _ in pairs})
        predicted = len({prediction for _, prediction in pairs})
        found |= {
            f"{task}_num_classes": classes,
            f"{task}_num_pred_classes": predicted,
            f"{task}_is_unsolved": predicted == 1,
            f"{task}_accuracy": sum(gold == prediction for gold, prediction in pairs) / len(pairs),
            f"{task}_balanced_accuracy": task_figure(
                "balanced_accuracy", [each for _, each in pairs], [gold for gold, _ in pairs]
            ),
            f"{task}_balanced_accuracy_random_baseline": 1 / classes,
        }
    tasks = nli_tasks(profile)
    for name in ("accuracy", "balanced_accuracy") if records and {*tasks} <= {*records} else ():
        found[f"macro_{name}"] = running_mean([found[f"{task}_{name}"] or 0.0 for task in tasks])
    return found


# Nejumi.


def nejumi(profile: Profile, values: Values) -> Averages:
    """Returns the figures of Nejumi's table, `None` for what has no member.

    `values`: scores and shares of controlled outputs by task, `score_0shot`, `control_0shot`, `score_2shot`
    and `control_2shot`, each optional; `jmmlu_robust_2shot`; and in `external` what other benchmarks gave,
    `mtbench` divided by 10. The means of tables (`score_AVG_0shot`) leave out columns, as the board's code
    does; `score_mean_0shot` is the mean of all.
    """
    tables = _tables(profile, values)
    found: Averages = {}
    for name, table in tables.items():
        kind, shots = name.split("_")
        found[f"{kind}_AVG_{shots}"] = numpy_mean(list(table.values())[_SKIPPED[kind] :])
        found[f"{kind}_mean_{shots}"] = numpy_mean(table.values())
    members = _members(values, tables, found)
    for name, parts in profile.categories.items():
        own = (members.get(part) for part in parts)
        found[name] = numpy_mean(each for each in own if each is not None)
    for name, parts in profile.averages.items():
        found[name] = _weighted_mean(profile.weights.get(name, {}), {p: found[p] for p in parts})
    if None in (found[each] for each in TOTALS):
        found[TOTALS[-1]] = None
    for shots, name in _JASTER.items():
        table = tables[f"score_{shots}"]
        columns = [table[task] for task in tables["score_0shot"] if task in table]
        first = found[f"score_AVG_{shots}"]
        found[name] = None if first is None else numpy_mean([first, *columns])
    return found


def _tables(profile: Profile, values: Values) -> dict[str, dict[str, float]]:
    """Returns the tables of scores and control by number of examples, with their columns in order.

    Tasks that are not the board's are no columns.
    """
    found, own = {}, {*profile.tasks} - {*_OUTSIDE}
    for name in (f"{kind}_{shots}" for shots in _JASTER for kind in _SKIPPED):
        columns = sorted(values.get(name, {}).items())
        found[name] = {t: v for t, v in columns if t in own and v is not None}
    return found


def _members(
    values: Values, tables: Mapping[str, Mapping[str, float]], known: Averages
) -> Averages:
    """Returns what categories are means of, by the names that the profile uses."""
    zero, two = tables["score_0shot"], tables["score_2shot"]
    found: Averages = {t: (zero[t] + two[t]) / 2 for t in zero if t in two}
    found |= {f"{task}@2": value for task, value in two.items()}
    found["jmmlu_robust@2"] = values.get("jmmlu_robust_2shot")
    controls = (known[f"control_AVG_{shots}"] for shots in _JASTER)
    found["control_AVG"] = numpy_mean(each for each in controls if each is not None)
    external = dict(values.get("external", {}))
    found |= {f"mt:{name}": value for name, value in external.pop("mtbench", {}).items()}
    found |= {**external.pop("toxicity", {}), **external}
    found |= {f"1-{name}": 1 - value for name, value in external.items() if value is not None}
    return found


def _weighted_mean(given: Mapping[str, int], members: Mapping[str, float | None]) -> float | None:
    """Returns the mean of what exists, where members of the same weight are summed first."""
    by_weight: dict[int, list[float]] = {}
    for name, value in members.items():
        if value is not None:
            by_weight.setdefault(given.get(name, 1), []).append(value)
    if not by_weight:
        return None
    total = running_sum([w * running_sum(by_weight[w]) for w in sorted(by_weight)])
    return total / sum(w * len(values) for w, values in by_weight.items())


def partial(profile: Profile, values: Values) -> list[str]:
    """Returns the averages that exist although some of what they are means of is missing.

    `values`: as the profile's averaging takes them. No such figure compares with published ones.
    """
    if profile.averaging == "swallow":  # which counts what is missing
        return []
    made = AVERAGINGS[profile.averaging](profile, values)
    known: Values = values.get("scores", values)
    found: list[str] = []
    if profile.averaging == "nejumi":
        tables = _tables(profile, values)
        known = _members(values, tables, made)
        found = _partial_tables(profile, tables)
    for name, members in {**profile.categories, **profile.averages}.items():
        own = made if name in profile.averages else known
        if any(own.get(each) is None or each in found for each in members):
            found.append(name)
    return [name for name in found if made.get(name) is not None]


def _partial_tables(profile: Profile, tables: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Returns the means of tables that lack columns."""
    found = []
    for name, table in tables.items():
        kind, shots = name.split("_")
        columns = profile.control if kind == "control" else profile.tasks
        if not {*columns} - {*_OUTSIDE} <= {*table}:
            own = "control_AVG" if kind == "control" else _JASTER[shots]
            found += [f"{kind}_AVG_{shots}", f"{kind}_mean_{shots}", own]
    return found


AVERAGINGS: Mapping[str, Callable[[Profile, Values], Averages]] = {
    "means": means,
    "swallow": swallow,
    "nejumi": nejumi,
}
"""What makes the averages of a profile, by the names that profiles use."""
