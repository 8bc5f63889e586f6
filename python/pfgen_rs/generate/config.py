"""The configuration of a run, which is its `config.json`, whose hash names its folder; and its prompts."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any, Self

from pfgen_rs.ask.protocol import SEEDS, Parameters, Task
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.atomic import forbidden_name
from pfgen_rs.io.cleaning import MODES, THINK, Mode, Think, default_stop
from pfgen_rs.io.text import shortened
from pfgen_rs.questions.examples import Example, read_examples

# SHA-256 of the published example answers, as JSON lines.
_PUBLISHED = "022bcec776c2ce8dcebee5895a37ed3b375bd86c0a440ae768f0d782ad911d9d"
_HASH = 7  # hex digits
_QUESTIONS = 12  # hex digits
_NO_THINK = "/no_think\n"
_OPENAI = "openai-api"
_SECRET = re.compile(r"(?!_)(.*_)?(key|token|password|secret)")


def config_hash(config: Mapping[str, Any]) -> str:
    """Returns the folder name of a run with this `config.json`.

    Raises `SettingsError` if the configuration cannot be written as JSON.
    """
    return hashlib.sha1(_config_line(config).encode(), usedforsecurity=False).hexdigest()[:_HASH]


def _config_line(config: Mapping[str, Any]) -> str:
    kept = {key: value for key, value in config.items() if not key.startswith("_")}
    try:
        text = json.dumps(kept, ensure_ascii=False, sort_keys=True, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingsError(f"the configuration cannot be written as JSON: {error}") from None
    return text


@dataclass(frozen=True)
class RunConfig:
    r"""The parameters of a run. The defaults are the published ones, with nothing else recorded.

    `engine`: the engine's `name`. `stop`: stop strings; `None` uses those of the mode, and an empty tuple
    none. `None` for `max_tokens`, `temperature` or `top_p` leaves the value to the engine and omits it from
    the file. `more`: other parameters that affected the answers (`dtype`, `revision`, `chat_template`, …). Of
    these, this package itself uses `seed` (text: the seed for examples and sampling), `prefix` (of the
    prompts, with escapes such as `\n`), `enable_thinking` (`False` puts `/no_think` in front of the prompts
    of the engine `openai-api`, as published) and `think` (see `cleaned`). Names starting with `_` are omitted
    from the file. Raises `SettingsError` for invalid values.
    """

    engine: str
    model: str
    mode: Mode = "completion"
    num_examples: int = 20
    stop: tuple[str, ...] | None = None
    max_tokens: int | None = 300
    temperature: float | None = 1.0
    top_p: float | None = 0.98
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise SettingsError(f"unknown mode {self.mode!r}: expected one of {', '.join(MODES)}")
        _check_model(self.model)
        stop = default_stop(self.mode) if self.stop is None else _check_stop(self.stop)
        object.__setattr__(self, "stop", stop)
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else _checked_number(name, value))
        self._check_numbers()
        self._check_more()
        self.to_json()

    def _check_numbers(self) -> None:
        for name, least in (("num_examples", 0), ("max_tokens", 1)):
            value = getattr(self, name)
            if value is None and name == "max_tokens":
                continue
            if type(value) is not int or value < least:
                raise SettingsError(f"{name} must be an integer of at least {least}, not {value}")
        if self.temperature is not None and self.temperature < 0:
            raise SettingsError(f"temperature must be at least 0, not {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise SettingsError(f"top_p must be above 0 and at most 1, not {self.top_p}")

    def _check_more(self) -> None:
        for key in self.more:
            if not isinstance(key, str) or key in _FIELDS:
                raise SettingsError(f"{key!r} cannot be used as an additional parameter of a run")
            if _SECRET.fullmatch(key):
                raise SettingsError(
                    f"{key} looks like a secret, which config.json would reveal: pass it in the "
                    "environment, or prefix its name with _"
                )
        for key in ("seed", "prefix"):
            if not isinstance(self.more.get(key, ""), str):
                raise SettingsError(f"{key} must be text, not {self.more[key]!r}")
        if not isinstance(self.more.get("enable_thinking", True), bool):
            raise SettingsError(
                f"enable_thinking must be true or false, not {self.more['enable_thinking']!r}"
            )
        unescaped(str(self.more.get("prefix", "")))
        if self.think not in THINK:
            raise SettingsError(f"think must be one of {', '.join(THINK)}, not {self.think!r}")

    @property
    def seed(self) -> str:
        """The seed for choosing examples and for sampling."""
        return str(self.more.get("seed", ""))

    @property
    def prefix(self) -> str:
        """The text in front of every prompt: the recorded `prefix` without its escapes, as published.

        It begins with `/no_think` and a newline if thinking is disabled.
        """
        disabled = self.engine == _OPENAI and self.more.get("enable_thinking") is False
        return (_NO_THINK if disabled else "") + unescaped(str(self.more.get("prefix", "")))

    @property
    def think(self) -> Think:
        """Whether to keep or strip the model's thinking in answers."""
        think: Think = self.more.get("think", "keep")
        return think

    @property
    def parameters(self) -> Parameters:
        """The sampling parameters for the engine."""
        return Parameters(self.max_tokens, self.temperature, self.top_p, self.stop or ())

    def to_json(self) -> str:
        """Returns the single line of `config.json`, without the newline."""
        stop = list(self.stop or ())
        own = {name: getattr(self, name) for name in _FIELDS} | {"stop": stop or None}
        return _config_line({**self.more, **{k: v for k, v in own.items() if v is not None}})

    @property
    def hash(self) -> str:
        """The name of the run's folder: 7 hex digits."""
        return config_hash(json.loads(self.to_json()))

    def folder(self, results: str | Path) -> Path:
        """Returns the folder of the run: `results/model/hash`."""
        return Path(results, *self.model.split("/"), self.hash)

    def with_questions(self, examples: Sequence[Example]) -> Self:
        """Returns the configuration with a digest of the questions, unless they are the published ones.

        So runs with other questions or example answers never share a folder with published ones.
        """
        digest = _digest(examples)
        if digest == _PUBLISHED:
            return self
        return replace(self, more={**self.more, "questions": digest[:_QUESTIONS]})


