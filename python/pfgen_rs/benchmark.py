"""Benchmarks: question files, loaded, checked and turned into scorers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs import _native, compression, install
from pfgen_rs.errors import BenchmarkError, BenchmarkNotFoundError, UnknownQuestionError
from pfgen_rs.helpfulness import Helpfulness, Rule, parse_rules
from pfgen_rs.index import NgramIndex
from pfgen_rs.settings import Settings
from pfgen_rs.signature import signature

if TYPE_CHECKING:
    import polars as pl

    from pfgen_rs.explain import Explanation
    from pfgen_rs.results import Result
    from pfgen_rs.scoring import Score

__all__ = [
    "BUNDLED",
    "ENVIRONMENT",
    "Benchmark",
    "Question",
    "benchmark_path",
    "bundled_path",
    "load_benchmark",
]

BUNDLED = "mini"
ENVIRONMENT = "PFGEN_RS_BENCHMARK"
_PATTERN = "Q*.json*"


@dataclass(frozen=True)
class Question:
    """One question: text, keyword rules (as the file has them, and parsed), reference answers by source."""

    id: str
    text: str
    category: str
    note: str
    keywords: Sequence[Mapping[str, Any]]
    answers: Mapping[str, Sequence[str]]
    rules: tuple[Rule, ...] = field(repr=False)

    @cached_property
    def index(self) -> NgramIndex:
        """Suffix-array index over the reference answers, built when first asked for."""
        return NgramIndex(self.answers)

    @property
    def sources(self) -> list[str]:
        """Names of the sources, in the file's order (sums over sources run in it)."""
        return list(self.answers)


class Benchmark:
    """Questions with scorers for one choice of settings. Safe to share between threads.

    `bench["Q14"]` is a question; iteration gives all of them by id. Scorers are built when first needed.
    """

    def __init__(
        self, questions: Sequence[Question], metadata_hash: str, settings: Settings | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.metadata_hash = metadata_hash
        self._questions = {q.id: q for q in sorted(questions, key=lambda q: q.id)}
        self._by_text = {q.text: q for q in self._questions.values()}
        self._scorers: dict[str, _native.Scorer] = {}
        self._helpfulness: dict[str, Helpfulness] = {}

    def __getitem__(self, question_id: str) -> Question:
        """The question with this id; `UnknownQuestionError` (a `LookupError`) if there is none."""
        try:
            return self._questions[question_id]
        except KeyError:
            known = ", ".join(list(self._questions)[:3])
            raise UnknownQuestionError(
                f"no question has the id {question_id!r}: the ids are {known}, …"
            ) from None

    def __iter__(self) -> Iterator[Question]:
        """All questions in the order of their ids."""
        return iter(self._questions.values())

    def __len__(self) -> int:
        """Count the questions."""
        return len(self._questions)

    def __repr__(self) -> str:
        """Show size and signature."""
        return f"Benchmark({len(self)} questions, {self.signature!r})"

    @cached_property
    def sources(self) -> list[str]:
        """All sources, in the order in which the questions (by id) first name them."""
        return list(dict.fromkeys(source for question in self for source in question.sources))

    @property
    def signature(self) -> str:
        """What makes scores of this benchmark reproducible, in one line."""
        return signature(self.metadata_hash, self.settings)

    def find(self, question: str) -> Question:
        """The question with this exact text or, failing that, this id; `UnknownQuestionError` otherwise."""
        found = self._by_text.get(question) or self._questions.get(question)
        if found is None:
            raise UnknownQuestionError(
                "the benchmark does not have this question (text and id must match exactly); "
                "was the run made for another benchmark?",
                question=question,
            )
        return found

    def with_settings(self, settings: Settings) -> Benchmark:
        """The same questions with other settings; the indexes are shared."""
        return Benchmark(list(self), self.metadata_hash, settings)

    def scorer(self, question: Question) -> _native.Scorer:
        """The native scorer of a question, built when first asked for.

        Raises `BenchmarkError` where a source has no answers or its baseline is 0.
        """
        if question.id not in self._scorers:
            try:
                native = _native.Scorer(question.index.native, self.settings.native)
            except BenchmarkError as error:
                raise BenchmarkError(f"question {question.id}: {error}") from None
            self._scorers[question.id] = native
        return self._scorers[question.id]

    def helpfulness(self, question: Question) -> Helpfulness:
        """The evaluator of a question's keyword rules."""
        if question.id not in self._helpfulness:
            self._helpfulness[question.id] = Helpfulness(question.rules, self.settings)
        return self._helpfulness[question.id]

    def prepare(self, questions: Sequence[Question] | None = None) -> Benchmark:
        """Build the scorers of all (or the given) questions now, in parallel; gives itself back."""
        missing = [q for q in questions or list(self) if q.id not in self._scorers]
        if missing:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(self.scorer, missing))
        return self

    def baselines(self, question: Question) -> dict[str, float]:
        """Mean Fluency, with baseline 1, of each source's own answers (spec: the divisor of Fluency)."""
        return dict(zip(question.sources, self.scorer(question).baselines, strict=True))

    def score(self, question: str, answer: str) -> Score:
        """Score one answer to a question, given by its text or id. Times: see `score_batch` for many."""
        from pfgen_rs import scoring

        return scoring.score(self, question, answer)

    def score_batch(
        self, data: Any, answers: Any = None, *, threads: int | None = None, chunk_size: int = 65536
    ) -> pl.DataFrame:
        """Score many answers; see `pfgen_rs.scoring.score_batch`."""
        from pfgen_rs import scoring

        return scoring.score_batch(self, data, answers, threads=threads, chunk_size=chunk_size)

    def evaluate(self, data: Any, answers: Any = None, *, threads: int | None = None) -> Result:
        """Score many answers, as `score_batch`, and summarise them as a run."""
        from pfgen_rs import results

        return results.evaluate(self, data, answers, threads=threads)

    def explain(self, question: str, answer: str) -> Explanation:
        """Where an answer's score comes from, character by character."""
        from pfgen_rs import explain

        return explain.explain(self, question, answer)


