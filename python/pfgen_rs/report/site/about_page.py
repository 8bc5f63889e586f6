"""The page about a site: who made it and how, what can be compared, what was added when, citations."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import NamedTuple

from pfgen_rs.metrics.signature import fixed_part
from pfgen_rs.report.site import pages

ABOUT_PAGE = "about/index.html"
BIBTEX, CFF = "about/citation.bib", "about/CITATION.cff"
"""Paths of the citations within a site."""
# Braces count for BibTeX even after a backslash.
_BIBTEX = str.maketrans(
    {**{c: f"\\{c}" for c in "$&#_%"}, **dict(zip("{}\\~^", "()/  ", strict=True))}
)
_SPDX = re.compile(r"[A-Za-z0-9.+-]+")


@dataclass(frozen=True)
class Both:
    """A text in Japanese and English; paragraphs are separated by empty lines."""

    ja: str
    en: str

    @property
    def paragraphs(self) -> list[pages.Text]:
        """Paragraphs in both languages; that of a language with fewer is empty."""
        split = [re.split(r"\n\s*\n", text.strip()) for text in (self.ja, self.en)]
        most = max(map(len, split))
        ja, en = ([*each, *[""] * (most - len(each))] for each in split)
        return [pair for pair in zip(ja, en, strict=True) if any(pair)]


@dataclass(frozen=True)
class Citation:
    """How a site is to be cited; without a title, by its own in English."""

    authors: tuple[str, ...] = ()
    title: str = ""
    year: int | None = None
    doi: str = ""
    key: str = "leaderboard"


@dataclass(frozen=True, kw_only=True)
class About:
    """What a site says of itself. `licence`: of its figures, an SPDX identifier. `url`: its address."""

    title: Both
    about: Both = Both("", "")
    method: Both = Both("", "")
    citation: Citation = Citation()
    licence: str = ""
    contact: str = ""
    url: str = ""

    def _cited(self, newest: date | None) -> dict[str, str]:
        year = self.citation.year or (newest.year if newest else None)
        return {
            "title": self.citation.title or self.title.en,
            "year": str(year or ""),
            "url": self.url,
            "doi": self.citation.doi,
        }

    def bibtex(self, newest: date | None = None) -> str:
        """Returns the citation as BibTeX; without a year, that of the newest run."""
        authors = [f"{{{pages.plain(name).translate(_BIBTEX)}}}" for name in self.authors]
        cited = {"author": " and ".join(authors)}
        for key, text in self._cited(newest).items():
            cited[key] = text if key == "url" else pages.plain(text).translate(_BIBTEX)
        lines = "".join(f"  {key} = {{{text}}},\n" for key, text in cited.items() if text)
        return f"@misc{{{self.citation.key},\n{lines}}}\n"

    def cff(self, newest: date | None = None) -> str:
        """Returns the citation as a `CITATION.cff`."""
        cited = self._cited(newest)
        said = {
            "title": cited["title"],
            "url": cited["url"],
            "doi": cited["doi"],
            "license": self.licence if _SPDX.fullmatch(self.licence) else "",
            "date-released": newest.isoformat() if newest else "",
        }
        # JSON's texts are YAML's, once nothing is left that YAML refuses.
        lines = [f"{key}: {_quoted(text)}" for key, text in said.items() if text]
        names = [f"  - name: {_quoted(name)}" for name in self.authors]
        message = 'message: "Please cite this data set, with the signature of the scores."'
        head = ["cff-version: 1.2.0", message, "type: dataset"]
        return "\n".join([*head, *lines, "authors:", *names, ""])

    @property
    def authors(self) -> Sequence[str]:
        """The authors to cite; without any, the title."""
        return self.citation.authors or (self.title.en,)


def _quoted(text: str) -> str:
    return json.dumps(pages.plain(text), ensure_ascii=False)


class ListedRun(NamedTuple):
    """A run as the page lists it: its name, signature, date if known, and page within the site, if any."""

    name: str
    signature: str
    day: date | None
    page: str | None = None


class Kind(NamedTuple):
    """Runs whose scores can be compared: their signature, their number, and how the largest kind differs."""

    signature: str
    runs: int
    differing: Sequence[str]


def kinds(runs: Sequence[ListedRun]) -> list[Kind]:
    """Returns the kinds of signatures, that of most runs first; cleaning and version do not count."""
    left_out = ("pfgen", "clean", "v")
    kept = (
        tuple(part for part in run.signature.split("|") if part.partition(":")[0] not in left_out)
        for run in runs
    )
    counts = Counter(sorted(kept)).most_common()
    most = set(counts[0][0]) if counts else set()
    return [
        Kind("|".join(each), count, sorted({part.partition(":")[0] for part in most ^ set(each)}))
        for each, count in counts
    ]


def about_files(
    about: About,
    runs: Sequence[ListedRun],
    frame: pages.Frame,
    *,
    unmatched: Sequence[tuple[str, str]] = (),
    left_out: Sequence[str] = (),
    sources: Sequence[str] = (),
) -> list[tuple[str, bytes]]:
    """Returns the page and its citations, as paths within the site with their contents.

    `unmatched`: names of models that no run has, each with its source. `left_out`: what the site does not
    use, and why. `sources`: where facts about models come from.
    """
    ordered = sorted(runs, key=lambda run: (-(run.day.toordinal() if run.day else 0), run.name))
    newest = ordered[0].day if ordered else None
    page = pages.render(
        "about",
        frame=frame,
        here="about",
        signature=fixed_part(),
        about=about,
        kinds=kinds(runs),
        changes=[(day, list(same)) for day, same in groupby(ordered, key=lambda run: run.day)],
        bibtex=about.bibtex(newest),
        unmatched=unmatched,
        left_out=left_out,
        sources=sorted(set(sources)),
        version=fixed_part().rpartition(":")[2],
    )
    files = {BIBTEX: about.bibtex(newest), CFF: about.cff(newest)}
    return [(ABOUT_PAGE, page), *((path, text.encode()) for path, text in files.items())]
