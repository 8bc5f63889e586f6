"""`pfgen-rs judge dialogues`: graded dialogues, such as those of Japanese MT-bench++."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pfgen_rs.cli import app as loading, engine_options, judge_options, options, process, terminal
from pfgen_rs.cli.plot import Language
from pfgen_rs.io.text import counted

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.layout import Table

app = loading.group("Count, select, tabulate, answer and grade dialogues of two turns.")


def _read_fields(path: Path | None) -> Any:
    from pfgen_rs.judge.dialogues import read_fields

    return None if path is None else read_fields(path)


Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Dialogue records (JSON lines).", show_default=False),
]
FieldNames = Annotated[
    Any,
    typer.Option(
        "--fields",
        metavar="FILE",
        parser=Path,
        callback=_read_fields,
        help="TOML file whose table [fields] gives the keys of dialogue records other names.",
    ),
]
Answered = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Dialogue records, or MT-bench's questions (JSON lines).",
        show_default=False,
    ),
]
PerCategory = Annotated[
    int,
    typer.Option(
        "--per-category",
        "-n",
        metavar="N",
        help="Number of dialogues of each category in a light version, half of each type.",
    ),
]


Turns = Annotated[
    Literal["second", "both"] | None,
    typer.Option(
        help="Whether the model writes the second answer, after the record's first one, or both, as in "
        "the original MT-bench (default: second; both for MT-bench's questions).",
    ),
]


@app.command()
def sizes(data: Data, fields: FieldNames = None, output_format: options.Rows = "table") -> None:
    """Count the dialogues of each category and type of second turn.

    Example: `pfgen-rs judge dialogues sizes dialogues.jsonl`
    """
    from pfgen_rs.judge.dialogues.report import tables_of

    [table] = tables_of([data], ["2"], fields=fields).tables
    if output_format == "table":
        _show(table, with_title=False)
    elif output_format == "json":
        process.emit_json(table.frame.to_dicts())
    else:
        process.emit_csv(table.frame.to_dicts())


@app.command()
def light(
    data: Data,
    version: Annotated[
        Literal["lite", "easy", "hard"],
        typer.Argument(metavar="VERSION", help="One of lite, easy and hard.", show_default=False),
    ],
    out: Annotated[Path, options.out_option("FILE", "File to write (JSON lines).")],
    per_category: PerCategory = 60,
    seed: judge_options.Seed = 0,
    fields: FieldNames = None,
) -> None:
    """Select a light version: as many dialogues of each category, half of each type of second turn.

    `lite` is a random choice. `easy` and `hard` take the dialogues whose second answers by models got the
    highest or lowest mean score from people. Dialogues without such scores are left out. The records are
    written as they are.

    Example: `pfgen-rs judge dialogues light dialogues.jsonl hard --out hard.jsonl`
    """
    from pfgen_rs.io import atomic, run_files
    from pfgen_rs.judge.dialogues import light_version, read_dialogues

    run_files.refuse_overwriting(out, [str(data)])
    dialogues = read_dialogues(data, fields)
    chosen = light_version(dialogues, version, per_category=per_category, seed=seed)
    if chosen.unscored:
        process.warn(f"left out {counted(chosen.unscored, 'dialogue')} without human scores")
    atomic.write_atomic(out, b"".join(each.source + b"\n" for each in chosen.dialogues))
    process.emit(f"wrote {counted(len(chosen.dialogues), 'dialogue')} to {out}\n")


@app.command()
def tables(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA…",
            help="Dialogue records, or ratings: FastChat's judgments (JSON lines), CSV with a column per "
            "judge, folders of `judge dialogues grade`.",
            show_default=False,
        ),
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            "-t",
            metavar="NAME",
            help="Table to make: 1, 2, 3, 4, 5, 12, 13 or length-bias of dialogue records; 6, means or "
            "judges of ratings; repeatable (default: all that the data allows).",
        ),
    ] = None,
    per_category: PerCategory = 60,
    seed: judge_options.Seed = 0,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="MT-bench's questions, for the categories of ratings."),
    ] = None,
    fields: FieldNames = None,
    out: Annotated[
        Path | None,
        options.out_option("DIR", "Folder for each table as Parquet, CSV, Markdown and figure."),
    ] = None,
    language: Language = "en",
    output_format: options.Format = "table",
) -> None:
    """Make the tables of the paper on Japanese MT-bench++, and compare judges.

    - `1`, `3`, `4`: mean scores by people and by the judge, in light versions, of first and of second answers

    - `2`: number of dialogues; `12`, `13`: mean lengths

    - `5`: correlation of people and judge; `length-bias`: how much more the judge likes long answers

    - `6`, `means`: ratings of models by version, turn and category; `judges`: how judges agree

    For example:

    - `pfgen-rs judge dialogues tables dialogues.jsonl --out tables`

    - `pfgen-rs judge dialogues tables gpt-4_single.jsonl --questions question.jsonl`
    """
    from pfgen_rs.drawing.style import available
    from pfgen_rs.judge.dialogues import layout, report

    made = report.tables_of(
        data, table, per_category=per_category, seed=seed, fields=fields, questions=questions
    )
    judge_options.warn_all(made.notes)
    if output_format == "json":
        process.emit_json({table.name: table.frame.to_dicts() for table in made.tables})
    else:
        for each in made.tables:
            _show(each)
            for note in each.notes:
                if note not in made.notes:  # which are warnings already
                    process.emit(f"{note}\n")
    if out is not None:
        plot = "svg" if available() else None
        written = layout.write_tables(out, made.tables, plot=plot, language=language)
        process.remark(f"wrote {counted(len(written), 'file')} to {out}")


@app.command()
@options.with_options(judge_options.RetryOptions, "asking", without=("logprobs", "prompts"))
def answer(
    data: Answered,
    out: Annotated[
        Path,
        options.out_option("DIR", "Folder of answers.", show_default=False),
    ],
    asking: judge_options.RetryOptions,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model in tables (default: MODEL)."),
    ] = None,
    turns: Turns = None,
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="System message (default: none).")
    ] = None,
    fields: FieldNames = None,
) -> None:
    """Let a model answer dialogues, as a chat of two turns.

    MODEL is the model that answers. If interrupted, the same command continues, and several processes can run
    it at the same time. The folder then has the answers in FastChat's format (model_answer.jsonl).

    Example: `pfgen-rs judge dialogues answer lite.jsonl --engine openai --model gpt-4o --out answers/gpt-4o`
    """
    from pfgen_rs.judge.dialogues import answering
    from pfgen_rs.judge.requests import Prompt

    items, _ = answering.read_items(data, fields, turns)
    model = asking.retrying(asking.judge(Prompt("answer", "grade", ""), brief=False), out)
    chats = answering.chats_in(out, model, name, system)
    with engine_options.resumable_asking(out, "answered"):
        requests, call = chats.known_requests(items), partial(chats.answer, items)
        asked = asking.ask(model, "answering", chats.journal(), requests, call)
    if asked is not None:
        judge_options.tell_asked(out, asked, "answer")
        blank, cut = answering.poor_answers(out)
        if blank or cut:
            process.warn(
                f"{counted(blank, 'blank answer')}, {cut:,} cut off by the limit on tokens"
            )
        if asked.complete:
            process.emit(f"wrote {out / answering.EXPORT}\n")
    engine_options.finish_asking(asked)


@app.command()
@judge_options.retrying_options
def grade(
    data: Answered,
    out: Annotated[
        Path,
        options.out_option("DIR", "Folder of ratings.", show_default=False),
    ],
    asking: judge_options.RetryOptions,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers",
            metavar="PATH",
            help="Answers of a model: a folder of `answer`, or a file in FastChat's format; repeatable "
            "(default: the second answers in the records, by author).",
        ),
    ] = None,
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Prompt: mtbench++-10 or mtbench++-5 (Uematsu et al.: a number for the last answer), or one "
            "of --prompts, such as single-v1 of FastChat's judge_prompts.jsonl (every answer).",
        ),
    ] = "mtbench++-10",
    turns: Turns = None,
    references: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Reference answers in FastChat's format, for the questions that they are about.",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of these dialogues in table 6 (default: DATA's name)."
        ),
    ] = None,
    fields: FieldNames = None,
) -> None:
    """Let a judge rate models' answers in dialogues, and print mean ratings by category (table 6).

    MODEL is the judge. Several versions and models may share a folder; nothing is asked twice. The folder
    then has all ratings in FastChat's format (judgments.jsonl).

    For example:

    - `pfgen-rs judge dialogues grade lite.jsonl --answers answers/a --engine openai --model gpt-4o --out g`

    - `pfgen-rs judge dialogues grade question.jsonl --answers model_answer/a.jsonl --references gpt-4.jsonl
    --prompts judge_prompts.jsonl --prompt single-v1 --engine openai --model gpt-4o --out g`
    """
    from pfgen_rs.judge.dialogues import answering, fastchat_files, grading, report

    items, dialogues = answering.read_items(data, fields, turns)
    if references is not None:
        items = answering.with_references(items, fastchat_files.read_answers(references)[0].answers)
    graded = [one for path in answers or () for one in answering.read_model_answers(path, items)]
    graded = graded or answering.record_answers(dialogues)
    if not graded:
        raise typer.BadParameter("DATA contains no answers to grade", param_hint="--answers")
    prompts = grading.find_grading_prompts(prompt, asking.prompts)
    judge_options.warn_all(prompts.notes(items))
    first = replace(prompts.prompts[prompts.name], max_tokens=prompts.max_tokens)
    judge = asking.retrying(asking.judge(first, brief=prompts.brief), out)
    requests = list(grading.grade_requests(items, graded, prompts))
    with engine_options.resumable_asking(out, "rated"):
        asked = asking.ask(
            judge,
            "rating",
            grading.grade_journal(out),
            requests,
            partial(
                grading.grade_answers,
                version or data.name.partition(".")[0],
                items,
                graded,
                judge=judge,
                prompts=prompts,
                out=out,
            ),
        )
    if asked is not None:
        judge_options.tell_asked(out, asked, "rating")
        if asked.stored:
            table = report.model_table(grading.model_scores(out))
            _show(table)
            judge_options.warn_all(table.notes)
            if stale := grading.stale_grades(out):
                process.warn(f"{counted(stale, 'rating')} of earlier answers: kept, but not used")
    engine_options.finish_asking(asked)


def _show(table: "Table", *, with_title: bool = True) -> None:
    """Print a table."""
    grid, title = table.grid, table.title if with_title else None
    numbers = grid.headings[grid.labels :]
    terminal.show(terminal.new_table(*grid.headings, numbers=numbers, title=title, rows=grid.rows))
