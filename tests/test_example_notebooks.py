"""The notebooks in examples/ run from top to bottom in an empty folder, and are kept without outputs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from helpers import TIMEOUT
from places import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
JAPANESE = re.compile(r"[぀-ヿ㐀-鿿]")
SHOWN = {
    "compare_and_plot": {"image/png": 3, "text/html": 1},
    "score_and_explain": {"text/html": 7},
    "set_in_another_language": {"text/html": 3},
}
"""How many outputs of a kind a notebook has at least."""

NO_BOLD = "findfont: Failed to find font weight bold"
"""What matplotlib says where the installed Japanese font has one weight only."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    found: NotebookNode = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    return found


def executed(path: Path, folder: Path) -> NotebookNode:
    """The notebook with outputs, as of a fresh kernel in a folder."""
    client = NotebookClient(
        read(path), timeout=TIMEOUT, resources={"metadata": {"path": str(folder)}}
    )
    found: NotebookNode = client.execute()
    return found


@each_notebook
def test_a_notebook_runs_in_an_empty_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    folder = tmp_path / "empty"
    folder.mkdir()
    outputs = [out for cell in executed(path, folder).cells for out in cell.get("outputs", ())]
    assert [out for out in outputs if out.output_type == "error"] == []
    told = [out.text for out in outputs if out.get("name") == "stderr"]
    assert [text for text in told if not text.startswith(NO_BOLD)] == []
    for kind, count in SHOWN[path.stem].items():
        assert sum(kind in out.get("data", ()) for out in outputs) >= count


def test_all_notebooks_are_known() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(SHOWN)


@each_notebook
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert [cell.id for cell in notebook.cells] == [
        f"{number:02}" for number, _ in enumerate(notebook.cells, 1)
    ]
    for cell in notebook.cells:
        assert cell.metadata == {}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@each_notebook
def test_a_notebook_says_everything_in_both_languages(path: Path) -> None:
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            paragraphs = [part for part in cell.source.split("\n\n") if part]
            is_japanese = [bool(JAPANESE.search(part)) for part in paragraphs]
            half = len(paragraphs) // 2
            assert is_japanese == [False] * half + [True] * half, cell.source
            assert [part.startswith("#") for part in paragraphs[:half]] == [
                part.startswith("#") for part in paragraphs[half:]
            ]


@each_notebook
def test_a_notebook_begins_with_nothing_of_the_readers(path: Path) -> None:
    """It reads no file that it has not written, and loads nothing but the package and what comes with it."""
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    roots = {"matplotlib", "pathlib", "pfgen_rs", "polars", "itertools", "json", "random"}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= roots
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] in roots
