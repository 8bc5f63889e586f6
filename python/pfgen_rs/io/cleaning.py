"""Turns generated text into answers, as pfgen-bench does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from pfgen_rs import _native
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import NDArray, np, pl

Mode = Literal["completion", "qa", "chat"]
"""How a model is asked: to continue a text, in a dialogue, or with the question alone."""
MODES: tuple[Mode, ...] = get_args(Mode)
"""Prompting modes."""
Clean = bool | Mode
"""Whether to clean answers, or the mode in which they were generated."""

Think = Literal["keep", "strip"]
THINK: tuple[Think, ...] = get_args(Think)

_OPEN, _CLOSE = "<think>", "</think>"


def default_stop(mode: Mode) -> tuple[str, ...]:
    """Returns the stop strings: the next question and, in mode `completion`, a blank line."""
    return ("Q:", "\n\n") if mode == "completion" else ("Q:",)


def cleaning_mode(clean: Clean, config: Mapping[str, Any] | None = None) -> Mode | None:
    """Returns the mode for which to clean answers, or `None` not to clean them.

    `True` means the mode in the run's `config.json`, or else `completion`. Raises `SettingsError` for an
    unknown mode.
    """
    if clean is False:
        return None
    if clean is True:
        return stated_mode(config) or "completion"
    if clean not in MODES:
        raise SettingsError(f"unknown mode {clean!r}: expected one of {', '.join(MODES)}")
    return clean


def stated_mode(config: Mapping[str, Any] | None) -> Mode | None:
    """Returns the mode in a run's `config.json`, if it has a known one."""
    return next((mode for mode in MODES if mode == (config or {}).get("mode")), None)


def cleaned(text: str, mode: Mode, stop: tuple[str, ...] = (), *, think: Think = "keep") -> str:
    """Returns the answer in an engine's output; empty if there is none and the question must be asked again.

    `think="strip"` first removes reasoning (`<think>…</think>`, even if it is cut short or was opened by the
    prompt) and the white space after it. Then the text is cut before the first stop string; in modes `chat`
    and `qa`, everything up to the first `A:` is removed; and surrounding white space is stripped. Lone
    surrogates become U+FFFD. Takes time linear in the text.
    """
    if think not in THINK:
        raise SettingsError(f"think must be one of {', '.join(THINK)}, not {think!r}")
    text = unicode_text(text)
    if think == "strip":
        text = _cleaned_of_thoughts(text)
    places = [place for end in stop if (place := text.find(end)) >= 0]
    text = text[: min(places, default=len(text))]
    if mode != "completion":
        before, named, after = text.partition("A:")
        text = after if named else before
    return text.strip()


def without_thoughts(text: str) -> str:
    """Returns a text without reasoning (as `cleaned` removes it); one without any stays as it is."""
    return _cleaned_of_thoughts(text) if _OPEN in text or _CLOSE in text else text


def unicode_text(text: str) -> str:
    """Returns a text in which lone surrogates are replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _cleaned_of_thoughts(text: str) -> str:
    before, closed, after = text.partition(_CLOSE)
    if closed and _OPEN not in before:  # opened by the prompt or its template
        text = after
    # Blank lines after the reasoning would otherwise end the answer before it begins.
    return "".join(_clean_chat_answer(text)).lstrip()


def _clean_chat_answer(text: str) -> Iterator[str]:
    place = 0
    while (begin := text.find(_OPEN, place)) >= 0:
        yield text[place:begin]
        end = text.find(_CLOSE, begin)
        if end < 0:
            return
        place = end + len(_CLOSE)
    yield text[place:]


# What is not clean about answers, counted by reason and said in words.


_START, _END = "begin with white space", "end with white space"
REASONING = f"contain {_OPEN}"
"""What is counted of answers with reasoning, which cleaning leaves as it is."""
_CONTAIN = {
    "Q:": "contain 'Q:'",
    "A:": "contain 'A:'",
    "\n\n": "contain a blank line",
    _OPEN: REASONING,
}


def unclean_marks(mode: Mode | None) -> Sequence[str]:
    """Returns the strings that a clean answer in this mode never contains."""
    if mode is None:
        return ("Q:",)
    return default_stop(mode) if mode == "completion" else (*default_stop(mode), "A:")


def reasons(answers: Iterable[str], marks: Sequence[str]) -> Counter[str]:
    """Count answers by what is not clean about them."""
    counts: Counter[str] = Counter()
    for text in answers:
        if text[:1].isspace():
            counts[_START] += 1
        if text[-1:].isspace():
            counts[_END] += 1
        counts.update(_CONTAIN[mark] for mark in marks if mark in text)
    return counts


def described(counts: Counter[str], height: int) -> str:
    """Describe in words what `count_unclean` counted in `height` answers."""
    (first, most), *others = counts.most_common()
    return ", ".join(
        [
            f"{most:,} of {counted(height, 'answer')} {_agreeing(first, most)}",
            *(f"{number:,} {_agreeing(why, number)}" for why, number in others),
        ]
    )


def _agreeing(reason: str, number: int) -> str:
    """Returns a reason with its verb as so many answers have it."""
    verb, _, rest = reason.partition(" ")
    return f"{verb}s {rest}" if number == 1 else reason


# Counts answers that pfgen-bench would have cleaned before storing them, and cleans them on request.


def count_unclean(answers: _native.Texts, mode: Mode | None) -> Counter[str]:
    """Count the answers that `clean_column` would change, by reason, and those with reasoning.

    Without a mode, counts what every mode removes: surrounding white space and a following question.
    """
    marks = (*unclean_marks(mode), _OPEN)
    rows = _native.unclean_rows(answers, marks)
    return reasons((answers[row] for row in rows), marks)


def clean_column(answers: pl.Series, mode: Mode) -> pl.Series:
    """Returns the answers, cleaned as pfgen-bench cleans generated texts in this mode."""
    if answers.dtype != pl.String:
        raise SettingsError(f"cannot clean {answers.dtype}: only text answers can be cleaned")
    rows = _unclean_suspects(answers, unclean_marks(mode))
    if not rows:
        return answers
    stop = default_stop(mode)
    return _replaced(answers, rows, lambda text: cleaned(text, mode, stop))


def thoughtful_rows(answers: _native.Texts) -> list[int]:
    """Returns the rows of answers with reasoning in them (`<think>…</think>`)."""
    rows = _native.unclean_rows(answers, (_OPEN, _CLOSE))
    return [row for row in rows if _OPEN in (text := answers[row]) or _CLOSE in text]


def column_without_thoughts(answers: pl.Series, rows: list[int]) -> pl.Series:
    """Returns the answers with those in `rows` as `without_thoughts` leaves them."""
    return _replaced(answers, rows, without_thoughts)


def _replaced(answers: pl.Series, rows: list[int], change: Callable[[str], str]) -> pl.Series:
    changed = pl.Series([change(text) for text in answers.gather(rows)], dtype=pl.String)
    places: NDArray[np.intp] = np.arange(len(answers))
    places[rows] = len(answers) + np.arange(len(rows))
    return pl.concat([answers, changed.alias(answers.name)]).gather(places)


def _unclean_suspects(answers: pl.Series, marks: Sequence[str]) -> list[int]:
    """Returns quickly which answers may need cleaning; more than those that do."""
    texts = answers.fill_null("") if answers.null_count() else answers
    return _native.unclean_rows(_native.Texts(texts, 1), marks)
