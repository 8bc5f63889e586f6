"""Which raw file a path stands for: in checkouts, in the reference's raw_files/ and in the cache folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from pfgen_rs.llm_jp_eval.catalog import SPLITS
from pfgen_rs.llm_jp_eval.raw.sources import is_folder, sources

__all__ = ["document_of", "id_list_of", "is_jglue_train", "name_of", "other_version_of"]

_TAIL = 4  # most components of a path that decide
_CHABSA = "chabsa/chABSA-dataset/"
_ANNOTATED = re.compile(r"(?:^|/)(?:chABSA-dataset|chABSA)/([^/]+_ann\.json)$")
_REFERENCE = re.compile(
    r"(?:^|/)(chabsa/chABSA-dataset/[^/]+\.json|(?:train|dev|test)/[^/]+\.knp)$"
)
_DOCUMENT = re.compile(r"(?:^|/)knp/([^/]{1,8})/([^/]+)\.knp$")
_ID_LIST = re.compile(rf"(?:^|/)id/({'|'.join(SPLITS)})\.id$")
_JGLUE = re.compile(r"(?:^|/)(jnli|jsquad|jcommonsenseqa|jsts)-v(1\.\d+)/(train|valid)-v\2\.json$")

_JGLUE_TRAIN = re.compile(r"(?:^|/)train-v1\.\d+[^/]*\.json$")


def name_of(path: str) -> str | None:
    """Returns the reference's name of the raw file that a path stands for; None if it is another file.

    Paths end as in the published repositories or as in the reference's raw_files/.
    """
    if found := _REFERENCE.search(path):
        return found[1]
    if found := _ANNOTATED.search(path):
        return _CHABSA + found[1]
    parts = path.split("/")
    tails = ("/".join(parts[-count:]) for count in range(min(_TAIL, len(parts)), 0, -1))
    return next((_names_by_tail()[tail] for tail in tails if tail in _names_by_tail()), None)


def other_version_of(path: str) -> str | None:
    """Returns the name of the file whose version 1.1 may have the same content as this file of JGLUE."""
    found = _JGLUE.search(path)
    if not found:
        return None
    return f"{found[1]}_{'train' if found[3] == 'train' else 'test'}.json"


def is_jglue_train(path: str) -> bool:
    """Whether a file of any folder has the name of a train file of JGLUE."""
    return _JGLUE_TRAIN.search(path) is not None


def id_list_of(path: str) -> str | None:
    """Returns the split whose documents a file of the Wikipedia corpus lists."""
    found = _ID_LIST.search(path)
    return found[1] if found else None


def document_of(path: str) -> str | None:
    """Returns the id of a document as the repository of the Wikipedia corpus stores it."""
    found = _DOCUMENT.search(path)
    return found[2] if found and found[2].startswith(found[1]) else None


@cache
def _names_by_tail() -> Mapping[str, str]:
    tails: dict[str, str] = {}
    for source in sources().values():
        for name, path in source.files.items():
            if not is_folder(name):
                # JGLUE is also found without its folder `datasets`.
                tails |= {name: name, path: name, path.removeprefix("datasets/"): name}
    return MappingProxyType(tails)
