"""Scores documents in datatrove pipelines, and filters them by their scores: docs/how-to/scale.md."""

from pfgen_rs import extras
from pfgen_rs.integrations.arrow import ArrowScorer

extras.needed("datatrove.pipeline.filters", "datatrove")

from datatrove.data import Document  # noqa: E402 - the error names the extra
from datatrove.pipeline.filters.base_filter import BaseFilter  # noqa: E402
from datatrove.pipeline.writers.disk_base import DiskWriter  # noqa: E402


class AgreementFilter(BaseFilter):  # type: ignore[misc] # not typed
    """Writes the agreement of documents with reference answers to their metadata, and may drop documents.

    `scorer`: made by `integrations.arrow.scorer`; its `question_field` is a key of the metadata, texts are
    those of the documents. `at_least`: the lowest `average` that is kept; below it, or without a score, a
    document is dropped, with the reason `low_agreement` or `no_score`. By default none is. `columns`: what is
    written, with `prefix` in front of the name: any of `scorer.fields`.
    """

    name = "pfgen_rs"

    def __init__(
        self,
        scorer: ArrowScorer,
        *,
        at_least: float | None = None,
        columns: tuple[str, ...] = ("question_id", "average", "problem"),
        prefix: str = "pfgen_",
        exclusion_writer: DiskWriter | None = None,
        batch_size: int = 1000,
    ) -> None:
        super().__init__(exclusion_writer, batch_size)
        self.scorer, self.at_least, self.columns, self.prefix = scorer, at_least, columns, prefix

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Whether a document is kept, with the reason if not; writes its metadata."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        """Whether each document is kept, with the reasons; writes their metadata."""
        key = self.scorer.question_field
        asked = None if key is None else [doc.metadata.get(key) for doc in batch]
        scored = self.scorer.scores([doc.text for doc in batch], asked)
        rows = scored.select([*self.columns]).to_pylist()
        for doc, row in zip(batch, rows, strict=True):
            doc.metadata.update({self.prefix + name: value for name, value in row.items()})
        return [self._kept(average) for average in scored["average"].to_pylist()]

    def _kept(self, average: float | None) -> bool | tuple[bool, str]:
        if self.at_least is None or (average is not None and average >= self.at_least):
            return True
        return False, "no_score" if average is None else "low_agreement"
