"""Asking a judge which answer of each pair is better (judging 1 and 2)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.loop import Asked, AskingProgress, UnreadError, ask
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Request
from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import id_field, parsed
from pfgen_rs.io.lines import text_field
from pfgen_rs.io.text import counted
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.prompts import Prompt
from pfgen_rs.judge.requests import Judge, Orders, comparison_requests, named
from pfgen_rs.judge.tokens import CUT, THOUGHT_BEGIN, without_thoughts
from pfgen_rs.judge.verdict_folder import open_verdict_folder
from pfgen_rs.judge.verdicts import Verdict, Which, read_output

_EMPTY = Details()


def compare(
    pairs: Sequence[Pair],
    engine: Engine,
    judge: Judge,
    prompt: Prompt,
    out: str | os.PathLike[str],
    *,
    orders: Orders = "both",
    mode: Literal["chat", "completion"] = "chat",
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask a judge about pairs, each in both orders, and keep its judgments in the folder `out`.

    Pairs without a reference answer get the prompt without it. With `orders="one"` each pair is shown once,
    which costs half: position bias then remains in every decision and cannot be measured, and `strict` and
    `tie` decide nothing. What is stored is never asked again; the same call continues after an interruption,
    and several processes may share the work. Raises `SettingsError` for prompts that need criteria which
    pairs lack and for another configuration of the folder, `GenerationError` if nothing can be asked, and
    `OutputError`.
    """
    requests = list(comparison_requests(pairs, prompt, orders))
    folder = open_verdict_folder(out, comparison_config(judge, prompt, mode), pairs)
    which = prompt.verdict
    with folder.journal() as journal:
        return ask(
            journal,
            requests,
            engine,
            judge,
            lambda _, answered: read_judgment(answered, which),
            mode=mode,
            budget=budget,
            keep_going=keep_going,
            progress=progress,
        )


def comparison_config(judge: Judge, prompt: Prompt, mode: str) -> dict[str, Any]:
    """Returns what a verdict folder's `config.json` says."""
    return {
        "kind": "pairwise",
        "judge": {"engine": judge.engine, **judge.identity()},
        "mode": mode,
        "prompt": {
            "name": prompt.name,
            "verdict": prompt.verdict,
            "system": prompt.system,
            "text": prompt.text,
        },
    }


def read_judgment(answered: Answered, which: Which) -> Mapping[str, Any]:
    """Returns the fields of a judgment that the judge's answer determines."""
    details = answered.details or _EMPTY
    verdict = read_output(answered.text, details.tokens, which)
    problem = _judgment_problem(answered.text, verdict, details.finish_reason, which)
    if problem is not None:
        verdict = Verdict(None)
    return {
        "output": answered.text,
        "finish_reason": details.finish_reason,
        "shown": verdict.shown,
        "probabilities": None if verdict.probabilities is None else dict(verdict.probabilities),
        "problem": problem,
    }


def _judgment_problem(
    text: str, verdict: Verdict, finish_reason: str | None, which: Which
) -> str | None:
    """Returns why a judgment is invalid, or `None`."""
    content = without_thoughts(text).strip()
    sure = which == "first" and not content.startswith(THOUGHT_BEGIN)
    if finish_reason == "length" and not (sure and verdict.shown):
        return CUT
    if verdict.shown is not None:
        return None
    return "no verdict" if content else "empty"


# Criteria


_KEY = ("question_id", "sample", "digest")


def criteria_file(pairs: str | os.PathLike[str]) -> Path:
    """Returns where the criteria of a file of pairs are kept: `pairs.criteria.jsonl` beside it."""
    path = Path(pairs)
    return path.with_name(f"{path.stem}.criteria.jsonl")


def open_criteria(path: str | os.PathLike[str]) -> Journal:
    """Returns the journal of criteria, which is not open yet."""
    return Journal(Path(path), _KEY)


def criteria_requests(pairs: Iterable[Pair], prompt: Prompt) -> Iterator[Request]:
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
        yield Request(question_id, fitting.filled(values), about)


def make_criteria(
    pairs: Sequence[Pair],
    engine: Engine,
    judge: Judge,
    prompt: Prompt,
    out: str | os.PathLike[str],
    *,
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask for the criteria of each question, once, and append them to the file `out`.

    All pairs of a question share its criteria. Empty ones and those that were cut off count as failed and are
    not stored. The file of pairs is not changed: see `with_criteria`. Raises what `ask` raises.
    """
    requests = list(criteria_requests(pairs, prompt))
    with open_criteria(out) as journal:
        return ask(
            journal,
            requests,
            engine,
            judge,
            _criteria_in_answer,
            budget=budget,
            keep_going=keep_going,
            progress=progress,
        )


def _criteria_in_answer(_: Request, answered: Answered) -> Mapping[str, Any]:
    details = answered.details or Details()
    text = without_thoughts(answered.text).strip()
    if details.finish_reason == "length" or text.startswith(THOUGHT_BEGIN):
        raise UnreadError(
            "the criteria were cut off by the token limit: allow more with --max-tokens"
        )
    if not text:
        raise UnreadError("the criteria are empty")
    return {"criteria": text, "finish_reason": details.finish_reason}


def pairs_with_criteria(
    pairs: Sequence[Pair], path: str | os.PathLike[str]
) -> tuple[list[Pair], list[str]]:
    """Returns pairs with the criteria that a file has of their questions, and notes for a user.

    Criteria that were made of another question or reference answer are not used. Those in a user's own file,
    which does not say of which texts they are, are found by question id. Raises `InputError` with file and
    line.
    """
    texts = {pair.question_id: _texts_digest(pair) for pair in pairs if pair.criteria is None}
    found, other, unbound = dict[str, str](), set[str](), set[str]()
    for _, record in parsed(Path(path), dict):
        question_id, criteria = id_field(record, "question_id"), text_field(record, "criteria")
        if question_id not in texts:
            continue
        if record.get("texts", texts[question_id]) != texts[question_id]:
            other.add(question_id)
            continue
        found[question_id] = criteria
        (unbound.add if "digest" in record and "texts" not in record else unbound.discard)(
            question_id
        )
    notes = []
    if lost := sorted(other - found.keys()):
        notes.append(
            f"{path}: the criteria of {counted(len(lost), 'question')} were made of other texts and are not "
            f"used: {named(lost)}: make them again with judge criteria"
        )
    if unbound:
        notes.append(
            f"{path}: the criteria of {counted(len(unbound), 'question')} are found by question id alone, "
            f"since their records do not say of which texts they were made: {named(sorted(unbound))}"
        )
    return with_criteria(pairs, found), notes


def _texts_digest(pair: Pair) -> str:
    text = json.dumps([pair.question, pair.reference], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_criteria(pairs: Iterable[Pair], criteria: Mapping[str, str]) -> list[Pair]:
    """Returns pairs with the criteria of their questions; those that have criteria keep them."""
    return [
        replace(pair, criteria=criteria.get(pair.question_id)) if pair.criteria is None else pair
        for pair in pairs
    ]
