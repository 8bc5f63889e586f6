"""The studies of the papers: sources, metrics, and the leaderboard against other benchmarks."""

from typing import TYPE_CHECKING

__all__ = [
    "AgainstStudy",
    "BenchmarkCorrelation",
    "BenchmarkTable",
    "Correlation",
    "CorrelationMatrix",
    "Leaderboard",
    "MetricStudy",
    "SourceStudy",
    "model_key",
    "read_aliases",
    "read_benchmark_table",
    "read_leaderboard",
    "study_against",
    "study_metrics",
    "study_sources",
]

if TYPE_CHECKING:
    from pfgen_rs.studies.against import study_against
    from pfgen_rs.studies.against_result import AgainstStudy, BenchmarkCorrelation
    from pfgen_rs.studies.correlations import Correlation, CorrelationMatrix
    from pfgen_rs.studies.leaderboard import Leaderboard, read_leaderboard
    from pfgen_rs.studies.metrics import MetricStudy, study_metrics
    from pfgen_rs.studies.model_names import model_key, read_aliases
    from pfgen_rs.studies.sources import SourceStudy, study_sources
    from pfgen_rs.studies.table_files import read_benchmark_table
    from pfgen_rs.studies.tables import BenchmarkTable
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "against": ("study_against",),
            "against_result": ("AgainstStudy", "BenchmarkCorrelation"),
            "correlations": ("Correlation", "CorrelationMatrix"),
            "leaderboard": ("Leaderboard", "read_leaderboard"),
            "metrics": ("MetricStudy", "study_metrics"),
            "model_names": ("model_key", "read_aliases"),
            "sources": ("SourceStudy", "study_sources"),
            "table_files": ("read_benchmark_table",),
            "tables": ("BenchmarkTable",),
        },
    )
