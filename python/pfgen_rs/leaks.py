"""Which documents of a corpus contain questions and reference answers of a benchmark, and what follows."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import run_files, source
from pfgen_rs.io.chunk import Chunk, Kept, Options
from pfgen_rs.io.reading import read_ahead
from pfgen_rs.io.table_writer import TableWriter
from pfgen_rs.io.text import counted, inert, shortened
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.questions.question import Question
from pfgen_rs.runs.streaming import ScoringProgress

QUESTIONS = ["question_id", "question", "asked", "documents", "references", "found"]
MOST_HITS = 100_000
"""Maximum number of hits to keep in memory."""
EXCERPT = 80
"""Maximum length of the text that a hit shows, in code points."""
_OF_TEXT = ("question_id", "kind", "source", "number")
_COLUMNS = ("file", "line", "id", *_OF_TEXT, "coverage", "begin", "end", "excerpt")
_NUMBERS = dict.fromkeys(("line", "number", "begin", "end"), pl.Int64())
_KINDS = {**dict.fromkeys(_COLUMNS, pl.String()), **_NUMBERS, "coverage": pl.Float64()}
HITS = pl.Schema(_KINDS)
"""The columns of `Contamination.hits`."""
_LOG = logging.getLogger(__name__)
_READ = re.compile(  # config.json and the like are about the files beside them
    r"(?i)(?!(config|result|generation)\.json$)"
    r".*\.((jsonl?|ndjson|csv|tsv)(\.(gz|xz|zst))?|parquet|arrow|feather|ipc)$"
)
_ADVICE = ("choose another with --text-field (in Python: text_field=)",) * 2


class Corpus(NamedTuple):
    """Files of documents, and the names of other files in their folders, which are not read."""

    files: list[source.Source]
    others: list[str]


@dataclass(frozen=True)
class Contamination:
    """What a corpus contains of a benchmark; printing it shows the sentence.

    `hits`: a row for each document and text of the benchmark that it contains: `file`, `line` (or row, or
    element, from 1), `id` (of the document, if it was asked for), `question_id`, `kind` (`question` or
    `reference`), `source` and `number` (which reference answer, from 0; null for questions), `coverage` (the
    share of the text's n-grams that were found), `begin` and `end` (in the document, in code points), and
    `excerpt` (its first 80 characters). The first 100,000; `hit_count` counts all.

    `questions`: a row for each question: `question_id`, `question`, `asked` (documents with the question),
    `documents` (those with a reference answer), `references` (that were looked for), `found` (of these), and
    `share` (`found / references`, null where none was looked for).

    `documents`: number of documents read. `contaminated`: of those with a reference answer. `skipped`: lines
    left out since they cannot be read. `skipped_files`: files (and unreadable folders) in folders of the
    corpus that are not read: names of no known format, `config.json`, `result.json` and `generation.json`.
    `too_short`: texts of the benchmark with fewer than `n` characters, which were not looked for. `coverage`:
    the share of n-grams that was asked for.

    >>> import pfgen_rs
    >>> run = pfgen_rs.sample_runs()["faithful"]
    >>> found = pfgen_rs.contamination(run, "mini", text_field="answer", coverage=1)
    >>> found.contaminated, len(found.questions)
    (0, 14)
    """

    hits: pl.DataFrame = field(repr=False)
    questions: pl.DataFrame = field(repr=False)
    documents: int
    contaminated: int
    skipped: int
    skipped_files: int
    hit_count: int
    too_short: int
    n: int
    coverage: float
    metadata_hash: str

    def __str__(self) -> str:
        """Returns the sentence."""
        return self.sentence

    @property
    def in_doubt(self) -> list[str]:
        """Ids of the questions whose scores are in doubt: any of their reference answers was found.

        A question alone puts nothing in doubt, since others ask it, too.
        """
        return self._doubtful.get_column("question_id").to_list()

    @property
    def _doubtful(self) -> pl.DataFrame:
        return self.questions.filter(pl.col("found") > 0)

    @property
    def sentence(self) -> str:
        """What was found, and what was not read or not looked for, in a few sentences."""
        left = {"document": self.skipped, "file": self.skipped_files}
        skipped = " and ".join(counted(count, what) for what, count in left.items() if count)
        short = counted(self.too_short, "text")
        unread = f" Too short to be looked for: {short}." if self.too_short else ""
        unread += f" Not read: {skipped}." if skipped else ""
        documents, doubtful = counted(self.documents, "document"), self.in_doubt
        if not doubtful:
            return f"No score is in doubt: no reference answer was found in {documents}.{unread}"
        found, references = self.questions.select(pl.col("found", "references").sum()).row(0)
        return (
            f"The scores of {len(doubtful)} of {counted(len(self.questions), 'question')} are in doubt: "
            f"{shortened(', '.join(doubtful))}. {found:,} of {references:,} reference answers were found, in "
            f"{self.contaminated:,} of {documents}.{unread}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns everything but `hits` as JSON types."""
        about = {k: v for k, v in vars(self).items() if k not in ("hits", "questions")}
        said = {"sentence": self.sentence, "in_doubt": self.in_doubt}
        return {**said, **about, "questions": self.questions.to_dicts()}

    def to_markdown(self) -> str:
        """Returns the sentence, and a table of the questions in doubt."""
        head = "| question | documents | references found | share |\n| --- | --: | --: | --: |"
        lines = [inert(self.sentence), *(["", head] if self.in_doubt else [])]
        for row in self._doubtful.iter_rows(named=True):
            name, share = inert(f"{row['question_id']} {row['question']}"), f"{row['share']:.4f}"
            found = f"{row['found']:,} of {row['references']:,}"
            lines.append(f"| {name} | {row['documents']:,} | {found} | {share} |")
        return "\n".join(lines) + "\n"


def contamination(
    corpus: run_files.Paths | Corpus,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    text_field: str = "text",
    id_field: str | None = None,
    n: int = 8,
    coverage: float = 0.9,
    out: str | os.PathLike[str] | None = None,
    skip_bad_lines: bool = False,
    replace_invalid: bool = False,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: ScoringProgress | None = None,
) -> Contamination:
    """Find documents of a corpus that contain questions and reference answers of a benchmark.

    `corpus`: files as `score_file` takes them, folders, globs, URLs, a list of these, or what `corpus_files`
    returns; of a folder, all files of known formats are read, also behind links, but not hidden ones. A file
    that is met again is read once. `text_field`: the key or column of a document's text. `id_field`: that of
    its id, a text or number, if hits are to have it. `benchmark`: as for `score_file`; its answers must be
    texts. `n`: at most 100.

    Texts are compared by their letters and digits alone, after compatibility decomposition and in lower case.
    A document contains a text if some stretch of it, at most twice as long as the text, has at least the
    share `coverage` of the text's distinct n-grams of `n` characters. Results do not depend on threads, nor
    on how files are cut or compressed.

    `out`: all hits are written to this table (`.parquet`, `.jsonl`, `.csv` or `.arrow`). What cannot be read
    raises `InputError`, or is skipped and counted with `skip_bad_lines`. `replace_invalid`: as for
    `score_file`. `progress`: called after each chunk with its file, the bytes read of it, and the documents.
    Also raises `SettingsError` for values of `n` and `coverage` that make no sense, and `OutputError`.

    >>> import pfgen_rs
    >>> run = pfgen_rs.sample_runs()["faithful"]
    >>> found = pfgen_rs.contamination(run, "mini", text_field="answer")
    >>> found.documents, found.in_doubt
    (140, ['Q09', 'Q12', 'Q14'])
    """
    files, others = corpus if isinstance(corpus, Corpus) else corpus_files(corpus, storage_options)
    if others:
        _LOG.warning("not read: %s, such as %s", counted(len(others), "file"), others[0])
    if out is not None:
        run_files.refuse_overwriting(out, [file.path for file in files])
    finder = _Finder(resolve(benchmark, None), n, coverage, threads)
    kept = () if id_field is None else (Kept(id_field, "id", pl.String()),)
    # A document is read as an answer that is its own question.
    options = Options(text_field, text_field, skip_bad_lines, advice=_ADVICE, think="keep")
    options = replace(options, keep=kept, replace_invalid=replace_invalid, use_config=False)
    with _table(out) as table, read_ahead(files, options) as readings:
        for reading in readings:
            for chunk in reading:
                if chunk.cut_short is not None:
                    _LOG.warning("%s", chunk.cut_short)
                hits = finder.take(chunk, reading.source.path)
                if table is not None:
                    table.write(hits)
                if progress is not None:
                    progress(reading.source, chunk.read, len(chunk))
                del chunk, hits  # before the next ones are read
    return finder.result(len(others), id_field)


def corpus_files(
    corpus: run_files.Paths, storage_options: Mapping[str, Any] | None = None
) -> Corpus:
    """Returns the files that paths, folders, globs and URLs stand for, each once. Raises `InputError`."""
    given = [corpus] if isinstance(corpus, str | os.PathLike) else corpus
    patterns = [os.fspath(each) for each in given]
    storage = source.storage_for(patterns, storage_options)
    found: dict[str, tuple[str, bool]] = {}
    for path in run_files.expand(patterns, storage):
        for name, is_read in _files_of(path):
            place = os.path.realpath(name) if os.path.exists(name) else name  # noqa: PTH110 - "a\0b"
            if is_read or place not in found:
                found[place] = (name, is_read)
    read, others = (
        [name for name, each in found.values() if each is kind] for kind in (True, False)
    )
    return Corpus(source.opened_sources(read, storage), others)


def _files_of(path: str) -> list[tuple[str, bool]]:
    """Returns files and datasets below a folder, sorted, and whether each is read; a file is itself.

    Links are followed. Hidden files and folders are left out.
    """
    found: list[tuple[str, bool]] = []
    seen = set()
    refuse = lambda error: found.append((error.filename, False))  # noqa: E731
    walked = os.walk(path, onerror=refuse, followlinks=True)
    for place, folders, files in walked if os.path.isdir(path) else ():  # noqa: PTH112 - "a\0b"
        folder, real = Path(place), os.path.realpath(place)
        if source.is_dataset(folder) or real in seen:
            found += [] if real in seen else [(place, True)]
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in (folder / name for name in files if not name.startswith(".")):
            found.append((str(file), _READ.match(file.name) is not None and file.is_file()))
    return sorted(found) if any(is_read for _, is_read in found) else [(path, True)]


@contextmanager
def _table(out: str | os.PathLike[str] | None) -> Iterator[TableWriter | None]:
    """Yield what writes hits; the file appears when all are written."""
    if out is None:
        yield None
        return
    table = TableWriter(out, HITS)
    try:
        yield table
        table.finish()
        table.commit()
    finally:
        table.discard()


class _Finder:
    """Finds the texts of a benchmark in chunks of documents, and counts."""

    def __init__(self, benchmark: Benchmark, n: int, coverage: float, threads: int | None) -> None:
        if type(n) is not int or not 1 <= n <= 100:
            raise SettingsError(f"n must be a whole number from 1 to 100, not {n!r}")
        if any(question.has_tokens for question in benchmark):
            raise InputError("the reference answers are token ids, which no text contains")
        self._benchmark = benchmark
        self._about = {"n": n, "coverage": coverage, "metadata_hash": benchmark.metadata_hash}
        rows = [text for at, question in enumerate(benchmark) for text in _texts(at, question)]
        schema = {"owner": pl.Int64(), "text": pl.String()} | {k: HITS[k] for k in _OF_TEXT}
        self._texts = pl.DataFrame(rows, schema=schema, orient="row")
        self._native = _native.LeakFinder(_native.Texts(self._texts["text"]), n, coverage, threads)
        self._owner = self._texts.get_column("owner").to_numpy()
        self._is_reference = self._texts.get_column("number").is_not_null().to_numpy()
        self._found = np.zeros(len(rows), dtype=np.bool_)
        self._documents = np.zeros((2, len(benchmark)), dtype=np.int64)
        self._kept = [pl.DataFrame(schema=HITS)]
        self._counts = dict.fromkeys(("documents", "contaminated", "skipped", "hit_count"), 0)

    def take(self, chunk: Chunk, path: str) -> pl.DataFrame:
        """Find texts in the documents of a chunk. Returns the hits."""
        rows, texts, coverage, begin, end = self._native.find(chunk.texts)
        self._counts["documents"] += len(chunk)
        self._counts["skipped"] += len(chunk.problems)
        self._count(rows, texts)
        cut = pl.lit(pl.Series(np.minimum(end - begin, EXCERPT)))
        about = {"coverage": coverage, "begin": begin, "end": end, "line": chunk.lines[rows]}
        ids = pl.lit(None) if chunk.kept is None or not chunk.kept.width else chunk.kept["id"][rows]
        hits = (
            self._texts[texts]
            .with_columns(**{name: pl.Series(values) for name, values in about.items()})
            .with_columns(file=pl.lit(path), excerpt=chunk.answers[rows], id=ids)
            .with_columns(pl.col("excerpt").str.slice(pl.col("begin"), cut))
            .select(pl.col(name).cast(kind) for name, kind in HITS.items())
        )
        if len(rows) and (room := MOST_HITS - self._counts["hit_count"]) > 0:
            self._kept.append(hits.head(room))
        self._counts["hit_count"] += len(hits)
        return hits

    def _count(self, rows: NDArray[np.int64], texts: NDArray[np.int64]) -> None:
        self._found[texts] = True
        is_reference, owners = self._is_reference[texts], self._owner[texts]
        self._counts["contaminated"] += len(np.unique(rows[is_reference]))
        for counts, of_kind in zip(self._documents, (~is_reference, is_reference), strict=True):
            pairs = np.unique(np.stack([rows[of_kind], owners[of_kind]]), axis=1)
            counts += np.bincount(pairs[1], minlength=len(counts))

    def result(self, skipped_files: int, id_field: str | None) -> Contamination:
        """Returns what was found in all chunks."""
        looked_for, most = self._native.grams() > 0, len(self._benchmark)
        of_question = [
            np.bincount(self._owner[which & self._is_reference], minlength=most)
            for which in (looked_for, self._found)
        ]
        named = ([q.id for q in self._benchmark], [q.text for q in self._benchmark])
        questions = pl.DataFrame([*named, *self._documents, *of_question], schema=QUESTIONS)
        share = pl.when(pl.col("references") > 0).then(pl.col("found") / pl.col("references"))
        hits, questions = pl.concat(self._kept), questions.with_columns(share=share)
        if id_field is not None and len(hits) and not hits["id"].count():
            _LOG.warning("no hit has an id: choose another key than %r with --id-field", id_field)
        about: dict[str, Any] = {**self._counts, **self._about, "skipped_files": skipped_files}
        return Contamination(hits, questions, too_short=int((~looked_for).sum()), **about)


def _texts(at: int, question: Question) -> Iterator[tuple[Any, ...]]:
    """Yield the texts of a question, as `_OF_TEXT` says, after its place and the text itself."""
    yield at, question.text, question.id, "question", None, None
    for name, answers in question.answers.items():
        for number, answer in enumerate(answers):
            yield at, answer, question.id, "reference", name, number
