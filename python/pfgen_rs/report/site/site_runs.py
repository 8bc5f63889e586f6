"""The runs of a site: their entries, when they answered, and how they are scored again for their pages."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.checkout import rescoring
from pfgen_rs.checkout.checkout import Run
from pfgen_rs.checkout.entries import Entry, entries
from pfgen_rs.checkout.leaderboard import ranked
from pfgen_rs.checkout.published import Published, RememberedQuestions
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io.run_files import CONFIG, EXAMPLES, GENERATION, run_date
from pfgen_rs.questions.examples import read_examples
from pfgen_rs.report import most_shown
from pfgen_rs.report.site.board import Contribution, board_of
from pfgen_rs.report.site.builder import ScoredRuns, Site, given_runs
from pfgen_rs.report.site.folder import SiteFolder, digest_of, files_digest
from pfgen_rs.report.site.model_facts import ModelFacts
from pfgen_rs.runs.generation import output_tokens


class SiteRuns(NamedTuple):
    """What a site needs of its runs, if it has any: values as for `builder.Site` and `board.board_of`."""

    benchmark: Benchmark | None = None
    entries: Sequence[Entry] = ()
    dates: Mapping[str, date] = MappingProxyType({})
    scored: ScoredRuns = given_runs({})
    samples: Mapping[str, str] = MappingProxyType({})
    answers_per_question: int = 0
    tokens: Mapping[str, float] = MappingProxyType({})

    def site(
        self,
        folder: SiteFolder,
        facts: ModelFacts,
        contributions: Iterable[Contribution] = (),
        **more: Any,
    ) -> Site:
        """Returns the site of these runs and of what other sources contribute; `more`: as for `Site`."""
        known = self.dates, self.tokens
        board = board_of(self.entries, self.benchmark, facts, contributions, *known)
        shown = self.answers_per_question
        return Site(folder, board, self.benchmark, self.samples, shown, **more)


def site_runs(
    benchmark: Benchmark,
    folders: Mapping[str, Run],
    published: Sequence[Published],
    answered: Mapping[str, str],
    *,
    data: Path | None,
    jobs: int | None,
) -> SiteRuns:
    """Returns the runs of a site, with their results; they are scored again when their pages are made.

    `folders`: of runs by name. `answered`: what `answered_runs` gave. `data`: the folder of the questions,
    for example answers.
    """
    found = entries(published)
    for run in published:
        if isinstance(questions := run.result["questions"], RememberedQuestions):
            questions.forget()
    tokens = {run: output_tokens(folders[run].folder) for run in folders}
    days = {run: run_date(folders[run].folder) for run in folders}
    return SiteRuns(
        benchmark,
        found,
        {run: day for run, day in days.items() if day is not None},
        ScoredRuns(
            answered,
            lambda names: rescoring.scored_again(
                benchmark, [folders[name] for name in names], jobs
            ),
        ),
        {} if data is None else _example_answers(data / EXAMPLES),
        most_shown(len(answered)),
        {run: count for run, count in tokens.items() if count is not None},
    )


def answered_runs(
    folders: Mapping[str, Run], published: Sequence[Published], metadata_hash: str
) -> dict[str, str]:
    """Returns a digest of what its pages are made of for each run that has some, the best first.

    Those are runs with responses, of the questions with this hash.
    """
    there = {name for name, run in folders.items() if run.responses is not None}
    usable = [
        run
        for run in published
        if run.run in there and run.result["metadata_hash"] == metadata_hash
    ]
    return {
        run.run: digest_of(
            run.digest,
            files_digest(folders[run.run].folder / name for name in (CONFIG, GENERATION)),
        )
        for run in ranked(usable)
    }


def _example_answers(path: Path) -> dict[str, str]:
    """Returns example answers by question, if there are any."""
    try:
        return dict(read_examples(path))
    except BenchmarkError:
        return {}  # optional
