"""A folder of verdicts: the pairs, how the judge was asked, and the journal of its judgments.

pairs.jsonl        the pairs that were judged, with their criteria
config.json        prompt, judge and parameters: one choice a folder
judgments.jsonl    one line a judgment, appended as it arrives
.digests.csv       the digests of what is asked about the pairs, which readers compute if it is missing or old

A judgment counts only with the digest of what would be asked about its pair now (judging 1.5).
"""

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import _native, errors
from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.io import atomic, json_lines, locks
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.io.text import counted, plural, shortened
from pfgen_rs.judge import requests, verdicts
from pfgen_rs.judge.decisions import ORDERS, column_codes, decided_columns
from pfgen_rs.judge.pairs import Pair, pair_of, read_pairs, write_pairs
from pfgen_rs.lazy import Floats, np, pl

_PAIRS, _DIGESTS = "pairs.jsonl", ".digests.csv"
_Schema = dict[str, pl.DataType | type[pl.DataType]]
_READ: _Schema = {
    **dict.fromkeys(("pair", "digest", "shown"), pl.String),
    "order": pl.Int64,
    "probabilities": pl.Struct(dict.fromkeys(verdicts.LETTERS, pl.Float64)),
}
_DIGEST_COLUMNS: _Schema = {"1": pl.String, "2": pl.String}
_LISTS = dict.fromkeys(("models", "answers"), pl.List(pl.String))
_NAMED = 3  # ids in a message


@dataclass(frozen=True)
class Coverage:
    """What of some pairs is judged.

    `pairs`: their number. `missing`: ids of those that lack a judgment of their present texts, in one order
    or in both. `stale`: judgments of other texts, which are kept and not used.
    """

    pairs: int
    missing: Sequence[str] = ()
    stale: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        missing = {"missing": len(self.missing), "missing_pairs": list(self.missing)}
        return {"pairs": self.pairs, **missing, "stale": self.stale}

    def notes(self) -> list[str]:
        """Returns what to tell a user."""
        found = []
        if count := len(self.missing):
            found.append(
                f"{count:,} of {counted(self.pairs, 'pair')} {plural(count, 'lacks', 'lack')} a judgment of "
                f"{plural(count, 'its', 'their')} present texts in one order or both: {named(self.missing)}"
            )
        if self.stale:
            found.append(
                f"{counted(self.stale, 'judgment')} of other texts than the pairs' present ones: kept, but "
                "not used"
            )
        return found


def named(ids: Sequence[str]) -> str:
    """Returns the first ids as a text."""
    more = ", …" if len(ids) > _NAMED else ""
    return ", ".join(repr(shortened(each)) for each in ids[:_NAMED]) + more


