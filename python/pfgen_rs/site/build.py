"""Builds one site of everything that a lab measures: runs, verdicts, tasks, curves, other tables."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pfgen_rs.errors import BenchmarkNotFoundError, PfgenError
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.report.site import about_page, board as boards, builder, model_facts
from pfgen_rs.report.site.folder import SiteFolder, code_digest, digest_of
from pfgen_rs.report.site.pages import Look
from pfgen_rs.report.site.site_runs import SiteRuns, answered_runs, site_runs
from pfgen_rs.site import sources, studies_page
from pfgen_rs.site.matching import Matching, identity, match
from pfgen_rs.site.sources import Given, runs as pfgen_runs
from pfgen_rs.studies import read_aliases

_UNTITLED = about_page.About(title=about_page.Both("pfgen-bench", "pfgen-bench"))


@dataclass(frozen=True)
class SitePlan:
    """What a site is to be made of and how it presents itself.

    `benchmark`: as `load_benchmark` takes it. `aliases`: file of names that mean the same model. `facts`:
    file with facts about models, before those of the package. `logo`: an image.
    """

    given: Sequence[Given]
    benchmark: str | None = None
    aliases: Path | None = None
    facts: Path | None = None
    about: about_page.About = _UNTITLED
    style: str = ""
    logo: Path | None = None

    @property
    def look(self) -> Look:
        """How its pages look."""
        logo = None if self.logo is None else f"assets/logo{self.logo.suffix.lower()}"
        title = self.about.title
        return Look((title.ja, title.en), logo, self.style)

    def published(self, text: str) -> str:
        """Returns a text without the folders in which the sources lie on the machine that builds the site."""
        parents = {each.path.parent for each in self.given} - {Path()}
        around = {f"{parent}{os.sep}" for parent in parents}
        for folder in sorted(around, key=len, reverse=True):
            text = text.replace(folder, "")
        return text

    def state(self) -> str:
        """Returns a digest of the names, sizes and times of all files that the site is made of."""
        beside = [p for p in (self.aliases, self.facts, self.logo) if p is not None]
        with suppress(BenchmarkNotFoundError):  # which is told where there are runs
            beside.append(benchmark_path(self.benchmark))
        known = [(str(each.path), each.names) for each in self.given]
        about = [repr(self.about), self.style, self.benchmark]
        files = sources.state([*(each.path for each in self.given), *beside])
        return digest_of(code_digest(), known, about, files)


@dataclass(frozen=True)
class Built:
    """What became of a site: its first page, numbers of models (no systems) and runs.

    `notes`: names that did not match. `left_out`: what of the sources is not used, and why. `failed`: runs
    that are left out or have no page, with that and the reason. `is_new`: whether anything had changed.
    """

    page: Path
    models: int = 0
    runs: int = 0
    notes: Sequence[str] = ()
    left_out: Sequence[str] = ()
    failed: Sequence[tuple[str, PfgenError]] = ()
    is_new: bool = True


def build_site(
    plan: SitePlan,
    out: str | os.PathLike[str],
    *,
    force: bool = False,
    jobs: int | None = None,
    steps: builder.Steps | None = None,
) -> Built:
    """Write the site into a folder, except what has not changed since it was written last.

    What cannot be used is told and left out. Raises `InputError` for paths of no known kind and for
    what sources cannot read, `BenchmarkError`, `ConfigError` for the file of aliases, and `OutputError`.
    """
    place = SiteFolder(out, anew=force)
    page = Path(out, "index.html")
    whole = plan.state()
    if place.is_whole(whole):
        return Built(page, is_new=False)
    found, empty = sources.find(plan.given)
    given = found.pop(pfgen_runs.KIND, [])
    runs = pfgen_runs.read_runs(given, plan.benchmark, jobs) if given else None
    own = _own_runs(runs, jobs)
    contributions = sources.read(found)
    matching = _matching(plan, own, contributions)
    facts = _facts(plan, runs)
    site = own.site(
        place,
        facts,
        [matching.applied(label, each) for label, each in contributions.items()],
        look=plan.look,
        lead=next(iter(plan.about.about.paragraphs), None),
        files={} if plan.logo is None else {str(plan.look.logo): plan.logo.read_bytes()},
    )
    failed = [] if runs is None else [(f"{run}: left out", why) for run, why in runs.problems]
    left_out = [f"{path}: no results in this folder yet: passed over" for path in empty]
    left_out += [f"{name}: {note}" for name, each in contributions.items() for note in each.notes]
    left_out += matching.left_out()
    told = [*left_out, *(f"{run}: {getattr(why, 'problem', why)}" for run, why in failed)]
    told = [plan.published(text) for text in told]
    site = replace(site, pages=_pages(plan, site.board, matching, facts, told))
    unpaged = site.write(own.scored, jobs=jobs, steps=steps, whole=None if failed else whole)
    failed += [(f"{run}: has no page", why) for run, why in unpaged]
    models = sum(not model.is_system for model in site.board.models)
    return Built(page, models, len(own.entries), matching.notes(), left_out, failed)


def _facts(plan: SitePlan, runs: pfgen_runs.Runs | None) -> model_facts.ModelFacts:
    """Returns the facts of the plan's file, else of the checkout's, before those of the package."""
    of_checkout = None if runs is None or runs.data is None else runs.data.parent / model_facts.FILE
    path = plan.facts or of_checkout
    return model_facts.bundled_facts() if path is None else model_facts.read_facts(path)


def _own_runs(runs: pfgen_runs.Runs | None, jobs: int | None) -> SiteRuns:
    if runs is None:
        return SiteRuns()
    answered = answered_runs(runs.folders, runs.published, runs.benchmark.metadata_hash)
    return site_runs(
        runs.benchmark, runs.folders, runs.published, answered, data=runs.data, jobs=jobs
    )


def _matching(
    plan: SitePlan, own: SiteRuns, contributions: Mapping[str, boards.Contribution]
) -> Matching:
    names = {label: _names(each) for label, each in contributions.items()}
    aliases = {} if plan.aliases is None else read_aliases(plan.aliases, identity)
    return match((boards.full_name(entry) for entry in own.entries), names, aliases)


def _names(contribution: boards.Contribution) -> list[str]:
    told = (name for section in contribution.sections for name in section.models)
    return list(dict.fromkeys([*contribution.rows, *told]))


def _pages(
    plan: SitePlan,
    board: boards.Board,
    matching: Matching,
    facts: model_facts.ModelFacts,
    left_out: Sequence[str],
) -> list[boards.Section]:
    """Returns the page of studies, if there is one, and that about the site."""
    listed = [
        about_page.ListedRun(
            board.labels[run.run], run.signature, board.dates.get(run.run), model.page
        )
        for model in board.models
        for run in model.runs
    ]
    unmatched = [
        (name, plan.published(label)) for label, names in matching.alone.items() for name in names
    ]
    origins = _origins(facts, board)
    key = digest_of(repr((plan.about, listed, unmatched, left_out, origins)))
    about = partial(about_page.about_files, plan.about, listed, unmatched=unmatched)
    files = partial(about, left_out=left_out, sources=origins)
    title = plan.about.title.en
    about_site = boards.Section("about", title, about_page.ABOUT_PAGE, key, files)
    return [*studies_page.studies_section(board), about_site]


def _origins(facts: model_facts.ModelFacts, board: boards.Board) -> list[str]:
    """Returns where the facts about the models of the board come from."""
    known = (fact.source for model in board.models for fact in facts.of(model.name).values())
    return sorted({*known} - {model_facts.NAME})
