"""Prompts: instruction, examples and input in the published template or in your own; requests with them."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import Any

from pfgen_rs.ask.request import Messages, Request, Respondent
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import json_lines
from pfgen_rs.io.layouts import ReadAs, at, exchanges, has
from pfgen_rs.io.layouts.batches import batch_output
from pfgen_rs.io.lines import as_text
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, item_id, used
from pfgen_rs.llm_jp_eval.measures import normalized_gold
from pfgen_rs.llm_jp_eval.registry import NAME, SPLITS, plain_name

SHOTS = 4
"""Number of examples in a prompt by default."""
_INPUT = "{input}"
PROMPT = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。要求を適切に満たす応答を書きなさい。"
    "\n\n### 指示:\n{instruction}{few_shots_text}\n\n### 入力:\n{input}\n\n### 応答:\n"
)
_EXAMPLE = "\n\n### 入力:\n{input}\n\n### 応答:\n{output}"
_IN_IDS = 16  # digits of digests
_JINJA = re.compile(r"\{%|(?<!\{)\{\{(?!\{)")
_BRACES = str.maketrans({"{": "{{", "}": "}}"})


class Template(str):
    """A template as result files have it, with `{input}` where the input belongs.

    `parts`: the texts around the input, of which prompts are made. They differ from the template itself where
    a template of your own has doubled braces, which the published tool undoes only in the prompt.
    """

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    def __new__(cls, text: str, parts: tuple[str, ...]) -> "Template":
        """Make a template of its text and its parts."""
        self = super().__new__(cls, text)
        self.parts = parts
        return self


def template(
    data: TaskData,
    shots: int = SHOTS,
    custom: str | None = None,
    custom_fewshots: str | None = None,
) -> Template:
    """Returns the template of a task's prompts, with its first `shots` examples.

    `custom`: a template of your own with the placeholders `{instruction}`, `{few_shots_text}` (not without
    examples) and `{input}`. `custom_fewshots`: one for an example, with `{input}` and `{output}`; both as the
    published tool reads them, so that a brace is written as four (`{{{{`). Without one, the template is that
    of the task, if it has one. Instruction, examples and inputs are inserted literally. Raises
    `SettingsError` for too few examples and unusable templates.
    """
    if not 0 <= shots <= len(data.shots):
        there = f"{counted(len(data.shots), 'example')} (train/{data.task}.json)"
        raise SettingsError(f"{data.task} has {there}, not {shots}: choose fewer")
    if custom == "" or custom_fewshots == "":
        raise SettingsError("a template is empty")
    own, example = custom or data.template or PROMPT, custom_fewshots or _EXAMPLE
    if not custom and data.template and _JINJA.search(data.template):
        raise SettingsError(
            f"the template of {data.task} ({data.split}/{data.task}.json) is one of Jinja, whose variables "
            "are not known here: name another with --template"
        )
    _fields(example, ("input", "output"), "template of examples")
    with_examples = ["few_shots_text"] if shots or custom is None else []
    _fields(own, ("instruction", *with_examples, "input"), "template")

    def made(inserted: Callable[[str], str]) -> str:
        examples = [
            example.format(input=inserted(each.input), output=inserted(each.output))
            for each in data.shots[:shots]
        ]
        instruction = inserted(data.instruction)
        return own.format(instruction=instruction, few_shots_text="".join(examples), input=_INPUT)

    # What is formatted a second time has the braces of inserted texts doubled.
    return Template(made(str), _parts(made(lambda text: text.translate(_BRACES))))


def filled(template: Template, text: str) -> str:
    """Returns the prompt for an input."""
    return text.join(template.parts)


def template_digest(custom: str | None, custom_fewshots: str | None = None) -> str | None:
    """Returns the first 8 hex digits of the SHA-256 of templates of one's own, `None` without any.

    With a template for examples, the digest is that of both, joined by a NUL character.
    """
    if custom is None and custom_fewshots is None:
        return None
    joined = custom or "" if custom_fewshots is None else f"{custom or ''}\0{custom_fewshots}"
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _parts(text: str) -> tuple[str, ...]:
    """Returns the texts around the inputs of a template that is formatted a second time."""
    parts = [""]
    name = "template (braces are halved twice: write four of them for one)"
    for literal, placeholder in _fields(text, ("input",), name):
        parts[-1] += literal
        if placeholder is not None:
            parts.append("")
    if len(parts) == 1:
        raise SettingsError("the template has no {input}")
    return tuple(parts)


def _fields(text: str, known: Collection[str], name: str) -> list[tuple[str, str | None]]:
    """Returns literal texts, each with the placeholder after it. Raises `SettingsError` for unknown ones."""
    try:
        found = list(Formatter().parse(text))
    except ValueError as error:
        raise SettingsError(f"invalid {name}: {error}") from None
    for _, placeholder, spec, conversion in found:
        if spec or conversion or placeholder not in (None, *known):
            expected = ", ".join(f"{{{key}}}" for key in known)
            problem = f"unknown placeholder {{{placeholder:.60}}} in the {name}"
            raise SettingsError(f"{problem}: expected {expected}, without a format")
    return [(literal, placeholder) for literal, placeholder, _, _ in found]


@dataclass(frozen=True)
class PromptSettings:
    """How prompts are made. `prompt`, `fewshots`: templates of one's own. `chat`: prompts are user messages.

    `max_tokens`: maximum number of new tokens, if it is not the task's. `shots`: number of examples, unless
    a task states its own; `None` if it is not known how the prompts of outputs were made. `intro`: what the
    first turn of a chat begins with, whose earlier turns are the examples; templates of one's own take the
    place of such turns.
    """

    shots: int | None = SHOTS
    prompt: str | None = None
    fewshots: str | None = None
    chat: bool = False
    max_tokens: int | None = None
    intro: str = ""

    @property
    def mode(self) -> str:
        """How a model is asked."""
        return "chat" if self.chat or self.has_turns else "completion"

    @property
    def has_turns(self) -> bool:
        """Whether examples are earlier turns of a chat."""
        return bool(self.intro) and self.prompt is None and self.fewshots is None

    def template(self, data: TaskData) -> Template:
        """Returns a task's template, the bare input if it is not known. Raises `SettingsError`.

        Of chats with turns, it is that of the last one.
        """
        if self.shots is None:
            return Template(_INPUT, ("", ""))
        shots = data.number_of_shots(self.shots)
        made = template(data, shots, self.prompt, self.fewshots)
        if not self.has_turns:
            return made
        before = "" if shots else self._beginning(data)
        return Template(before + _INPUT, (before, ""))

    def turns(self, data: TaskData) -> Messages:
        """Returns the turns of a chat before the last one; none unless examples are turns."""
        if self.shots is None or not self.has_turns:
            return ()
        turns, before = [], self._beginning(data)
        for example in data.shots[: data.number_of_shots(self.shots)]:
            turns += [("user", before + example.input), ("assistant", example.output)]
            before = ""
        return tuple(turns)

    def _beginning(self, data: TaskData) -> str:
        return f"{self.intro}\n{data.instruction}\n\n"


def digest_of_asked(*asked: Any) -> str:
    """Returns the SHA-256 of the JSON list of turns, prompt and maximum number of new tokens."""
    text = json.dumps(asked, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """A sample to be asked; `max_tokens`: maximum number of new tokens; `turns`: those before the prompt.

    `chat`: the profile asks for a chat.
    """

    id: str
    task: str
    split: str
    index: int
    prompt: str
    max_tokens: int
    turns: Messages = ()
    chat: bool = False

    @property
    def messages(self) -> Messages:
        """All turns, the prompt as the last one."""
        return (*self.turns, ("user", self.prompt))

    def digest(self) -> str:
        """Returns the digest of what is asked."""
        return digest_of_asked(*self.turns, self.prompt, self.max_tokens)

    def record(self) -> dict[str, Any]:
        """Returns the item as a line of our own format."""
        record = {**asdict(self), "digest": self.digest()}
        del record["turns"], record["chat"]
        return {**record, **({"messages": self._said()} if self.chat else {})}

    def _said(self) -> list[dict[str, str]]:
        return [{"role": role, "content": text} for role, text in self.messages]

    def batch_line(
        self, model: str, *, chat: bool, sampling: Mapping[str, float | None] | None = None
    ) -> Mapping[str, Any]:
        """Returns the item as a line of OpenAI's batch API, which vLLM's run-batch takes as well.

        `sampling`: of the profile, instead of temperature 0.
        What comes back has nothing but the id, which therefore ends in the first digits of the digest.
        """
        asked: dict[str, Any] = {"messages": self._said()} if chat else {"prompt": self.prompt}
        how = {"max_tokens": self.max_tokens, "temperature": 0, **(sampling or {})}
        return {
            "custom_id": f"{self.id}#{self.digest()[:_IN_IDS]}",
            "method": "POST",
            "url": "/v1/chat/completions" if chat else "/v1/completions",
            "body": {"model": model, **asked, **how},
        }


def items(datas: Sequence[TaskData], n: int | None, prompts: PromptSettings) -> Iterator[Item]:
    """Yield the first `n` samples of each task, `None` for all. Raises `SettingsError`."""
    for data in datas:
        made, turns, task = prompts.template(data), prompts.turns(data), plain_name(data.task)
        limit = prompts.max_tokens or data.output_length
        for index in range(used(data, n)):
            prompt = filled(made, data.samples[index].input)
            name = item_id(data.task, data.split, index)
            yield Item(name, task, data.split, index, prompt, limit, turns, prompts.has_turns)


# Outputs of inference made elsewhere.


_TEXTS = ("output", "text", "response", "completion", "generated_text")
_ERRORS = ("error", "response.body.error", "result.error")
_REASONS = ("finish_reason", "response.body.choices.0.finish_reason")
_ID = re.compile(
    rf"(({NAME.pattern})/({'|'.join(SPLITS)})/(?:0|[1-9][0-9]{{0,8}}))(?:#([0-9a-f]{{16}}))?"
)
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a model; `text` is `None` if a request failed.

    `reason`: why it ended, as servers call it (`stop`, `length`). `digest`: of what was asked, or its first
    digits, empty if the output does not say. `model`, `left_out`: in a run, the model and the parameters that
    were left out. `asked`: prompt and maximum number of new tokens, if they are known.
    """

    text: str | None = None
    reason: str | None = None
    digest: str = ""
    model: Mapping[str, Any] | None = None
    left_out: tuple[str, ...] = ()
    asked: tuple[str, Any] | None = None