class VerdictFolder:
    """A folder of verdicts that exists. Raises `InputError` if it is none."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / _PAIRS).is_file():
            raise _not_a_verdict_folder(self.path, _PAIRS)

    @property
    def config(self) -> dict[str, Any]:
        """What `config.json` says. Raises `InputError`."""
        if not (self.path / CONFIG).is_file():
            raise _not_a_verdict_folder(self.path, CONFIG)
        return requests.folder_config(self.path)

    def _of_config(self, key: str, field: str) -> str | None:
        found = self.config.get(key)
        text = found.get(field) if isinstance(found, Mapping) else None
        return text if isinstance(text, str) else None

    @property
    def judge_model(self) -> str | None:
        """The judge's model, if the configuration says. Raises `InputError`."""
        return self._of_config("judge", "model")

    @property
    def judge_name(self) -> str:
        """A name for judge and prompt, such as `gpt-4o · criteria-reason`."""
        names = (self.judge_model, self._of_config("prompt", "name"))
        return " · ".join(filter(None, names)) or self.path.name

    def pairs(self) -> list[Pair]:
        """Returns the pairs. Raises `InputError`."""
        return read_pairs(self.path / _PAIRS)

    def each_pair(self) -> Iterator[Pair]:
        """Yield the pairs one by one. Raises `InputError`."""
        return (pair for _, pair in json_lines.parsed(self.path / _PAIRS, pair_of))

    def judgments(self) -> list[dict[str, Any]]:
        """Returns all judgments, as they are recorded, in order. Raises `InputError` with file and line."""
        return list(journal_records(self.path / requests.JUDGMENTS))

    def present_judgments(self) -> Iterator[dict[str, Any]]:
        """Yield the records of judgments of the pairs' present texts, in the order of the journal.

        Of several ones of a pair in one order, the last counts. Raises `InputError`.
        """
        found = _judgment_columns(self.path / requests.JUDGMENTS)
        rows = set(self._present(found, _pair_columns(self.path / _PAIRS))["row"])
        for row, record in enumerate(journal_records(self.path / requests.JUDGMENTS)):
            if row in rows:
                yield record

    def decisions(self) -> pl.DataFrame:
        """Returns the decisions about all pairs by all rules, one row a pair, in the order of the pairs.

        Columns: `pair`, `question_id`, `task`, `model_a`, `model_b`; the letters of both orders `v1`, `v2`
        and their probabilities `p1_a` … `p2_c`, those of order 2 swapped back; decisions `probability`,
        `strict`, `tie`, `first` with `probability_state` and `strict_state`; the mean probabilities `p_a`,
        `p_b`, `p_c`; `single`, `consistent`, `margin`, `outside` (see `Decision`); `length_a`, `length_b`
        (characters of the answers); `judged_1`, `judged_2`: whether a judgment of the pair's present texts
        exists in each order. Null: none. A state is `decided`, `undecided` (`strict` alone), `missing` if a
        judgment that the rule needs is, else `invalid`. Of several judgments of a pair in one order, the last
        counts; those of other texts than the present ones never do.

        Linear time: about three seconds for 500,000 pairs on two cores, where `.digests.csv` is up to date.
        Raises `InputError`.
        """
        return self.read()[0]

    def read(self) -> tuple[pl.DataFrame, Coverage]:
        """Returns the decisions, and what is missing or out of date. Raises `InputError`."""
        pairs = _pair_columns(self.path / _PAIRS)
        found = _judgment_columns(self.path / requests.JUDGMENTS)
        present = self._present(found, pairs)
        one, two = (_in_order(pairs, present, order) for order in ORDERS)
        judged = (one["judged"].to_numpy(), two["judged"].to_numpy())
        # Where another tool judged one order only, the second judgments are not missing.
        whole = judged[0] & judged[1] if found.is_empty() or 2 in found["order"] else judged[0]
        shown = (column_codes(one["shown"]), column_codes(two["shown"]))
        p = (_probability_array(one), _probability_array(two))
        missing = pairs["pair"].filter(pl.Series(~whole, dtype=pl.Boolean)).to_list()
        coverage = Coverage(len(pairs), missing, stale=len(found) - len(present))
        return pairs.hstack(decided_columns(shown, p, judged, whole)), coverage

    def doubts(self) -> pl.DataFrame:
        """Returns the verdicts that count, one row each: `pair`, `order`, `shown`, `doubt`, `output`.

        `doubt`: why the verdict may not be meant as one (`verdicts.doubt_of`), null if nothing speaks against
        it. Verdicts are read all the same. Linear time. Raises `InputError`.
        """
        which = self._of_config("prompt", "verdict")
        read = _judgment_columns(self.path / requests.JUDGMENTS, {**_READ, "output": pl.String})
        found = (
            self._present(read, _pair_columns(self.path / _PAIRS))
            .unique(["pair", "order"], keep="last", maintain_order=True)
            .filter(pl.col("shown").is_not_null())
        )
        texts = found["output"].fill_null("")
        way: verdicts.Which = next((each for each in verdicts.WHICH if each == which), "brackets")
        known = {text: verdicts.doubt_of(text, way) for text in texts.unique()}
        doubts = [known[text] for text in texts]
        return found.select("pair", "order", "shown").with_columns(
            doubt=pl.Series(doubts, dtype=pl.String), output=texts
        )

    def _present(self, found: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
        """Returns the judgments of present texts: those with the digest of what would be asked now."""
        if found.is_empty():
            return found
        digests = _stored_digests(self.path)
        if digests is None or len(digests) != len(pairs):
            digests = _digests_of_pairs(self.path, self.each_pair())
        expected = pl.concat(
            digests.select(pair=pairs["pair"], order=pl.lit(order, pl.Int64), digest=str(order))
            for order in ORDERS
        )
        return found.join(expected, on=list(expected.columns), how="semi", maintain_order="left")


class FolderVerdicts(NamedTuple):
    """What a folder says: `name` is that of judge and prompt, with the path where several share it."""

    name: str
    folder: VerdictFolder
    decisions: pl.DataFrame
    coverage: Coverage


def read_verdicts(paths: Sequence[str | os.PathLike[str]]) -> list[FolderVerdicts]:
    """Read folders of verdicts on the same pairs.

    Raises `InputError`, also if pairs of several folders share an id but not question, models and answers.
    """
    folders = [VerdictFolder(path) for path in paths]
    _check_same_pairs(folders)
    names = [folder.judge_name for folder in folders]
    return [
        FolderVerdicts(
            name if names.count(name) == 1 else f"{name} ({folder.path})", folder, *folder.read()
        )
        for name, folder in zip(names, folders, strict=True)
    ]


def coverage_notes(read: Sequence[FolderVerdicts], by: str | None = None) -> list[str]:
    """Returns what to tell a user of what is missing, out of date, or not decided by a rule."""
    return [
        f"{each.name}: {note}" if len(read) > 1 else note
        for each in read
        for note in [*each.coverage.notes(), *_rule_notes(each.decisions, by)]
    ]


def _rule_notes(decisions: pl.DataFrame, by: str | None) -> list[str]:
    is_blind = decisions["probability"].null_count() == decisions.height
    if by != "probability" or not is_blind or decisions["v1"].null_count() == decisions.height:
        return []
    return [
        "no judgment has probabilities, by which pairs are decided: use --by strict, tie or first"
    ]


def _check_same_pairs(folders: Sequence[VerdictFolder]) -> None:
    if len(folders) < 2:
        return
    known = pl.DataFrame(schema={"id": pl.String, "texts": pl.UInt64})
    for folder in folders:
        pairs = _pair_table(folder.path / _PAIRS, ("id", "question", *_LISTS))
        own = pairs.select("id", texts=pl.struct("question", *_LISTS).hash())  # in this process
        both = own.join(known, on="id", suffix="_known", maintain_order="left")
        changed = both.filter(pl.col("texts") != pl.col("texts_known"))["id"].first()
        if changed is not None:
            raise errors.InputError(
                f"pair {changed!r:.80} has other texts or models than in another folder: judges can only be "
                "compared on the same pairs",
                path=folder.path,
            )
        known = pl.concat([known, own]).unique("id", keep="first")


def judgment_journal(folder: Path) -> Journal:
    """Returns the journal of a folder's judgments, which is not open yet."""
    return Journal(folder / requests.JUDGMENTS, ("pair", "order", "sample", "digest"))


def open_verdict_folder(
    path: str | os.PathLike[str], config: Mapping[str, Any], pairs: Iterable[Pair]
) -> VerdictFolder:
    """Create a folder of verdicts, or continue one with the same configuration, adding pairs.

    A pair whose id is known replaces the old one. Raises `SettingsError` if the folder has another
    configuration, and `OutputError`.
    """
    folder = Path(path)
    requests.write_folder_config(folder, config)
    with locks.locked(folder):
        file = folder / _PAIRS
        known = {pair.id: pair for pair in read_pairs(file)} if file.exists() else {}
        new = known | {pair.id: pair for pair in pairs}
        if new != known:
            write_pairs(file, new.values())
        if _stored_digests(folder) is None:
            digests = _digests_of_pairs(folder, new.values()).write_csv(include_header=False)
            content = f"{_digest_of_sources(folder)}\n{digests}"
            atomic.write_atomic(folder / _DIGESTS, content.encode())
    return VerdictFolder(folder)


def _digests_of_pairs(folder: Path, pairs: Iterable[Pair]) -> pl.DataFrame:
    """Returns what digests judgments of pairs have, in columns `1` and `2` for their orders."""
    try:
        rows = list(requests.pair_digests(pairs, requests.folder_config(folder)))
    except errors.InputError as error:
        raise errors.InputError(error.problem, path=folder / CONFIG) from None
    return pl.DataFrame(rows, schema=_DIGEST_COLUMNS, orient="row")


def _stored_digests(folder: Path) -> pl.DataFrame | None:
    """Returns the digests in `.digests.csv`; `None` if they are not those of the present files."""
    try:
        content = (folder / _DIGESTS).read_bytes()
        sources, _, rows = content.partition(b"\n")
        if sources.decode() != _digest_of_sources(folder):
            return None
        return pl.read_csv(io.BytesIO(rows), has_header=False, schema=_DIGEST_COLUMNS)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError):
        return None


