"""The judge, its prompts (judging 2 and 6.1), what it is asked, and the configuration of folders of answers.

A judgment belongs to the texts whose request has its digest.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pfgen_rs.ask.request import Request, Respondent
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io import lines, locks, run_files
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.json_lines import parsed
from pfgen_rs.judge import Pair, verdicts


@dataclass(frozen=True)
class Judge(Respondent):
    """A judge and its sampling parameters; `None` leaves a value to the engine.

    The defaults are those of Morita et al.: temperature 0, seed 1, log probabilities of the 20 most likely
    tokens.
    """

    role: ClassVar[str] = "judge"
    logprobs: int | None = 20


# Prompts


Kind = Literal["criteria", "pairwise", "grade"]

_FASTCHAT_NAMES = {
    "ref_answer_1": "reference",
    "ref_answer_2": "reference2",
    "question_1": "user1",
    "question_2": "user2",
    "answer_1": "assistant1",
    "answer_2": "assistant2",
}
_OWN = ("question", "criteria", "answer_a", "answer_b", "answer", "rubric")
PLACEHOLDERS = (*_OWN, *_FASTCHAT_NAMES.values())
"""Placeholders of templates, written in braces."""

_NEEDED: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    "criteria": (("question",),),
    "pairwise": (("question",), ("answer_a",), ("answer_b",)),
    "grade": (("answer", "assistant2", "assistant1"),),
}
"""Placeholders that a template of each kind must have: one of each group."""

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NO_REFERENCE = "/no-reference"
_CLOSENESS = "あなたの仕事は、模範回答に近いアシスタントの回答を高く評価することです。\n"
_REFERENCE_BLOCKS = (
    "[模範回答の開始]\n{reference}\n[模範回答の終了]\n\n",
    "\n\n[模範回答開始]\n{reference}\n[模範回答終了]",
)
_BOTH, _QUESTION_ALONE = "下記の質問と模範回答から", "下記の質問から"
_KEYS: Mapping[str, type] = {
    **dict.fromkeys(("text", "system", "verdict"), str),
    **dict.fromkeys(("brackets", "result", "fastchat"), bool),
    "scale": list,
    "max_tokens": int,
}


@dataclass(frozen=True)
class Prompt:
    """A template with placeholders in braces, such as `{question}`.

    `text` is sent as one user message, after the message `system`, if any. `verdict`: how the verdict is read
    (see `read_verdict`). `scale`: lowest and highest rating; `brackets`: whether ratings are written `[[n]]`;
    `result`: whether they are written `[RESULT] n`, as Prometheus does. `max_tokens`: limit of the
    judge's output, if the prompt has one of its own.
    """

    name: str
    kind: Kind
    text: str
    system: str | None = None
    verdict: verdicts.Which = "first"
    scale: tuple[int, int] = (1, 10)
    brackets: bool = False
    result: bool = False
    max_tokens: int | None = None

    @property
    def placeholders(self) -> set[str]:
        """The names of the placeholders."""
        return set(_PLACE.findall(f"{self.system or ''}{self.text}"))

    def filled(self, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Returns the messages, as role and content, with values in place of the placeholders.

        Texts are inserted in one pass: braces in them stay as they are. Raises `SettingsError` if a value is
        missing.
        """
        for name in sorted(self.placeholders - values.keys()):
            raise SettingsError(f"prompt {self.name!r} needs {{{name}}}, which is missing")
        turns = (("system", self.system), ("user", self.text))
        return tuple(
            (role, _PLACE.sub(lambda match: values[match[1]], text))
            for role, text in turns
            if text is not None
        )

    def without_reference(self) -> "Prompt":
        """Returns the prompt for questions without a reference answer; its name says so.

        Raises `SettingsError` for prompts of which it is not known how to leave the reference out.
        """
        if "reference" not in self.placeholders:
            return self
        text = self.text.replace(_CLOSENESS, "").replace(_BOTH, _QUESTION_ALONE)
        for block in _REFERENCE_BLOCKS:
            text = text.replace(block, "")
        found = replace(self, name=self.name + _NO_REFERENCE, text=text)
        if "reference" in found.placeholders:
            raise SettingsError(
                f"prompt {self.name!r} needs a reference answer to every question: add 'reference' to the "
                "records, or choose another prompt"
            )
        return found


@cache
def built_in_prompts() -> Mapping[str, Prompt]:
    """Returns the built-in prompts by name."""
    text = Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")
    return _prompts_of_table(tomllib.loads(text))


