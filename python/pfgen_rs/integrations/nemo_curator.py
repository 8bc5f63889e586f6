"""Scores documents in NeMo Curator, and filters them by their scores: docs/how-to/scale.md."""

from dataclasses import dataclass

from pfgen_rs import extras
from pfgen_rs.integrations.arrow import ArrowScorer

extras.needed("nemo_curator.stages.base", "nemo-curator")

import pandas as pd  # type: ignore[import-untyped]  # noqa: E402
import pyarrow as pa  # type: ignore[import-untyped]  # noqa: E402
import pyarrow.compute as pc  # type: ignore[import-untyped]  # noqa: E402
from nemo_curator.backends.base import WorkerMetadata  # noqa: E402 - the error names the extra
from nemo_curator.stages.base import ProcessingStage  # noqa: E402
from nemo_curator.tasks import DocumentBatch  # noqa: E402


@dataclass
class AgreementStage(ProcessingStage[DocumentBatch, DocumentBatch]):  # type: ignore[misc] # not typed
    """Adds the columns of a scorer to batches of documents, and may drop documents.

    `scorer`: made by `integrations.arrow.scorer`. `at_least`: the lowest `average` that is kept; documents
    below it, or without a score, are dropped. By default none is. Batches stay tables or data frames.
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
        scored = (self.scorer if isinstance(task.data, pa.Table) else self._frame)(task.data)
        if self.at_least is not None:
            is_table = isinstance(scored, pa.Table)
            kept = (pc.field("average") if is_table else scored["average"]) >= self.at_least
            scored = scored.filter(kept) if is_table else scored[kept]
        return DocumentBatch(
            dataset_name=task.dataset_name,
            data=scored,
            _metadata=task._metadata,
            _stage_perf=task._stage_perf,
        )

    def _frame(self, data: pd.DataFrame) -> pd.DataFrame:
        """Returns a data frame with scores; its other columns may have no type in Arrow."""
        self.scorer.schema(pa.schema([(str(name), pa.null()) for name in data.columns]))
        columns = (data[name].astype(object) for name in self.scorer.needed)
        *asked, answers = (column.where(column.notna(), None).to_list() for column in columns)
        found = self.scorer.scores(answers, asked[0] if asked else None)
        return data.assign(**found.to_pandas(types_mapper=pd.ArrowDtype).set_axis(data.index))
