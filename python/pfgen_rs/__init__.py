"""pfgen-bench scores, number for number, at native speed."""

from pfgen_rs._native import __version__
from pfgen_rs.benchmark import Benchmark, Question, load_benchmark, score_file
from pfgen_rs.errors import (
    BenchmarkError,
    BenchmarkNotFoundError,
    BuildError,
    ConfigError,
    GenerationError,
    IncompleteRunError,
    InputError,
    InstallError,
    OutputError,
    PfgenError,
    PlotError,
    SettingsError,
    StoreError,
    UnknownQuestionError,
)
from pfgen_rs.metrics.ngram_index import NgramIndex
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.runs.result import Result
from pfgen_rs.scanning import scan
from pfgen_rs.scoring.answer_scorer import AnswerScorer
from pfgen_rs.scoring.batch import Score
from pfgen_rs.scoring.explain import Explanation

__all__ = [
    "AnswerScorer",
    "Benchmark",
    "BenchmarkError",
    "BenchmarkNotFoundError",
    "BuildError",
    "ConfigError",
    "Explanation",
    "GenerationError",
    "IncompleteRunError",
    "InputError",
    "InstallError",
    "NgramIndex",
    "OutputError",
    "PfgenError",
    "PlotError",
    "Question",
    "Result",
    "Score",
    "Settings",
    "SettingsError",
    "StoreError",
    "UnknownQuestionError",
    "__version__",
    "load_benchmark",
    "scan",
    "score_file",
]
