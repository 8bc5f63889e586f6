"""Writes the kit: a folder that a lab publishes its site from."""

from pathlib import Path

from pfgen_rs import _native
from pfgen_rs.errors import OutputError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.site.config import FILE, read_site

_KIT = Path(__file__).with_name("kit")
_NAMES = {
    "github": ".github",
    "gitignore": ".gitignore",
}  # hidden files are left out of packages now and then
_VERSION = "@VERSION@"


def start(folder: str | Path) -> list[Path]:
    """Write the kit into a folder and return its files; workflows install this version of the package.

    Raises `OutputError`, and then writes nothing, if any of the files is there already.
    """
    place, files = Path(folder), {}
    for path in sorted(path for path in _KIT.rglob("*") if path.is_file()):
        first, *others = path.relative_to(_KIT).parts
        text = path.read_text(encoding="utf-8").replace(_VERSION, _native.__version__)
        files[place.joinpath(_NAMES.get(first, first), *others)] = text
    files[place / "CITATION.cff"] = read_site(_KIT / FILE).cff()
    for path in files:
        if path.exists():
            raise OutputError(
                f"{path}: is there already, and is not overwritten: choose a new folder"
            )
    for path, text in files.items():
        write_atomic(path, text.encode())
    return list(files)
