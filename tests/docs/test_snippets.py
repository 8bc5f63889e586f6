"""All code in docstrings, the README and docs/ is run, or, where it says why not, checked."""

import ast
import contextlib
import doctest
import importlib
import io
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

import page_world
import pfgen_rs
from pfgen_rs import PfgenError
from pfgen_rs.ask.costs import read_prices
from pfgen_rs.cli.app import app
from pfgen_rs.io.source import read_toml
from pfgen_rs.judge.dialogues.records import read_fields
from pfgen_rs.judge.pairs import read_pairs
from pfgen_rs.judge.requests import read_prompts
from pfgen_rs.llm_jp_eval import measures, registry
from pfgen_rs.references.config import read_config, read_outlines
from pfgen_rs.references.rules import read_answer_rules
from pfgen_rs.report.site.model_facts import read_facts
from pfgen_rs.studies.tables import read_aliases
from places import DOCS, ROOT

# The code of Markdown pages: fenced blocks with their languages, lines, and marks of what is not run

PAGES = sorted(
    p for p in [ROOT / "README.md", *DOCS.rglob("*.md")] if not p.name.endswith(".ja.md")
)
"""The pages whose code is run; `test_texts.py` compares that of the Japanese ones with it."""

BLOCK = re.compile(
    r"(?:^ *<!-- not run(?P<parts>(?: \"[^\"\n]+\",?)*): (?P<reason>[^\n]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<file>[^\"\n]+)\")?[^\n]*\n"
    r"(?P<code>.*?)^(?P=indent)```$",
    flags=re.DOTALL | re.MULTILINE,
)
LINE = re.compile(
    r"[^\n]*<<'?(\w+)'?[^\n]*\n.*?^\1$|(?:[^\n]*\\\n)*[^\n]+", flags=re.DOTALL | re.MULTILINE
)
INLINE = re.compile(r"(?<!`)`(pfgen-rs [^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block. `line`: of its first line of code. `file`: the name that it is to be saved under.

    `reason`: why it is not run; empty if it is. `parts`: only lines that contain one of these are not.
    """

    page: Path
    line: int
    language: str
    code: str
    file: str
    reason: str
    parts: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{name(self.page)}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether any of it is."""
        return not self.reason or bool(self.parts)


def name(page: Path) -> str:
    """A page by its path in the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        code = re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, found.start("code")) + 1
        parts = tuple(re.findall(r"\"([^\"]+)\"", found["parts"] or ""))
        yield Block(
            page, line, found["language"], code, found["file"] or "", found["reason"] or "", parts
        )


def inline_commands(page: Path) -> list[str]:
    """Commands within sentences; they may be beginnings of commands."""
    return INLINE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


def lines(script: str) -> list[str]:
    """The lines of a script; one that a backslash or a here-document continues is one."""
    return [match[0] for match in LINE.finditer(script)]


def commands(script: str) -> Iterator[list[str]]:
    """The words after `pfgen-rs`, for each time that a script runs it."""
    for line in lines(script):
        lexer = shlex.shlex(
            line.replace("\\\n", " ").split("\n")[0], posix=True, punctuation_chars=True
        )
        lexer.whitespace_split = True
        part: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set(";|&()<>"):
                part.append(word)
                continue
            if "pfgen-rs" in part:
                yield part[part.index("pfgen-rs") + 1 :]
            part = []


# Checks of code, whether it is run or not: commands, imports, configurations

PYTHON, SHELL = {"python", "py"}, {"sh", "bash"}
VARIABLE = re.compile(r"\$(?:\w+|\{[^}]*\})")
UsageError: Any = typer.BadParameter.__bases__[0]
"""All that is wrong with a command line; typer names only this kind of it."""


def check(block: Block, folder: Path) -> None:
    """Fail for a block that cannot be right."""
    if block.language in SHELL:
        for words in commands(block.code):
            _parse([VARIABLE.sub("1", word) for word in words])
    elif block.language in PYTHON:
        _check_imports(block.code)
    elif block.language == "toml":
        _check_toml(block, folder)
    elif block.language in ("json", "jsonl"):
        _check_json(block, folder)
    for part in block.parts:
        assert part in block.code, f"the mark names {part!r}, which is not there"


def _parse(words: list[str]) -> None:
    """Parse words as the command line does: options, their values, and arguments."""
    try:
        command: Any = get_command(app)
        context = command.make_context("pfgen-rs", list(words))
        while isinstance(command, TyperGroup):
            left = [*context._protected_args, *context.args]
            name, command, left = command.resolve_command(context, left)
            context = command.make_context(name, left, parent=context)
    except UsageError as error:
        raise AssertionError(f"pfgen-rs {' '.join(words)}: {error.format_message()}") from None
    except typer.Exit:  # --help and the like end here
        pass


def check_inline(text: str) -> None:
    """Check a command within a sentence, which may lack arguments: its name and its options exist."""
    command: Any = get_command(app)
    context = typer.Context(command)
    words = text.split()[1:]
    while words and isinstance(command, TyperGroup) and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        try:
            _, command, words = command.resolve_command(context, words)
        except UsageError as error:
            raise AssertionError(error.format_message()) from None
        context = typer.Context(command, parent=context)
    known = {option for each in command.params for option in [*each.opts, *each.secondary_opts]}
    for word in words:
        if option := re.match(r"--?[a-z][a-z-]*", word):
            assert option[0] in known | {"--help", "-h"}, f"`{text}`: there is no {option[0]}"


def _check_imports(source: str) -> None:
    """What is imported from this package exists."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pfgen_rs"):
            with contextlib.suppress(PfgenError):  # adapters of what is not installed
                module = importlib.import_module(node.module or "")
                for name in (alias.name for alias in node.names):
                    assert hasattr(module, name) or importlib.import_module(f"{node.module}.{name}")


