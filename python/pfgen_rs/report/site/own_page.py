"""A page with data that it loads on demand: in one file, in a folder of its own, or within a site."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.folder import SiteFolder

INDEX = "index.html"


class Place(NamedTuple):
    """Where a page stands within a site; by default it is the whole site.

    `folder`: of the page and its data, empty or with a slash at its end. `root`: path from there to the site.
    `nav`: the site's pages. `here`: to which of them the page belongs.
    """

    folder: str = ""
    root: str = ""
    nav: Iterable[tuple[str, str]] = ()
    here: str = ""

    @property
    def about(self) -> dict[str, Any]:
        """What `pages.render` takes of it."""
        return {"root": self.root, "nav": self.nav, "here": self.here}

    def name(self, payload: str) -> str:
        """Returns the name of a payload: its path within the site, so no two pages share one."""
        return self.folder + payload


ALONE = Place()
"""That of a page that is no part of a larger site."""


class OwnPage(NamedTuple):
    """A page. `payloads`: names and values, made when taken; `page` takes those that it is to hold itself."""

    payloads: Iterable[tuple[str, Any]]
    page: Callable[[Mapping[str, Any]], bytes]
    place: Place = ALONE

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Returns paths within the site and contents; the page comes last, but fails before all others."""
        page = self.page({})
        return chain(payload.payload_files(self.payloads), [(self.place.name(INDEX), page)])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page with its data inside if `path` ends in `.html`, else to a folder with its data.

        Raises `OutputError`.
        """
        if Path(path).suffix == ".html":
            write_atomic(path, self.page(dict(self.payloads)))
            return
        files = self.files()
        folder = SiteFolder(path)
        with folder.writing():
            for name, content in files:
                folder.write(name, content)
            folder.finish()