@dataclass(frozen=True)
class Outputs:
    """The outputs of the file or folder `path` by task and id, several of an id if their digests differ.

    `unnamed`: those without id by task, each with the input and the gold of its sample. `config`: how prompts
    were made, as far as files say so. `inference`: what is known of inference made elsewhere. `failed`: the
    errors of requests that failed.
    """

    path: Path
    by_task: dict[str, dict[str, list[Output]]] = field(default_factory=dict)
    unnamed: dict[str, list[tuple[str, str, Output]]] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    inference: dict[str, Any] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, name: object, output: Output) -> None:
        """Add the output with an id, which may end in digits of a digest. Raises `InputError`."""
        match = _ID.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            shown = f"{as_text(name)!r:.60}"
            raise InputError(f"unknown id {shown}: expected TASK/SPLIT/INDEX, such as jamp/test/0")
        if match[4]:
            output = replace(output, digest=match[4], model=None)
        own = self.by_task.setdefault(match[2], {}).setdefault(match[1], [])
        if own and (not output.digest or any(each.digest in ("", output.digest) for each in own)):
            raise InputError(f"duplicate id {match[1]!r}")
        own.append(output)

    def of_samples(self, data: TaskData) -> dict[str, list[Output]]:
        """Returns a task's outputs by id; one without is that of the first free sample with its texts.

        Raises `InputError` for one without a sample.
        """
        task, places = plain_name(data.task), defaultdict[tuple[str, str], list[str]](list)
        found = dict(self.by_task.get(task, {}))
        if task in self.unnamed:
            for index, sample in enumerate(data.samples):
                key = sample.input, normalized_gold(sample.output)
                places[key].append(item_id(task, data.split, index))
        for given, gold, output in self.unnamed.get(task, ()):
            names = places[given, normalized_gold(gold)]
            name = next((name for name in names if name not in found), None)
            if name is None:
                problem = f"the sample with the input {given!r:.60} and the gold {gold!r:.60}"
                why = "appears twice" if names else "is not in the data"
                raise InputError(f"{problem} {why}", path=self.path)
            found[name] = [output]
        return found