def find_prompt(name: str, kind: Kind, file: str | os.PathLike[str] | None = None) -> Prompt:
    """Returns a prompt by name, from a user's file or the built-in ones.

    Raises `SettingsError` if it is unknown or of another kind, and what `read_prompts` raises.
    """
    known = dict(built_in_prompts()) if file is None else dict(read_prompts(file))
    prompt = known.get(name)
    if prompt is None or prompt.kind != kind:
        fitting = ", ".join(each.name for each in known.values() if each.kind == kind) or "none"
        what = "unknown prompt" if prompt is None else f"prompt of kind {prompt.kind}"
        raise SettingsError(f"{what} {name!r}: expected one of {fitting}")
    return prompt


def read_prompts(path: str | os.PathLike[str]) -> Mapping[str, Prompt]:
    """Read a user's prompts: TOML as `prompts.toml` of this package, or FastChat's `judge_prompts.jsonl`.

    TOML has tables `[pairwise.NAME]`, `[grade.NAME]` and `[criteria]` with `text` and optionally `system`,
    `verdict` (first, last, brackets), `fastchat`, `scale`, `brackets`, `result`, `max_tokens`. Raises
    `InputError` for files that cannot be read, and for unknown or missing placeholders and keys.
    """
    file = Path(path)
    try:
        if file.suffix == ".jsonl":
            return {prompt.name: prompt for _, prompt in parsed(file, _fastchat_prompt) if prompt}
        return _prompts_of_table(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(unreadable(error), path=file) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", path=file) from None
    except SettingsError as error:
        raise InputError(str(error), path=file) from None


def _prompts_of_table(table: Mapping[str, Any]) -> dict[str, Prompt]:
    found: dict[str, Prompt] = {}
    for kind, entries in table.items():
        if kind == "criteria":
            found[kind] = _prompt_of_entry(kind, "criteria", entries)
        elif kind in ("pairwise", "grade") and isinstance(entries, Mapping):
            for name, entry in entries.items():
                found[name] = _prompt_of_entry(name, kind, entry)  # type: ignore[arg-type]
        else:
            raise SettingsError(f"unknown table [{kind}]: expected pairwise, grade or criteria")
    if not found:
        raise SettingsError("contains no prompts")
    return found


def _prompt_of_entry(name: str, kind: Kind, entry: Any) -> Prompt:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str):
        raise SettingsError(f"prompt {name!r} needs 'text'")
    for key, value in entry.items():
        expected = _KEYS.get(key)
        if expected is None:
            known = ", ".join(sorted(_KEYS))
            raise SettingsError(f"prompt {name!r}: unknown key {key!r}: expected one of {known}")
        if type(value) is not expected:
            raise SettingsError(
                f"prompt {name!r}: {key!r} must be of type {expected.__name__}, not {value!r:.60}"
            )
    given = {"verdict": "first", "scale": [1, 10], **entry}
    scale, verdict = given["scale"], given["verdict"]
    if [*map(type, scale)] != [int, int] or not scale[0] < scale[1]:
        raise SettingsError(f"prompt {name!r}: invalid scale {scale!r:.60}: expected [LOW, HIGH]")
    if verdict not in ("first", "last", "brackets"):
        raise SettingsError(
            f"prompt {name!r}: invalid verdict {verdict!r:.60}: expected first, last or brackets"
        )
    if given.pop("fastchat", False):
        given["verdict"] = "fastchat"
    return _checked_prompt(Prompt(name, kind, **{**given, "scale": tuple(scale)}))


def _checked_prompt(prompt: Prompt) -> Prompt:
    unknown = sorted(prompt.placeholders - set(PLACEHOLDERS))
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise SettingsError(
            f"prompt {prompt.name!r}: unknown placeholder {{{unknown[0]}}}: expected one of {known}"
        )
    for group in _NEEDED[prompt.kind]:
        if prompt.placeholders.isdisjoint(group):
            needed = " or ".join(f"{{{name}}}" for name in group)
            raise SettingsError(f"prompt {prompt.name!r}: missing placeholder {needed}")
    return prompt


def _fastchat_prompt(record: Mapping[str, Any]) -> Prompt | None:
    """Returns a prompt; `None` for pairwise ones about several turns, which have no counterpart here."""
    try:
        name, text = str(record["name"]), str(record["prompt_template"])
        pairwise = record.get("type") == "pairwise"
        if pairwise and "{answer_a_1}" in text:
            return None
        for theirs, ours in _FASTCHAT_NAMES.items():
            text = text.replace(f"{{{theirs}}}", f"{{{ours}}}")
        system = record.get("system_prompt") or None
        kind: Kind = "pairwise" if pairwise else "grade"
        way: verdicts.Which = "brackets" if pairwise else "first"
        return _checked_prompt(Prompt(name, kind, text, system, way, brackets=not pairwise))
    except (SettingsError, KeyError, TypeError) as error:
        raise InputError(f"is not a prompt of FastChat: {error}") from None


# What is asked about pairs


JUDGMENTS = "judgments.jsonl"
"""The journal of a folder of verdicts."""
MOST_SAMPLES = 1000


