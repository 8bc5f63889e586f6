"""`pfgen-rs curve`: the page or the picture of a learning curve."""

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options, plot


def _checked_out(path: Path) -> Path:
    return plot.checked_path(path, (".html", ".svg", ".png"))


def curve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with a curve.parquet.")],
    out: Annotated[
        Path,
        options.out_option("FILE", "File to write: .html, .svg or .png.", callback=_checked_out),
    ],
    others: Annotated[
        list[Path] | None,
        typer.Argument(metavar="OTHER", help="Folders of other runs' curves, for the page."),
    ] = None,
) -> None:
    """Write the page or the picture of a learning curve, and of others beside it.

    A folder of checkpoints stands for the curve in its folder `pfgen`, where `watch` writes it.

    A page (.html) shows the score and its parts with intervals, tasks of llm-jp-eval, other runs in the same
    axes, differences from them paired by question, and the answers of the steps side by side. It is one file
    in Japanese and English. Of more than 10 million characters of answers, it has those of every second,
    third, … step.

    A picture (.svg or .png) shows the score and its parts; it requires matplotlib (`pip install
    'pfgen_rs[plots]'`). `pfgen-rs plot learning` has more options.

    For example:

    - `pfgen-rs curve checkpoints/pfgen --out curve.html`

    - `pfgen-rs curve run-2/pfgen run-1/pfgen --out curve.html`

    - `pfgen-rs curve checkpoints/pfgen --out curve.svg`
    """
    from pfgen_rs import training
    from pfgen_rs.training.curve import CURVE, curve_folder

    if out.suffix.lower() == ".html":
        training.write_page(folder, out, compare=others or ())
    elif others:
        raise typer.BadParameter("a picture shows one curve: write a page (.html) to compare runs")
    else:
        training.plot_curve(training.read_curve(curve_folder(folder) / CURVE)[0], out)
