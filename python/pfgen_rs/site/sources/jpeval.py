"""Results of llm-jp-eval: averages, categories and tasks of models, and the report of runs of a profile."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import CONFIG, RESULT
from pfgen_rs.judge.requests import folder_config
from pfgen_rs.llm_jp_eval.averaging import side_by_side
from pfgen_rs.llm_jp_eval.report.comparing import LEVEL, Column as JpevalColumn, ColumnEstimate
from pfgen_rs.llm_jp_eval.report.pages import report_page
from pfgen_rs.llm_jp_eval.report.report import MOST_RUNS, estimates_of, report_of
from pfgen_rs.llm_jp_eval.report.runs import ReportRun, read_report_runs
from pfgen_rs.llm_jp_eval.scoring import SAMPLES, SCORES
from pfgen_rs.report.site.board import Benchmark, Cell, Column, Contribution, Value
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.site.sources import Given, json_keys, section, site_source

_JSON = {"scores", "outputs"}


def _recognises(path: Path) -> bool:
    if path.is_dir():
        return (path / RESULT).is_file() and any((path / n).is_file() for n in (SAMPLES, SCORES))
    keys = json_keys(path)
    # A file that is too large to be looked at is no table.
    return keys is None or keys >= _JSON


@site_source(
    "llm-jp-eval",
    about="folders of llm-jp-eval run or score, and result files (.json)",
    recognises=_recognises,
    in_folders=True,
)
def read_results(given: Sequence[Given]) -> Iterator[tuple[str, Contribution]]:
    """Yield the figures of runs of each profile and split, with their reports of up to 100 runs."""
    paths = [each.path for each in given]
    groups: dict[tuple[str, str], list[tuple[ReportRun, Path]]] = {}
    for run, path in zip(read_report_runs(paths), paths, strict=True):
        kind = run.profile, run.settings.get("split", "")
        groups.setdefault(kind, []).append((run, path))
    profiles = Counter(profile for profile, _ in groups)
    for (profile, split), members in groups.items():
        about = f"{profile} {split}" if profiles[profile] > 1 else profile
        title = f"llm-jp-eval {about}".strip()
        prefix = f"{about}:" if len(groups) > 1 else ""
        for start in range(0, len(members), MOST_RUNS):
            label = f"{title} ({start // MOST_RUNS + 1})" if len(members) > MOST_RUNS else title
            yield label, _contribution(members[start : start + MOST_RUNS], label, prefix)


def _contribution(
    members: Sequence[tuple[ReportRun, Path]], title: str, prefix: str
) -> Contribution:
    names = _models(members)
    average, columns, found = estimates_of([run for run, _ in members])
    rows = {
        name: _row(run, found[run.name].values(), f"jpeval:{prefix}")
        for name, (run, _) in zip(names, members, strict=True)
    }
    paths = [path for _, path in members]

    def files(frame: Frame) -> Iterator[tuple[str, bytes]]:
        runs = read_report_runs(paths)
        return report_page(report_of(runs), runs, frame)[0].files()

    main = f"jpeval:{prefix}{average}"
    return Contribution(
        [*_columns(columns, prefix, {key: None for row in rows.values() for key in row})],
        rows,
        [section("tasks", title, paths, files, names)],
        Benchmark(main, (title, title), main, 0.0, 1.0) if average else None,
    )


def _row(run: ReportRun, found: Iterable[ColumnEstimate], prefix: str) -> dict[str, Cell]:
    """Returns the values of a run, and its averages by other profiles, which have no intervals."""
    row: dict[str, Cell] = {
        prefix + own.column: Value(own.value, own.low, own.high)
        for own in found
        if own.value is not None
    }
    means = side_by_side(run.scored.get("profiles", {}))[1]
    return row | {
        f"{prefix}{mean} ({profile})": value
        for mean, by_profile in means.items()
        for profile, value in by_profile.items()
        if profile != run.scored.get("profile")
    }


def _models(members: Sequence[tuple[ReportRun, Path]]) -> list[str]:
    """Returns the model of each run; raises `InputError` for two of one model."""
    names: dict[str, Path] = {}
    for run, path in members:
        name = _model(run, path)
        if (other := names.setdefault(name, path)) is not path:
            problem = f"has results of {name!r:.80}, of which {other} has some: give one of them"
            raise InputError(problem, path=path)
    return list(names)


def _model(run: ReportRun, path: Path) -> str:
    """Returns the model of a run: as the configuration in its folder says, or else the run's name."""
    folder = path if path.is_dir() else path.parent
    if not (path.is_dir() or path.name == RESULT) or not (folder / CONFIG).is_file():
        return run.name
    found = folder_config(folder).get("model")
    return found if isinstance(found, str) and found else run.name


def _columns(columns: Iterable[JpevalColumn], prefix: str, keys: Iterable[str]) -> Iterator[Column]:
    """Yield the columns of these keys, those of the report first."""
    level, known = f"{100 * LEVEL:g}", dict.fromkeys(keys)
    for column in columns:
        about = (
            f"指標：{column.metric or '複数'}。標本間の{level}%区間。",
            f"Metric: {column.metric or 'several'}; {level} % interval over samples.",
        )
        label = prefix + column.name
        if known.pop(f"jpeval:{label}", "") is None:
            yield Column(f"jpeval:{label}", "jpeval", "number", (label, label), 3, 1, about)
    for key in known:
        yield Column(key, "jpeval", "number", (key.removeprefix("jpeval:"),) * 2, 3, 1)