def comparison_requests(
    pairs: Iterable[Pair], prompt: Prompt, samples: int = 1
) -> Iterator[Request]:
    """Yield the requests about pairs: order 1 shows a's answer first, order 2 shows b's.

    Those of a sample follow those of the one before, so that all pairs have equally many at any time.
    """
    asked = (_comparison_request(pair, prompt, order) for pair in pairs for order in (1, 2))
    if samples == 1:
        yield from asked
        return
    first = list(asked)
    for sample in range(samples):
        yield from (replace(request, sample=sample) for request in first)


def check_samples(judge: Judge, samples: int, stop_at: float | None = None) -> None:
    """Raise `SettingsError` for a number of samples, or an error to stop at, that makes no sense."""
    if not 1 <= samples <= MOST_SAMPLES:
        raise SettingsError(f"samples must be from 1 to {MOST_SAMPLES}, not {samples}")
    if samples > 1 and judge.temperature == 0:
        raise SettingsError(
            "several samples need a temperature above 0: at 0 all would be the same"
        )
    if stop_at is not None and not (samples > 1 and 0 < stop_at < 1):
        raise SettingsError(
            "stopping early needs two samples or more (--samples) and an error between 0 and 1 (--stop-at)"
        )


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


def pair_digests(
    pairs: Iterable[tuple[Pair, Iterable[int]]], config: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    """Yield the digests that judgments of each pair's present texts have in a folder.

    `pairs`: pairs, and the numbers of the samples in question. The digests are those of order 1 and 2 of the
    first of these, then of the second, and so on. Of a pair that the folder's prompt cannot show there is no
    judgment: its digests are empty. Raises `InputError` without a place.
    """
    prompt = prompt_of_config(config, "pairwise")
    if prompt is None:  # imported
        judge = config.get("judge")
        names = judge if isinstance(judge, Mapping) else {}
        engine, model = str(names.get("engine")), str(names.get("model"))
        for pair, samples in pairs:
            places = ((order, sample) for sample in samples for order in (1, 2))
            yield tuple(imported_digest(engine, model, pair, *place) for place in places)
        return
    asked = judge_of_config(config)
    for pair, samples in pairs:
        try:
            both = list(comparison_requests([pair], prompt))
        except SettingsError:
            yield ("",) * (2 * len(list(samples)))
        else:
            yield tuple(replace(r, sample=n).digest(asked) for n in samples for r in both)


def imported_digest(source: str, judge: str, pair: Pair, order: int, sample: int = 0) -> str:
    """Returns what stands for the digest of a request of another tool, which is not known.

    Its first half says who judged which pair, the second of which texts.
    """
    who = [source, judge, pair.id, order, *([sample] if sample else [])]
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


MEMBERS = "members"
"""The key of `config.json` that names the judges of a panel, whose probabilities are means."""
SAMPLING = "sampling"
"""The key of `config.json` that says how many samples were asked for; it may change."""


def samples_of_config(config: Mapping[str, Any]) -> tuple[int, float | None]:
    """Returns how many samples a folder was asked for, and the error at which asking stops, if it does."""
    found = config.get(SAMPLING)
    sampling = found if isinstance(found, Mapping) else {}
    samples, stop_at = sampling.get("samples"), sampling.get("stop_at")
    if not isinstance(samples, int) or not 1 <= samples <= MOST_SAMPLES:
        samples = 1
    return samples, stop_at if isinstance(stop_at, float) else None


def write_folder_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write `config.json`, or check that an existing one is the same but for `SAMPLING`.

    Raises `SettingsError` and `OutputError`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise writing_failed(folder, error) from error
    with locks.locked(folder):
        path = folder / run_files.CONFIG
        if not path.exists():
            if (folder / JUDGMENTS).exists():
                raise SettingsError(
                    f"{folder}: has judgments but no config.json: choose another folder"
                )
            _write_config(path, config)
            return
        old = folder_config(folder)
        changed = _changed_setting(*({**each, SAMPLING: None} for each in (old, config)))
        if changed is None and SAMPLING in config:
            asked = max((config, old), key=lambda each: samples_of_config(each)[0])
            sampling = asked[SAMPLING]
            if sampling != old.get(SAMPLING):
                _write_config(path, {**old, SAMPLING: sampling})
        if changed is not None:
            retry = ", or ask again what is invalid with --retry-invalid"
            raise SettingsError(
                f"{folder}: was begun with another {changed}: choose another folder with --out"
                f"{retry if 'max_tokens (' in changed else ''}"
            )


def _write_config(path: Path, config: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(config, ensure_ascii=False, indent=1).encode() + b"\n")


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
    path = folder / run_files.CONFIG
    try:
        return lines.parse_line(path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except InputError as error:
        raise InputError(error.problem, path=path) from None