def _digest_of_sources(folder: Path) -> str:
    """Returns a digest of the files that the digests of pairs are computed from."""
    return " ".join(_native.digest((folder / name).read_bytes()) for name in (CONFIG, _PAIRS))


def _not_a_verdict_folder(folder: Path, name: str) -> errors.InputError:
    problem = f"is not a folder of verdicts: it has no {name} (made by pfgen-rs judge compare)"
    return errors.InputError(problem, path=folder)


def _pair_columns(path: Path) -> pl.DataFrame:
    pairs = _pair_table(path, ("id", "question_id", "task", "models", "answers"))
    return pairs.select(
        pair=pl.col("id"),
        question_id=pl.coalesce("question_id", "id"),
        task="task",
        model_a=pl.col("models").list.get(0),
        model_b=pl.col("models").list.get(1),
        length_a=pl.col("answers").list.get(0).str.len_chars(),
        length_b=pl.col("answers").list.get(1).str.len_chars(),
    )


def _pair_table(path: Path, names: Sequence[str]) -> pl.DataFrame:
    """Returns these fields of pairs, `models` and `answers` among them."""
    schema: _Schema = {name: _LISTS.get(name, pl.String()) for name in names}
    try:
        pairs = pl.read_ndjson(path, schema=schema)
    except (OSError, pl.exceptions.PolarsError):
        pairs = pl.DataFrame()
    two = [pl.col(name).list.len() == 2 for name in _LISTS]
    whole = pl.all_horizontal(pl.col("id").str.len_bytes() > 0, *two).fill_null(value=False)
    if len(pairs) and pairs.select(whole.all()).item() and pairs["id"].is_unique().all():
        return pairs
    rows = [[getattr(pair, name) for name in names] for pair in read_pairs(path)]
    return pl.DataFrame(rows, schema=schema, orient="row")  # or an error with its line


