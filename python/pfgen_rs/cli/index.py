"""`pfgen-rs index count|df|locate|top`: n-gram statistics of a question's reference answers."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from pfgen_rs.cli import app as loading, options, process, terminal
from pfgen_rs.errors import OutputError
from pfgen_rs.io.text import counted
from pfgen_rs.metrics import ngram_index, units

app = loading.group(
    "Look up n-grams of any length in a question's reference answers; manage the cached index."
)

Patterns = Annotated[
    list[str],
    typer.Argument(
        metavar="PATTERN",
        help="Exact texts to look for. Write -- before texts that begin with -.",
        show_default=False,
    ),
]
Pattern = Annotated[str, typer.Argument(metavar="PATTERN", help="Exact text to look for.")]
_AROUND = 10  # units of context on each side of a place
Limit = Annotated[int, typer.Option(min=0, metavar="N", help="Maximum number of rows.")]


@app.command()
def count(
    question: options.QuestionName,
    patterns: Patterns,
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = "table",
) -> None:
    """Count the occurrences of patterns, including overlapping ones.

    In a set of tokens, patterns of all commands are ids separated by spaces.

    Example: `pfgen-rs index count Q01 です ます`
    """
    index, parse = _question_index(benchmark, question)
    counts = [(pattern, index.count(parse(pattern))) for pattern in patterns]
    if output_format == "json":
        process.emit_json([{"pattern": pattern, "count": n} for pattern, n in counts])
        return
    table = terminal.new_table("pattern", "count", numbers=("count",))
    for pattern, n in counts:
        table.add_row(terminal.cell(pattern), terminal.cell(n))
    terminal.show(table)


@app.command()
def df(
    question: options.QuestionName,
    patterns: Patterns,
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = "table",
) -> None:
    """Count the answers that contain patterns (document frequency), by source.

    Example: `pfgen-rs index df Q01 です ます`
    """
    index, parse = _question_index(benchmark, question)
    frequencies = [(pattern, index.document_frequency(parse(pattern))) for pattern in patterns]
    if output_format == "json":
        process.emit_json([{"pattern": pattern, **_frequency(f)} for pattern, f in frequencies])
        return
    numbers = ["answers", *index.sources]
    table = terminal.new_table("pattern", *numbers, numbers=numbers)
    for pattern, frequency in frequencies:
        table.add_row(terminal.cell(pattern), *_cells(frequency))
    counts = index.answer_counts
    table.add_section()
    table.add_row(
        terminal.cell("of", "dim"), *map(terminal.cell, (sum(counts.values()), *counts.values()))
    )
    terminal.show(table)


@app.command()
def locate(
    question: options.QuestionName,
    pattern: Pattern,
    benchmark: options.BenchmarkName = None,
    limit: Limit = 20,
    output_format: options.Format = "table",
) -> None:
    """Show where a pattern occurs, with the text around it (concordance).

    Answers are numbered from 0 within their source; the offset is the number of units before the pattern.

    Example: `pfgen-rs index locate Q01 です`
    """
    loaded = options.load(benchmark, None)
    places = loaded.index(question).concordance(loaded._coder.parse(pattern), _AROUND)
    shown = places[:limit]
    if output_format == "json":
        found = [line._asdict() for line in shown]
        lines = [{**line.pop("occurrence")._asdict(), **line} for line in found]
        process.emit_json({"total": len(places), "places": lines})
        return
    table = terminal.new_table("source", "answer", "offset", numbers=("answer", "offset"))
    table.add_column("left", justify="right", overflow="fold")
    table.add_column("pattern and right", overflow="fold")
    for occurrence, left, match, right in shown:
        gap = "" if loaded.settings.unit == "character" else " "
        context = Text.assemble(
            terminal.cell(_shown(match), "bold"), gap, terminal.cell(_shown(right))
        )
        table.add_row(*map(terminal.cell, occurrence), terminal.cell(_shown(left)), context)
    terminal.show(table, terminal.cell(f"{len(shown)} of {len(places)} places"))


@app.command()
def top(
    question: options.QuestionName,
    benchmark: options.BenchmarkName = None,
    n: Annotated[
        int, typer.Option("--n", "-n", min=1, metavar="N", help="Length of the n-grams, in units.")
    ] = 5,
    limit: Limit = 20,
    output_format: options.Format = "table",
) -> None:
    """List the n-grams that occur in the most answers.

    Example: `pfgen-rs index top Q01 --n 8`
    """
    index, _ = _question_index(benchmark, question)
    ngrams = index.ngrams(n, 1, limit)
    if output_format == "json":
        process.emit_json(
            [
                {"text": g.text, "count": g.occurrences, **_frequency(g.document_frequency)}
                for g in ngrams
            ]
        )
        return
    numbers = ["count", "answers", *index.sources]
    table = terminal.new_table("n-gram", *numbers, numbers=numbers)
    for text, total, frequency in ngrams:
        table.add_row(terminal.cell(_shown(text)), terminal.cell(total), *_cells(frequency))
    terminal.show(table)


def _question_index(
    benchmark: str | None, question: str
) -> tuple[ngram_index.NgramIndex, Callable[[str], units.Answer]]:
    """Returns a question's index and the parser of its patterns."""
    loaded = options.load(benchmark, None)
    return loaded.index(question), loaded._coder.parse


def _shown(found: units.Decoded) -> str:
    return found if isinstance(found, str) else " ".join(map(str, found))


def _frequency(frequency: ngram_index.DocumentFrequency) -> dict[str, object]:
    return {"document_frequency": frequency.total, "by_source": frequency.by_source}


def _cells(frequency: ngram_index.DocumentFrequency) -> list[Text]:
    return [terminal.cell(n) for n in (frequency.total, *frequency.by_source.values())]


# Cached indexes of whole benchmarks.


@app.command()
def build(
    benchmark: options.BenchmarkName = None,
) -> None:
    """Build and cache the index of a benchmark, so that later processes start faster.

    Example: `pfgen-rs index build --benchmark pfgen-bench`
    """
    loaded = options.load(benchmark, None)
    start = time.perf_counter()
    # This checks all that is cached.
    loaded.prepare()._batches(list(loaded))
    seconds = time.perf_counter() - start
    path = loaded.index_path
    if path is None or not path.is_file():
        raise OutputError(
            f"{path}: the index was built but could not be saved: check that the folder exists and is "
            "writable, or set PFGEN_RS_CACHE to another folder"
        )
    about = f"{counted(len(loaded), 'question')}, {_megabytes(path.stat().st_size)}"
    process.emit(f"{path}\n{about}, ready in {seconds:.2f} s\n")


@app.command()
def info(output_format: options.Format = "table") -> None:
    """List the indexes in the cache.

    Example: `pfgen-rs index info --format json`
    """
    from pfgen_rs.questions import index_cache

    files = index_cache.index_files()
    if output_format == "json":
        process.emit_json(
            [{"file": str(f.path), "bytes": f.size, "written": _time(f.written)} for f in files]
        )
        return
    table = terminal.new_table("file", "size", "written", numbers=("size",))
    for file in files:
        cells = (file.path.name, _megabytes(file.size), _time(file.written))
        table.add_row(*map(terminal.cell, cells))
    terminal.show(terminal.cell(str(index_cache.indexes_folder())), table)


@app.command()
def clear() -> None:
    """Remove all cached indexes. They are rebuilt when needed.

    Example: `pfgen-rs index clear`
    """
    from pfgen_rs.questions import index_cache

    removed = index_cache.clear_index_cache()
    size = _megabytes(sum(file.size for file in removed))
    process.emit(f"removed {counted(len(removed), 'file')}, {size}\n")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
