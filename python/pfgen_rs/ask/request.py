"""A request to a model, and how the model is asked."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pfgen_rs.ask.protocol import SEEDS, Parameters, Task
from pfgen_rs.errors import SettingsError

Messages = tuple[tuple[str, str], ...]
"""Roles (`system`, `user`, `assistant`) and texts; the last message is the user's."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What was invalid is asked again, with `max_tokens` as limit on the output (`None`: the engine's)."""

    max_tokens: int | None


@dataclass(frozen=True)
class Respondent:
    """A model that answers requests, and its sampling parameters; `None` leaves a value to the engine.

    `base_url`: the server's address without secrets, for the record. `role`: the field of its records that
    says who answered. `retry`: ask again what is stored as invalid; what is asked with its limit is found
    under the same digest as with `max_tokens`, so that the rest of a folder stays as it is.
    """

    role: ClassVar[str] = "model"

    engine: str
    model: str
    base_url: str | None = None
    temperature: float | None = 0.0
    seed: int = 1
    max_tokens: int | None = None
    top_p: float | None = None
    logprobs: int | None = None
    retry: Retry | None = None
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.seed < SEEDS:
            raise SettingsError(f"invalid seed {self.seed}: expected 0 to {SEEDS - 1}")
        for limit in (self.max_tokens, self.limit):
            if limit is not None and limit < 1:
                raise SettingsError(f"max_tokens must be at least 1, not {limit}")
        if self.logprobs is not None and not 1 <= self.logprobs <= 20:
            raise SettingsError(f"logprobs must be between 1 and 20, not {self.logprobs}")

    @property
    def limit(self) -> int | None:
        """The limit on the output in tokens that is sent."""
        return self.max_tokens if self.retry is None else self.retry.max_tokens

    @property
    def parameters(self) -> Parameters:
        """The parameters that engines take."""
        return Parameters(
            max_tokens=self.limit,
            temperature=self.temperature,
            top_p=self.top_p,
            stop=self.stop,
            logprobs=self.logprobs,
        )

    def seed_of(self, sample: int) -> int:
        """Returns the seed of a sample, from 0."""
        return (self.seed + sample) % SEEDS

    def identity(self) -> dict[str, Any]:
        """Returns what results depend on: model and sampling parameters, but not the address."""
        return {
            "model": self.model,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "top_p": self.top_p,
            "logprobs": self.logprobs,
        }

    def fields(self, sample: int = 0) -> dict[str, Any]:
        """Returns the field of each record that says who answered, with the limit of a retry."""
        found = {
            "engine": self.engine,
            "model": self.model,
            "temperature": self.temperature,
            "seed": self.seed_of(sample),
            "base_url": self.base_url,
        }
        return {self.role: found if self.retry is None else {**found, "max_tokens": self.limit}}


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_of(content: Mapping[str, Any]) -> str:
    """Returns SHA-256 of canonical JSON (sorted keys, no spaces, UTF-8), in hexadecimal digits."""
    return hashlib.sha256(_CANONICAL.encode(content).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Request:
    """One request. `about`: fields of its record, which identify it together with its digest.

    `subject`: what it is about (a question's id), for messages. `sample`: number of the sample, from 0.
    """

    subject: str
    messages: Messages
    about: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.subject

    @property
    def texts(self) -> list[str]:
        """The texts of the messages."""
        return [text for _, text in self.messages]

    @property
    def has_history(self) -> bool:
        """Whether there are turns before the last message."""
        return len(self.messages) - (self.messages[0][0] == "system") > 1

    def fields(self, respondent: Respondent) -> dict[str, Any]:
        """Returns the fields of its record that do not depend on the answer."""
        return {**self.about, "sample": self.sample, "digest": self.digest(respondent)}

    def digest(self, respondent: Respondent) -> str:
        """Returns `digest_of` model, messages and sampling parameters; neither key nor address."""
        messages = [{"role": role, "content": text} for role, text in self.messages]
        content = {
            **respondent.identity(),
            "seed": respondent.seed_of(self.sample),
            "messages": messages,
        }
        return digest_of(content)

    def task(self, number: int, respondent: Respondent, mode: str) -> Task:
        """Returns the engine's task; `number` identifies it in this call."""
        messages = self.messages
        system = messages[0][1] if messages[0][0] == "system" else None
        history = messages[1:-1] if system is not None else messages[:-1]
        if mode == "completion" and (system is not None or history):
            raise SettingsError(
                "mode completion needs a prompt without a system message and earlier turns"
            )
        return Task(
            question=self.subject,
            trial=number,
            mode="completion" if mode == "completion" else "chat",
            prompt=messages[-1][1],
            seed=respondent.seed_of(self.sample),
            system=system,
            history=history,
        )


@dataclass(frozen=True, eq=False)
class Group:
    """Requests to one respondent, with the same parameters; `mode`: if it is not that of the call."""

    respondent: Respondent
    requests: Sequence[Request]
    mode: str | None = None