def read_outputs(path: str | Path) -> Outputs:
    """Read outputs by id: JSON lines, also compressed, or a JSON array.

    An object is identified by `custom_id` or `id` (`jamp/test/0`), or the `id` of its `doc`. Its text is
    under `output`, `text`, `response`, `completion` or `generated_text`, or where batch APIs and samples of
    lm-evaluation-harness have it. Null texts and failed requests are missing outputs. Raises `InputError`
    with file and line for anything else, and for ids that occur twice, unless their digests differ.
    """
    file, found = Path(path), Outputs(Path(path))

    def read(record: Mapping[str, Any]) -> None:
        document = record.get("doc")
        named = document if isinstance(document, Mapping) else record
        text = None if record.get("error") else _text(record)
        if text is None:
            errors = (at(record, path) for path in _ERRORS if has(record, path))
            found.failed.extend([str(as_text(each)) for each in errors if each][:1])
        found.add(record.get("custom_id", named.get("id")), output_of(record, text))

    for _ in json_lines.parsed(file, read):
        pass
    if not found.by_task:
        raise InputError("has no outputs", path=file)
    return found


def output_of(record: Mapping[str, Any], text: str | None, file: Path | None = None) -> Output:
    """Returns an output with what its record says of how it was made. Raises `InputError`."""
    found = next((at(record, path) for path in _REASONS if has(record, path)), None)
    reason = found if isinstance(found, str) else None
    digest, model, left_out = (record.get(key) for key in ("digest", "model", "left_out"))
    shown = digest.lower() if isinstance(digest, str) else digest
    if shown not in (None, "") and not (isinstance(shown, str) and _DIGEST.fullmatch(shown)):
        raise InputError(f"'digest' must have 64 hexadecimal digits, not {shown!r:.60}", path=file)
    names = left_out if isinstance(left_out, list) else []
    known = model if isinstance(model, dict) else None
    return Output(text, reason, shown or "", known, tuple(map(str, names)))


