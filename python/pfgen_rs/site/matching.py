"""Which names mean the same model.

Names are read as an organisation, words and numbers, a date, sizes and versions. Two are the same model if

- their words and numbers are the same, in any case, form (NFKC) and with any separators or none between
  letters and digits (`Qwen-3_8b`, `qwen3 8B`), apart from a date at the end (`-2024-08-06`, `-20240806`),
  `-hf` there, and `meta-` before `llama`;
- and what both say of organisation, date, size and numbers with a point is the same. Names of folders may
  spell the slash after the organisation as `--` or `__`.

So nothing with another size, version or other words (`-base`, `-instruct`) is merged. A name that says too
little to tell which of several models it means stands for itself, and two rows of a source that mean the same
model are not used; both are told. The order of names does not matter. A file of aliases decides first.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

from pfgen_rs.io.text import shortened
from pfgen_rs.report.site.board import Contribution
from pfgen_rs.report.site.model_facts import parameters_in_name

_NAMED = 8  # names in a message; the page about the site lists all
_DATE = re.compile(r"[-_. ](20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])$")
_END = re.compile(r"[-_. ]hf$")
_FOLDER = re.compile(r"--|__")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_POINT = re.compile(r"\d+(?:\.\d+)+")


class Identity(NamedTuple):
    """What a name says of a model; `None` or empty where it does not say."""

    words: tuple[str, ...]
    organisation: str | None = None
    date: str | None = None
    points: tuple[str, ...] | None = None
    size: float | None = None


def identity(name: str) -> Identity:
    """Returns what a name says of a model. One without letters and digits is the same as itself alone.

    >>> identity("openai/GPT-4o-2024-08-06") == identity("OpenAI--gpt_4o-20240806")
    True
    """
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    organisation, slash, own = folded.rpartition("/")
    if not slash and (mark := _FOLDER.search(folded)):
        organisation, own = folded[: mark.start()], folded[mark.end() :]
    date = _DATE.search(own)
    own = _END.sub("", own[: date.start()] if date else own)
    words = tuple(_WORD.findall(own))
    if words[:2] == ("meta", "llama"):
        words = words[1:]
    return Identity(
        words or (name,),
        "".join(_WORD.findall(organisation)) or None,
        "".join(date.groups()) if date else None,
        tuple(sorted(_POINT.findall(own))) or None,
        parameters_in_name(own),
    )


def _agree(one: Identity, other: Identity) -> bool:
    """Whether two identities with the same words say nothing different."""
    if (one.points is None) != (other.points is None) and one.size != other.size:
        return False  # "m1.5b" is no "m1-5b"
    pairs = zip(one[1:], other[1:], strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


@dataclass(frozen=True)
class Matching:
    """What names mean. `models`: by source and name, the model. `alone`: names by source that no run has.

    `unclear`: names that stand for themselves, since they may be any of those given. `twice`: by source,
    names that mean the same model, of which none is used. `apart`: names of runs that the file of aliases
    calls the same.
    """

    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    alone: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)
    twice: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    apart: Sequence[Sequence[str]] = ()

    def left_out(self) -> list[str]:
        """Returns what to tell a user of what is left out, and of what is unclear."""
        lost = [
            f"{label}: {_named(names)} are the same model, so none of them is used: leave out all but one"
            for label, found in self.twice.items()
            for names in found
        ]
        unclear = [
            f"{_named([name])} stands for itself, since it may be any of {_named(others)}: if it is one of "
            "them, say so in the file of aliases"
            for name, others in self.unclear.items()
        ]
        apart = [
            f"{_named(names)} stay different models, as both have runs: call them alike in config.json"
            for names in self.apart
        ]
        return [*lost, *unclear, *apart]

    def notes(self) -> list[str]:
        """Returns what to tell a user of names that no run has."""
        return [f"{label}: no run of {_named(own)}" for label, own in self.alone.items() if own]

    def applied(self, label: str, contribution: Contribution) -> Contribution:
        """Returns what a source contributes by names of models, without rows that are not used."""
        models = self.models[label]
        rows = {models[name]: row for name, row in contribution.rows.items() if name in models}
        sections = [
            each._replace(models=[models[name] for name in each.models if name in models])
            for each in contribution.sections
        ]
        return contribution._replace(rows=rows, sections=sections)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(repr(shortened(name)) for name in names[:_NAMED]) + more


def match(
    own: Iterable[str],
    sources: Mapping[str, Iterable[str]],
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Matching:
    """Match the names of sources, by their labels, with each other and with those of runs (`own`).

    A model is called as `own` has it, else as in the file of aliases, else by the first of its names in the
    alphabet, of those with an organisation if there are any. `aliases`: the model that names mean.
    """
    ours = set(own)
    given = {label: list(dict.fromkeys(names)) for label, names in sources.items()}
    known = {identity(name): model for name, model in aliases.items()}
    every = ours.union(*given.values())
    meant = {name: known.get(identity(name), name) for name in every}
    first = {meant[name] for name in ours}, set(aliases.values()) & {*meant.values()}
    groups, unclear = _groups({*meant.values()}, first)
    here = {groups[meant[name]] for name in ours}
    called = {groups[meant[name]]: name for name in sorted(ours, reverse=True)}
    models: dict[str, dict[str, str]] = {}
    twice: dict[str, list[list[str]]] = {}
    for label, names in given.items():
        places: dict[str, list[str]] = {}
        for name in names:
            places.setdefault(groups[meant[name]], []).append(name)
        models[label] = {n[0]: called.get(m, m) for m, n in places.items() if len(n) == 1}
        if several := [names for names in places.values() if len(names) > 1]:
            twice[label] = several
    alone = {
        label: sorted(name for name in own if groups[meant[name]] not in here)
        for label, own in models.items()
    }
    alike = [sorted(n for n in ours if meant[n] == model) for model in {*aliases.values()}]
    return Matching(models, alone, unclear, twice, sorted(n for n in alike if len(n) > 1))


class _Group(NamedTuple):
    """Names that mean the same model, what they say together, and whether runs are among them."""

    says: Identity
    names: frozenset[str]
    has_runs: bool

    def agrees(self, other: "_Group") -> bool:
        """Whether both may be the same model; models of runs are as different as their names."""
        return not (self.has_runs and other.has_runs) and _agree(self.says, other.says)

    def agrees_in_date(self, other: "_Group") -> bool:
        """Whether both may be the same model and have the same date, or both none."""
        return self.says.date == other.says.date and self.agrees(other)


def _groups(
    names: set[str], first: Sequence[set[str]]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Returns the model of each name, and of unclear names what they may be.

    `first`: sets of names of which a model is called by one, if it has any, those of earlier sets before.
    """
    spelled: dict[Identity, set[str]] = {}
    for name in names:
        spelled.setdefault(identity(name), set()).add(name)
    by_words: dict[tuple[str, ...], list[_Group]] = {}
    for says, own in spelled.items():
        runs = sorted(own & first[0])
        alike = {name.casefold() for name in runs}
        parts = [own] if len(alike) < 2 else [own.difference(runs), *({name} for name in runs)]
        by_words.setdefault(says.words, []).extend(
            _Group(says, frozenset(part), bool(part & first[0])) for part in parts if part
        )
    models: dict[str, str] = {}
    unclear: dict[str, list[str]] = {}
    for groups in by_words.values():
        # First those of one date, so that several dates of a model leave its names without one together.
        for is_same in (_Group.agrees_in_date, _Group.agrees):
            groups = _joined(groups, is_same, unclear)
        for group in groups:
            ranked = sorted(
                group.names, key=lambda n: (*(n not in own for own in first), "/" not in n, n)
            )
            models |= dict.fromkeys(group.names, ranked[0])
    return models, dict(sorted(unclear.items()))


def _joined(
    groups: Sequence[_Group],
    is_same: Callable[[_Group, _Group], bool],
    unclear: dict[str, list[str]],
) -> list[_Group]:
    """Returns groups, joined if they are the same and no other is the same as one of them alone."""
    near = {
        group: [other for other in groups if other is not group and is_same(group, other)]
        for group in groups
    }
    clear = {
        group
        for group, others in near.items()
        if all(is_same(a, b) for a, b in combinations(others, 2))
    }
    found: dict[frozenset[str], _Group] = {}
    for group, others in near.items():
        joined = [group, *(each for each in others if {group, each} <= clear)]
        if group not in clear:
            names = sorted(name for other in others for name in other.names)
            unclear |= dict.fromkeys(group.names, names)
        facts = zip(*(each.says[1:] for each in joined), strict=True)
        says = [next((fact for fact in own if fact is not None), None) for own in facts]
        whole = frozenset[str]().union(*(each.names for each in joined))
        has_runs = any(each.has_runs for each in joined)
        found[whole] = _Group(Identity(group.says.words, *says), whole, has_runs)
    return list(found.values())
