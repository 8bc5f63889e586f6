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
    from pfgen_rs.studies.against import AgainstStudy, BenchmarkCorrelation, study_against
    from pfgen_rs.studies.correlations import (
        Correlation,
        CorrelationMatrix,
        MetricStudy,
        study_metrics,
    )
    from pfgen_rs.studies.leaderboard import Leaderboard, read_leaderboard
    from pfgen_rs.studies.model_names import model_key, read_aliases
    from pfgen_rs.studies.sources import SourceStudy, study_sources
    from pfgen_rs.studies.tables import BenchmarkTable, read_benchmark_table
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "against": ("AgainstStudy", "BenchmarkCorrelation", "study_against"),
            "correlations": ("Correlation", "CorrelationMatrix", "MetricStudy", "study_metrics"),
            "leaderboard": ("Leaderboard", "read_leaderboard"),
            "model_names": ("model_key", "read_aliases"),
            "sources": ("SourceStudy", "study_sources"),
            "tables": ("BenchmarkTable", "read_benchmark_table"),
        },
    )
