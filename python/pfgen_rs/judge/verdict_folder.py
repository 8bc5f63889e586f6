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
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import _native, errors
from pfgen_rs.ask.journal import Journal
from pfgen_rs.io import atomic, json_lines, locks
from pfgen_rs.io.json_lines import journal_records
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.io.text import counted, plural, shortened
from pfgen_rs.judge import requests, sampling, verdicts
from pfgen_rs.judge.decisions import NONE, ORDERS, Flags, Rule, decided_columns, other_order
from pfgen_rs.judge.pairs import Pair, pair_of, read_pairs, write_pairs
from pfgen_rs.lazy import Floats, np, pl

_PAIRS, _DIGESTS = "pairs.jsonl", ".digests.csv"
_Schema = dict[str, pl.DataType | type[pl.DataType]]
_READ: _Schema = {
    **dict.fromkeys(("pair", "digest", "shown", "served"), pl.String),
    **dict.fromkeys(("order", "sample"), pl.Int64),
    "probabilities": pl.Struct(dict.fromkeys(verdicts.LETTERS, pl.Float64)),
}
_CODES = {letter: code for code, letter in enumerate(verdicts.LETTERS)}
_LISTS = dict.fromkeys(("models", "answers"), pl.List(pl.String))
_NAMED = 3  # ids in a message


