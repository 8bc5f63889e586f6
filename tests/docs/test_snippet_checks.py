"""What would be wrong in pages is found: commands, options, names, outputs, marks."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from page_blocks import blocks, inline_commands, marks, unfenced
from page_checks import check
from page_commands import check_command, check_inline, check_python
from page_runs import fate, run_page
from page_world import outside
from shell_lines import programs, statements

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def written(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("pfgen-rs scor a.jsonl", "No such command 'scor'"),
        ("pfgen-rs score a.jsonl --benchmrk mini", "No such option: --benchmrk"),
        ("pfgen-rs score a.jsonl --format xml", "'xml' is not one of"),
        ("pfgen-rs explain Q02", "Missing argument"),
        ("pfgen-rs judge agre verdicts", "No such command 'agre'"),
        ("python -m pfgen_rs scor a.jsonl", "No such command 'scor'"),
        ("make tset", "no such target"),
        ("pip install 'pfgen_rs[plot]'", "no extra 'plot'"),
        ("python examples/nowhere.py", "no such file"),
        ("python -c 'import pfgen_rs.nowhere'", "no module pfgen_rs.nowhere"),
        ("pgfen-rs score a.jsonl", "unknown program 'pgfen-rs'"),
    ],
)
def test_a_wrong_command_is_found(command: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_command(shlex.split(command))


@pytest.mark.parametrize(
    "command",
    [
        "pfgen-rs score runs/* --threads $N",
        "pfgen-rs --version",
        "make test SECONDS=3",
        "make fuzz-index",
        "pip install 'pfgen_rs[plots,judge]'",
        "python examples/characters.py",
    ],
)
def test_a_right_command_passes(command: str) -> None:
    check_command(shlex.split(command))


@pytest.mark.parametrize(
    "text", ["pfgen-rs scor", "pfgen-rs score --benchmrk", "pfgen-rs data lst"]
)
def test_a_wrong_command_in_a_sentence_is_found(text: str) -> None:
    with pytest.raises(AssertionError):
        check_inline(text)


def test_commands_in_sentences_may_be_beginnings(tmp_path: Path) -> None:
    page = written(tmp_path, "Use `pfgen-rs score --keep` or\n`pfgen-rs COMMAND --help`.\n")
    found = inline_commands(page)
    assert found == ["pfgen-rs score --keep", "pfgen-rs COMMAND --help"]
    for text in found:
        check_inline(text)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import pfgen_rs.nowhere", "no module"),
        ("from pfgen_rs import nowhere", "no module pfgen_rs.nowhere"),
        ("from pfgen_rs.integrations.ray import nowhere", "no module"),
    ],
)
def test_a_wrong_import_is_found(source: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_python(source)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a b # c\n# d\n\n'e #' f", [["a", "b"], ["e #", "f"]]),
        ("a \\\n    b", [["a", "b"]]),
        ("X=1 Y='2 3' a > out.txt 2>&1", [["a"]]),
        ("a | b && c; d &", [["a"], ["b"], ["c"], ["d"]]),
        ('x "$(a b)"', [["a", "b"], ["x", "SUBSTITUTED"]]),
        ("A=$(b c)", [["b", "c"]]),
        ("if a b; then\n    c\nfi", [["a", "b"], ["c"]]),
        ("for x in 1 2; do\n    a $x\ndone", [["a", "$x"]]),
        ("cat > f <<'END'\nx y\nEND\na", [["cat"], ["a"]]),
    ],
)
def test_scripts_are_read_as_the_shell_does(script: str, expected: list[list[str]]) -> None:
    found = [words for each in statements(script) for words in programs(each.text)]
    assert found == expected


def test_outputs_follow_commands_in_consoles() -> None:
    found = statements("$ a \\\n> b\n1\n2\n$ c\n", prompted=True)
    assert [(each.text, each.output) for each in found] == [("a \\\nb", "1\n2\n"), ("c", None)]
    with pytest.raises(ValueError, match="output before any command"):
        statements("1\n$ a\n", prompted=True)


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("```\na\n```\n", "no language"),
        ("```ruby\na\n```\n", "no language"),
        ("```sh\npfgen-rs scor a\n```\n", "No such command"),
        ('```toml\ncandidates = ["a"]\nout = "b"\nsed = 1\n```\n', "sed"),
        ('<!-- not run "nowhere": why -->\n```sh\nmake test\n```\n', "names 'nowhere'"),
    ],
)
def test_a_wrong_block_is_found(block: str, fault: str, tmp_path: Path) -> None:
    [found] = blocks(written(tmp_path, block))
    with pytest.raises((AssertionError, ValueError), match=fault):
        check(found, tmp_path)


def test_marks_are_read_or_missed_by_the_count(tmp_path: Path) -> None:
    text = (
        "<!-- not run: a -->\n\n```sh\nx\n```\n"
        '<!-- not run "y", "z": b -->\n```sh\ny\n```\n'
        "<!-- not run -->\n```sh\nx\n```\n"
    )
    page = written(tmp_path, text)
    assert [(block.reason, block.parts, block.is_run) for block in blocks(page)] == [
        ("a", (), False),
        ("b", ("y", "z"), True),
        (None, (), True),
    ]
    assert marks(page) == 3


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\n\n    b\n", [3]),
        ("- a\n\n    b\n", []),
        ("1. a\n\n    b\n", []),
        ("```sh\n\n    b\n```\n", []),
        ("a\n    b\n", []),
    ],
)
def test_indented_code_is_found(text: str, lines: list[int], tmp_path: Path) -> None:
    assert unfenced(written(tmp_path, text)) == lines


def test_a_block_that_is_not_closed_is_found(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"page\.md:1: the block is not closed"):
        blocks(written(tmp_path, "```sh\na\n"))


def followed(folder: Path, text: str) -> list[str]:
    page = written(folder, text)
    with outside(folder) as env:
        run_page(page, folder, env, lambda block: block.language == "jsonnet")
    return [fate(block, lambda block: block.language == "jsonnet") for block in blocks(page)]


@needs_bash
def test_a_page_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (
        '```python title="a/b.py"\nprint(1)\nprint(2)\n```\n'
        "```sh\npython a/b.py\n```\n```text\n1\n…\n```\n"
        "```python\nx = 3\n```\n```python\nprint(x)\n```\n```text\n3\n```\n"
        '<!-- not run "false": never -->\n```sh\nfalse\necho 4\n```\n```text\n4\n```\n'
        "<!-- not run: never -->\n```sh\nfalse\n```\n"
        "```console\n$ echo 5\n5\n```\n"
        "```jsonnet\n{}\n```\n```toml\na = 1\n```\n"
    )
    assert followed(tmp_path, page) == [
        *("saved", "run", "compared", "run", "run", "compared"),
        *("run", "compared", "marked", "run", "elsewhere", "read"),
    ]


@needs_bash
@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("```sh\ntrue\nfalse\necho 1\n```\n", r"page\.md:3: false"),
        ("```sh\necho 1 >&2\nexit 3\n```\n", r"page\.md:3: exit 3"),
        ("```sh\necho 1\n```\n```text\n2\n```\n", r"page\.md:5: shows"),
        ("```console\n$ echo 1\n2\n```\n", r"page\.md:2: shows"),
        ("```text\n2\n```\n", "nothing above printed it"),
        ("```sh\necho 1\n```\n```toml\na = 1\n```\n```text\n1\n```\n", "nothing above printed it"),
        ("```python\nassert False, 'no'\n```\n", "no"),
    ],
)
def test_a_page_that_cannot_be_followed_is_found(page: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=fault):
        followed(tmp_path, page)
