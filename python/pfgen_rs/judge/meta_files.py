"""Judges in files, judged: folders of verdicts, judgments of other tools, and trivial rules (judging 10)."""

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

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
    with tempfile.TemporaryDirectory() as scratch:
        folders, notes, rules = _verdict_folders(paths, Path(scratch))
        read = read_verdicts(folders)
        gold = {pair.id: pair.gold for each in read for pair in each.folder.each_pair()}
        costs = [_cost(each.folder, prices) for each in read]
    if humans is not None:
        for (name,), votes in pair_files.read_humans(humans, gold).group_by("pair"):
            gold[str(name)] = gold[str(name)] or pair_files.leading_letters(votes["verdict"])
    found = meta(
        {each.name: each.decisions for each in read},
        gold,
        models={each.name: model for each, (model, *_) in zip(read, costs, strict=True)},
        level=level,
        resamples=resamples,
        seed=seed,
    )
    names = ("prompt_tokens", "completion_tokens", "cost")
    about = pl.DataFrame(
        [row[1:4] for row in costs], schema=dict.fromkeys(names, pl.Float64), orient="row"
    )
    currency = next((row[4] for row in costs if row[4]), "")
    told = (*notes, *found.notes)
    judges = found.judges.hstack(about)
    return replace(found, judges=judges, currency=currency, rules=rules, notes=told)


def _verdict_folders(
    paths: Sequence[str | os.PathLike[str]], scratch: Path
) -> tuple[list[Path], list[str], bool]:
    """Returns folders of verdicts, imported ones in `scratch`, remarks, and whether rules judged."""
    folders = [path for path in map(Path, paths) if (path / CONFIG).is_file()]
    files = [pair_files.pairs_file(path) for path in map(Path, paths) if path not in folders]
    if not files:
        return folders, [], False
    found = formats.read_format(files)
    rules = not found.judgments and not folders
    judged = trivial_judgments(found.pairs.values()) if rules else found
    for number, judge in enumerate(judged.judges):
        imported.write_folder(scratch / str(number), judged.of_judge(judge))
        folders.append(scratch / str(number))
    return folders, found.notes, rules


def _cost(
    folder: VerdictFolder, prices: str | os.PathLike[str] | None
) -> tuple[str, float | None, float | None, float | None, str]:
    """Returns the judge's model, mean tokens of a judgment, the cost of 1,000, and its currency."""
    model = folder.judge_model or folder.judge_name
    known = [each["usage"] for each in folder.present_judgments() if each.get("usage")]
    if not known:
        return model, None, None, None, ""
    names = ("prompt_tokens", "completion_tokens")
    prompt, completion = (sum(usage[name] for usage in known) / len(known) for name in names)
    if prices is None:
        return model, prompt, completion, None, ""
    price = read_prices(prices, model)
    return model, prompt, completion, price.cost(1000 * prompt, 1000 * completion), price.currency


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
