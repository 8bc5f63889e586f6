"""Learning curves: the last score and step of each, its page, and the series that drawings show."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pfgen_rs.io import run_files
from pfgen_rs.report.site.board import Cell, Column, Contribution, Value
from pfgen_rs.report.site.pages import Frame
from pfgen_rs.site.sources import Given, section, site_source
from pfgen_rs.training import curve, page

_SCORE, _STEP, _TOKENS = "training:score", "training:steps", "training:tokens"
_COLUMNS = (
    Column(_SCORE, "training", "number", ("学習中の最後のスコア", "Last score in training"), 4, 1),
    Column(_STEP, "training", "number", ("最後のステップ", "Last step"), 0),
    Column(_TOKENS, "training", "number", ("学習したトークン", "Tokens seen"), 0),
)


@site_source(
    "curves",
    about="folders of training with a curve.parquet",
    recognises=lambda path: (curve.curve_folder(path) / curve.CURVE).is_file(),
)
def read_curves(given: Sequence[Given]) -> Iterator[tuple[str, Contribution]]:
    """Yield the last figures of each curve, its page and its series."""
    folders = [curve.curve_folder(each.path) for each in given]
    # The folder that `watch` makes in that of the checkpoints is called the same everywhere.
    named = [path.parent if path.name == curve.FOLDER else path for path in folders]
    names = run_files.output_names([str(path.absolute()) for path in named])
    for path, name in zip(folders, names, strict=True):
        yield f"curve in {path}", _contribution(path, name)


def _contribution(path: Path, name: str) -> Contribution:
    [run] = page.read_runs([path])
    scored = [row for row in run.rows if row["score"] is not None]
    cells: dict[str, Cell] = {_STEP: run.rows[-1]["step"], _TOKENS: run.rows[-1]["tokens"]}
    if scored:
        cells[_SCORE] = Value(*(scored[-1][f"score{end}"] for end in ("", "_low", "_high")))

    def files(frame: Frame) -> Iterator[tuple[str, bytes]]:
        own = [replace(run, name=name) for run in page.read_runs([path])]
        return page.curve_page(own, frame).files()

    shown = section("training", name, [path], files, [name])
    series = {
        "name": name,
        "steps": [row["step"] for row in scored],
        "values": [row["score"] for row in scored],
        "page": shown.path,
    }
    return Contribution(_COLUMNS, {name: cells}, [shown], curves=[series] if scored else [])
