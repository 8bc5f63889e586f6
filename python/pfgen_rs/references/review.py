"""Review files: suggested rules with room for a person's decisions, which become a file of rules.

[[Q01.suggestion]]
id = "number-1"
before = "は1日に"
after = "回重"
keep = ["22"]
forbid = ["11", "24"]
decision = ""               # "accept" or "reject"
note = ""                   # becomes the reason of the rule
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pfgen_rs.errors import BenchmarkError, OutputError, unreadable
from pfgen_rs.io import write_atomic
from pfgen_rs.references.ng_rules import parse_answer_rules
from pfgen_rs.references.places import Place
from pfgen_rs.references.rule_tables import RuleTable, read_tables
from pfgen_rs.references.suggest import Suggestion

__all__ = [
    "Reviewed",
    "accepted_rules_toml",
    "numbered",
    "read_review",
    "review_toml",
    "rule_pattern",
    "write_accepted_rules",
]

_DECISIONS = ("", "accept", "reject")
_KEYS = (
    *("id", "before", "after", "starts", "ends", "words"),
    *("keep", "forbid", "decision", "note"),
)
_ACCEPTED = (
    "# Rules accepted in a review of suggestions; written anew by pfgen-rs build accept-rules."
)
_HEAD = """\
# Places where answers contradict each other, for review: what most answers say is a hint, not a proof.
# For each suggestion, set `decision` to "accept" or "reject". Before accepting, take out of `forbid` what is
# right, and add what else is wrong; `note` becomes the reason of the rule. `keep` is only for information.
"""


@dataclass(frozen=True)
class Reviewed:
    """A suggestion as a review file has it: `decision` is `accept`, `reject`, or empty if it is open."""

    id: str
    place: Place
    forbid: tuple[str, ...]
    decision: str = ""
    note: str = ""
    words: bool = False

    @property
    def pattern(self) -> str:
        """The expression for a rule that forbids the alternatives."""
        return rule_pattern(self.place, self.forbid, words=self.words)


def rule_pattern(place: Place, forbidden: Iterable[str], *, words: bool = False) -> str:
    """Returns an expression, in the syntax of the crate `regex`, for any of these texts at a place.

    With `words`, what is around them must not begin or end inside a word.
    """
    texts = "|".join(map(_review_regex_escaped, forbidden))
    edge = r"\b" if words else ""
    start = "^" if place.starts else edge * _is_word_in_review(place.before[:1])
    end = "$" if place.ends else edge * _is_word_in_review(place.after[-1:])
    return f"{start}{_review_regex_escaped(place.before)}(?:{texts}){_review_regex_escaped(place.after)}{end}"


def _is_word_in_review(character: str) -> bool:
    return character.isalnum()


def _review_regex_escaped(text: str) -> str:
    """Escape a text for use in a pattern of the crate `regex`."""
    return re.sub(r"[\\.+*?()|\[\]{}^$#&~-]", r"\\\g<0>", text)


def numbered(suggestions: Sequence[Suggestion]) -> list[tuple[str, Suggestion]]:
    """Returns the suggestions for a question with their ids: the kind, and a number from 1."""
    counts: dict[str, int] = {}
    found = []
    for each in suggestions:
        counts[each.kind] = counts.get(each.kind, 0) + 1
        found.append((f"{each.kind}-{counts[each.kind]}", each))
    return found


def review_toml(suggestions: Mapping[str, Sequence[Suggestion]]) -> str:
    """Returns a review file for the suggestions of each question, all of them open."""
    lines = [_HEAD.rstrip("\n")]
    for question, found in suggestions.items():
        for name, suggestion in numbered(found):
            lines += ["", *_review_lines(question, name, suggestion)]
    return "\n".join(lines) + "\n"


def _review_lines(question: str, name: str, suggestion: Suggestion) -> Iterator[str]:
    place = suggestion.place
    kept = [each.text for each in suggestion.alternatives if not each.forbidden]
    for each in suggestion.alternatives:
        mark = "forbid" if each.forbidden else "keep"
        stated = ", stated in the example answer or keywords" if each.stated else ""
        yield f"# {mark} {_review_toml_string(each.text)}: {each.answers} answers ({each.share:.1%}){stated}"
    yield f"[[{_review_toml_key(question)}.suggestion]]"
    yield f"id = {_review_toml_string(name)}"
    yield f"before = {_review_toml_string(place.before)}"
    yield f"after = {_review_toml_string(place.after)}"
    flags = {"starts": place.starts, "ends": place.ends, "words": suggestion.words}
    yield from (f"{flag} = true" for flag, is_set in flags.items() if is_set)
    yield f"keep = {_review_toml_strings(kept)}"
    yield f"forbid = {_review_toml_strings(suggestion.forbidden)}"
    yield 'decision = ""'
    yield 'note = ""'


def read_review(path: str | Path) -> dict[str, list[Reviewed]]:
    """Read the suggestions of a review file, by question id.

    Raises `BenchmarkError`, naming the file, the question and the suggestion, for unknown keys, invalid
    values, ids that occur twice, and an accepted suggestion that forbids nothing.
    """
    found: dict[str, list[Reviewed]] = {}
    for question, table in read_tables(path).items():
        entries = table.get("suggestion") if isinstance(table, dict) else None
        if (
            not isinstance(table, dict)
            or set(table) != {"suggestion"}
            or not isinstance(entries, list)
        ):
            problem = f"{question}: expected only [[{question}.suggestion]] tables"
            raise BenchmarkError(problem, path=path)
        found[question] = [_parse_reviewed(entry, question, path) for entry in entries]
        _check_review_ids(found[question], question, path)
    return found


def _parse_reviewed(entry: object, question: str, path: str | Path) -> Reviewed:
    table = RuleTable(entry, path, f"{question}: suggestion", key="id")
    table.only(_KEYS)
    decision = table.text("decision", "")
    if decision not in _DECISIONS:
        table.fail(f"invalid decision {decision!r}: expected accept, reject or nothing")
    starts, ends, words = (table.flag(key) for key in ("starts", "ends", "words"))
    forbid = table.texts("forbid")
    if "" in forbid or (decision == "accept" and not forbid):
        table.fail("forbid must name at least one text, none of them empty: reject it instead")
    place = Place(table.text("before", ""), table.text("after", ""), starts, ends)
    return Reviewed(table.text("id"), place, forbid, decision, table.text("note", ""), words)


def _check_review_ids(found: Sequence[Reviewed], question: str, path: str | Path) -> None:
    ids = [each.id for each in found]
    for name in ids:
        if ids.count(name) > 1:
            raise BenchmarkError(f"{question}: duplicate suggestion {name!r}", path=path)


def accepted_rules_toml(reviewed: Mapping[str, Sequence[Reviewed]]) -> str:
    """Returns a file of rules that forbids what was accepted.

    Raises `BenchmarkError`, naming question and suggestion, for an invalid pattern.
    """
    lines = [_ACCEPTED]
    for question, found in reviewed.items():
        accepted = [each for each in found if each.decision == "accept"]
        tables = [{"name": each.id, "forbid": each.pattern} for each in accepted]
        parse_answer_rules(tables, question)
        for each in accepted:
            lines += [
                "",
                f"[[{_review_toml_key(question)}.rule]]",
                f"name = {_review_toml_string(each.id)}",
            ]
            lines += [f"reason = {_review_toml_string(each.note)}"] * bool(each.note)
            lines.append(f"forbid = {_review_toml_string(each.pattern)}")
    return "\n".join(lines) + "\n"


def write_accepted_rules(path: str | Path, reviewed: Mapping[str, Sequence[Reviewed]]) -> None:
    """Write `accepted_rules_toml` to a file atomically.

    Raises `OutputError`, too, for an existing file that this function did not write.
    """
    content = accepted_rules_toml(reviewed).encode()
    path = Path(path)
    try:
        if not path.read_bytes().startswith(_ACCEPTED.encode()):
            raise OutputError(f"{path}: already exists with other rules: choose another file")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise OutputError(f"{path}: {unreadable(error)}") from error
    write_atomic(path, content)


def _review_toml_key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _review_toml_string(text)


def _review_toml_strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_review_toml_string, texts))}]"


def _review_toml_string(text: str) -> str:
    """Format a TOML string, which is escaped as in JSON, except that DEL is escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
