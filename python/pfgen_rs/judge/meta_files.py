"""Judges in files, judged: folders of verdicts, judgments of other tools, and trivial rules (judging 10)."""

import os
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgen_rs.ask.costs import read_prices
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.judge import formats, imported, pairs as pair_files
from pfgen_rs.judge.agreement.meta import MetaEvaluation, meta
from pfgen_rs.judge.agreement.style import pair_styles
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.verdict_folder import VerdictFolder, read_verdicts
from pfgen_rs.judge.verdicts import Letter
from pfgen_rs.lazy import pl

_COSTS = ("prompt_tokens", "completion_tokens", "cost")


def meta_of_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    humans: str | os.PathLike[str] | None = None,
    prices: str | os.PathLike[str] | None = None,
    **how: Any,
) -> MetaEvaluation:
    """Returns the figures (`meta`) of all judges in folders of verdicts and files of other tools.

    `paths`: folders of verdicts, and files or folders that belong together, of one format
    (`formats.read_format`), or `traps`. Where there is no judgment, trivial rules judge: the first or the
    longer answer, the shorter one, the one with more Markdown. `humans`: verdicts of people (`read_humans`),
    whose majority is right where pairs have no gold letters; several letters that share the lead are all
    right. `prices`: a file as `ask.costs.read_prices` reads it.
    `how`: `level`, `resamples` and `seed` of `meta`.

    Raises `InputError` for files that cannot be used, and as `meta`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folders, notes, rules = _verdict_folders(paths, Path(scratch))
        read = read_verdicts(folders)
        gold: dict[str, Collection[Letter]] = {}
        for pair in (pair for each in read for pair in each.folder.each_pair()):
            gold[pair.id] = gold.get(pair.id) or pair.gold
        about = [_costs(each.folder, prices) for each in read]
    if humans is not None:
        for (name,), votes in pair_files.read_humans(humans, gold).group_by("pair"):
            gold[str(name)] = gold[str(name)] or pair_files.leading_letters(votes["verdict"])
    frames = {each.name: each.decisions for each in read}
    models = {name: own["model"] for name, own in zip(frames, about, strict=True)}
    found = meta(frames, gold, models=models, **how)
    currency = next((own["currency"] for own in about if own["currency"]), "")
    costs = pl.DataFrame(about).select(pl.col(_COSTS).cast(pl.Float64))
    told, judges = (*notes, *found.notes), found.judges.hstack(costs)
    return replace(found, judges=judges, currency=currency, rules=rules, notes=told)


def _verdict_folders(
    paths: Sequence[str | os.PathLike[str]], scratch: Path
) -> tuple[list[Path], list[str], bool]:
    """Returns folders of verdicts, imported ones in `scratch`, remarks, and whether rules judged."""
    given = [*dict.fromkeys(map(Path, paths))]
    folders = [path for path in given if (path / CONFIG).is_file()]
    files = [pair_files.pairs_file(path) for path in given if path not in folders]
    if not files:
        return folders, [], False
    found = formats.read_format(files)
    rules = not found.judgments and not folders
    judged = trivial_judgments(found.pairs.values()) if rules else found
    for number, judge in enumerate(judged.judges):
        imported.write_folder(scratch / str(number), judged.of_judge(judge))
        folders.append(scratch / str(number))
    left_out = [] if judged.judgments else ["files without judgments: left out"]
    return folders, [*found.notes, *left_out], rules


def _costs(folder: VerdictFolder, prices: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Returns the judge's `model`, mean tokens of a judgment, the `cost` of 1,000, and its `currency`."""
    model = folder.judge_model or folder.judge_name
    found: dict[str, Any] = {"model": model, **dict.fromkeys(_COSTS), "currency": None}
    used = [each for each in folder.present_judgments() if isinstance(each.get("usage"), dict)]
    if used:
        for name in _COSTS[:2]:
            tokens = [each["usage"].get(name) for each in used]
            found[name] = sum(each for each in tokens if type(each) is int) / len(used)
        if prices is not None:
            price = read_prices(prices, model)
            found["cost"] = 1000 * price.spent(used) / len(used)
            found["currency"] = price.currency
    return found


def trivial_judgments(pairs: Iterable[Pair]) -> imported.Imported:
    """Returns judgments by rules that no judge should be beaten by, as those of judges.

    The first answer shown, the longer one (in characters), the shorter one, and the one with more Markdown,
    by the sum of what `pair_styles` returns of it; equal answers tie.
    """
    known = list(pairs)
    found, styles = imported.Imported("rules"), pair_styles(known)
    markdown = styles.select(pl.sum_horizontal(pl.exclude("pair", "length"))).to_series()
    for pair, longer, marked in zip(known, styles["length"], markdown, strict=True):
        found.add_pair(pair)
        rules = {
            "the longer answer": longer,
            "the shorter answer": -longer,
            "more Markdown": marked,
        }
        for order, turned in ((1, 1), (2, -1)):
            found.add_judgment(pair, order, "always the first", "A")
            for rule, apart in rules.items():
                shown: Letter = "C" if not apart else "A" if apart * turned > 0 else "B"
                found.add_judgment(pair, order, rule, shown)
    return found
