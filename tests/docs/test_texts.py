"""READMEs, CONTRIBUTING and translated pages agree with the files, figures and code that they name."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pictures
from places import DOCS, ROOT

FENCE = re.compile(r"^ *```(.*?)\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s:]+)\)")
PATH = re.compile(r"\.?[\w.-]+(/[\w.-]+)+|[\w-]+\.(md|toml|cff)")
NAMED = re.compile(r"`((?:benches|data/mini|docs|examples|python|rust|tests)/[\w./-]+)`")
MADE = {"rust/fuzz/artifacts"}
READMES = ROOT / "README.md", ROOT / "README.ja.md"
MOST_BYTES = 150_000

# Paths, targets, hooks


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CONTRIBUTING.ja.md"])
def test_paths_and_targets_that_contributors_read_of_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = [code for code in CODE.findall(FENCE.sub("", text)) if PATH.fullmatch(code)]
    named += LINK.findall(text)
    # Pages are named by x.md and x.ja.md, and pytest and pre-commit are in an environment.
    missing = [n for n in named if not (ROOT / n).exists() and not n.startswith((".venv", "x."))]
    assert missing == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake ([a-z-]+)", text)
    assert [name for name in targets if f"\n{name}:" not in makefile] == []
    named = [name for page in DOCS.rglob("*.md") for name in NAMED.findall(page.read_text("utf-8"))]
    assert {name for name in named if name not in MADE and not (ROOT / name).exists()} == set()


# Figures and pictures


def measures(name: str) -> dict[str, Any]:
    text = (ROOT / "benches" / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)["measures"]
    return found


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_times_and_versions_are_those_of_now(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    reporting, every = measures("reporting"), measures("bench")["all_metrics"]
    seconds = every["details"]["seconds_a_response"]
    [one] = [line for line in text.splitlines() if " µs" in line]
    assert re.findall(r"[\d,.]*\d", one.rpartition("|")[0].rpartition("|")[2]) == [
        f"{seconds['ours'] * 1e6:.2f}",
        f"{seconds['oracle'] * 1e6:,.0f}",
        f"{every['value']:,.0f}",
    ]
    assert re.search(rf"516 .*\| {reporting['report_many_stale']['value']:.1f} (s|秒) \|", text)
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Rust {cargo['workspace']['package']['rust-version']} " in text
    assert f"Python {project['requires-python'].removeprefix('>=')} " in text


@pytest.mark.parametrize("picture", pictures.PICTURES.values(), ids=lambda path: path.name)
def test_pictures_are_small_and_show_the_scores_of_now(picture: Path) -> None:
    content = picture.read_bytes()
    assert len(content) < MOST_BYTES
    text = pictures.scores(pictures.sample_results())
    assert text.count("mini/") == 3
    assert f"{pictures.TEXT}\0{text}".encode() in content, "run python benches/pictures.py"


# Translations: Japanese pages have the code of the English ones (strict builds compare headings)

ENGLISH_ONLY = ("reference/api", "reference/commands", "specification/")
"""Pages that are made from docstrings and help, and contracts."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if not page.name.endswith(".ja.md")
        and not page.relative_to(DOCS).as_posix().startswith(ENGLISH_ONLY)
    ),
]
WORDS = re.compile(
    r"""\s*(?:#(?!SBATCH| syntax)| {4,}(?=\S)|<!--).*$|(["'])[^"'\n]*\1""", re.MULTILINE
)
"""Comments, explanations and strings, which may be in Japanese."""
JAPANESE = re.compile("[ぁ-ヿ㐀-鿿]")


def code(page: Path) -> list[tuple[str, list[str]]]:
    """Languages and lines of the fences of a page without the words that are translated."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(info, [WORDS.sub("", line) for line in text.splitlines()]) for info, text in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_is_the_same(page: Path) -> None:
    ours, theirs = code(page.with_suffix(".ja.md")), code(page)
    assert [info for info, _ in ours] == [info for info, _ in theirs]
    for (_, lines), (_, others) in zip(ours, theirs, strict=True):
        assert len(lines) == len(others)
        different = [(a, b) for a, b in zip(lines, others, strict=True) if a != b]
        assert [(a, b) for a, b in different if not JAPANESE.search(a)] == []
