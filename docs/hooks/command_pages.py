"""Writes pages of commands from their own help: `<!-- help: score -->` becomes that of `pfgen-rs score`.

Also writes rows of tables from registries: `<!-- judge formats -->` becomes a row a format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from pfgen_rs.cli.app import app
from pfgen_rs.judge.formats import format_names, get_format

__all__ = [
    "Named",
    "command_page",
    "judge_format_rows",
    "leaves",
    "named_commands",
    "on_page_markdown",
    "overview_page",
    "page_of_commands",
    "root_command",
]

_FORMATS = "<!-- judge formats -->"
_PAGES = Path(__file__).resolve().parents[1] / "reference" / "commands"
_MARK = re.compile(r"^<!-- help(?:: ([\w-]+))? -->$", re.MULTILINE)


class Named(NamedTuple):
    """A command or a group of commands, how it is called, and the context of its help."""

    path: str
    command: Any
    context: Any

    @property
    def depth(self) -> int:
        """The number of words after `pfgen-rs`."""
        return self.path.count(" ")


@cache
def root_command() -> Named:
    """`pfgen-rs` itself."""
    root = get_command(app)
    return Named("pfgen-rs", root, root.make_context("pfgen-rs", [], resilient_parsing=True))


@cache
def named_commands() -> dict[str, Named]:
    """The top-level commands by name, loaded."""
    return {named.command.name: named for named in _below(root_command())}


def _below(group: Named) -> Iterator[Named]:
    """The commands of a group; resolving them, as running them would, loads those that load late."""
    for name in group.command.list_commands(group.context):
        _, command, _ = group.command.resolve_command(group.context, [name])
        context = type(group.context)(command, info_name=name, parent=group.context)
        yield Named(f"{group.path} {name}", command, context)


def leaves(named: Named) -> Iterator[Named]:
    """The command itself and all commands below it, in the order of help."""
    yield named
    if hasattr(named.command, "list_commands"):
        for inner in _below(named):
            yield from leaves(inner)


def overview_page() -> str:
    """The page of `pfgen-rs` itself: its own help, and all commands with their pages."""
    rows = []
    for top, page in page_of_commands().items():
        for named in leaves(named_commands()[top]):
            link = f"[`{named.path}`]({page}#{_anchor(named.path)})"
            rows.append(f"| {link} | {_escaped(_first_paragraph(named))} |")
    usage, about, *options = _body(root_command())
    table = "\n".join(["| command | |", "| --- | --- |", *rows])
    return "\n\n".join([usage, about, table, *options])


def page_of_commands() -> dict[str, str]:
    """The top-level commands in the order of their help, with the files whose marks name them."""
    marks = {path: _MARK.findall(path.read_text("utf-8")) for path in sorted(_PAGES.glob("*.md"))}
    pages = {name: path.name for path, names in marks.items() for name in names if name}
    return {name: pages[name] for name in named_commands()}


def _first_paragraph(named: Named) -> str:
    return " ".join((named.command.help or "").partition("\n\n")[0].split())


def command_page(name: str) -> str:
    """A top-level command and all below it, under headings."""
    parts = []
    for named in leaves(named_commands()[name]):
        parts.append(f"{'#' * (named.depth + 1)} `{named.path}` {{#{_anchor(named.path)}}}")
        parts += _body(named)
    return "\n\n".join(parts) + "\n"


def _anchor(path: str) -> str:
    return path.removeprefix("pfgen-rs ").replace(" ", "-")


def _body(named: Named) -> list[str]:
    usage = " ".join(named.command.collect_usage_pieces(named.context))
    parts = [f"```text\n{named.path} {usage}\n```", _prose(named.command.help or "")]
    of_kind: dict[str, list[str]] = {"argument": [], "option": []}
    for param in named.command.params:
        if record := param.get_help_record(named.context):
            of_kind[param.param_type_name].append(_definition(*record))
    for kind, definitions in of_kind.items():
        if definitions:
            parts += [f"**{kind.title()}s**", *definitions]
    return parts


def _prose(text: str) -> str:
    """Help as Markdown: it is nearly that already."""
    paragraphs = re.split(r"\n\n|\n(?=- )", text)
    between = (
        "\n" if one.startswith("- ") and other.startswith("- ") else "\n\n"
        for one, other in pairwise(paragraphs)
    )
    return _escaped("".join(chain.from_iterable(zip(paragraphs, [*between, ""], strict=True))))


def _definition(names: str, text: str) -> str:
    """An argument or option with its names as code and its help, in which defaults stand in brackets."""
    shown = re.sub(r" <[\w\[\]]+>$", "", names)  # of arguments, the type in Python
    return f"`{shown}`\n:   {_escaped(' '.join(text.split()))}"


def _escaped(text: str) -> str:
    """Text in which only code spans mean anything."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        p if n % 2 else re.sub(r"([\\*_<>\[\]{}|])", r"\\\1", p) for n, p in enumerate(pieces)
    )


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts help, and rows of tables, in the places of their marks."""
    if _FORMATS in markdown:
        markdown = markdown.replace(_FORMATS, judge_format_rows())
    return _MARK.sub(
        lambda found: command_page(found[1]) if found[1] else overview_page(), markdown
    )


def judge_format_rows() -> str:
    """The rows of the table of judge formats."""
    formats = map(get_format, format_names())
    return "\n".join(f"| `{f.name}` | {f.files} | {f.verdicts} | {f.pair_id} |" for f in formats)
