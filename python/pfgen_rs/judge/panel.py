"""A panel: several judges of the same pairs, decided together order by order, and how far they agree."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import Pair, decisions as columns, sampling
from pfgen_rs.judge.agreement import measures, tables
from pfgen_rs.judge.decisions import NONE, ORDERS, Codes, Indices
from pfgen_rs.judge.imported import Imported, write_folder
from pfgen_rs.judge.requests import MEMBERS
from pfgen_rs.judge.verdict_folder import coverage_notes, read_verdicts
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats import checks, resampling

By = Literal["majority", "probability"]
"""How a panel decides: by its members' letters, or by the mean of their probabilities."""
_PANEL = "panel"
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of judges, and how far they agree about single judgments (a pair in one order).

    `judges`: one row per member: `judge`; `judgments`: those with a letter; `panel`: share of them that are
    the panel's letter; `compared`: those on which other members have letters, too, and `others`: share of
    these that is the letter of the others together; both shares with 95 % intervals `…_low`, `…_high`
    (bootstrap over questions). `statistic`, `value`: Fleiss' κ of the members, or Krippendorff's α where some
    have no letter; `None` if undefined. `pairs`: of the panel; `incomplete`: those that some member has not
    judged in every order. `notes`: remarks for the reader.
    """

    by: By
    judges: pl.DataFrame = field(repr=False)
    statistic: str
    value: float | None
    pairs: int
    incomplete: int
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return asdict(self) | {"judges": self.judges.to_dicts()}


def write_panel(
    paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], *, by: By = "majority"
) -> Panel:
    """Decide the pairs of several folders of verdicts together, and write a folder of the judge `panel`.

    Each order is decided by those members that have a verdict in it: by their mean probabilities, or by
    `majority`, where a member's letter has probability 1, so that the panel's probabilities are shares of
    votes. The panel's letter is the most probable one, C if several are. `config.json` names the members.

    Raises `InputError` for fewer than two folders, different texts, and members without what decides;
    `SettingsError` for an unknown way to decide; `OutputError` if the folder has anything in it.
    """
    checks.check_choice(by, "way to decide", By)
    if len(paths) < 2:
        raise InputError("a panel needs the folders of at least two judges")
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise InputError("a folder is named twice: every judge has one vote")
    read = read_verdicts(paths)
    pairs: dict[str, Pair] = {}
    for each in read:
        pairs |= {pair.id: pair for pair in each.folder.each_pair() if pair.id not in pairs}
    names = pl.DataFrame({"pair": list(pairs)})
    frames = [
        names.join(each.decisions, on="pair", how="left", maintain_order="left") for each in read
    ]
    p = np.stack([_probabilities(frame, by) for frame in frames])
    blind = np.isnan(p).all(axis=(1, 2))
    if blind.any():
        what = "probabilities: decide by majority" if by == "probability" else "verdicts"
        raise InputError(f"{read[int(blind.argmax())].name!r:.80} has no {what}")
    judged = np.stack([_of_both(frame, "judged_{}").fill_null(value=False) for frame in frames])
    by_some, by_all = np.any(judged, axis=0), np.all(judged, axis=0)
    found = Imported(_PANEL, pairs)
    _add_judgments(found, _mean(p), np.asarray(by_some), by)
    members = [
        {"name": each.name, "folder": os.fspath(path)}
        for each, path in zip(read, paths, strict=True)
    ]
    write_folder(out, found, **{MEMBERS: members})
    lacking = np.reshape(by_some & ~by_all, (len(ORDERS), -1))
    incomplete = int(np.count_nonzero(lacking.any(axis=0)))
    notes = coverage_notes(read)
    if incomplete:
        number = f"{incomplete:,} of {counted(len(pairs), 'pair')}"
        notes.append(f"{number} are not judged by every judge: decided by those that did")
    questions = pl.Series([pair.question_id for pair in pairs.values()], dtype=pl.String)
    table = _agreements(
        [each.name for each in read], p, np.tile(columns.question_codes(questions), len(ORDERS))
    )
    statistic = _statistic(np.stack([_letters(_mean(each[None])) for each in p]))
    return Panel(by, table, *statistic, len(pairs), incomplete, notes)


# Judgments are those of order 1 of all pairs, then those of order 2; letters speak of the pair.


def _of_both(frame: pl.DataFrame, name: str) -> pl.Series:
    return pl.concat([frame[name.format(order)].alias(name) for order in ORDERS])


def _probabilities(frame: pl.DataFrame, by: By) -> Floats:
    """Returns probabilities of the letters in each judgment, NaN where a member has none."""
    if by == "majority":
        codes = columns.column_codes(_of_both(frame, "v{}"))
        return np.where((codes == NONE)[:, None], np.nan, np.eye(len(LETTERS))[codes])
    parts = [_of_both(frame, f"p{{}}_{letter.lower()}") for letter in LETTERS]
    p = np.stack([part.fill_null(float("nan")).to_numpy() for part in parts], axis=1)
    return np.where(np.isnan(p).any(axis=1, keepdims=True), np.nan, p)


def _mean(p: Floats) -> Floats:
    """Returns the mean over members (the first axis) that have probabilities; NaN where none has."""
    number = (~np.isnan(p)).sum(axis=0)
    return np.where(number > 0, np.nansum(p, axis=0) / np.maximum(number, 1), np.nan)


def _letters(mean: Floats) -> Codes:
    """Returns the most probable letters, C where several are but for rounding."""
    return columns.most_probable(mean, sampling.CLOSE)[0]


def _add_judgments(found: Imported, mean: Floats, judged: NDArray[Any], by: By) -> None:
    pairs, letters = list(found.pairs.values()), _letters(mean).tolist()
    for place in np.flatnonzero(judged).tolist():
        pair, order = pairs[place % len(pairs)], 1 + place // len(pairs)
        shown = LETTERS if order == 1 else tuple(SWAPPED[letter] for letter in LETTERS)
        letter = p = None
        if letters[place] != NONE:
            letter = shown[letters[place]]
            p = dict(zip(shown, mean[place].tolist(), strict=True))
        found.add_judgment(pair, order, _PANEL, letter, prompt=by, probabilities=p)


def _agreements(names: Sequence[str], p: Floats, questions: Indices) -> pl.DataFrame:
    """Returns how often each member says what the panel says, and what the others say."""
    panel = _letters(_mean(p))
    columns_: list[NDArray[Any]] = []
    for member in range(len(p)):
        own = _letters(_mean(p[[member]]))
        for other in (panel, _letters(_mean(np.delete(p, member, axis=0)))):
            columns_ += [measures.same(own, other), (own != NONE) & (other != NONE)]
    sums = np.stack([np.bincount(questions, each) for each in columns_], axis=1)
    drawn = resampling.resampled_values(sums.astype(np.float64), resampling.RESAMPLES, 0)
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares, resampled = total[::2] / total[1::2], drawn[:, ::2] / drawn[:, 1::2]
    among = np.count_nonzero(sums[:, 1::2], axis=0)
    bounds = resampling.share_bounds(shares, resampled, _LEVEL, among)
    values = np.stack([total[1::2], shares, *bounds], axis=1).reshape(len(p), 8)
    both = [
        (name, int(row[0]), int(row[4]), *row[1:4], *row[5:])
        for name, row in zip(names, values.tolist(), strict=True)
    ]
    numbers = [f"{name}{bound}" for name in (_PANEL, "others") for bound in ("", "_low", "_high")]
    return tables.frame(both, ("judge",), ("judgments", "compared"), numbers)


def _statistic(letters: Codes) -> tuple[str, float | None]:
    """Returns Fleiss' κ of the members, or Krippendorff's α if some lack letters that others have."""
    rows = letters[:, (letters != NONE).any(axis=0)].T
    whole = (rows != NONE).all()
    given = [[None if code == NONE else LETTERS[code] for code in row] for row in rows.tolist()]
    value = measures.fleiss_kappa(given, allow_missing=True)
    name = "fleiss_kappa" if whole else "krippendorff_alpha"
    return name, None if value != value else value