def _judgment_columns(path: Path, schema: _Schema = _READ) -> pl.DataFrame:
    """Returns the judgments, in the order of the journal, with their `row` in it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=path) from error
    content = content[: content.rfind(b"\n") + 1]
    if not content.strip():
        return pl.DataFrame(schema=schema).with_row_index("row")
    try:
        found = pl.read_ndjson(io.BytesIO(content), schema=schema).with_row_index("row")
    except pl.exceptions.PolarsError as error:
        for _ in journal_records(path):
            pass  # raises the error with its line
        raise errors.InputError(f"is damaged: {error}", path=path) from None
    return found.filter(pl.col("order").is_in(ORDERS))


def _in_order(pairs: pl.DataFrame, found: pl.DataFrame, order: int) -> pl.DataFrame:
    letter = pl.when(pl.col("shown").is_in(verdicts.LETTERS)).then("shown")
    wanted = found.filter(pl.col("order") == order).select(
        "pair", letter.alias("shown"), "probabilities", judged=pl.lit(value=True)
    )
    if wanted["pair"].n_unique() < len(wanted):  # the last one counts
        wanted = wanted.unique("pair", keep="last", maintain_order=True)
    placed = pairs.select("pair").join(wanted, on="pair", how="left", maintain_order="left")
    return placed.with_columns(pl.col("judged").fill_null(value=False))


def _probability_array(judgments: pl.DataFrame) -> Floats:
    fields = judgments.select(pl.col("probabilities").struct.field(*verdicts.LETTERS))
    return fields.fill_null(np.nan).to_numpy()