_FIELDS = ("engine", "model", "mode", "num_examples", "stop", "max_tokens", "temperature", "top_p")


def _check_model(model: str) -> None:
    """Reject names that would escape the results folder or be ambiguous."""
    parts = model.split("/")
    climbs = any(part in ("", ".", "..") for part in parts) or "\\" in model
    if climbs or PureWindowsPath(model).drive or not model.isprintable():
        raise SettingsError(
            f"invalid run name {model!r}: expected a name such as org/model, without '..', empty parts, "
            "backslashes or a drive (if the model is a path, set --name)"
        )
    for part in parts:
        reason = forbidden_name(part)
        if reason is not None:
            raise SettingsError(f"invalid run name {shortened(repr(model))}: {reason}: set --name")


def _check_stop(strings: Sequence[str]) -> tuple[str, ...]:
    if isinstance(strings, str) or not all(isinstance(s, str) and s for s in strings):
        raise SettingsError(f"stop must be a list of non-empty strings, not {strings!r}")
    return tuple(strings)


def _checked_number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SettingsError(f"{name} must be a finite number, not {value!r}")
    return float(value)


def _digest(examples: Sequence[Example]) -> str:
    lines = (json.dumps(example._asdict(), ensure_ascii=False) + "\n" for example in examples)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# Python's escapes; any other backslash is an ordinary character.
_ESCAPE = re.compile(r"""(\\(?:[\\'"abfnrtv\n]|[0-7]|[xuUN]))|\\""")


def unescaped(text: str) -> str:
    r"""Returns a text with its escapes replaced: those of Python strings, such as `\n` and `\t`.

    Everything else stays as it is, newlines and other backslashes included. As published, `\xNN` is one byte
    of UTF-8, so that the result must be valid UTF-8. Raises `SettingsError` otherwise.
    """
    known = _ESCAPE.sub(lambda match: match[1] or r"\\", text)
    try:
        return known.encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        raise SettingsError(
            f"invalid escape in {text!r}: expected escapes such as \\n, and \\\\ for a backslash"
        ) from None


