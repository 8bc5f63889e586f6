r"""Tells whether mathematical answers are equal, in a process of its own, which may end at any pair.

Run as a script by `equality`, without the package: `python equality_worker.py SECONDS BYTES`.
Reads pairs of texts as lines of JSON; prints `ready`, and for each pair whether they are equal. sympy's
parser of LaTeX reads them, which evaluates nothing as code.
"""

import faulthandler
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import sympy
from sympy.parsing.latex import parse_latex

_LONGEST = 1_000  # characters of an answer that is read
_LAYOUT = re.compile(r"\\(?:left|right|displaystyle)(?![A-Za-z])|\\[!,;:()\[\] ]|[$~\s]+")
_TEXT = r"\\(?:text|mathrm|mbox)\{([^{}]*)\}"
_LATIN = r"[cmk]m|[mk]g|m[Ll]|km/h|m/s|min|cents?|dollars?|(?<= )[mgtLsh]"
_UNIT = re.compile(
    rf"(?<=[\d)}}]) ?(?:{_TEXT}|\\?%|\^?\{{?(?:\\circ|°)\}}?|[^\x00-\x7f]+|(?:{_LATIN})(?:\^?[23])?)$"
)
_NAMED = re.compile(r"([A-Za-z]) ?= ?([^=]*)")
_REWRITTEN = {  # for sympy's parser
    r"−": "-",
    r"×": r"\\times ",
    r"÷": r"\\div ",
    r"π": r"\\pi ",
    r"⁄": "/",
    r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))": "",  # thousands
    r"(\d+) ?(\\[dt]?frac\{\d+\}\{\d+\})": r"(\1+\2)",  # mixed numbers
    r"(?<![A-Za-z\\])([A-Za-z]) ?\(": r"\1 \\cdot (",  # no functions of these names
    r"\^(-?\d+)": r"^{\1}",
    r"\\sqrt ?(\d)": r"\\sqrt{\1}",
}


def are_equal(one: str, other: str) -> bool:
    """Whether two answers are the same, as text or as values, with a unit or without one."""
    first, second = _answer(one), _answer(other)
    if max(len(first), len(second)) > _LONGEST:
        return first == second
    names, values = zip(*map(_named, (first, second)), strict=True)
    if all(names) and names[0] != names[1]:
        return False
    if _are_same(*values):
        return True
    found = [_UNIT.search(value) for value in values]
    units = [(unit[1] or unit[0]).strip(" \\{}^") if unit else "" for unit in found]
    if not any(units) or (all(units) and units[0] != units[1]):
        return False
    return _are_same(*(_UNIT.sub("", value) for value in values))


def _answer(text: str) -> str:
    r"""Returns the content of the last `\boxed{…}`, or the text, without marks of layout."""
    _, boxed, content = text.rpartition("\\boxed{")
    depth = int(bool(boxed))
    for place, character in enumerate(content if boxed else ""):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            content = content[:place]
            break
    content = _LAYOUT.sub(" ", content).strip(" .。")
    whole = re.fullmatch(_TEXT, content)
    return whole[1].strip() if whole else content


def _named(text: str) -> tuple[str, str]:
    """Returns the letter of `x = 5`, if there is one, and the rest."""
    found = _NAMED.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def _are_same(one: str, other: str) -> bool:
    one, other = (re.sub(r"(?<!\d) | (?!\d)", "", text) for text in (one, other))
    if one == other or re.search(r"\d \d", one + other):
        return one == other != ""
    with suppress(Exception):  # whatever sympy makes of them
        first, second = _value(one), _value(other)
        return bool(first == second or sympy.simplify(first - second) == 0)
    return False


def _value(text: str) -> Any:
    for pattern, replaced in _REWRITTEN.items():
        text = re.sub(pattern, replaced, text)
    constants = {"e": sympy.E, "i": sympy.I, "pi": sympy.pi}
    read = parse_latex(text, strict=True)
    read = read.subs({sympy.Symbol(name): value for name, value in constants.items()}).doit()
    if not isinstance(read, sympy.Expr) or read.has(sympy.nan, sympy.zoo):
        raise ValueError(text)
    return read


def _main(seconds: float, size: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    parse_latex("1")  # loads the parser
    print("ready", flush=True)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        for line in sys.stdin:
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            print(json.dumps(are_equal(*json.loads(line))), flush=True)
            faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    _main(float(sys.argv[1]), int(sys.argv[2]))
