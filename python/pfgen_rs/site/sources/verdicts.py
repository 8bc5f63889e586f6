"""Folders of verdicts: win rates of models, and a page for judges of the same pairs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.errors import InputError
from pfgen_rs.io import run_files
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.judge import pages
from pfgen_rs.judge.agreement import bradley_terry
from pfgen_rs.judge.verdict_folder import (
    VerdictFolder,
    coverage_notes,
    default_rule,
    read_verdicts,
)
from pfgen_rs.lazy import pl
from pfgen_rs.report.site.board import Benchmark, Cell, Column, Contribution, Section, Value
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.site.sources import Given, section, site_source

_PAIRS = "pairs.jsonl"
_NAMED = 3  # opponents that are named


@site_source(
    "verdicts",
    about="folders of judge compare (pairs.jsonl, config.json)",
    recognises=lambda path: (path / _PAIRS).is_file() and (path / run_files.CONFIG).is_file(),
)
def read_folders(given: Sequence[Given]) -> Iterator[tuple[str, Contribution]]:
    """Yield the win rates of each judge, with a page for all judges of the same pairs."""
    paths = [each.path for each in given]
    names = dict(zip(paths, _names(paths), strict=True))
    for group in _together(paths):
        page = _section([names[path] for path in group.paths], group)
        for number, path in enumerate(group.paths):
            own = _contribution(path, names[path])
            yield f"verdicts in {path}", own if number else own._replace(sections=[page])


class _Group(NamedTuple):
    """Folders of the same pairs: digests of their texts by id, and their models."""

    texts: dict[str, int]
    models: set[str]
    paths: list[Path]


def _names(paths: Sequence[Path]) -> list[str]:
    judges = [VerdictFolder(path).judge_name for path in paths]
    places = run_files.output_names([str(path.absolute()) for path in paths])
    return [
        judge if judges.count(judge) == 1 else f"{judge} ({place})"
        for judge, place in zip(judges, places, strict=True)
    ]


def _together(paths: Sequence[Path]) -> list[_Group]:
    """Returns folders that share pairs, none of which has other texts in another one of them."""
    groups: list[_Group] = []
    for path in paths:
        own, models = dict[str, int](), set[str]()
        for pair in VerdictFolder(path).each_pair():
            own[pair.id] = hash((pair.question, pair.models, pair.answers))
            models.update(pair.models)
        for known, others, members in groups:
            if (shared := known.keys() & own.keys()) and all(known[k] == own[k] for k in shared):
                known |= own
                others |= models
                members.append(path)
                break
        else:
            groups.append(_Group(own, models, [path]))
    return groups


def _section(judges: Sequence[str], group: _Group) -> Section:
    def files(frame: Frame) -> Iterator[tuple[str, bytes]]:
        view = pages.verdict_view(group.paths)
        return pages.verdict_page(view, frame).files()

    return section("judges", " / ".join(judges), group.paths, files, sorted(group.models))


def _contribution(path: Path, name: str) -> Contribution:
    """Returns what a folder says of models."""
    [read] = read_verdicts([path])
    rule = default_rule([read])
    if read.decisions[rule].null_count() == len(read.decisions):
        return Contribution(notes=["no pair is decided yet", *coverage_notes([read])])
    try:
        ranking = bradley_terry.rank(read.decisions, rule=rule, with_strengths=False)
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    key = f"judge:{name}"
    return Contribution(
        _columns(key, name, ranking),
        {row["model"]: _row(key, row, ranking.head_to_head) for row in ranking.models.to_dicts()},
        benchmark=Benchmark(key, (name, name), key, 0.0, 1.0),
        notes=coverage_notes([read], rule),
    )


def _columns(key: str, name: str, found: bradley_terry.Ranking) -> list[Column]:
    level = f"{100 * found.level:g}"
    about = (
        f"勝率（引き分けは半勝）。{found.games:,}組、{level}%区間は質問の再標本による。",
        f"Win rate (a tie is half a win) over {counted(found.games, 'pair')}; {level} % interval: "
        "resamples of questions.",
    )
    games = (f"{name}：組の数", f"{name}: pairs")
    against = (f"{name}：相手", f"{name}: against")
    return [
        Column(key, "judges", "number", (name, name), 3, 1, about),
        Column(f"{key}:pairs", "judges", "number", games, 0),
        Column(f"{key}:against", "judges", "text", against),
    ]


def _row(key: str, row: dict[str, float], met: pl.DataFrame) -> dict[str, Cell]:
    others = sorted(met.filter(pl.col("model") == row["model"])["opponent"])
    more = f", … ({len(others)})" if len(others) > _NAMED else ""
    against = ", ".join(map(shortened, others[:_NAMED])) + more
    value = Value(row["win_rate"], row["win_rate_low"], row["win_rate_high"])
    return {key: value, f"{key}:pairs": int(row["games"]), f"{key}:against": against}
