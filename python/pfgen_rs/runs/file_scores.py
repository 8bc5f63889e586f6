"""What scoring a file, or a piece of one, found, before its runs are summarised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import Kept
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.result import Responses, Result
from pfgen_rs.runs.score_store import ResponseScores

__all__ = ["FileScores"]

_LOOKED_AT = 1 << 16  # number of unknown questions to inspect for a hint
RunName = str | None
"""The name of a run in its file; `None` if the file is one run."""


@dataclass
class FileScores:
    """The scores of a file's runs, in order of first occurrence, and what results say of the file.

    `decoded`: number of responses, with those to unknown questions. `unclean`: answers that are not clean, by
    run and reason; `counted`: the same of a piece of a file, chunk by chunk.
    """

    path: str
    config: dict[str, Any] | None
    clean: Mode | None
    input_hash: str
    decoded: int
    runs: Mapping[RunName, ResponseScores]
    problems: Sequence[InputError] = ()
    cut_short: InputError | None = None
    unclean: Mapping[RunName, Counter[str]] = field(default_factory=dict)

    def results(
        self, benchmark: QuestionSet, run: Kept | None, responses: Mapping[RunName, Responses]
    ) -> list[Result]:
        """Returns the runs, of which the first one has the problems of the file.

        `run`: the column that names runs; `responses`: the texts of each. Raises `InputError` for a file in
        which nothing could be scored.
        """
        if not any(scores.height for scores in self.runs.values()):
            raise InputError(self._nothing_left(benchmark), path=self.path)
        problems = sorted(self.problems, key=lambda problem: problem.line or 0)
        found: list[Result] = []
        for name, scores in self.runs.items():
            config = self.config
            if name is not None and run is not None:
                config = {**(config or {}), run.key: name}
            found.append(
                Result(
                    benchmark,
                    scores,
                    responses[name],
                    path=self.path,
                    config=config,
                    input_hash=self.input_hash,
                    problems=[] if found else problems,
                    cut_short=None if found else self.cut_short,
                    clean=self.clean,
                    unclean=self.unclean.get(name, Counter()),
                    run=name,
                )
            )
        return found

    def _nothing_left(self, benchmark: QuestionSet) -> str:
        if self.decoded:
            asked = (problem.question for problem in self.problems if problem.question is not None)
            crowd = benchmark.crowd(islice(asked, _LOOKED_AT))
            return ": ".join(filter(None, ["no line answers a question of the benchmark", crowd]))
        if not self.problems:
            return "no responses found"
        first = self.problems[0]
        return f"all lines are invalid; line {first.line}: {first.problem}"