def _facts(path: Path) -> object:
    return read_facts(path)


def _task(path: Path) -> object:
    return registry._made(registry.TaskInfo, read_toml(path), path)


def _profile(path: Path) -> object:
    return registry._made(registry.Profile, read_toml(path), path)


def _prices(path: Path) -> object:
    models = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
    return [read_prices(path, model) for model in models]


READERS: dict[frozenset[str], Callable[[Path], object]] = {
    frozenset({"candidates"}): read_config,
    frozenset({"pairwise", "grade", "criteria"}): read_prompts,
    frozenset({"currency", "models"}): _prices,
    frozenset({"fields"}): read_fields,
    frozenset({"answer_pattern"}): _task,
    frozenset({"averages"}): _profile,
    frozenset({"released", "parameters", "weights", "price"}): _facts,
    frozenset({"Q01", "Q02"}): read_answer_rules,
    frozenset({"question"}): read_outlines,
}
"""Configurations by keys that only they have; other tables are other names of models."""


def _check_toml(block: Block, folder: Path) -> None:
    """The package's reader of such a configuration accepts it."""
    table = tomllib.loads(block.code)
    if "project" in table:  # a pyproject.toml
        return
    read = next((read for keys, read in READERS.items() if keys & table.keys()), read_aliases)
    path = folder / ("models.toml" if read is _facts else "block.toml")
    path.write_text(block.code, encoding="utf-8")
    assert read(path), block.place


def _check_json(block: Block, folder: Path) -> None:
    """Lines, or one value; a pair to be judged is one."""
    try:
        records = [json.loads(block.code)]
    except json.JSONDecodeError:
        records = [json.loads(line) for line in block.code.splitlines()]
    if "answers" in records[0]:
        path = folder / "pairs.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        assert len(read_pairs(path)) == len(records)


# Following pages: their code is run, their files are saved, what they show is compared with what is printed

TIMEOUT = 600
"""Seconds for a block, far more than any takes: a busy machine is no fault of a page."""
ELISION = "…"


