"""Converts scored runs to rows of tables, writes them, and says what is odd about their answers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pfgen_rs.errors import IncompleteRunError, InputError
from pfgen_rs.io.cleaning import REASONING, described
from pfgen_rs.io.remote.urls import is_url, url_text
from pfgen_rs.io.run_files import RESULT, STANDARD_INPUT, result_names
from pfgen_rs.io.text import counted, plural, shortened, visible
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.left_out import count_answers, own_models
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.result import Result

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import Storage
    from pfgen_rs.runs.responses import FileResponses


def per_response(results: Sequence[Result]) -> pl.DataFrame:
    """Returns one row per response of every run: `file`, the columns of `Result.frame`, `signature`.

    Bytes of a file's name that are not UTF-8, which a column cannot contain, are escaped.
    """
    return pl.concat(with_place(result.frame, result.path, result.signature) for result in results)


def with_place(frame: pl.DataFrame, path: str | None, signature: str) -> pl.DataFrame:
    """Add the columns `file`, in front, and `signature`, at the end, to a run's rows."""
    file, signed = (
        pl.Series(name, [value], dtype=pl.String).new_from_index(0, len(frame))
        for name, value in (("file", _path_text(path)), ("signature", signature))
    )
    return pl.DataFrame([file, *frame.get_columns(), signed])


def signed_frames(runs: Sequence[Result]) -> Iterator[pl.DataFrame]:
    """Yield the rows of all runs of a file in the file's order, chunk by chunk, with their signatures."""
    texts = cast("FileResponses", runs[0].responses)
    for parts in texts.frames_of_runs([result.response_scores for result in runs]):
        signed = [
            with_place(part, result.path, result.signature)
            for part, result in zip(parts, runs, strict=True)
            if len(part)
        ]
        if signed:
            yield signed[0] if len(signed) == 1 else pl.concat(signed).sort("line")


def _path_text(path: str | None) -> str | None:
    return None if path is None else os.fsencode(path).decode(errors="backslashreplace")


def write_results(
    results: Sequence[Result],
    folder: str | os.PathLike[str],
    *,
    allow_partial: bool = False,
    storage_options: Mapping[str, Any] | Storage | None = None,
) -> list[str | Path]:
    """Write `folder/result.json` for one run, `folder/NAME/result.json` for several.

    `folder` may be a URL of object storage, opened with `storage_options`. NAME is determined by
    `result_names`. Raises `IncompleteRunError`, before anything is written, if a run lacks answers (unless
    `allow_partial`), or `OutputError`.
    """
    refuse_incomplete(results, allow_partial=allow_partial)
    names = result_names([(result.path or STANDARD_INPUT, result.run) for result in results])
    targets = [result_place(folder, name) for name in names]
    for result, target in zip(results, targets, strict=True):
        result.to_json(target, allow_partial=allow_partial, storage_options=storage_options)
    return targets


def result_place(folder: str | os.PathLike[str], name: str = "") -> str | Path:
    """Returns the path or URL of a run's `result.json` in a folder."""
    if not is_url(folder):
        return Path(folder, name, RESULT)
    return "/".join(filter(None, [url_text(folder).rstrip("/"), name, RESULT]))


def refuse_incomplete(results: Iterable[Result], *, allow_partial: bool) -> None:
    """Raise `IncompleteRunError` if a run lacks answers, unless `allow_partial`."""
    for result in results:
        if result.is_partial and not allow_partial:
            raise IncompleteRunError(
                f"{result._place}: {result._missing_note}, but a published result needs all; nothing was "
                "written. Score the whole run, or "
                "allow a partial result explicitly (--allow-partial)"
            )


# What is to be said about the answers of runs.


_MANY = 10  # answers, of which half are not far from the references by chance


def unclean_note(result: Result, option: str) -> str | None:
    """Returns a warning about answers that pfgen-bench would have cleaned, if there are any.

    `option`: the option that cleans them.
    """
    unclean = result.unclean - Counter({REASONING: result.height})
    if not unclean:
        return None
    found = f"{result._place}: {described(unclean, result.height)}"
    if result.clean is not None:
        return f"{found}: removed before scoring, as in mode {result.clean}"
    return (
        f"{found}: scored unchanged; {option} removes this, as pfgen-bench does during generation"
    )


def reasoning_note(result: Result, option: str) -> str | None:
    """Returns a warning about reasoning that is scored as part of answers; `option` leaves it out."""
    if not (count := result.unclean[REASONING]):
        return None
    found = described(Counter({REASONING: count}), result.height)
    return f"{result._place}: {found}: reasoning is scored as part of the answer; {option} leaves it out"


def rules_note(result: Result) -> str | None:
    """Returns a remark if Helpfulness is not part of the score."""
    if result.benchmark.settings.helpfulness:
        return None
    return (
        "no question of this set has keyword rules, so the score is the mean of Fluency and Truthfulness "
        "(helpfulness:none in the signature)"
    )


def worthless_note(result: Result) -> str | None:
    """Returns a warning if answers are empty, or half of them in another language than the references."""
    empty, foreign = result.empty, result.foreign
    found = [f"{empty:,} {plural(empty, 'is', 'are')} empty"] if empty else []
    if result.height >= _MANY and foreign and 2 * (empty + foreign) >= result.height:
        found.append(
            f"{foreign:,} {plural(foreign, 'has', 'have')} next to nothing in common with the reference "
            "answers (is that the language of the questions?)"
        )
    if not found:
        return None
    answers = counted(result.height, "answer")
    return f"{result._place}: of {answers}, {' and '.join(found)}: they score about 0"


def overlap_note(result: Result, advice: str) -> str | None:
    """Returns a warning if the run's model wrote reference answers; `advice`: what leaves them out."""
    benchmark, model = result.benchmark, result._own_model
    if not model or benchmark.left_out is not None or not benchmark.models:
        return None
    written = count_answers(benchmark, own_models(benchmark.models, model))
    if not written:
        return None
    share = f"{written:,} of {_references(benchmark):,} reference answers of this set"
    lifted = f"which may lift its score: {advice} leaves them out"
    return f"{result._place}: {visible(model)} wrote {share}, {lifted}"


def left_out_note(result: Result) -> str | None:
    """Returns what was left out of the set, if that was asked for."""
    left_out = result.benchmark.left_out
    if left_out is None:
        return None
    if not left_out.answers:
        model = visible(result._own_model or "")
        return f"{result._place}: no reference answers are by {model}: none are left out"
    every = left_out.answers + _references(result.benchmark)
    names = visible(shortened(", ".join(left_out.models), 120))
    return f"{result._place}: scored without {left_out.answers:,} of {every:,} reference answers, by {names}"


def _references(benchmark: QuestionSet) -> int:
    return sum(len(answers) for question in benchmark for answers in question.answers.values())


def answer_of(results: Sequence[Result], question: Question, trial: int) -> Answer:
    """Returns the answer of a run to a question in a trial, from 1. Raises `InputError` if there is none."""
    [result] = results
    columns = result.response_scores.of_question(question.id, ["line", "start"])
    count = len(columns["line"])
    if trial > count:
        found = counted(count, "answer")
        raise InputError(
            f"no answer {trial}: the run has {found} to {question.id}", path=result.path
        )
    place = int(columns["line"][trial - 1]), int(columns["start"][trial - 1])
    [(answer, _)] = result.responses.records([place])
    return answer