def _text(record: Mapping[str, Any]) -> str | None:
    output = batch_output(record)
    if output is not None:
        return output[1]
    if "doc" in record and "resps" in record:  # unfiltered, as those of other tools
        [found] = exchanges(record, ReadAs("lm-eval", "doc.id", "resps"), None)
        return found.answer
    for key in _TEXTS:
        if key in record:
            value = record[key]
            if not isinstance(value, str | None):
                raise InputError(f"{key!r} must be a single text, not {as_text(value)!s:.60}")
            return value
    raise InputError(f"no output: expected one of {', '.join(_TEXTS)}")


@dataclass
class Matched:
    """The outputs that answer the prompts of tasks.

    `texts`: by task in the order of the samples, `None` where one is missing. `reasons`: why they ended,
    likewise. `answered`: ids with the output that answers the prompt here. `wrong`: items whose outputs all
    answer other prompts, with the first of these.
    """

    texts: dict[str, list[str | None]] = field(default_factory=dict)
    reasons: dict[str, list[str | None]] = field(default_factory=dict)
    answered: list[tuple[str, Output]] = field(default_factory=list)
    wrong: list[tuple[Item, Output]] = field(default_factory=list)

    @property
    def says_prompts(self) -> bool:
        """Whether there are outputs and all say which prompts they answer."""
        told = [each.digest for _, each in self.answered if each.digest or each.text is not None]
        return bool(told) and all(told)


def answers(item: Item, output: Output, top_p: float | None = None) -> bool:
    """Whether an output answers an item, as far as it says so. `top_p`: of a run."""
    if not output.digest or output.model is None:
        is_asked = output.asked in (None, (item.prompt, item.max_tokens))
        return is_asked and (not output.digest or item.digest().startswith(output.digest))
    settings: dict[str, Any] = {k: output.model.get(k) for k in ("model", "temperature", "seed")}
    try:
        who = Respondent("", **settings, max_tokens=item.max_tokens, top_p=top_p)
        return Request(item.id, item.messages).digest(who) == output.digest
    except (SettingsError, TypeError, ValueError):
        return False


def matching_outputs(
    datas: Iterable[TaskData],
    found: Outputs,
    n: int | None,
    prompts: PromptSettings,
    is_answer: Callable[[Item, Output], bool] = answers,
) -> Matched:
    """Find the outputs of the first `n` samples of each task (`None`: all) by ids and what they answer."""
    matched = Matched()
    for data in datas:
        own = found.of_samples(data)
        told = any(each.digest for several in own.values() for each in several)
        outputs: list[Output] = []
        # Without digests nothing depends on the prompts.
        for item in items([data], n, prompts if told else PromptSettings(None)):
            several = own.get(item.id, [])
            output = next((each for each in several if is_answer(item, each)), None)
            if output is not None:
                matched.answered.append((item.id, output))
            elif several:
                matched.wrong.append((item, several[0]))
            outputs.append(output or Output())
        matched.texts[data.task] = [each.text for each in outputs]
        matched.reasons[data.task] = [each.reason for each in outputs]
    return matched
