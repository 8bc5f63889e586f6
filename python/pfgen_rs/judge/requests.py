"""The judge, what it is asked about pairs, and the configuration of folders that keep its answers.

A judgment belongs to the texts whose request has its digest.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from pfgen_rs.ask.request import Request, Respondent
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line
from pfgen_rs.io.locks import locked
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.prompts import Kind, Prompt


@dataclass(frozen=True)
class Judge(Respondent):
    """A judge and its sampling parameters; `None` leaves a value to the engine.

    The defaults are those of Morita et al.: temperature 0, seed 1, log probabilities of the 20 most likely
    tokens.
    """

    role: ClassVar[str] = "judge"
    logprobs: int | None = 20


JUDGMENTS = "judgments.jsonl"
"""The journal of a folder of verdicts."""


def comparison_requests(pairs: Iterable[Pair], prompt: Prompt) -> Iterator[Request]:
    """Yield the requests about pairs: order 1 shows a's answer first, order 2 shows b's."""
    for pair in pairs:
        for order in (1, 2):
            yield _comparison_request(pair, prompt, order)


def _comparison_request(pair: Pair, prompt: Prompt, order: int) -> Request:
    fitting = prompt if pair.reference is not None else prompt.without_reference()
    if pair.criteria is None and "criteria" in fitting.placeholders:
        raise SettingsError(
            f"pair {pair.id!r:.80} has no criteria, which prompt {prompt.name!r} needs: make them with "
            "pfgen-rs judge criteria, or choose a prompt without criteria"
        )
    first, second = pair.answers if order == 1 else pair.answers[::-1]
    values = {"question": pair.question, "answer_a": first, "answer_b": second}
    known = {"reference": pair.reference, "criteria": pair.criteria}
    values |= {name: text for name, text in known.items() if text is not None}
    about = {**about_pair(pair, order), "prompt": fitting.name}
    return Request(pair.id, fitting.filled(values), about)


def about_pair(pair: Pair, order: int) -> dict[str, Any]:
    """Returns the fields of a judgment that say which pair was shown, in which order."""
    return {
        "pair": pair.id,
        "question_id": pair.question_id,
        "task": pair.task,
        "models": list(pair.models),
        "order": order,
    }


# The digests of what is asked about pairs.


def pair_digests(pairs: Iterable[Pair], config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the digests that judgments of each pair's present texts have in a folder, in order 1 and 2.

    Of a pair that the folder's prompt cannot show there is no judgment: its digests are empty. Raises
    `InputError` without a place.
    """
    prompt = prompt_of_config(config, "pairwise")
    if prompt is None:  # imported
        judge = config.get("judge")
        names = judge if isinstance(judge, Mapping) else {}
        engine, model = str(names.get("engine")), str(names.get("model"))
        for pair in pairs:
            yield imported_digest(engine, model, pair, 1), imported_digest(engine, model, pair, 2)
        return
    asked = judge_of_config(config)
    for pair in pairs:
        try:
            one, two = comparison_requests([pair], prompt)
        except SettingsError:
            yield "", ""
        else:
            yield one.digest(asked), two.digest(asked)


def imported_digest(source: str, judge: str, pair: Pair, order: int) -> str:
    """Returns what stands for the digest of a request of another tool, which is not known.

    Its first half says who judged which pair, the second of which texts.
    """
    who = [source, judge, pair.id, order]
    texts = [pair.question, pair.reference, pair.criteria, *pair.answers]
    return digest_of(who)[:32] + digest_of(texts)[:32]


def digest_of(parts: Sequence[object]) -> str:
    """Returns SHA-256 of texts and numbers as JSON."""
    text = json.dumps(parts, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# The configuration of a folder.


def asking_config(kind: str, judge: Judge, **how: Any) -> dict[str, Any]:
    """Returns what the `config.json` of a folder says of how a judge is asked."""
    return {"kind": kind, "judge": {"engine": judge.engine, **judge.identity()}, **how}


def judge_of_config(config: Mapping[str, Any]) -> Judge:
    """Returns the judge that a folder's `config.json` names. Raises `InputError` without a place."""
    known = {field.name for field in fields(Judge)}
    try:
        return Judge(**{name: each for name, each in config["judge"].items() if name in known})
    except (KeyError, TypeError, AttributeError, SettingsError) as error:
        raise InputError(f"names no judge that could be asked: {error}") from None


def prompt_of_config(config: Mapping[str, Any], kind: Kind) -> Prompt | None:
    """Returns the prompt of a folder's `config.json`; `None` if it has no text: it was imported."""
    prompt = config.get("prompt")
    if not isinstance(prompt, Mapping) or not isinstance(prompt.get("text"), str):
        return None
    return Prompt(str(prompt.get("name")), kind, prompt["text"], system=prompt.get("system"))


def write_folder_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write `config.json`, or check that an existing one is the same.

    Raises `SettingsError` and `OutputError`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise writing_failed(folder, error) from error
    with locked(folder):
        path = folder / CONFIG
        if not path.exists():
            if (folder / JUDGMENTS).exists():
                raise SettingsError(
                    f"{folder}: has judgments but no config.json: choose another folder"
                )
            write_atomic(path, json.dumps(config, ensure_ascii=False, indent=1).encode() + b"\n")
            return
        changed = _changed_setting(folder_config(folder), config)
        if changed is not None:
            retry = ", or ask again what is invalid with --retry-invalid"
            raise SettingsError(
                f"{folder}: was begun with another {changed}: choose another folder with --out"
                f"{retry if 'max_tokens (' in changed else ''}"
            )


def _changed_setting(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Returns the first setting that differs, with both values; `None` if there is none."""
    for key in sorted(old.keys() | new.keys()):
        before, now = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            if changed := _changed_setting(before, now):
                return f"{key}: {changed}"
        elif before != now:
            return f"{key} ({before!r:.60}, now {now!r:.60})"
    return None


def folder_config(folder: Path) -> dict[str, Any]:
    """Returns what a folder's `config.json` says. Raises `InputError`."""
    path = folder / CONFIG
    try:
        return parse_line(path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except InputError as error:
        raise InputError(error.problem, path=path) from None
