"""Judges in files, judged: folders of verdicts, judgments of other tools, and trivial rules (judging 10)."""

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.ask.costs import read_prices
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.judge import formats, imported, pairs as pair_files
from pfgen_rs.judge.agreement import intervals
from pfgen_rs.judge.agreement.meta import MetaEvaluation, meta
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.verdict_folder import VerdictFolder, read_verdicts
from pfgen_rs.judge.verdicts import Letter
from pfgen_rs.lazy import pl

_MARKS = re.compile(r"^\s*(?:#{1,6} |[-*+] |\d+\. |\||```)|\*\*", re.MULTILINE)


class _Evaluated(NamedTuple):
    """A judge as files have it: its model, its decisions, the pairs, and the records of its judgments."""

    name: str
    model: str
    decisions: pl.DataFrame
    pairs: Iterable[Pair]
    records: Iterable[Mapping[str, Any]]


def meta_of_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    humans: str | os.PathLike[str] | None = None,
    prices: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    resamples: int = intervals.RESAMPLES,
    seed: int = 0,
) -> MetaEvaluation:
    """Returns the figures (`meta`) of all judges in folders of verdicts and files of other tools.

    `paths`: folders of verdicts, and files or folders that belong together, of one format
    (`formats.read_format`), or `traps`. Where there is no judgment, trivial rules judge: the first or the
    longer answer, the shorter one, the one with more Markdown. `humans`: verdicts of people (`read_humans`),
    whose majority is right where pairs have no gold letters; several letters that share the lead are all
    right. `prices`: a file as `ask.costs.read_prices` reads it.

    Raises `InputError` for files that cannot be used, and as `meta`.
    """
    judges, notes, rules = _judges_of(paths)
    pairs = {pair.id: pair for judge in judges for pair in judge.pairs}
    gold: dict[str, Collection[Letter]] = {pair.id: pair.gold for pair in pairs.values()}
    if humans is not None:
        people = pair_files.read_humans(humans, pairs)
        for (name,), votes in people.group_by("pair", maintain_order=True):
            gold[str(name)] = gold[str(name)] or pair_files.leading_letters(votes["verdict"])
    models = {judge.name: judge.model for judge in judges}
    frames = {judge.name: judge.decisions for judge in judges}
    found = meta(frames, gold, models=models, level=level, resamples=resamples, seed=seed)
    costs = [_cost(judge, None if rules else prices) for judge in judges]
    names = {"prompt_tokens": pl.Float64, "completion_tokens": pl.Float64, "cost": pl.Float64}
    about = found.judges.hstack(
        pl.DataFrame([row[:3] for row in costs], schema=names, orient="row")
    )
    currency = next((row[3] for row in costs if row[3]), "")
    told = (*notes, *found.notes)
    return replace(found, judges=about, currency=currency, rules=rules, notes=told)


def _judges_of(
    paths: Sequence[str | os.PathLike[str]],
) -> tuple[list[_Evaluated], list[str], bool]:
    """Returns the judges in files, remarks, and whether they are trivial rules."""
    folders = [path for path in paths if (Path(path) / CONFIG).is_file()]
    files = [pair_files.pairs_file(path) for path in paths if path not in folders]
    judges = [
        _Evaluated(
            each.name,
            each.folder.judge_model or each.name,
            each.decisions,
            each.folder.each_pair(),
            each.folder.present_judgments(),
        )
        for each in read_verdicts(folders)
    ]
    if not files:
        return judges, [], False
    found = formats.read_format(files)
    rules = not found.judgments and not judges
    if rules:
        found = trivial_judgments(found.pairs.values())
    judges += _imported_judges(found)
    return judges, found.notes, rules


def _imported_judges(found: imported.Imported) -> Iterator[_Evaluated]:
    for name in found.judges:
        own = found.of_judge(name)
        with tempfile.TemporaryDirectory() as folder:
            imported.write_folder(folder, own)
            decisions = VerdictFolder(folder).decisions()
        yield _Evaluated(name, name, decisions, own.pairs.values(), own.judgments)


def _cost(
    judge: _Evaluated, prices: str | os.PathLike[str] | None
) -> tuple[float | None, float | None, float | None, str]:
    """Returns mean tokens of a judgment, the cost of 1,000, and its currency; `None` if they are unknown."""
    known = [usage for each in judge.records if isinstance(usage := each.get("usage"), Mapping)]
    if not known:
        return None, None, None, ""
    prompt, completion = (
        sum(usage.get(name) or 0 for usage in known) / len(known)
        for name in ("prompt_tokens", "completion_tokens")
    )
    if prices is None:
        return prompt, completion, None, ""
    price = read_prices(prices, judge.model)
    return prompt, completion, price.cost(1000 * prompt, 1000 * completion), price.currency


def trivial_judgments(pairs: Iterable[Pair]) -> imported.Imported:
    """Returns judgments by rules that no judge should be beaten by, as those of judges.

    The first answer shown, the longer one (in characters), the shorter one, and the one with more headings,
    lists, tables, code and bold text in Markdown; equal answers tie.
    """
    found = imported.Imported("rules")
    for pair in pairs:
        found.add_pair(pair)
        for order in (1, 2):
            shown = pair.answers if order == 1 else pair.answers[::-1]
            lengths, marks = (
                [len(text) for text in shown],
                [len(_MARKS.findall(text)) for text in shown],
            )
            found.add_judgment(pair, order, "always the first", "A")
            found.add_judgment(pair, order, "the longer answer", _larger(*lengths))
            found.add_judgment(pair, order, "the shorter answer", _larger(*lengths[::-1]))
            found.add_judgment(pair, order, "more Markdown", _larger(*marks))
    return found


def _larger(one: int, other: int) -> Letter:
    return "A" if one > other else "B" if other > one else "C"
