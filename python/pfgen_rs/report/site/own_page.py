"""A page with data that it loads on demand: in one file, in a folder of its own, or within a site."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.pages import ALONE, Frame

INDEX = "index.html"


class OwnPage(NamedTuple):
    """A page. `payloads`: names and values, made when taken; `page` takes those that it is to hold itself."""

    payloads: Iterable[tuple[str, Any]]
    page: Callable[[Mapping[str, Any]], bytes]
    frame: Frame = ALONE

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Returns paths within the site and contents; the page comes last, but fails before all others."""
        page = self.page({})
        return chain(payload.payload_files(self.payloads), [(self.frame.name(INDEX), page)])

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
