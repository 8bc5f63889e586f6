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
    "sample_runs",
    "scan",
    "score_file",
    "score_runs",
]

if TYPE_CHECKING:
    from pfgen_rs._native import __version__
    from pfgen_rs.benchmark import Benchmark, Question, load_benchmark, score_file, score_runs
    from pfgen_rs.metrics.ngram_index import NgramIndex
    from pfgen_rs.metrics.settings import Settings
    from pfgen_rs.questions.locate import sample_runs
    from pfgen_rs.runs.result import Result
    from pfgen_rs.scanning import scan
    from pfgen_rs.scoring.answer_scorer import AnswerScorer
    from pfgen_rs.scoring.batch import Score
    from pfgen_rs.scoring.explain import Explanation
else:  # loaded when first used, since importing polars and numpy takes longer than many commands
    _EXPORTS = {
        "AnswerScorer": "scoring.answer_scorer",
        "Benchmark": "benchmark",
        "Explanation": "scoring.explain",
        "NgramIndex": "metrics.ngram_index",
        "Question": "benchmark",
        "Result": "runs.result",
        "Score": "scoring.batch",
        "Settings": "metrics.settings",
        "__version__": "_native",
        "load_benchmark": "benchmark",
        "sample_runs": "questions.locate",
        "scan": "scanning",
        "score_file": "benchmark",
        "score_runs": "benchmark",
    }
    """Where each name is defined."""
    _MODULES = ("benchmark", "install", "io", "scanning", "stats")
    """What `import pfgen_rs` alone makes available, as `pfgen_rs.stats`."""

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _EXPORTS:
            value = getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
            globals()[name] = value
            return value
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_EXPORTS, *_MODULES})