def run_page(
    page: Path, folder: Path, env: Mapping[str, str], elsewhere: Collection[str] = ()
) -> None:
    """Do in a folder, which is the current one, what a page says; `elsewhere`: languages that are not run."""
    namespace: dict[str, Any] = {"__name__": "page"}
    output: str | None = None
    for block in blocks(page):
        if not block.is_run or block.language in elsewhere:
            output = None
        elif block.language == "text":
            assert output is not None, f"{block.place}: nothing above printed it"
            assert shows(block.code, output), f"{block.place}: shows\n{block.code}\nnot\n{output}"
        elif block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8", newline="\n")
        elif block.language in PYTHON:
            output = _run_python(block, namespace)
        elif block.language in SHELL:
            output = _run_shell(block, folder, env)


def _run_python(block: Block, namespace: dict[str, Any]) -> str:
    before = "\n" * (block.line - 1)  # so that a traceback has the line of the page
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(before + block.code, str(block.page), "exec"), namespace)
    return printed.getvalue()


def _run_shell(block: Block, folder: Path, env: Mapping[str, str]) -> str:
    """Run a block in one shell, but for what its mark leaves out and installations; what it printed."""
    wanted = [
        page_world.translated(line, env)
        for line in lines(block.code)
        if not line.startswith("pip install") and not any(part in line for part in block.parts)
    ]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(wanted)],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, f"{block.place}:\n{done.stdout}"
    return done.stdout


def shows(shown: str, output: str) -> bool:
    """Whether `shown` is the output, with … for what is left out: within a line, or some lines."""
    pattern = "\n".join(map(_pattern_of_line, _lines(shown))).replace(f"\0{ELISION}\n", "(?:.*\n)*")
    pattern = pattern.replace(f"\n\0{ELISION}", "(?:\n.*)*")
    return re.fullmatch(pattern, "\n".join(_lines(output))) is not None


def _lines(text: str) -> list[str]:
    """Lines without the space at their ends, and without empty ones that do not separate."""
    stripped = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", stripped).split("\n")


def _pattern_of_line(line: str) -> str:
    if line.strip() == ELISION:
        return f"\0{ELISION}"
    return ".*".join(map(re.escape, line.split(ELISION)))


# The tests

ELSEWHERE: Mapping[str, Collection[str]] = {
    "docs/how-to/harnesses.md": {"jsonnet", "python"},  # integrations
    "docs/how-to/scale.md": {
        "bash",
        "python",
    },  # integrations/test_arrow.py, test_results_from_scores.py
    "docs/reference/messages.md": {"text"},  # docs/test_message_pages.py
    "docs/studies.md": {"sh"},  # studies/test_study_docs.py
}
"""Languages of pages whose blocks other tests run; here they are only checked."""
RUN = [p for p in PAGES if any(b.is_run and b.language in PYTHON | SHELL for b in blocks(p))]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_is_sound(page: Path, tmp_path: Path) -> None:
    faults = []
    for block in blocks(page):
        try:
            check(block, tmp_path)
        except (AssertionError, ValueError, ImportError) as fault:
            faults.append(f"{block.place}: {fault}")
    for command in inline_commands(page):
        try:
            check_inline(command)
        except AssertionError as fault:
            faults.append(str(fault))
    assert faults == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("page", RUN, ids=name)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    if not fnmatch(name(page), "docs/tutorial/*"):  # which can be followed in an empty folder
        page_world.furnish(folder, name(page).removeprefix("docs/"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(measures, "_METRICS", dict(measures._METRICS))  # pages register some
    monkeypatch.setattr(registry, "_folders", [])
    with page_world.outside(tmp_path) as env:
        run_page(page, folder, env, ELSEWHERE.get(name(page), ()))
    registry._forget()


# The examples in docstrings run; those of READMEs and pages are run by `docs/test_snippets.py`.


PACKAGE = Path(pfgen_rs.__file__).parent
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if re.search(r"^ +>>> ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed


@pytest.mark.parametrize("name", sorted({*pfgen_rs.__all__} - {"__version__"}))
def test_every_public_name_has_an_example(name: str) -> None:
    public = getattr(pfgen_rs, name)
    assert ">>> " in public.__doc__
    assert public.__module__ in MODULES
