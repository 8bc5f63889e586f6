"""Studies: sources, metrics, the leaderboard against other benchmarks, and what each question tells."""

from pfgen_rs.questions.left_out import model_key
from pfgen_rs.studies.against import AgainstStudy, BenchmarkCorrelation, study_against
from pfgen_rs.studies.examine import examine
from pfgen_rs.studies.metrics import (
    Correlation,
    CorrelationMatrix,
    Leaderboard,
    MetricStudy,
    read_leaderboard,
    study_metrics,
)
from pfgen_rs.studies.questions import QuestionStudy, study_questions
from pfgen_rs.studies.sources import SourceStudy, study_sources
from pfgen_rs.studies.tables import BenchmarkTable, read_aliases, read_benchmark_table

__all__ = [
    "AgainstStudy",
    "BenchmarkCorrelation",
    "BenchmarkTable",
    "Correlation",
    "CorrelationMatrix",
    "Leaderboard",
    "MetricStudy",
    "QuestionStudy",
    "SourceStudy",
    "examine",
    "model_key",
    "read_aliases",
    "read_benchmark_table",
    "read_leaderboard",
    "study_against",
    "study_metrics",
    "study_questions",
    "study_sources",
]
