"""What a set says of itself in its question files: its format, name, language, licence, and its makers.

    "set": {"format": 2, "name": "…", "language": "ja", …}     the same in all files
    "models": ["org/a", "org/b"]                                who wrote reference answers
    "makers": {"X": [0, 0, 1, null]}                            which of them each one, null if unknown

Files without them are of format 1, as the published ones are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from pfgen_rs.errors import BenchmarkError

FORMAT = 2
"""The newest format of question files that this version reads."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")

Makers = Mapping[str, Sequence[int | None]]
"""By source, the index of the model that wrote each reference answer; `None` where it is unknown."""


@dataclass(frozen=True)
class About:
    """What a set says of itself; texts are empty where it says nothing.

    `language`: a tag of BCP 47, such as `ja`. `made_by`: a person or an organisation. `licence`: an SPDX
    identifier, or how the set may be used. `citation`: how to cite it. `format`: of the question files.
    """

    name: str = ""
    language: str = ""
    made_by: str = ""
    licence: str = ""
    citation: str = ""
    format: int = FORMAT

    def __post_init__(self) -> None:
        """Raise `BenchmarkError` for a language that has no such tag."""
        if self.language and not _LANGUAGE.fullmatch(self.language):
            raise BenchmarkError(
                f"invalid language {self.language!r}: expected a tag such as 'ja' or 'en'"
            )

    def stated(self) -> dict[str, Any]:
        """Returns the object `set` of question files: the format, and what is said."""
        said = {key: value for key, value in asdict(self).items() if value}
        return {"format": said.pop("format"), **said}


def parse_about(value: object) -> About | None:
    """Returns what the object `set` of a question file says, if there is one. Raises `BenchmarkError`."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BenchmarkError(f"'set' must be an object, not {value!r}")
    known = [each.name for each in fields(About)]
    others = ", ".join(repr(name) for name in value if name not in known)
    _check_format(value.get("format"), others)
    if others:
        raise BenchmarkError(f"'set' has unknown keys {others}: expected {', '.join(known)}")
    for name, given in value.items():
        if name != "format" and not isinstance(given, str):
            raise BenchmarkError(f"'set': {name} must be text, not {given!r}")
    try:
        return About(**value)
    except BenchmarkError as error:
        raise BenchmarkError(f"'set': {error.problem}") from None


def _check_format(found: object, others: str) -> None:
    """Raise `BenchmarkError` for no format, and for a newer one, naming what this version lacks."""
    if type(found) is not int or found < FORMAT:
        raise BenchmarkError(
            f"'set': format must be an integer of at least {FORMAT}, not {found!r}"
        )
    if found > FORMAT:
        lacking = f", and knows nothing of {others}" * bool(others)
        raise BenchmarkError(
            f"is of format {found}: this version of pfgen_rs reads formats up to {FORMAT}{lacking}: "
            "upgrade pfgen_rs"
        )


def parse_makers(
    models: object, makers: object, answers: Mapping[str, Sequence[Any]]
) -> tuple[tuple[str, ...], Makers]:
    """Returns the models that wrote reference answers, and who wrote each. Raises `BenchmarkError`."""
    named = [] if models is None else models
    if not isinstance(named, list) or not all(isinstance(name, str) and name for name in named):
        raise BenchmarkError("'models' must be a list of names")
    if len(set(named)) < len(named):
        raise BenchmarkError("'models' has a name twice")
    by_source = {} if makers is None else makers
    if not isinstance(by_source, Mapping) or (by_source and set(by_source) != set(answers)):
        raise BenchmarkError("'makers' must have the sources of 'answers'")
    for source, own in by_source.items():
        if not isinstance(own, list) or len(own) != len(answers[source]):
            raise BenchmarkError(
                f"'makers' of source {source!r} must be a list of {len(answers[source])} indices"
            )
        for number in set(own):
            if number is not None and not (type(number) is int and 0 <= number < len(named)):
                raise BenchmarkError(
                    f"'makers' of source {source!r} must be indices of 'models' or null, not {number!r}"
                )
    return tuple(named), {source: tuple(own) for source, own in by_source.items()}
