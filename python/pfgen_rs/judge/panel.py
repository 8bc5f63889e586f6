"""A panel: several judges of the same pairs, decided together order by order, and how far they agree."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.judge import Pair, decisions as columns
from pfgen_rs.judge.agreement import intervals, measures
from pfgen_rs.judge.decisions import NONE, ORDERS, Codes, Indices
from pfgen_rs.judge.imported import Imported, write_folder
from pfgen_rs.judge.verdict_folder import FolderVerdicts, coverage_notes, read_verdicts
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import checks

By = Literal["majority", "probability"]
"""How a panel decides: by its members' letters, or by the mean of their probabilities."""
_TIE = LETTERS.index("C")


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of judges, and how far they agree about single judgments (a pair in one order).

    `judges`: one row per member: `judge`; `judgments`: those with a letter; `panel`: share of them that are
    the panel's letter; `others`: of the `compared` ones, on which other members have letters, the share that
    is the letter of the others together; both with intervals `…_low`, `…_high` (bootstrap over questions).
    `statistic`, `value`: Fleiss' κ of the members, or Krippendorff's α where some have no letter; NaN if
    undefined. `pairs`: of the panel; `incomplete`: those that some member has not judged in every order.
    `notes`: remarks for the reader.
    """

    by: By
    judges: pl.DataFrame = field(repr=False)
    statistic: str
    value: float
    pairs: int
    incomplete: int
    level: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        single = {
            name: getattr(self, name)
            for name in ("by", "statistic", "pairs", "incomplete", "level", "resamples", "seed")
        }
        value = None if self.value != self.value else self.value
        return {
            **single,
            "value": value,
            "judges": self.judges.to_dicts(),
            "notes": list(self.notes),
        }


def write_panel(
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    by: By = "majority",
    level: float = 0.95,
    resamples: int = intervals.RESAMPLES,
    seed: int = 0,
) -> Panel:
    """Decide the pairs of several folders of verdicts together, and write a folder of the judge `panel`.

    Each order is decided by those members that have a verdict in it: by their mean probabilities, or by
    `majority`, where a member's letter has probability 1, so that the panel's probabilities are shares of
    votes. The panel's letter is the most probable one, C if several are. `config.json` names the members.

    Raises `InputError` for fewer than two folders, different texts, and members without probabilities if
    these decide; `SettingsError` for invalid settings; `OutputError` if the folder has anything in it.
    """
    checks.check_choice(by, "way to decide", By)
    checks.check_level(level)
    checks.check_resampling(resamples, seed)
    if len(paths) < 2:
        raise InputError("a panel needs the folders of at least two judges")
    read = read_verdicts(paths)
    votes = _Votes(read, by)
    decided = votes.letters_of(range(len(read)))
    found = Imported("panel", votes.pairs)
    mean = votes.mean(range(len(read)))
    _add_judgments(found, votes, decided, mean, by)
    members = [
        {"name": each.name, "folder": os.fspath(path)}
        for each, path in zip(read, paths, strict=True)
    ]
    if not found.judgments:
        raise InputError("no judge of the panel has a verdict")
    write_folder(out, found, panel=members)
    return _panel(read, votes, decided, by, (level, resamples, seed))


class _Votes:
    """What each member says of each judgment: `letters`, shape (members, judgments), and probabilities.

    Judgments are those of order 1 of all pairs, then those of order 2; letters speak of the pair.
    `judged`: whether a member has a judgment there, valid or not.
    """

    def __init__(self, read: Sequence[FolderVerdicts], by: By) -> None:
        self.pairs: dict[str, Pair] = {}
        for each in read:
            for pair in each.folder.each_pair():
                self.pairs.setdefault(pair.id, pair)
        names = pl.DataFrame({"pair": list(self.pairs)})
        frames = [
            names.join(each.decisions, on="pair", how="left", maintain_order="left")
            for each in read
        ]
        texts = pl.Series([pair.question_id for pair in self.pairs.values()], dtype=pl.String)
        self.questions = np.tile(columns.question_codes(texts), len(ORDERS))
        self.judged = np.stack(
            [_of_both(frame, "judged_{}").fill_null(value=False).to_numpy() for frame in frames]
        )
        if by == "majority":
            votes = [columns.column_codes(_of_both(frame, "v{}")) for frame in frames]
            self._p = np.stack([_one_hot(codes) for codes in votes])
        else:
            self._p = np.stack([_probabilities(frame) for frame in frames])
            blind = np.isnan(self._p).all(axis=(1, 2))
            if blind.any():
                raise InputError(
                    f"{read[int(blind.argmax())].name!r:.80} has no probabilities: decide by majority"
                )
        self.letters: Codes = np.stack([self.letters_of([n]) for n in range(len(read))])

    def mean(self, members: Sequence[int]) -> Floats:
        """Returns the mean probabilities of members: shape (judgments, 3), NaN where none has any."""
        p = self._p[list(members)]
        known = ~np.isnan(p).any(axis=-1, keepdims=True)
        number = known.sum(axis=0)
        sums = np.where(known, p, 0.0).sum(axis=0)
        return np.where(number > 0, sums / np.maximum(number, 1), np.nan)

    def letters_of(self, members: Sequence[int]) -> Codes:
        """Returns the most probable letters by members together; C if several are, -1 if none is known."""
        mean = self.mean(members)
        largest = mean.max(axis=-1, keepdims=True)
        alone = (mean == largest).sum(axis=-1) == 1
        codes = np.where(alone, mean.argmax(axis=-1), _TIE)
        return np.where(np.isnan(mean).any(axis=-1), NONE, codes).astype(np.int8)


def _of_both(frame: pl.DataFrame, name: str) -> Any:
    """Returns a column of order 1 and, below it, that of order 2."""
    return pl.concat([frame[name.format(order)].alias(name) for order in ORDERS])


def _one_hot(codes: Codes) -> Floats:
    return np.where((codes == NONE)[:, None], np.nan, np.eye(len(LETTERS))[codes])


def _probabilities(frame: pl.DataFrame) -> Floats:
    parts = [_of_both(frame, f"p{{}}_{letter.lower()}") for letter in LETTERS]
    return np.stack([part.fill_null(float("nan")).to_numpy() for part in parts], axis=1)


def _add_judgments(found: Imported, votes: _Votes, decided: Codes, mean: Floats, by: By) -> None:
    judged = votes.judged.any(axis=0)
    number = len(votes.pairs)
    for place in np.flatnonzero(judged).tolist():
        order, pair = place // number + 1, place % number
        code = int(decided[place])
        letter = LETTERS[code] if code != NONE else None
        p = None if letter is None else dict(zip(LETTERS, mean[place].tolist(), strict=True))
        if order == 2:  # as shown
            letter = SWAPPED[letter] if letter else None
            p = p and {SWAPPED[each]: value for each, value in p.items()}
        found.add_judgment(
            list(votes.pairs.values())[pair], order, "panel", letter, prompt=by, probabilities=p
        )


def _panel(
    read: Sequence[FolderVerdicts],
    votes: _Votes,
    decided: Codes,
    by: By,
    how: tuple[float, int, int],
) -> Panel:
    level, resamples, seed = how
    members = range(len(read))
    others = [votes.letters_of([n for n in members if n != each]) for each in members]
    right, known = [], []
    for each, rest in zip(votes.letters, others, strict=True):
        for against in (decided, rest):
            right.append(measures.same(each, against))
            known.append((each != NONE) & (against != NONE))
    shares, low, high = _shares(np.array(right), np.array(known), votes.questions, how)
    numbers = np.array(known).sum(axis=1)
    table = pl.DataFrame(
        {
            "judge": [each.name for each in read],
            "judgments": numbers[::2],
            **_bounded("panel", shares[::2], low[::2], high[::2]),
            "compared": numbers[1::2],
            **_bounded("others", shares[1::2], low[1::2], high[1::2]),
        }
    ).fill_nan(None)
    asked = votes.judged.any(axis=0)
    lacking = (asked & ~votes.judged.all(axis=0)).reshape(len(ORDERS), -1).any(axis=0)
    statistic, value = _agreement(votes.letters)
    notes = coverage_notes(read)
    incomplete = int(np.count_nonzero(lacking))
    if incomplete:
        notes.append(
            f"{incomplete:,} of {counted(len(votes.pairs), 'pair')} are not judged by every judge: those "
            "that did decide"
        )
    return Panel(
        by,
        table,
        statistic,
        value,
        len(votes.pairs),
        incomplete,
        level,
        resamples,
        seed,
        tuple(notes),
    )


def _bounded(name: str, values: Floats, low: Floats, high: Floats) -> dict[str, Floats]:
    return {name: values, f"{name}_low": low, f"{name}_high": high}


def _shares(
    right: Any, known: Any, questions: Indices, how: tuple[float, int, int]
) -> tuple[Floats, Floats, Floats]:
    """Returns shares of right among known, with bounds; both have shape (shares, judgments)."""
    level, resamples, seed = how
    size, number = int(questions.max()) + 1, len(right)
    sums = np.stack(
        [np.bincount(questions, each, size) for each in (*right, *known)], axis=1
    ).astype(np.float64)
    drawn = intervals.resampled_values(sums, resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = [each[..., :number] / each[..., number:] for each in (sums.sum(axis=0), drawn)]
    among = (sums[:, number:] > 0).sum(axis=0)
    return rates[0], *intervals.share_bounds(rates[0], rates[1], level, among)


def _agreement(letters: Codes) -> tuple[str, float]:
    """Returns Fleiss' κ of the members, or Krippendorff's α if some lack letters that others have."""
    votes = np.stack([(letters == code).sum(axis=0) for code in range(len(LETTERS))], axis=1)
    votes = votes[votes.sum(axis=1) > 0]
    if (votes.sum(axis=1) < len(letters)).any():
        return "krippendorff_alpha", measures.alpha_from_counts(votes)
    squares, totals = np.array((votes * votes).sum(), float), votes.sum(axis=0).astype(float)
    kappa = measures.fleiss_of_sums(squares, totals, np.array(len(votes), float), len(letters))
    return "fleiss_kappa", float(kappa)
