"""Asking a judge which answer of each pair is better, and by which criteria (judging 1 and 2)."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from pfgen_rs.ask import Answered, Details, Engine, loop, request
from pfgen_rs.ask.journal import Journal
from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import id_field, parsed
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.text import counted
from pfgen_rs.judge import Pair, requests as asking, verdict_folder, verdicts
from pfgen_rs.judge.requests import Judge, Prompt


def compare(
    pairs: Sequence[Pair],
    engine: Engine,
    judge: Judge,
    prompt: Prompt,
    out: str | os.PathLike[str],
    *,
    samples: int = 1,
    stop_at: float | None = None,
    **limits: Unpack[loop.Limits],
) -> loop.Asked:
    """Ask a judge about pairs, each in both orders, and keep its judgments in the folder `out`.

    Pairs without a reference answer get the prompt without it. What is stored is never asked again; the same
    call continues after an interruption, and several processes may share the work. With several `samples`,
    sample i uses seed + i, which needs a temperature above 0, and with `stop_at` a pair is asked about as
    long as its other samples would change its decision with a larger probability (judging 9); `total` is then
    what turned out to be needed. `limits`: `budget` (none), `keep_going` (false) although too many requests
    fail, and `progress`, which is called with counts. Raises `SettingsError` for prompts that need criteria
    which pairs lack and for another configuration of the folder, `GenerationError` if nothing can be asked,
    and `OutputError`.
    """
    asking.check_samples(judge, samples, stop_at)
    config = comparison_config(judge, prompt)
    if samples > 1:
        config[asking.SAMPLING] = {"samples": samples, "stop_at": stop_at}
    requests = list(asking.comparison_requests(pairs, prompt, 1 if stop_at else samples))
    folder = verdict_folder.open_verdict_folder(out, config, pairs)

    def read(_: request.Request, answered: Answered) -> Mapping[str, Any]:
        return _read_judgment(answered, prompt.verdict)

    def ask(some: Sequence[request.Request], limits: loop.Limits) -> loop.Asked:
        return loop.ask(journal, [request.Group(judge, some)], engine, read, **limits)

    while True:
        with verdict_folder.judgment_journal(folder.path) as journal:
            if stop_at is None:
                return ask(requests, limits)
            asked = _ask_rounds(folder, requests, samples, stop_at, ask, limits)
        if not (asked.new and asked.elsewhere):
            return asked
        # What other processes left open when they ended is asked for once more; what is invalid is not.
        judge = replace(judge, retry=None)


def _ask_rounds(
    folder: verdict_folder.VerdictFolder,
    requests: Sequence[request.Request],
    samples: int,
    stop_at: float,
    ask: Callable[[Sequence[request.Request], loop.Limits], loop.Asked],
    limits: loop.Limits,
) -> loop.Asked:
    """Ask for one sample after the other of the pairs that are not settled yet (judging 9.5).

    `requests`: those of the first sample. A pair of which an answer is lacking is left to the next call.
    """
    rounds = list[loop.Asked]()
    for sample in range(samples):
        some = [replace(each, sample=sample) for each in requests]
        rounds.append(ask(some, _continued(limits, sum(each.stored for each in rounds))))
        going = set(folder.unsettled(samples, stop_at, sample + 1))
        requests = [each for each in requests if each.subject in going]
        if not requests or rounds[-1].unaffordable:
            break
    names = ("total", "stored", "new", "elsewhere", "unaffordable")
    sums: dict[str, Any] = {name: sum(getattr(each, name) for each in rounds) for name in names}
    failures = [failure for each in rounds for failure in each.failures]
    return replace(rounds[-1], **sums, failures=failures)


def _continued(limits: loop.Limits, before: int) -> loop.Limits:
    """Returns limits whose progress counts the answers of earlier rounds too."""
    tell = limits.get("progress")

    def progress(done: int, total: int, rate: float, failed: int) -> None:
        if tell is not None:
            tell(before + done, before + total, rate, failed)

    return {**limits, "progress": progress}


def comparison_config(judge: Judge, prompt: Prompt) -> dict[str, Any]:
    """Returns what a verdict folder's `config.json` says."""
    names = ("name", "verdict", "system", "text")
    asked = {name: getattr(prompt, name) for name in names}
    return asking.asking_config("pairwise", judge, mode="chat", prompt=asked)


