"""Reads YAML that nobody vouches for: plain values only, and no larger than it looks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.extras import missing
from pfgen_rs.io.safe_text import shortened

try:
    import yaml
except ImportError as failed:
    raise missing("PyYAML, which reads .yml,", "studies", failed, InputError) from failed

__all__ = ["load_yaml"]

_MOST_NODES = 1_000_000  # with every alias written out
_DEEPEST = 50
_LONGEST_NUMBER = 100  # characters; reading numbers to the base 60 takes quadratic time
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.resolver.Resolver()


def load_yaml(text: str, path: Path) -> Any:
    """Returns a document's value: mappings, lists, texts, numbers, dates, truth values and nulls.

    Raises `InputError` for anything that is not one plain document, for a file that is nested too deeply, for
    numbers of more than 100 characters, and for a file that would be much larger with its aliases written
    out.
    """
    try:
        _check_nodes(yaml.parse(text, Loader=_LOADER))
        return _built(text)
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        line = None if mark is None else mark.line + 1
        raise InputError(f"invalid YAML: {problem}", path=path, line=line) from None
    except (ValueError, OverflowError, RecursionError, TypeError) as error:
        raise InputError(f"invalid YAML: {error}", path=path) from None


def _built(text: str) -> Any:
    loader = _LOADER(text)
    try:
        document = loader.get_single_node()
        if document is None:
            return None
        _check_keys(document)
        return loader.construct_document(document)
    finally:
        loader.dispose()


def _check_keys(document: Any) -> None:
    """Raise `InputError` for a key that occurs twice in a mapping, of which the loader would drop one."""
    left, seen = [document], {id(document)}
    while left:
        for node in _nodes_inside(left.pop()):
            if id(node) not in seen:
                seen.add(id(node))
                left.append(node)


def _nodes_inside(node: Any) -> list[Any]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        return []
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if (key.tag, key.value) in seen:
                line = key.start_mark.line + 1
                raise InputError(f"the key {shortened(key.value)!r} occurs twice", line=line)
            seen.add((key.tag, key.value))
    return [inner for pair in node.value for inner in pair]


def _check_nodes(events: Iterable[Any]) -> None:
    """Count nodes as if aliases were written out, before anything is built."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in events:
        _check_number_length(event)
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, total))
            sizes.pop(event.anchor, None)  # until it ends, it is no anchor for what it contains
        total += _nodes_of_event(event, sizes)
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            sizes |= {} if anchor is None else {anchor: total - before}
        if total > _MOST_NODES or len(open_nodes) > _DEEPEST:
            what = "too many values" if total > _MOST_NODES else "values that are nested too deeply"
            raise InputError(f"has {what}", line=event.start_mark.line + 1)


def _check_number_length(event: Any) -> None:
    if not isinstance(event, yaml.ScalarEvent) or len(event.value) <= _LONGEST_NUMBER:
        return
    tag = event.tag
    if tag is None and event.implicit[0]:
        tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)
    if tag in _NUMBERS:
        raise InputError(
            f"has a number of more than {_LONGEST_NUMBER} characters: {shortened(event.value)!r}",
            line=event.start_mark.line + 1,
        )


def _nodes_of_event(event: Any, sizes: dict[str, int]) -> int:
    """Returns how many nodes an event adds; remembers the size of a scalar with an anchor."""
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in sizes:
            raise InputError(
                f"the alias {shortened(event.anchor)!r} stands for nothing before it",
                line=event.start_mark.line + 1,
            )
        return sizes[event.anchor]
    if isinstance(event, yaml.ScalarEvent) and event.anchor is not None:
        sizes[event.anchor] = 1
    return int(isinstance(event, yaml.NodeEvent))
