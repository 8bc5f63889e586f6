"""What is missing of the raw files of llm-jp-eval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.raw.missing import MissingFiles

__all__ = ["missing_lines"]


def missing_lines(missing: Sequence[MissingFiles]) -> Iterator[str]:
    """Yield which raw files are missing, by data set, and where they are published."""
    from pfgen_rs.llm_jp_eval.raw.missing import links, shown_names

    for dataset in dict.fromkeys(each.dataset for each in missing):
        of_dataset = [each for each in missing if each.dataset == dataset]
        names = list(dict.fromkeys(name for each in of_dataset for name in each.names))
        yield f"{dataset} ({of_dataset[0].licence}): missing {shown_names(names)}"
        for reason in dict.fromkeys(reason for each in of_dataset for reason in each.reasons):
            yield f"  {reason}"
        for url in links(of_dataset):
            yield f"  {url}"
