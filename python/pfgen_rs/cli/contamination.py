"""`pfgen-rs contamination`: which documents of a corpus contain questions and reference answers."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pfgen_rs.cli import options, process, progress, terminal

_CORPUS = (
    "Files of documents, one a line or row, in formats as for `score`; folders with such files, quoted "
    "globs, URLs, or - for standard input."
)
_OTHERS = ("question_field", "answer_field", "layout", "requests", "think", "run_field", "clean")


@options.with_options(options.ReadingOptions, "reading", without=_OTHERS)
def contamination(
    corpus: Annotated[
        list[str], typer.Argument(metavar="FILE|DIR|GLOB", help=_CORPUS, show_default=False)
    ],
    reading: options.ReadingOptions,
    benchmark: options.BenchmarkName = None,
    text_field: Annotated[str, typer.Option(metavar="KEY", help="Key of the text.")] = "text",
    id_field: Annotated[str | None, typer.Option(metavar="KEY", help="Key of the id.")] = None,
    n: Annotated[
        int, typer.Option("--n", "-n", min=1, max=100, metavar="N", help="Length of n-grams.")
    ] = 8,
    coverage: Annotated[float, typer.Option(metavar="SHARE", help="Of n-grams to find.")] = 0.9,
    out: Annotated[
        Path | None,
        options.out_option("FILE", "Write all hits to this table.", callback=options.table_path),
    ] = None,
    output_format: Annotated[
        Literal["table", "json", "markdown"], typer.Option("--format", "-f", help="What to print.")
    ] = "table",
    threads: options.Threads = None,
    storage_option: options.StorageOptions = None,
) -> None:
    """Find reference answers of a benchmark in a pretraining corpus.

    Texts are compared by their letters and digits alone, without differences of width and case. A document
    contains a text if some stretch of it, at most twice as long as the text, has the share --coverage of the
    text's n-grams. With the default, answers are found whose spaces and punctuation were changed, or one
    letter, but not those of which a part is missing.

    The score of a question is in doubt if any of its reference answers was found. Questions alone are
    counted, but others ask them, too. The table shows the questions of which anything was
    found; `asked` counts documents with the question, `documents` those with a reference answer.

    Exit codes: 0 no score is in doubt, 1 some are, 2 bad usage or input.

    For example:

    - `pfgen-rs contamination corpus/ -b pfgen-bench --out hits.parquet`

    - `pfgen-rs contamination 'shards/*.jsonl.zst' -b pfgen-bench --id-field url --format json`
    """
    process.restrain_libraries()
    import polars as pl

    from pfgen_rs import leaks
    from pfgen_rs.io.remote.urls import parsed_options

    read = leaks.corpus_files(corpus, parsed_options(storage_option or ()))
    bad = {"skip_bad_lines": reading.skip_bad_lines, "replace_invalid": reading.replace_invalid}
    how: dict[str, Any] = {"text_field": text_field, "id_field": id_field, "n": n, **bad}
    how |= {"coverage": coverage, "out": out, "threads": threads}
    with (
        progress.logged("pfgen_rs.leaks"),
        terminal.scoring(read.files, "reading", "documents") as told,
    ):
        found = leaks.contamination(read, benchmark, progress=told, **how)
    if output_format == "json":
        process.emit_json(found.to_dict())
    elif output_format == "markdown":
        process.emit(found.to_markdown())
    else:
        columns = (*leaks.QUESTIONS[2:], "share")
        shown = found.questions.filter(pl.sum_horizontal(leaks.QUESTIONS[2:4]) > 0)
        rows = shown.with_columns(pl.col("share").round(4)).rows()
        table = terminal.new_table(*leaks.QUESTIONS[:2], *columns, numbers=columns, rows=rows)
        terminal.show(*([table] if rows else []), terminal.cell(str(found)))
    process.fail(1 if found.in_doubt else 0)