@dataclass(frozen=True)
class Coverage:
    """What of some pairs is judged.

    `pairs`: their number. `missing`: ids of those that lack a judgment of their present texts, in one order
    or in both. `stale`: judgments of other texts, which are kept and not used. `samples`: how many were asked
    for; `incomplete`: ids of judged pairs with fewer, unless asking stopped since they are decided.
    `served`: the models that answered, as servers call them.
    """

    pairs: int
    missing: Sequence[str] = ()
    stale: int = 0
    samples: int = 1
    incomplete: Sequence[str] = ()
    served: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON; what there is of samples, and models if there are several."""
        missing = {"missing": len(self.missing), "missing_pairs": list(self.missing)}
        found: dict[str, Any] = {"pairs": self.pairs, **missing, "stale": self.stale}
        if self.samples > 1:
            found |= {"samples": self.samples, "incomplete_pairs": list(self.incomplete)}
        return found | ({"served": list(self.served)} if len(self.served) > 1 else {})

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
        if count := len(self.incomplete):
            found.append(
                f"{count:,} of {counted(self.pairs, 'pair')} {plural(count, 'has', 'have')} fewer than "
                f"{self.samples} samples in one order or both: {named(self.incomplete)}"
            )
        if len(self.served) > 1:
            found.append(f"several models answered as this judge: {named(self.served)}")
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

        They are those of all samples. Of several ones of a pair, order and sample, the last counts. Raises
        `InputError`.
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
        exists in each order; `samples_1`, `samples_2`: how many do; `stable_1`, `stable_2`: whether all of an
        order say the same letter, null for fewer than two. Null: none. A state is `decided`, `undecided`
        (`strict` alone), `missing` if a judgment that the rule needs is, else `invalid`. Of several judgments
        of a pair, order and sample, the last counts; those of other texts than the present ones never do.

        If the journal has several samples, `v1` and `v2` are the most frequent letters (C if several are),
        all probabilities are estimated from the letters, and `t_a`, `t_b`, `t_c` are the mean probabilities
        of their tokens (judging 9).

        Linear time: about three seconds for 500,000 pairs on two cores, where `.digests.csv` is up to date.
        Raises `InputError`.
        """
        return self.read()[0]

    def read(self) -> tuple[pl.DataFrame, Coverage]:
        """Returns the decisions, and what is missing or out of date. Raises `InputError`."""
        pairs, found, present = self._read_present()
        samples, votes = _samples_of(present), _votes_of(present, len(pairs))
        judged = (votes[0].judged > 0, votes[1].judged > 0)
        # Where another tool judged one order only, the second judgments are not missing.
        whole = judged[0] & judged[1] if found.is_empty() or 2 in found["order"] else judged[0]
        one, two = (each.decisive(samples) for each in votes)
        wanted, stop_at = requests.samples_of_config(self.config)
        coverage = Coverage(
            len(pairs),
            _ids(pairs, ~whole),
            stale=len(found) - len(present),
            samples=max(wanted, samples),
            incomplete=_ids(pairs, whole & (wanted > 1) & _lack_samples(votes, wanted, stop_at)),
            served=present["served"].drop_nulls().unique().sort().to_list(),
        )
        close = sampling.CLOSE if samples > 1 or requests.MEMBERS in self.config else 0.0
        columns = decided_columns((one[0], two[0]), (one[1], two[1]), judged, whole, close)
        return pairs.hstack([*columns, *sampling.sample_columns(votes, samples)]), coverage

    def votes(self) -> tuple[sampling.Votes, sampling.Votes]:
        """Returns what the judge said of the pairs in order 1 and 2, as shown. Raises `InputError`."""
        return _votes_of(self._read_present()[2], len(_pair_columns(self.path / _PAIRS)))

    def unsettled(self, samples: int, stop_at: float, done: int) -> list[str]:
        """Returns the ids of pairs with `done` samples in each order that have or need further ones.

        `samples`: how many there may be in each. `stop_at`: see `sampling.settled`. Raises `InputError`.
        """
        pairs, _, present = self._read_present()
        votes = _votes_of(present, len(pairs))
        judged = np.stack([each.judged for each in votes])
        further = (judged > done).any(axis=0) | _lack_samples(votes, samples, stop_at)
        return _ids(pairs, (judged >= done).all(axis=0) & further)

    def doubts(self) -> pl.DataFrame:
        """Returns the verdicts that count: `pair`, `order`, `sample`, `shown`, `doubt`, `output`.

        `doubt`: why the verdict may not be meant as one (`verdicts.doubt_of`), null if nothing speaks against
        it. Verdicts are read all the same. Linear time. Raises `InputError`.
        """
        which = self._of_config("prompt", "verdict")
        read = _judgment_columns(self.path / requests.JUDGMENTS, {**_READ, "output": pl.String})
        found = _last_ones(self._present(read, _pair_columns(self.path / _PAIRS))).filter(
            pl.col("shown").is_not_null()
        )
        texts = found["output"].fill_null("")
        way: verdicts.Which = next((each for each in verdicts.WHICH if each == which), "brackets")
        known = {text: verdicts.doubt_of(text, way) for text in texts.unique()}
        doubts = [known[text] for text in texts]
        return found.select("pair", "order", "sample", "shown").with_columns(
            doubt=pl.Series(doubts, dtype=pl.String), output=texts
        )

    def _read_present(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Returns the pairs, all judgments, and those of present texts."""
        pairs = _pair_columns(self.path / _PAIRS)
        found = _judgment_columns(self.path / requests.JUDGMENTS)
        return pairs, found, self._present(found, pairs)

    def _present(self, found: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
        """Returns the judgments of present texts: those with the digest of what would be asked now.

        `place` is that of their pair.
        """
        if found.is_empty():
            return found.with_columns(place=pl.lit(0, pl.Int64))
        places = pairs.select("pair", place=pl.int_range(pl.len()))
        placed = found.join(places, on="pair", maintain_order="left")
        digests = _stored_digests(self.path)
        if digests is None or len(digests) != len(pairs) or digests.width < 2 * _samples_of(placed):
            return placed.filter(placed["digest"] == self._digests_for(placed))
        at = (2 * placed["sample"] + placed["order"] - 1) * len(pairs) + placed["place"]
        known = pl.concat(column.alias("digest") for column in digests.iter_columns())
        return placed.filter(placed["digest"] == known.gather(at))

    def _digests_for(self, placed: pl.DataFrame) -> pl.Series:
        """Returns the digests that judgments of present texts have, in place of these judgments'."""
        wanted: dict[int, list[int]] = {}
        for place, sample in placed.select("place", "sample").unique(maintain_order=True).rows():
            wanted.setdefault(place, []).append(sample)
        pairs = ((pair, wanted.get(place, ())) for place, pair in enumerate(self.each_pair()))
        found = {
            (place, sample, order): digest
            for place, digests in enumerate(_digests_of_pairs(self.path, pairs))
            for (sample, order), digest in zip(
                product(wanted.get(place, ()), ORDERS), digests, strict=True
            )
        }
        rows = placed.select("place", "sample", "order").rows()
        return pl.Series(map(found.get, rows), dtype=pl.String)


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


def default_rule(read: Sequence[FolderVerdicts]) -> Rule:
    """Returns the rule to decide by: `strict` where no judgment has probabilities, else `probability`."""
    return "strict" if all(_is_blind(each.decisions) for each in read) else "probability"


def _rule_notes(decisions: pl.DataFrame, by: str | None) -> Iterator[str]:
    if by == "probability" and _is_blind(decisions):
        yield "no judgment has probabilities, by which pairs are decided: use --by strict, tie or first"


def _is_blind(decisions: pl.DataFrame) -> bool:
    """Whether there are verdicts, and none has probabilities."""
    return decisions["probability"].null_count() == len(decisions) > decisions["v1"].null_count()


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
        samples = requests.samples_of_config(requests.folder_config(folder))[0]
        stored = _stored_digests(folder)
        if stored is None or stored.width < 2 * samples:
            rows = _digests_of_pairs(folder, ((pair, range(samples)) for pair in new.values()))
            table = pl.DataFrame(rows, schema=_digest_schema(2 * samples), orient="row")
            digests = table.write_csv(include_header=False)
            content = f"{_digest_of_sources(folder)}\n{digests}"
            atomic.write_atomic(folder / _DIGESTS, content.encode())
    return VerdictFolder(folder)


def _digests_of_pairs(
    folder: Path, pairs: Iterable[tuple[Pair, Iterable[int]]]
) -> list[tuple[str, ...]]:
    """Returns what digests judgments of pairs have, for orders 1 and 2 of each of these samples."""
    try:
        return list(requests.pair_digests(pairs, requests.folder_config(folder)))
    except errors.InputError as error:
        raise errors.InputError(error.problem, path=folder / CONFIG) from None


def _digest_schema(width: int) -> _Schema:
    return {str(number): pl.String() for number in range(width)}


def _stored_digests(folder: Path) -> pl.DataFrame | None:
    """Returns the digests in `.digests.csv`; `None` if they are not those of the present files."""
    try:
        content = (folder / _DIGESTS).read_bytes()
        sources, _, rows = content.partition(b"\n")
        if sources.decode() != _digest_of_sources(folder):
            return None
        schema = _digest_schema(rows.partition(b"\n")[0].count(b",") + 1)
        return pl.read_csv(io.BytesIO(rows), has_header=False, schema=schema)
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
        return _parsed_judgments(content, schema)
    except (ValueError, pl.exceptions.PolarsError):
        for number, line in enumerate(content.splitlines(keepends=True), 1):
            if line.strip():
                _check_judgment(path, number, line, schema)
        raise


def _parsed_judgments(content: bytes, schema: _Schema) -> pl.DataFrame:
    """Returns judgments; raises `ValueError` or `PolarsError` for lines that are none."""
    found = pl.read_ndjson(io.BytesIO(content), schema=schema).with_row_index("row")
    found = found.with_columns(pl.col("sample").fill_null(0))
    sample = pl.col("sample").is_between(0, requests.MOST_SAMPLES - 1)
    known = pl.col("order").is_in(ORDERS).fill_null(value=False) & sample
    if not found.select(known.all()).item():
        largest = requests.MOST_SAMPLES - 1
        raise ValueError(f"expected 'order', 1 or 2, and 'sample', 0 to {largest}")
    return found


def _check_judgment(path: Path, number: int, line: bytes, schema: _Schema) -> None:
    """Raise `InputError` with the line for one that is no judgment."""
    json_lines.appended_record(path, number, line)
    try:
        _parsed_judgments(line, schema)
    except (ValueError, pl.exceptions.PolarsError) as error:
        problem = f"is no judgment: {error}: remove the line to ask for it again"
        raise errors.InputError(problem, path=path, line=number) from None


def _samples_of(found: pl.DataFrame) -> int:
    """Returns how many samples a journal has."""
    largest = found["sample"].max()
    return 1 + largest if isinstance(largest, int) else 1


def _last_ones(present: pl.DataFrame) -> pl.DataFrame:
    """Returns the last judgment of each pair, order and sample."""
    if _samples_of(present) == 1:
        slots = len(ORDERS) * present["place"].to_numpy() + present["order"].to_numpy() - 1
        if np.bincount(slots, minlength=1).max() < 2:  # which is fast
            return present
    return present.unique(["place", "order", "sample"], keep="last", maintain_order=True)


def _votes_of(present: pl.DataFrame, pairs: int) -> tuple[sampling.Votes, sampling.Votes]:
    """Returns the votes on pairs in order 1 and 2."""
    last = _last_ones(present)
    codes = last["shown"].replace_strict(_CODES, default=NONE, return_dtype=pl.Int8).to_numpy()
    places, p = last["place"].to_numpy(), _probability_array(last)
    of_order = [last["order"].to_numpy() == order for order in ORDERS]
    one, two = (sampling.count_votes(pairs, places[o], codes[o], p[o]) for o in of_order)
    return one, two


def _ids(pairs: pl.DataFrame, chosen: Flags) -> list[str]:
    return pairs["pair"].filter(pl.Series(chosen, dtype=pl.Boolean)).to_list()


def _lack_samples(
    votes: tuple[sampling.Votes, sampling.Votes], samples: int, stop_at: float | None
) -> Flags:
    """Whether pairs have fewer judgments than samples were asked for, and are not settled either."""
    left = samples - np.stack([each.judged for each in votes], axis=1)
    lacking = np.asarray((left > 0).any(axis=1))
    if stop_at is not None and lacking.any():
        one, two = votes[0].letters[lacking], other_order(votes[1].letters)[lacking]
        lacking[lacking] = ~sampling.settled(one, two, left[lacking], stop_at)
    return lacking


def _probability_array(judgments: pl.DataFrame) -> Floats:
    fields = judgments.select(pl.col("probabilities").struct.field(*verdicts.LETTERS))
    return fields.fill_null(np.nan).to_numpy()
