"""Scores documents in NeMo Curator, and filters them by their scores: docs/how-to/scale.md."""

from dataclasses import dataclass

from pfgen_rs import extras
from pfgen_rs.integrations.arrow import ArrowScorer

extras.needed("nemo_curator.stages.base", "nemo-curator")

import pyarrow as pa  # type: ignore[import-untyped]  # noqa: E402
import pyarrow.compute as pc  # type: ignore[import-untyped]  # noqa: E402
from nemo_curator.backends.base import WorkerMetadata  # noqa: E402 - the error names the extra
from nemo_curator.stages.base import ProcessingStage  # noqa: E402
from nemo_curator.tasks import DocumentBatch  # noqa: E402


@dataclass
class AgreementStage(ProcessingStage[DocumentBatch, DocumentBatch]):  # type: ignore[misc] # not typed
    """Adds the columns of a scorer to batches of documents, and may drop documents.

    `scorer`: made by `integrations.arrow.scorer`. `at_least`: the lowest `average` that is kept; documents
    below it, or without a score, are dropped. By default none is.
    """

    scorer: ArrowScorer
    at_least: float | None = None
    name: str = "pfgen_rs"

    def inputs(self) -> tuple[list[str], list[str]]:
        """Attributes of a batch, and columns, that are needed."""
        return ["data"], self.scorer.needed

    def outputs(self) -> tuple[list[str], list[str]]:
        """Attributes of a batch, and columns, that are there afterwards."""
        return ["data"], [*self.scorer.needed, *self.scorer.fields.names]

    def setup(self, _worker: WorkerMetadata | None = None) -> None:
        """Read the benchmark, once in each worker."""
        self.scorer.benchmark.prepare()

    def process(self, task: DocumentBatch) -> DocumentBatch:
        """Returns the batch with scores."""
        data = task.data
        if not isinstance(data, pa.Table):  # an index, such as filters leave, is no column
            data = pa.Table.from_pandas(data, preserve_index=False)
        scored = self.scorer(data)
        if self.at_least is not None:
            scored = scored.filter(pc.field("average") >= self.at_least)
        return DocumentBatch(
            dataset_name=task.dataset_name,
            data=scored,
            _metadata=task._metadata,
            _stage_perf=task._stage_perf,
        )
