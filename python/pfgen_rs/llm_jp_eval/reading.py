"""From a raw output to the prediction that is scored: the steps of a profile, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol
from unicodedata import normalize

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import code_points
from pfgen_rs.llm_jp_eval.extraction import extracted
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile


class Readable(Protocol):
    """What reading needs of a task's data, such as `TaskData`."""

    @property
    def task(self) -> str: ...  # noqa: D102
    @property
    def reading(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def answer_pattern(self) -> str | None: ...  # noqa: D102


def _without(parts: tuple[str, ...], text: str) -> str:
    for part in parts:
        text = text.replace(part, "")
    return text


STEPS: Mapping[str, Callable[[str], str]] = {
    "cut": lambda text: text.partition("\n\n")[0],
    "strip": str.strip,
    "nfkc": lambda text: normalize("NFKC", text),
    "lower": str.lower,
    "upper": str.upper,
    "quotes": lambda text: text.strip("'").strip('"'),
    "prefixes": partial(_without, ("応答:", "回答:", "答え:")),
    "english_prefixes": partial(_without, ("ANSWER:", "RESPONSE:")),
}
"""What a profile may do to an output, by the names that its file uses."""


def prediction(output: str, profile: str = DEFAULT, task: str = "") -> str:
    """Returns the prediction in a raw output.

    Profile `1.3.0`: what precedes the first empty line, in NFKC; `swallow` strips it before normalising. An
    output that begins with an empty line gives the empty prediction. `task`: for profiles that read outputs
    of tasks differently, such as `nejumi4`. Lone surrogates stay. Raises `SettingsError` for unknown
    profiles.
    """
    return read_as(output, find_profile(profile).steps(task))


def predictions(outputs: Sequence[str], profile: str = DEFAULT, task: str = "") -> list[str]:
    """Returns the `prediction` in each raw output. Raises `InputError` where one is no text."""
    return read_all(outputs, find_profile(profile).steps(task))


def task_predictions(data: Readable, outputs: Sequence[str], profile: str = DEFAULT) -> list[str]:
    """Returns the predictions in outputs of a task: read by its steps, or the profile's, then extracted.

    Raises `SettingsError` as `prediction` does, and `InputError` as `extraction.extracted` does.
    """
    steps = data.reading or find_profile(profile).steps(data.task)
    read = read_all(outputs, steps)
    return extracted(read, data.answer_pattern, data.task)


def read_as(output: str, steps: tuple[str, ...]) -> str:
    """Returns the prediction in a raw output by these steps. Raises `SettingsError` for unknown ones."""
    for step in steps:
        if step not in STEPS:
            raise SettingsError(f"unknown step {step!r}: expected one of {', '.join(STEPS)}")
        output = STEPS[step](output)
    return output


def read_all(outputs: Sequence[str], steps: tuple[str, ...]) -> list[str]:
    """Returns `read_as` of each output, in native code where that has these steps."""
    if isinstance(outputs, str):
        raise InputError("expected a list of texts, found a single text")
    of_each = partial(read_as, steps=steps)
    if (strip := native_strip(steps)) is None:
        return list(map(of_each, outputs))
    texts = outputs if isinstance(outputs, list) else list(outputs)
    return code_points.known().normalized_list(texts, of_each, cut=True, strip=strip)


def native_strip(steps: tuple[str, ...]) -> bool | None:
    """Returns whether native code strips for these steps; `None` if it does not have them."""
    return {("cut", "nfkc"): False, ("cut", "strip", "nfkc"): True}.get(steps)