def load_benchmark(
    name: str | os.PathLike[str] | None = None, *, settings: Settings | None = None
) -> Benchmark:
    """Load a benchmark.

    `name`: a folder of question files, the name of an installed benchmark (`pfgen-rs data install`), or
    `mini`, the bundled one. Without a name the environment variable PFGEN_RS_BENCHMARK decides, then `mini`.

    Question files are `Q*.json`, plain or compressed (`.gz`, `.xz`, `.zst`). Raises `BenchmarkNotFoundError`
    or, naming the file, `BenchmarkError`.
    """
    return _load_folder(benchmark_path(name), settings)


def benchmark_path(name: str | os.PathLike[str] | None = None) -> Path:
    """Folder that `load_benchmark(name)` reads; `BenchmarkNotFoundError` where there is none."""
    return _folder(name or os.environ.get(ENVIRONMENT) or BUNDLED)


def bundled_path() -> Path:
    """Folder of the bundled benchmark, with its sample runs."""
    return Path(str(resources.files("pfgen_rs") / "data" / BUNDLED))


def _folder(name: str | os.PathLike[str]) -> Path:
    folder = Path(name)
    if folder.is_dir():
        return folder
    if isinstance(name, str):
        if name == BUNDLED:
            return bundled_path()
        installed = install.installed_path(name) if name in install.known() else None
        if installed is not None:
            return installed
    hint = (
        f"run 'pfgen-rs data install {name}'"
        if name in install.known()
        else (f"give a folder of question files, an installed benchmark, or {BUNDLED!r}")
    )
    raise BenchmarkNotFoundError(f"there is no benchmark {str(name)!r}: {hint}")


def _load_folder(folder: Path, settings: Settings | None) -> Benchmark:
    paths = sorted(path for path in folder.glob(_PATTERN) if _is_question_file(path))
    if not paths:
        nested = folder / "data"
        if nested.is_dir() and any(nested.glob(_PATTERN)):
            return _load_folder(nested, settings)
        raise BenchmarkNotFoundError("the folder has no question files (Q*.json)", path=folder)
    questions, digests = [], []
    for path in paths:
        content = _read(path)
        digests.append(hashlib.sha1(content, usedforsecurity=False).hexdigest())
        questions.append(_parse(content, path))
    _refuse_duplicates(questions, paths)
    joined = "".join(digests).encode()
    metadata_hash = hashlib.sha1(joined, usedforsecurity=False).hexdigest()
    return Benchmark(questions, metadata_hash, settings)


def _is_question_file(path: Path) -> bool:
    return path.suffix == ".json" or (
        path.suffix in compression.SUFFIXES and path.with_suffix("").suffix == ".json"
    )


def _read(path: Path) -> bytes:
    try:
        return compression.decompress(path.read_bytes())
    except OSError as error:
        raise BenchmarkError(f"cannot be read: {error.strerror}", path=path) from error
    except compression.TruncatedError as error:
        raise BenchmarkError(f"is damaged or cut short: {error}", path=path) from None


def _parse(content: bytes, path: Path) -> Question:
    try:
        data = json.loads(content.decode())
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"is not UTF-8: {error}", path=path) from None
    except (ValueError, RecursionError) as error:
        raise BenchmarkError(f"is not JSON: {error}", path=path) from None
    try:
        return _question(data)
    except BenchmarkError as error:
        raise BenchmarkError(str(error), path=path) from None


def _question(data: object) -> Question:
    if not isinstance(data, dict):
        raise BenchmarkError("a question file holds one object")
    texts = {
        key: _text(data.get(key, default), key)
        for key, default in (
            ("question_id", None),
            ("question", None),
            ("category", ""),
            ("note", ""),
        )
    }
    return Question(
        id=texts["question_id"],
        text=texts["question"],
        category=texts["category"],
        note=texts["note"],
        rules=parse_rules(data.get("keywords")),
        keywords=data["keywords"],
        answers=_answers(data.get("answers")),
    )


def _text(value: object, key: str) -> str:
    if value is None:
        raise BenchmarkError(f"the key {key!r} is missing")
    if not isinstance(value, str):
        raise BenchmarkError(f"{key!r} must be text, not {value!r}")
    return value


def _answers(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise BenchmarkError("'answers' must map at least one source to its reference answers")
    for source, answers in value.items():
        if not isinstance(answers, list) or not answers:
            raise BenchmarkError(f"source {source!r} must have a list of at least one answer")
        for i, answer in enumerate(answers):
            if not isinstance(answer, str):
                raise BenchmarkError(f"answer {i} of source {source!r} is not text: {answer!r}")
            if not answer.isascii() and _has_surrogate(answer):
                raise BenchmarkError(f"answer {i} of source {source!r} holds a lone surrogate")
        if not any(answers):
            raise BenchmarkError(
                f"source {source!r} has only empty answers, so its baseline would be 0"
            )
    return {source: tuple(answers) for source, answers in value.items()}


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _refuse_duplicates(questions: Sequence[Question], paths: Sequence[Path]) -> None:
    seen: dict[tuple[str, str], Path] = {}
    for question, path in zip(questions, paths, strict=True):
        for kind, value in (("id", question.id), ("question", question.text)):
            other = seen.setdefault((kind, value), path)
            if other is not path:
                raise BenchmarkError(f"has the same {kind} {value!r} as {other}", path=path)
