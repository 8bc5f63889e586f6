"""Checks a submitted run: whether it is what it says, and whether its answers are the model's own.

Limits were chosen with the 24 public runs of pfgen-bench that have answers: none of them comes near.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark, resolve, score_file
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.io.run_files import expand_runs, stated_model
from pfgen_rs.io.text import counted, inert, shortened
from pfgen_rs.lazy import np, pl
from pfgen_rs.report.site.model_facts import ModelFacts, bundled_facts
from pfgen_rs.runs.result import Result
from pfgen_rs.verify import Difference, verify_scored

N, COVERAGE = 8, 0.6
"""An answer is near a text if it has this share of its n-grams (`leaks`): up to about four letters differ."""
COPIED = 0.2
"""Limit of the share of answers that are near those of another model, or near reference answers."""
REPEATED = 0.5
"""Limit of the share of answers that repeat an earlier one to the same question."""
SAME_LENGTH = 0.5
"""Limit of the share of answers that have the most common length."""
IMPOSSIBLE = 0.01
"""Limit of the share of answers with more than `PER_TOKEN` characters for each token of `max_tokens`."""
PER_TOKEN = 16
_FEW = 20  # answers, of which too few to say that they have one length
_EMPTY = 0.05
_SAMPLED = 1000  # reference answers, to see how alike they are
_LOG = logging.getLogger(__name__)
_MARKS = {"pass": "✅", "note": "ℹ️", "fail": "❌"}
_STATED = ("signature", "metadata_hash")


@dataclass(frozen=True)
class Finding:
    """What a check found. `share`: of the run's answers, which fails above `limit`; `None` where it has none.

    A `note` is for people to read: it never fails a run.
    """

    check: str
    verdict: Literal["pass", "note", "fail"]
    sentence: str
    share: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Submission:
    """A submitted run and what the checks found."""

    run: str
    model: str | None
    signature: str | None
    findings: Sequence[Finding]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(found.verdict != "fail" for found in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return {"passed": self.passed, **asdict(self)}

    def to_markdown(self) -> str:
        """Returns a section for the summary of a pull request; nothing in names acts."""
        verdict = "passes" if self.passed else "fails"
        lines = [
            f"### {_MARKS['pass' if self.passed else 'fail']} {inert(self.run)} {verdict}\n",
            f"{inert(self.model or 'no model named')}\n",
            "| check | | share | limit | found |",
            "| --- | --- | --: | --: | --- |",
        ]
        for each in self.findings:
            numbers = f"{share_text(each.share)} | {share_text(each.limit)}"
            cells = f"{each.check} | {_MARKS[each.verdict]} | {numbers} | {inert(each.sentence)}"
            lines.append(f"| {cells} |")
        return "\n".join([*lines, "", f"<sub>{inert(self.signature or '')}</sub>", "", ""])


def share_text(share: float | None) -> str:
    """Returns a share in percent, or nothing."""
    return "" if share is None else f"{share:.1%}"


class _Run(NamedTuple):
    """A submitted run, or one that it is held against: its path, its scores and its answers."""

    path: str
    result: Result
    answers: pl.DataFrame

    @property
    def model(self) -> str | None:
        return stated_model(self.result.config)


def check_runs(
    runs: Iterable[str],
    against: Sequence[str] = (),
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    facts: ModelFacts | None = None,
    threads: int | None = None,
) -> Iterator[Submission]:
    """Check submitted runs against a benchmark and the runs in the folders `against`.

    Yields a submission for each run. Runs that cannot be read fail; those of `against` are left out, with a
    warning. A submitted run may lie below `against`; submitted runs are held against each other, too.
    `facts`: what is known of models. Memory: the answers of the submitted runs and of one other. Raises
    `BenchmarkError`, and `InputError` for folders `against` that do not exist.
    """
    for folder in against:
        if not Path(folder).exists():
            raise InputError("no such folder to check against", path=folder)
    loaded, known = resolve(benchmark, None), bundled_facts() if facts is None else facts
    submitted, others = (
        {os.path.realpath(path): path for path in expand_runs(each)} for each in (runs, against)
    )
    usable: dict[str, _Run] = {}
    for place, path in submitted.items():
        try:
            usable[place] = _read(path, loaded, threads)
        except PfgenError as error:
            yield Submission(path, None, None, [Finding("read", "fail", str(error))])
    if not usable:
        return
    references = _near_references(list(usable.values()), loaded, threads)
    nearest = _near_others(usable, others | submitted, loaded, threads)
    for (place, run), of_references in zip(usable.items(), references, strict=True):
        own = [*_verified(run), _questions(run), _model(run, known), *_texts(run)]
        of_others = nearest.get(place, Finding("others", "pass", "there are no other runs"))
        signature = run.result.signature
        yield Submission(run.path, run.model, signature, [*own, of_references, of_others])


def _read(path: str, benchmark: Benchmark, threads: int | None) -> _Run:
    result = score_file(path, benchmark, threads=threads)
    return _Run(path, result, result.frame.select("question_id", "answer"))


def _limited(check: str, share: float, limit: float, what: str) -> Finding:
    verdict: Literal["pass", "fail"] = "fail" if share > limit else "pass"
    return Finding(check, verdict, f"{share:.1%} of the answers {what}", share, limit)


# Answers that are not the model's own.


def _shares(texts: pl.Series, documents: Iterable[pl.Series], threads: int | None) -> list[float]:
    """Returns which share of each series of documents is near any of the texts."""
    finder = _native.LeakFinder(_native.Texts(texts), N, COVERAGE, threads)
    found = ((finder.find(_native.Texts(each))[0], len(each)) for each in documents)
    return [len(np.unique(rows)) / count for rows, count in found]


def _near_references(
    runs: Sequence[_Run], benchmark: Benchmark, threads: int | None
) -> list[Finding]:
    """Returns findings on reference answers, a run each.

    Answers of an honest model are no nearer to reference answers than these are to each other, so the limit
    is the share of reference answers near others, and a fifth of the rest.
    """
    if any(question.has_tokens for question in benchmark):
        problem = "reference answers are token ids, which no text contains: not looked for"
        return [Finding("references", "note", problem) for _ in runs]
    texts = pl.Series([a for q in benchmark for own in q.answers.values() for a in own])
    is_sampled = np.arange(len(texts)) % max(2, len(texts) // _SAMPLED) == 0
    sampled, others = texts.filter(is_sampled), texts.filter(~is_sampled)
    [alike] = _shares(others, [sampled], threads)
    shares = _shares(texts, [run.answers["answer"] for run in runs], threads)
    limit = alike + COPIED * (1 - alike)
    return [_limited("references", own, limit, "are nearly reference answers") for own in shares]


def _near_others(
    runs: Mapping[str, _Run], others: Mapping[str, str], benchmark: Benchmark, threads: int | None
) -> dict[str, Finding]:
    """Returns the worst finding on another run, by place; `others`: paths by place."""
    found: dict[str, list[Finding]] = {}
    for place, path in others.items():
        try:
            other = runs.get(place) or _read(path, benchmark, threads)
        except PfgenError as error:
            _LOG.warning("left out: %s", error)
            continue
        shares = _shares(
            other.answers["answer"], [run.answers["answer"] for run in runs.values()], threads
        )
        what = f"are nearly those of {other.model} ({path})"
        for (own, run), share in zip(runs.items(), shares, strict=True):
            finding = _limited("others", share, COPIED, what)
            if run.model is not None and run.model.casefold() == (other.model or "").casefold():
                said = f"{finding.sentence}, the same model"
                finding = replace(finding, verdict="note", sentence=said, limit=None)
            if own != place and (finding.verdict != "note" or share > COPIED):
                found.setdefault(own, []).append(finding)
    return {own: max(each, key=_severity) for own, each in found.items()}


def _severity(found: Finding) -> tuple[int, float]:
    return ("pass", "note", "fail").index(found.verdict), found.share or 0.0


# What a run says of itself.


def _verified(run: _Run) -> Iterator[Finding]:
    try:
        found = verify_scored(run.path, run.result)
    except PfgenError as error:
        yield Finding("verify", "fail", str(error))
        return
    failures = [each for each in found.failures if not _is_other_version(each)]
    stated = [each for each in failures if each.place in _STATED]
    computed = [each for each in failures if each.place not in _STATED]
    agree = f"{found.agreeing:,} of {counted(found.numbers, 'number')} agree exactly"
    yield _of_differences("signature", stated, "as computed")
    yield _of_differences("verify", computed, agree)


def _is_other_version(found: Difference) -> bool:
    theirs, ours = (str(text).rpartition("|v:")[0] for text in (found.theirs, found.ours))
    return found.place == "signature" and theirs == ours != ""


def _of_differences(check: str, failures: Sequence[Difference], good: str) -> Finding:
    if not failures:
        return Finding(check, "pass", good)
    theirs, ours = (shortened(repr(value)) for value in (failures[0].theirs, failures[0].ours))
    said = f"the first at {failures[0].place}: {theirs} in the file, {ours} computed"
    return Finding(check, "fail", f"{counted(len(failures), 'difference')}, {said}")


def _questions(run: _Run) -> Finding:
    numbers = dict.fromkeys(run.result.missing, 0)
    numbers |= dict(run.answers.group_by("question_id").len().sort("question_id").iter_rows())
    fewest, most = min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)
    said = f"{fewest} has {counted(numbers[fewest], 'answer')}, {most} has {numbers[most]:,}"
    if numbers[fewest] < numbers[most]:
        return Finding("questions", "fail", f"not the same number of answers to each: {said}")
    each = f"{counted(len(numbers), 'question')} with {counted(numbers[most], 'answer')} each"
    return Finding("questions", "pass", each)


def _model(run: _Run, facts: ModelFacts) -> Finding:
    if run.model is None:
        return Finding("model", "fail", "config.json names no model: add the key model")
    known = facts.of(run.model)
    needed = {"parameters": "size", "released": "date of release"}
    unknown = [name for kind, name in needed.items() if kind not in known]
    if unknown:
        problem = f"no {' and no '.join(unknown)} known: models.toml states facts and their sources"
        return Finding("model", "note", problem)
    return Finding("model", "pass", "size and release are known")


def _texts(run: _Run) -> Iterator[Finding]:
    """Yield what the answers' texts say; a run of empty answers is bad, but no fraud."""
    plain = pl.col("answer").str.normalize("NFKD").str.to_lowercase()  # as `leaks` folds texts
    folded = plain.str.replace_all(r"[^\p{L}\p{N}]", "")
    answers = run.answers.with_columns(folded=folded, length=pl.col("answer").str.len_chars())
    said = answers.filter(pl.col("folded") != "")
    empty = _limited("empty", 1 - len(said) / len(answers), _EMPTY, "are empty")
    yield replace(empty, verdict="note", limit=None) if empty.verdict == "fail" else empty
    if said.is_empty():
        return
    repeated = 1 - said.n_unique(["question_id", "folded"]) / len(said)
    yield _limited("repeats", repeated, REPEATED, "repeat an earlier one to the same question")
    length, count = said.group_by("length").len().sort("len", "length").row(-1)
    alike = count / len(said) if len(said) >= _FEW else 0.0
    yield _limited("lengths", alike, SAME_LENGTH, f"have {counted(length, 'character')}")
    tokens = (run.result.config or {}).get("max_tokens")
    if type(tokens) is int and tokens > 0:
        longer = said.filter(pl.col("length") > PER_TOKEN * tokens).height / len(said)
        what = f"are longer than {counted(tokens, 'token')} can be"
        yield _limited("impossible", longer, IMPOSSIBLE, what)
