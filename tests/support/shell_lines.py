"""Shell text as the statements and programs that it consists of: as much of the language as pages use."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Statement", "programs", "statements"]

HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
ASSIGNED = re.compile(r"^[A-Za-z_]\w*=")
NUMBERED = re.compile(r"(?<!\S)\d(?=[<>])")
PROMPT = "$ "
OPENED = re.compile(r"(?:^|;)\s*(?:if|for|while|until|case)\b", re.MULTILINE)
CLOSED = re.compile(r"(?:^|;)\s*(?:fi|done|esac)\b", re.MULTILINE)
WORDLESS = {"for", "case", "done", "fi", "esac", "select"}
"""Words of the language whose line names no program."""
BEFORE = {"do", "then", "else", "if", "elif", "while", "until", "!", "time", "busy"}
"""Words of the language that a program may follow."""


@dataclass(frozen=True)
class Statement:
    """One logical line. `line`: the block's first is 0. `output`: as shown, if it is."""

    line: int
    text: str
    output: str | None = None


def statements(code: str, *, prompted: bool = False) -> list[Statement]:
    """The logical lines of a script, comments aside; `prompted` if `$ ` is before commands, output below."""
    found: list[Statement] = []
    lines = list(enumerate(code.splitlines()))
    while lines:
        number, line = lines.pop(0)
        if prompted and not line.startswith(PROMPT):
            if not found:
                raise ValueError(f"output before any command: {line!r}")
            found[-1] = _with_output(found[-1], line)
            continue
        text = line.removeprefix(PROMPT) if prompted else line
        while lines and not _is_whole(text):
            text += "\n" + lines.pop(0)[1].removeprefix("> " if prompted else "")
        if without_comment(text).strip():
            found.append(Statement(number, text))
    return found


def _with_output(statement: Statement, line: str) -> Statement:
    return Statement(statement.line, statement.text, (statement.output or "") + line + "\n")


def _is_whole(text: str) -> bool:
    first, *others = text.splitlines() or [""]
    if here := HERE.search(first):
        return bool(others) and others[-1].strip() == here[2]
    text = without_comment(text)
    if text.endswith("\\") or len(OPENED.findall(text)) > len(CLOSED.findall(text)):
        return False
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def without_comment(text: str) -> str:
    """A line without the comment at its end."""
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (place == 0 or text[place - 1].isspace()):
            return text[:place].rstrip()
    return text


def programs(statement: str) -> Iterator[list[str]]:
    """The words of each program that a statement runs, its own and those within `$(…)`."""
    text = statement
    if HERE.search(text.splitlines()[0]):
        text = HERE.sub("", text.splitlines()[0])
    text = NUMBERED.sub("", without_comment(text.replace("\\\n", " ")))
    text, inner = _substitutions(text)
    for each in inner:
        yield from programs(each)
    words = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=True)
    words.commenters = ""
    words.whitespace_split = True
    part: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set(";|&"):
            yield from _program(part)
            part = []
        else:
            part.append(word)


def _substitutions(text: str) -> tuple[str, list[str]]:
    """A text with words in place of `$(…)`, and what they run."""
    inner: list[str] = []
    while (begin := text.find("$(")) >= 0:
        depth, end = 1, begin + 2
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inner.append(text[begin + 2 : end - 1])
        text = f"{text[:begin]}SUBSTITUTED{text[end:]}"
    return text, inner


def _program(words: list[str]) -> Iterator[list[str]]:
    words = list(_without_redirections(words))
    while words and (words[0] in BEFORE or ASSIGNED.match(words[0])):
        words.pop(0)
    if words and words[0] not in WORDLESS:
        yield words


def _without_redirections(words: list[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if set(word) <= set("<>&"):
            next(rest, None)
        elif not set(word) <= set("()"):
            yield word