# Prompts as in pfgen-bench: an instruction, example answers to other questions, and the question.
# The trial and a seed determine which examples are shown, their order, and the seed for sampling.


_TITLE = "## 回答例\n"
_SYSTEM = f"例と同様の文体及び文字数で、ユーザの質問に1行で答えてください。\n\n{_TITLE}"
_INSTRUCTION = f"例と同様の文体及び文字数で、質問に1行で答えてください。\n\n{_TITLE}"


def asked(
    benchmark: str | None, mode: Mode, trials: int, num_examples: int, seed: str, prefix: str
) -> Iterator[tuple[Task, str]]:
    """Yield the tasks of all trials, trial by trial, with the example answers to their questions.

    `mode`, `num_examples`, `seed` and `prefix` are those of `Prompter`.
    """
    examples = read_examples(benchmark, shown=num_examples > 0)
    prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed, prefix=prefix)
    for trial in range(1, trials + 1):
        for task, example in zip(prompter.tasks(trial), examples, strict=True):
            yield task, example.answer


class Prompter:
    """Creates prompts from example answers.

    `seed`: any text; empty for the published runs. `prefix` is put in front of the system message, or of the
    prompt if there is none. Raises `SettingsError` for an unknown mode or a negative `num_examples`.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        mode: Mode = "completion",
        *,
        num_examples: int = 20,
        seed: str = "",
        prefix: str = "",
    ) -> None:
        if mode not in MODES:
            raise SettingsError(f"unknown mode {mode!r}: expected one of {', '.join(MODES)}")
        if num_examples < 0:
            raise SettingsError(f"num_examples must be at least 0, not {num_examples}")
        self.examples = examples
        self.mode: Mode = mode
        self.num_examples = num_examples
        self.seed = seed
        self.prefix = prefix
        self._shown = {e.question: f"Q: {e.question}\nA: {e.answer}\n\n" for e in examples}
        self._last: tuple[int, list[str]] = 0, []  # the last trial and its order

    @property
    def questions(self) -> list[str]:
        """All questions with example answers, in order."""
        return list(self._shown)

    def tasks(self, trial: int, questions: Iterable[str] | None = None) -> list[Task]:
        """Returns the tasks of a trial (from 1), for all questions or the given ones.

        Computes one hash per question and sorts them. Raises `InputError` for an unknown question or a
        `trial` below 1.
        """
        if trial < 1:
            raise InputError(f"trial must be at least 1, not {trial}")
        last, order = self._last
        if trial != last:
            order = sorted(self._shown, key=lambda question: self._digest(trial, question))
            self._last = trial, order
        return [
            self._task(trial, question, order)
            for question in (self._shown if questions is None else questions)
        ]

    def _task(self, trial: int, question: str, order: list[str]) -> Task:
        if question not in self._shown:
            raise InputError("no example answer to this question", question=question)
        # One more than needed, since the question itself is not shown.
        nearest = [text for text in order[: self.num_examples + 1] if text != question]
        shown = "".join(self._shown[text] for text in nearest[: self.num_examples])
        system, prompt = self._texts(question, shown)
        return Task(question, trial, self.mode, prompt, self.sampling_seed(trial), system)

    def _texts(self, question: str, shown: str) -> tuple[str | None, str]:
        asked = f"Q: {question}"
        if self.mode == "chat":
            return self.prefix + (_SYSTEM + shown).strip(), asked
        if self.mode == "qa":
            return None, f"{self.prefix}{(_INSTRUCTION + shown).strip()}\n\n## 質問\n{asked}"
        return None, f"{self.prefix}{(_TITLE + shown).strip()}\n\n{asked}\nA:"

    def sampling_seed(self, trial: int) -> int:
        """Returns the seed for sampling a trial's answers."""
        return int(_sha1(f"{self.seed}::{trial}"), 16) % SEEDS

    def _digest(self, trial: int, question: str) -> str:
        return _sha1(f"{self.seed}::{trial}::{question}")


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
