"""`pfgen-rs judge pairs`, `criteria`, `compare` and `grade`: what a judge is asked, and asking it."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import engine_options, judge_options, options, process, terminal
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import pl

if TYPE_CHECKING:
    from pfgen_rs.ask.loop import Asked
    from pfgen_rs.judge import VerdictFolder, grading

Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN…", help="Files or folders of runs.", show_default=False),
]


@options.reading_options
def pairs(
    runs: Runs,
    reading: options.ReadingOptions,
    out: Annotated[Path, options.out_option("FILE", "File to write (JSON lines).")],
    benchmark: options.BenchmarkName = None,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Pair up to N answers to each question.")
    ] = 1,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of pairs for every two runs, spread evenly over the questions (default: all).",
        ),
    ] = None,
    seed: judge_options.Seed = 0,
) -> None:
    """Make pairs of answers to the same question, for every two runs.

    The n-th answer of one run meets the n-th of the other. Which of two models comes first alternates. The
    benchmark's example answers become reference answers.

    Example: `pfgen-rs judge pairs runs/a runs/b -b pfgen-bench --out pairs.jsonl`
    """
    from pfgen_rs.io.run_files import named_results
    from pfgen_rs.judge.pairs import pairs_of_runs, references_of, write_pairs

    results = named_results(reading.score(runs, options.load(benchmark, None)))
    found = pairs_of_runs(
        {name: result.frame for name, result in results.items()},
        references=references_of(benchmark),
        trials=trials,
        sample=limit,
        seed=seed,
    )
    write_pairs(out, found)
    questions = counted(len({pair.question_id for pair in found}), "question")
    process.emit(f"wrote {counted(len(found), 'pair')} of {questions} to {out}\n")


@judge_options.asking_options
def criteria(
    pairs: judge_options.Pairs,
    asking: judge_options.AskOptions,
    prompt: judge_options.PromptName = "criteria",
) -> None:
    """Let a judge write the criteria by which answers to each question are compared.

    There is one request per question, shared by all its pairs. The criteria go to PAIRS.criteria.jsonl, where
    `compare` finds them. Existing ones are not made again.

    Example: `pfgen-rs judge criteria pairs.jsonl --engine openai --model gpt-4o`
    """
    from pfgen_rs.judge import compare as library, read_pairs

    path = library.criteria_file(pairs)
    found = read_pairs(pairs)
    chosen = asking.prompt(prompt, "criteria")
    judge = asking.judge(chosen, brief=False)
    asked = asking.ask(
        judge,
        "criteria",
        library.open_criteria(path),
        list(library.criteria_requests(found, chosen)),
        partial(library.make_criteria, found, judge=judge, prompt=chosen, out=path),
    )
    if asked is not None:
        process.emit(
            f"{path}: criteria of {asked.stored} of {asked.total} questions, {asked.new} new\n"
        )
    engine_options.finish_asking(asked)


@judge_options.retrying_options
def compare(
    pairs: judge_options.Pairs,
    out: Annotated[Path, options.out_option("DIR", "Folder of verdicts.")],
    asking: judge_options.RetryOptions,
    prompt: judge_options.PromptName = "reason",
    samples: judge_options.Samples = 1,
    stop_at: Annotated[
        float | None,
        typer.Option(
            metavar="ERROR",
            help="With several samples: ask about a pair no more once its other samples would change its "
            "decision with at most this probability, such as 0.05.",
        ),
    ] = None,
) -> None:
    """Let a judge say which answer of each pair is better, in both orders.

    Nothing is asked twice: if interrupted, the same command continues, and several processes may share the
    work. Judgments are appended to judgments.jsonl in DIR as they arrive. The exit code is 1 if some are
    missing at the end.

    With --samples, probabilities are estimated from the letters of several answers, for judges whose servers
    report no log probabilities; `judge plan` tells from a few pairs how many are enough.

    Prompts: criteria-reason, criteria-result, reason, result (Morita et al.); pair, pair-math (Japanese
    Vicuna QA).

    Example: `pfgen-rs judge compare pairs.jsonl --engine openai --model gpt-4o --out verdicts`
    """
    from pfgen_rs.judge import compare as library, read_pairs, verdict_folder
    from pfgen_rs.judge.requests import check_samples, comparison_requests

    chosen = asking.prompt(prompt, "pairwise")
    brief = chosen.verdict == "first"
    judge = asking.retrying(asking.judge(chosen, brief=brief, samples=samples), out)
    check_samples(judge, samples, stop_at)
    found, beside = read_pairs(pairs), library.criteria_file(pairs)
    if beside.exists():
        found, notes = library.pairs_with_criteria(found, beside)
        judge_options.warn_all(notes)
    requests = list(comparison_requests(found, chosen, samples))
    ask = partial(library.compare, samples=samples, stop_at=stop_at)
    call = partial(ask, found, judge=judge, prompt=chosen, out=out)
    with engine_options.resumable_asking(out, "judged"):
        asked = asking.ask(judge, "judging", verdict_folder.judgment_journal(out), requests, call)
    if asked is not None:
        _tell_judged(verdict_folder.VerdictFolder(out), asked)
    if stop_at is not None and (asked is None or asked.complete):
        needed = "" if asked is None else f"{asked.total:,} of "
        process.remark(
            f"--stop-at {stop_at:g}: {needed}at most {counted(len(requests), 'judgment')}"
        )
    engine_options.finish_asking(asked)


def _tell_judged(folder: "VerdictFolder", asked: "Asked") -> None:
    keys = ("pair", "order", "sample")
    last = {tuple(map(each.get, keys)): each for each in folder.present_judgments()}
    problems = Counter(each["problem"] for each in last.values() if each.get("problem"))
    judge_options.tell_asked(folder.path, asked, "judgment")
    for problem, count in problems.most_common():
        process.warn(f"{counted(count, 'judgment')} invalid: {problem}")
    judge_options.warn_of_doubts(folder)
    judge_options.warn_all(folder.read()[1].notes())


@options.reading_options
@judge_options.retrying_options
def grade(
    runs: Runs,
    asking: judge_options.RetryOptions,
    reading: options.ReadingOptions,
    out: Annotated[Path, options.out_option("DIR", "Folder of ratings.", show_default=True)] = Path(
        "ratings"
    ),
    prompt: judge_options.PromptName = "single-reference",
    benchmark: options.BenchmarkName = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rate the first N answers to each question (default: all)."
        ),
    ] = None,
    rubric: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the text that {rubric} stands for in the prompt."
        ),
    ] = None,
    samples: judge_options.Samples = 1,
) -> None:
    """Let a judge rate every answer of runs, and correlate the means with the runs' scores.

    The benchmark's example answers are the reference answers. Nothing is asked twice. The prompt is that of
    Imajo 2025 unless another one is chosen.

    Example: `pfgen-rs judge grade runs/a runs/b -b pfgen-bench --engine openai --model gpt-4o --out ratings`
    """
    from pfgen_rs.io.run_files import named_results
    from pfgen_rs.judge import grading, pairs

    results = named_results(reading.score(runs, options.load(benchmark, None)))
    references = pairs.references_of(benchmark)
    text = None if rubric is None else grading.read_rubric(rubric)
    items = [
        item
        for name, result in results.items()
        for item in grading.answers_of_run(result.frame, name, references, trials, text)
    ]
    chosen = asking.prompt(prompt, "grade")
    brief = not (chosen.brackets or chosen.result)
    judge = asking.retrying(asking.judge(chosen, brief=brief, samples=samples), out)
    requests = list(grading.grading_requests(items, chosen, samples))
    call = partial(grading.grade, items, judge=judge, prompt=chosen, out=out, samples=samples)
    with engine_options.resumable_asking(out, "rated"):
        asked = asking.ask(judge, "rating", grading.open_ratings(out), requests, call)
    if asked is not None:
        judge_options.tell_asked(out, asked, "rating")
        most = trials or max(result.frame.height for result in results.values())
        found = grading.rated_runs(out, results, benchmark, most)
        _show_ratings(found.means, {name: result.score for name, result in results.items()})
        judge_options.warn_all(found.ratings.notes())
        _show_correlation(found.correlation)
    engine_options.finish_asking(asked)


def _show_ratings(means: "pl.DataFrame", scores: dict[str, float]) -> None:
    rows = (
        (
            *(row["model"], judge_options.number(scores.get(row["model"]), 4)),
            *(judge_options.number(row["mean"], 3), judge_options.number(row["se"], 3)),
            *(row["ratings"], row["invalid"]),
        )
        for row in means.iter_rows(named=True)
    )
    names = ("model", "score", "rating", "±", "ratings", "invalid")
    terminal.show(judge_options.rows_table(names, rows))


def _show_correlation(found: "grading.RunCorrelation") -> None:
    """Print the correlation of ratings with scores over runs."""
    runs = counted(len(found.runs), "run")
    for name, value, interval in (
        ("Pearson's r", found.pearson, found.pearson_interval),
        ("Spearman's ρ", found.spearman, found.spearman_interval),
    ):
        said = f"undefined for {runs}"
        if value is not None:
            said = (
                f"{value:.4f} (95 % interval {judge_options.range_text(*interval, 1, 4)}), {runs}"
            )
        process.emit(f"{name} of ratings and scores: {said}\n")
