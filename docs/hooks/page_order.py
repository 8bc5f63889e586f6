"""Orders the pages: those named here come first in their section, any others after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["on_config", "ordered_pages"]

_SECTIONS = {
    "Tutorial": ("tutorial", "first-score compare report own-set training-loop"),
    "How-to guides": (
        "how-to",
        "command-line python generate compare sites notebooks training index-cache building"
        " build-configuration distributed-references judge judge-dialogues llm-jp-eval scale slurm ray"
        " object-storage arrow datasets lm-eval inspect flexeval lighteval checks releasing",
    ),
    "Reference": (
        "reference",
        "formats judge-formats settings environment exit-codes messages glossary",
    ),
    "Specification": ("specification", "index scoring judging llm-jp-eval"),
    "Explanation": (
        "explanation",
        "metrics variants exactness statistics limits index-structure hot-path",
    ),
}
_PARTS = {
    "Reference": {
        "Commands": ("reference/commands", "index"),
        "Python": ("reference/api", "index"),
    },
}
_ALONE = {"Studies": "studies", "FAQ": "faq"}


def ordered_pages(docs: Path, folder: str, first: str) -> list[str]:
    """The English pages of a folder: those named in `first` in that order, then the others by name."""
    there = {path.stem for path in (docs / folder).glob("*.md") if "." not in path.stem}
    named = [name for name in first.split() if name in there]
    return [f"{folder}/{name}.md" for name in [*named, *sorted(there - set(named))]]


def _navigation(docs: Path) -> list[dict[str, Any]]:
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    for title, (folder, first) in _SECTIONS.items():
        pages: list[Any] = list(ordered_pages(docs, folder, first))
        for part, (place, of_part) in _PARTS.get(title, {}).items():
            if found := ordered_pages(docs, place, of_part):
                pages.append({part: found})
        if pages:
            nav.append({title: pages})
    nav += [{title: f"{n}.md"} for title, n in _ALONE.items() if (docs / f"{n}.md").exists()]
    return nav


def on_config(config: Any) -> None:
    """Puts all pages there are into the navigation."""
    config.nav = _navigation(Path(config.docs_dir))