def _read_judgment(answered: Answered, which: verdicts.Which) -> Mapping[str, Any]:
    """Returns the fields of a judgment that the judge's answer determines."""
    details = answered.details or Details()
    verdict = verdicts.read_output(answered.text, details.tokens, which)
    problem = verdicts.problem_of(
        answered.text, verdict.shown, details.finish_reason, "no verdict", whole=which != "first"
    )
    if problem is not None:
        verdict = verdicts.Verdict(None)
    return {
        "output": answered.text,
        "finish_reason": details.finish_reason,
        "shown": verdict.shown,
        "probabilities": None if verdict.probabilities is None else dict(verdict.probabilities),
        "problem": problem,
    }


# Criteria


def criteria_file(pairs: str | os.PathLike[str]) -> Path:
    """Returns where the criteria of a file of pairs are kept: `pairs.criteria.jsonl` beside it."""
    path = Path(pairs)
    return path.with_name(f"{path.stem}.criteria.jsonl")


def open_criteria(path: str | os.PathLike[str]) -> Journal:
    """Returns the journal of criteria, which is not open yet."""
    return Journal(Path(path), ("question_id", "sample", "digest"))


def criteria_requests(pairs: Iterable[Pair], prompt: Prompt) -> Iterator[request.Request]:
    """Yield one request a question whose pairs do not all have criteria.

    Raises `InputError` if pairs with the same question id have different questions or references.
    """
    first: dict[str, Pair] = {}
    lacking: dict[str, Pair] = {}
    for pair in pairs:
        known = first.setdefault(pair.question_id, pair)
        if (known.question, known.reference) != (pair.question, pair.reference):
            raise InputError(
                f"pairs {known.id!r:.60} and {pair.id!r:.60} have the question id {pair.question_id!r:.60} "
                "but different questions or reference answers"
            )
        if pair.criteria is None:
            lacking.setdefault(pair.question_id, pair)
    for question_id, pair in lacking.items():
        fitting = prompt if pair.reference is not None else prompt.without_reference()
        values = {"question": pair.question, "reference": pair.reference or ""}
        about = {"question_id": question_id, "texts": _texts_digest(pair), "prompt": fitting.name}
        yield request.Request(question_id, fitting.filled(values), about)


def _texts_digest(pair: Pair) -> str:
    """Returns the digest of what criteria are made of."""
    return asking.digest_of([pair.question, pair.reference])


def make_criteria(
    pairs: Sequence[Pair],
    engine: Engine,
    judge: Judge,
    prompt: Prompt,
    out: str | os.PathLike[str],
    **limits: Unpack[loop.Limits],
) -> loop.Asked:
    """Ask for the criteria of each question, once, and append them to the file `out`.

    All pairs of a question share its criteria. Empty ones and those that were cut off count as failed and are
    not stored. The file of pairs is not changed: see `pairs_with_criteria`. `limits`: as for `compare`.
    Raises what `ask` raises.
    """
    requests = list(criteria_requests(pairs, prompt))
    with open_criteria(out) as journal:
        return loop.ask(journal, [request.Group(judge, requests)], engine, _read_criteria, **limits)


def _read_criteria(_: request.Request, answered: Answered) -> Mapping[str, Any]:
    details = answered.details or Details()
    text = verdicts.without_thoughts(answered.text).strip()
    if details.finish_reason == "length" or text.startswith(verdicts.THOUGHT_BEGIN):
        raise loop.UnreadError(
            "the criteria were cut off by the token limit: allow more with --max-tokens"
        )
    if not text:
        raise loop.UnreadError("the criteria are empty")
    return {"criteria": text, "finish_reason": details.finish_reason}


def pairs_with_criteria(
    pairs: Sequence[Pair], path: str | os.PathLike[str]
) -> tuple[list[Pair], list[str]]:
    """Returns pairs with the criteria that a file has of their questions, and notes for a user.

    Pairs that have criteria keep them. Criteria that were made of another question or reference answer are
    not used. Those in a user's own file, which does not say of which texts they are, are found by question
    id. Raises `InputError` with file and line.
    """
    texts = {pair.question_id: _texts_digest(pair) for pair in pairs if pair.criteria is None}
    found, others = dict[str, str](), set[str]()
    for _, record in parsed(Path(path), dict):
        question_id, criteria = id_field(record, "question_id"), text_field(record, "criteria")
        if question_id not in texts:
            continue
        if record.get("texts", texts[question_id]) == texts[question_id]:
            found[question_id] = criteria
        else:
            others.add(question_id)
    notes = []
    if lost := sorted(others - found.keys()):
        notes.append(
            f"{path}: the criteria of {counted(len(lost), 'question')} were made of other texts and are not "
            f"used: {verdict_folder.named(lost)}: make them again with judge criteria"
        )
    complete = [
        replace(pair, criteria=found.get(pair.question_id)) if pair.criteria is None else pair
        for pair in pairs
    ]
    return complete, notes
