"""What a run was made with: the contents of its `config.json`, whose hash names its folder."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any, Self

from pfgen_rs.errors import SettingsError
from pfgen_rs.generate.answers import THINK, Think, default_stop
from pfgen_rs.generate.engines.protocol import Parameters
from pfgen_rs.generate.prompts import MODES, Mode
from pfgen_rs.questions.examples import Example

__all__ = ["RunConfig", "config_hash"]

# SHA-256 of the published example answers, as JSON lines.
_PUBLISHED = "022bcec776c2ce8dcebee5895a37ed3b375bd86c0a440ae768f0d782ad911d9d"
_HASH = 7  # hex digits
_QUESTIONS = 12  # hex digits
_SECRET = re.compile(r"(?!_)(.*_)?(key|token|password|secret)")


def config_hash(config: Mapping[str, Any]) -> str:
    """The name of the folder of a run with this `config.json`; `SettingsError` where it cannot be JSON."""
    return hashlib.sha1(_line(config).encode(), usedforsecurity=False).hexdigest()[:_HASH]


def _line(config: Mapping[str, Any]) -> str:
    kept = {key: value for key, value in config.items() if not key.startswith("_")}
    try:
        text = json.dumps(kept, ensure_ascii=False, sort_keys=True, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingsError(f"the configuration cannot be written as JSON: {error}") from None
    return text


@dataclass(frozen=True)
class RunConfig:
    """The parameters of a run; the defaults are the published ones, and then nothing else is recorded.

    `engine`: its `name`. `stop`: the mode's own strings where it is `None`; none at all where it is empty.
    `None` for `max_tokens`, `temperature` or `top_p` leaves a value to the engine, and out of the file.
    `more`: what else shaped the answers (`dtype`, `revision`, `chat_template`, …). Of it, this
    package itself reads `seed` (text: the seed of examples and sampling), `prefix` (of the prompts) and
    `think` (see `cleaned`). Names starting with `_` are left out of the file. Raises `SettingsError`.
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
        stop = default_stop(self.mode) if self.stop is None else _stop(self.stop)
        object.__setattr__(self, "stop", stop)
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else _number(name, value))
        self._check_numbers()
        self._check_more()
        self.to_json()

    def _check_numbers(self) -> None:
        if type(self.num_examples) is not int or self.num_examples < 0:
            raise SettingsError(
                f"num_examples must be an integer of at least 0, not {self.num_examples}"
            )
        if self.max_tokens is not None and (
            type(self.max_tokens) is not int or self.max_tokens < 1
        ):
            raise SettingsError(
                f"max_tokens must be an integer of at least 1, not {self.max_tokens}"
            )
        if self.temperature is not None and self.temperature < 0:
            raise SettingsError(f"temperature must be at least 0, not {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise SettingsError(f"top_p must be above 0 and at most 1, not {self.top_p}")

    def _check_more(self) -> None:
        for key in self.more:
            if not isinstance(key, str) or key in _FIELDS:
                raise SettingsError(f"{key!r} cannot be one of the further parameters of a run")
            if _SECRET.fullmatch(key):
                raise SettingsError(
                    f"{key} looks like a secret, which config.json would show: leave it to the "
                    "environment, or begin its name with _"
                )
        for key in ("seed", "prefix"):
            if not isinstance(self.more.get(key, ""), str):
                raise SettingsError(f"{key} must be text, not {self.more[key]!r}")
        if self.think not in THINK:
            raise SettingsError(f"think must be one of {', '.join(THINK)}, not {self.think!r}")

    @property
    def seed(self) -> str:
        """The seed that examples are drawn with."""
        return str(self.more.get("seed", ""))

    @property
    def prefix(self) -> str:
        """What stands in front of every prompt."""
        return str(self.more.get("prefix", ""))

    @property
    def think(self) -> Think:
        """Whether answers lose what the model thought aloud."""
        think: Think = self.more.get("think", "keep")
        return think

    @property
    def parameters(self) -> Parameters:
        """How the engine samples."""
        return Parameters(self.max_tokens, self.temperature, self.top_p, self.stop or ())

    def to_json(self) -> str:
        """The one line of `config.json`, without its end."""
        stop = list(self.stop or ())
        own = {name: getattr(self, name) for name in _FIELDS} | {"stop": stop or None}
        return _line({**self.more, **{k: v for k, v in own.items() if v is not None}})

    @property
    def hash(self) -> str:
        """The name of the run's folder: 7 hex digits."""
        return config_hash(json.loads(self.to_json()))

    def folder(self, results: str | Path) -> Path:
        """Where the run lies: `results/model/hash`."""
        return Path(results, *self.model.split("/"), self.hash)

    def with_questions(self, examples: Sequence[Example]) -> Self:
        """The configuration that also names the questions, unless they are the published ones.

        So answers to other questions, or shown other example answers, never share a folder with those.
        """
        digest = _examples_digest(examples)
        if digest == _PUBLISHED:
            return self
        return replace(self, more={**self.more, "questions": digest[:_QUESTIONS]})


_FIELDS = ("engine", "model", "mode", "num_examples", "stop", "max_tokens", "temperature", "top_p")


def _check_model(model: str) -> None:
    """Refuse names that would leave the folder of results, or look like others."""
    parts = model.split("/")
    climbs = any(part in ("", ".", "..") for part in parts) or "\\" in model
    if climbs or PureWindowsPath(model).drive or not model.isprintable():
        raise SettingsError(
            f"{model!r} cannot name a run, whose folder is called like the model: use a name such as "
            "org/model (--name, where the model is a path), without '..', empty parts, backslashes or a drive"
        )


def _stop(strings: Sequence[str]) -> tuple[str, ...]:
    if isinstance(strings, str) or not all(isinstance(s, str) and s for s in strings):
        raise SettingsError(f"stop must be non-empty strings, not {strings!r}")
    return tuple(strings)


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SettingsError(f"{name} must be a number, not {value!r}")
    return float(value)


def _examples_digest(examples: Sequence[Example]) -> str:
    lines = (json.dumps(example._asdict(), ensure_ascii=False) + "\n" for example in examples)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
