"""Folders of verdicts: win rates of models, and a page for judges of the same pairs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pfgen_rs.errors import InputError
from pfgen_rs.io import run_files
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.judge import pages
from pfgen_rs.judge.agreement import bradley_terry
from pfgen_rs.judge.verdict_folder import VerdictFolder, default_rule, read_verdicts
from pfgen_rs.lazy import pl
from pfgen_rs.report.site.board import Benchmark, Cell, Column, Contribution, Section, Value
from pfgen_rs.report.site.folder import slug
from pfgen_rs.report.site.own_page import INDEX, Place
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.site.sources import Given, site_source, state

_PAIRS = "pairs.jsonl"
_NAMED = 3  # opponents that are named
Texts = dict[str, int]


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
        for number, path in enumerate(group):
            yield f"verdicts in {path}", _contribution(path, names, group if number == 0 else ())


def _names(paths: Sequence[Path]) -> list[str]:
    judges = [VerdictFolder(path).judge_name for path in paths]
    places = run_files.output_names([str(path.absolute()) for path in paths])
    return [
        judge if judges.count(judge) == 1 else f"{judge} ({place})"
        for judge, place in zip(judges, places, strict=True)
    ]


def _together(paths: Sequence[Path]) -> list[list[Path]]:
    """Returns folders that share pairs, none of which has other texts in another one of them."""
    groups: list[tuple[Texts, list[Path]]] = []
    for path in paths:
        pairs = VerdictFolder(path).each_pair()
        own = {pair.id: hash((pair.question, pair.models, pair.answers)) for pair in pairs}
        for known, members in groups:
            if (shared := known.keys() & own.keys()) and all(known[k] == own[k] for k in shared):
                known |= own
                members.append(path)
                break
        else:
            groups.append((own, [path]))
    return [members for _, members in groups]


def _contribution(
    path: Path, names: dict[Path, str], on_page: Sequence[Path]
) -> Contribution:
    """Returns what a folder says of models; `on_page`: folders whose page it also brings."""
    [read] = read_verdicts([path])
    name, rule = names[path], default_rule([read])
    models = sorted(set(read.decisions["model_a"]) | set(read.decisions["model_b"]))
    sections = []
    if on_page:
        title = " / ".join(names[each] for each in on_page)
        folder = f"judges/{slug(title)}/"

        def files(frame: Frame) -> Iterator[tuple[str, bytes]]:
            view = pages.verdict_view(on_page)
            return pages.verdict_page(view, Place(folder, frame, "judges")).files()

        key = state(on_page)
        sections = [Section("judges", title, folder + INDEX, key, files, models)]
    if read.decisions[rule].null_count() == len(read.decisions):
        return Contribution(sections=sections)  # nothing is decided yet
    try:
        ranking = bradley_terry.rank(read.decisions, rule=rule, with_strengths=False)
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    key = f"judge:{name}"
    return Contribution(
        _columns(key, name, ranking),
        {row["model"]: _row(key, row, ranking.head_to_head) for row in ranking.models.to_dicts()},
        sections,
        Benchmark(key, (name, name), key, 0.0, 1.0),
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
