"""pfgen-bench scores, number for number, at native speed."""

from typing import TYPE_CHECKING

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

__all__ = [
    "AnswerScorer",
    "Benchmark",
    "BenchmarkError",
    "BenchmarkNotFoundError",
    "BuildError",
    "ConfigError",
    "Contamination",
    "Difference",
    "Explanation",
    "GenerationError",
    "IncompleteRunError",
    "InputError",
    "InstallError",
    "Interval",
    "Leaderboard",
    "NgramIndex",
    "OutputError",
    "PfgenError",
    "PlotError",
    "PublishedResult",
    "Question",
    "Result",
    "Score",
    "Settings",
    "SettingsError",
    "StoreError",
    "UnknownQuestionError",
    "__version__",
    "contamination",
    "gate",
    "leaderboard",
    "load_benchmark",
    "load_results",
    "results_from_scores",
    "sample_runs",
    "scan",
    "score_file",
    "score_runs",
]

if TYPE_CHECKING:
    from pfgen_rs._native import __version__
    from pfgen_rs.benchmark import Benchmark, load_benchmark, score_file, score_runs
    from pfgen_rs.gating import gate
    from pfgen_rs.leaks import Contamination, contamination
    from pfgen_rs.metrics.ngram_index import NgramIndex
    from pfgen_rs.metrics.settings import Settings
    from pfgen_rs.precomputed_scores import results_from_scores
    from pfgen_rs.questions.locate import sample_runs
    from pfgen_rs.questions.question import Question
    from pfgen_rs.runs.differences import Difference, Interval
    from pfgen_rs.runs.leaderboard import Leaderboard, leaderboard
    from pfgen_rs.runs.published import PublishedResult, load_results
    from pfgen_rs.runs.result import Result
    from pfgen_rs.scanning import scan
    from pfgen_rs.scoring.answer_scorer import AnswerScorer
    from pfgen_rs.scoring.batch import Score
    from pfgen_rs.scoring.explain import Explanation
else:  # importing polars and numpy takes longer than many programs need for the rest
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "_native": ("__version__",),
            "benchmark": ("Benchmark", "Question", "load_benchmark", "score_file", "score_runs"),
            "gating": ("gate",),
            "leaks": ("Contamination", "contamination"),
            "metrics.ngram_index": ("NgramIndex",),
            "metrics.settings": ("Settings",),
            "precomputed_scores": ("results_from_scores",),
            "questions.locate": ("sample_runs",),
            "runs.differences": ("Difference", "Interval"),
            "runs.leaderboard": ("Leaderboard", "leaderboard"),
            "runs.published": ("PublishedResult", "load_results"),
            "runs.result": ("Result",),
            "scanning": ("scan",),
            "scoring.answer_scorer": ("AnswerScorer",),
            "scoring.batch": ("Score",),
            "scoring.explain": ("Explanation",),
        },
        modules=("install", "stats", "studies"),
        inner=("benchmark", "io", "scanning"),
    )
