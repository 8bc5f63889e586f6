"""How well answers agree with the others of their list, and keeping those that agree most.

Each answer is scored against the others without an index for each: if an n-gram of it has the document
frequency `df` among `N` answers, it has `df - 1` among the other `N - 1`. N-grams shared between texts are
found by sorting, one length at a time.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pfgen_rs import ConfigError, Settings, _native
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import read_ahead
from pfgen_rs.io.source import Source
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.references.lengths import check_share, kept_number
from pfgen_rs.references.ranking import closeness
from pfgen_rs.references.steps import Context, Mask, State, Step, StepReport, by_source

FEW = 100
"""Answers that the step leaves of fewer than are wanted."""


class Agreement(NamedTuple):
    """Which rows are kept (bool, one per row), and the least agreement among them (`None` if unknown)."""

    kept: NDArray[np.bool_]
    least: float | None


def consensus(
    answers: pl.Series,
    *,
    share: float = 0.5,
    at_least: int = 0,
    seed: int = 0,
    settings: Settings | None = None,
    close: Floats | None = None,
    anchor: float = 0.5,
    threads: int | None = None,
) -> Agreement:
    """Keep the `share` of the answers (rounded up, at least `at_least`) that agree most with the others.

    Agreement is Truthfulness against all other answers, with the published settings if there are none: the
    mean, over an answer's characters, of how common their surroundings of 3 characters are; full where at
    least 0.5 % of the other answers have them. Answers with details that hardly any other has come last.
    With `close` (float64, shape (answers,)), how close answers are to what is trusted, answers are ordered by
    the mean of their ranks by agreement and by closeness, which weighs `anchor`.
    Ties are broken by the smallest digest (XXH3 of the text, seeded with `seed`; equal texts by row), so
    which texts are kept depends neither on the order of the answers nor on `threads`.

    Needs about 20 kB per answer. O(c log c) for c characters. Raises `SettingsError`.
    """
    check_share(share)
    number, _ = kept_number(len(answers), len(answers), share, None, at_least)
    agreement = truthfulness_without_itself(answers.to_list(), settings or Settings())
    digests = _native.text_digests(_native.Texts(answers, threads), seed, threads)
    order = agreement
    if close is not None:
        order = (1 - anchor) * _ranks(agreement) + anchor * _ranks(close)
    best = np.lexsort((digests[:, 1], digests[:, 0], -order))[:number]
    kept = np.zeros(len(answers), dtype=np.bool_)
    kept[best] = True
    known = len(answers) > 1
    return Agreement(kept, float(agreement[best].min()) if known else None)


def _ranks(values: Floats) -> Floats:
    """Returns ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place.reshape(-1)]
    return ranks


@dataclass(frozen=True)
class Consensus(Step):
    """Keep the `share` (rounded up) of each source's answers that agree most with the others of the source.

    Agreement is Truthfulness, scored against all other answers: how common each character's surroundings
    are. Where the question has a note or answers in the file `trusted`, which replace it, the order is that
    of the mean of two ranks: by agreement, and by the mean of Fluency and Truthfulness that the trusted
    answers give, which weighs `anchor`.

    Never fewer than `select.count` are left. If there are fewer to begin with, the share is kept, but at
    least 100 answers (or all).
    """

    breaks_ties: ClassVar[bool] = True
    no: ClassVar[str] = "there are no more answers than select.count; add candidates"
    nearly: ClassVar[str] = "consensus.share is small"

    share: float = 0.65
    anchor: float = 0.5
    trusted: str = ""

    def __post_init__(self) -> None:
        check_share(self.share)
        if not 0 <= self.anchor <= 1:
            raise ConfigError(f"anchor must be from 0 to 1, not {self.anchor}")

    def prepared(self, path: Callable[[str], Path]) -> dict[str, list[str]]:
        """Returns the trusted answers by the text or id of their question."""
        return read_trusted(path(self.trusted)) if self.trusted else {}

    def key(self, context: Context) -> Any:
        """What is trusted, wherever it comes from."""
        return [super().key(context), self._trusted(context)]

    def _trusted(self, context: Context) -> list[str]:
        """Returns the trusted answers to the question, or its note; tokens are compared with nothing."""
        if context.unit == "token" or not self.anchor:
            return []
        names = (context.question_id, context.question)
        given = [each for name in names for each in (context.prepared or {}).get(name, ())]
        return [each for each in given or [context.note] if each.strip()]

    def needs(self, after: int) -> int:
        """Returns that number divided by the share."""
        return math.ceil(after / Fraction(repr(self.share)))

    def run(self, state: State, context: Context) -> tuple[State, StepReport]:
        """Drop the answers that agree less."""
        trusted = self._trusted(context)

        def keep(part: State) -> tuple[Mask, dict[str, Any]]:
            enough = part.height >= context.needed
            kept, least = consensus(
                context.column(part),
                share=self.share,
                at_least=context.needed if enough else FEW,
                close=self._closeness(trusted, part, context),
                anchor=self.anchor,
                seed=context.seed,
                settings=replace(Settings.for_length(context.target), skipped=context.skipped),
                threads=context.threads,
            )
            return kept, {"answers": int(np.count_nonzero(kept)), "least": least}

        kept, details = by_source(state, keep)
        reason = "less agreement with the others of its source than the kept answers"
        more: dict[str, Any] = {"trusted": len(trusted)}
        if not trusted and self.anchor and context.unit != "token":
            more["remark"] = ["consensus finds no trusted answer", _ADVICE]
        return context.narrowed(self.name, state, kept, reason, sources=details, **more)

    def _closeness(self, trusted: list[str], part: State, context: Context) -> Floats | None:
        if not trusted:
            return None
        columns = [closeness({"X": trusted}, each, context) for each in part.batches("answer")()]
        return np.concatenate(columns)


_ADVICE = (
    "give the question a note, an answer that is right, or name a file of such (consensus.trusted)"
)


def read_trusted(path: Path) -> dict[str, list[str]]:
    """Read trusted answers: `question` (a text or id) and `answer`, in any format of candidates.

    Raises `InputError`, naming the file and the line.
    """
    found: dict[str, list[str]] = {}
    with read_ahead([Source(str(path))], Options(think="keep")) as readings:
        for chunk in (chunk for reading in readings for chunk in reading):
            for question, answer in zip(chunk.questions, chunk.answers, strict=True):
                found.setdefault(question, []).append(answer)
    return found


# Scores of each answer against the others.

Integers = NDArray[np.int64]


class Characters(NamedTuple):
    """All characters of texts, one text after another; int64, shape (characters,).

    `codes`: code points; `text`: the index of the text; `offset`: the position in it (from 0); `lengths`:
    shape (texts,).
    """

    codes: Integers
    text: Integers
    offset: Integers
    lengths: Integers


class Shared(NamedTuple):
    """Occurrences of the n-grams of one length that are also found in another text.

    `start`: the index of the first character in `Characters`; `others`: the number of other texts that
    contain the n-gram; `first`: whether this is its first occurrence within the text.
    """

    n: int
    start: Integers
    others: Integers
    first: NDArray[np.bool_]


def characters(texts: Sequence[str]) -> Characters:
    """Split texts into characters."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    text = np.repeat(np.arange(len(texts)), lengths)
    return Characters(codes, text, np.arange(len(codes)) - begins[text], lengths)


def shared_ngrams(chars: Characters, longest: int) -> Iterator[Shared]:
    """Yield the shared n-grams of 1, 2, … `longest` characters.

    Equal n-grams are adjacent and, because the sort is stable, in order of occurrence. An n-gram of n + 1
    characters extends one of n, and if that is not shared, neither is its extension, so only shared ones
    are sorted again. O(c log c) for each length with c occurrences of shared n-grams.
    """
    base = int(chars.codes.max(initial=0)) + 1
    left = chars.lengths[chars.text] - chars.offset
    start, gram = np.arange(len(chars.codes)), np.zeros(len(chars.codes), np.int64)
    for n in range(1, longest + 1):
        fits = left[start] >= n
        start, gram = start[fits], gram[fits]
        key = gram * base + chars.codes[start + n - 1]
        order = np.argsort(key, kind="stable")
        start, key = start[order], key[order]
        new = np.diff(key, prepend=-1) != 0
        first = new | (np.diff(chars.text[start], prepend=-1) != 0)
        gram = np.cumsum(new) - 1
        others = (np.bincount(gram[first]) - 1)[gram]
        kept = others > 0
        start, gram, others, first = start[kept], gram[kept], others[kept], first[kept]
        yield Shared(n, start, others, first)


_MARKERS = ("^", "$")
_NOTHING = -1  # beyond the end of a text


def leave_one_out(
    answers: Sequence[str], baseline: float, settings: Settings
) -> tuple[Floats, Floats]:
    """Returns Fluency and Truthfulness of each answer against the others of its source, not rounded.

    float64, shape (answers,); NaN if there are no others. Values are identical to those of a scorer built
    from the others with `baseline` as the divisor.
    """
    if len(answers) < 2:
        nothing = np.full(len(answers), np.nan)
        return nothing, nothing
    chars = characters(answers)
    gains = np.zeros(len(chars.codes), np.int64)
    windows = Shared(0, *(np.zeros(0, np.int64),) * 2, np.zeros(0, np.bool_))
    for ngrams in shared_ngrams(chars, max(settings.max_n, settings.truthfulness_n)):
        if settings.min_n <= ngrams.n <= settings.max_n:
            # Only the first occurrence in a text counts, at the n-gram's last character.
            ends = ngrams.start[ngrams.first] + ngrams.n - 1
            gains[ends] += ngrams.others[ngrams.first]
        if ngrams.n == settings.truthfulness_n:
            windows = ngrams
    fluency = _fluency(chars, gains, baseline, settings)
    return fluency, _truthfulness(answers, chars, windows, settings)


def truthfulness_without_itself(answers: Sequence[str], settings: Settings) -> Floats:
    """Returns Truthfulness alone, as `leave_one_out` does, in about a third of the time."""
    if len(answers) < 2:
        return np.full(len(answers), np.nan)
    chars = characters(answers)
    *_, windows = shared_ngrams(chars, settings.truthfulness_n)
    return _truthfulness(answers, chars, windows, settings)


def _matrix(
    chars: Characters,
    at: NDArray[np.int64],
    values: NDArray[np.int64],
    shape: tuple[int, int],
    shift: int,
) -> NDArray[np.int64]:
    """Place the `values` of characters `at` in rows by text, `shift` columns to the right; zero elsewhere."""
    matrix = np.zeros(shape, np.int64)
    columns = chars.offset[at] + shift
    fits = columns < shape[1]
    matrix[chars.text[at][fits], columns[fits]] = values[fits]
    return matrix


def _fluency(
    chars: Characters, gains: NDArray[np.int64], baseline: float, settings: Settings
) -> Floats:
    """Returns the best cut's sum, discounted and divided by the baseline in the published order."""
    width = min(int(chars.lengths.max(initial=0)), settings.max_length)
    everywhere = np.arange(len(gains))
    raw = np.cumsum(_matrix(chars, everywhere, gains, (len(chars.lengths), width), 0), axis=1)
    # Beyond a text's end the sum is constant and the discount decreases: no such cut exceeds the best.
    discounts = np.array([settings.discount(cut) for cut in range(1, width + 1)])
    best: Floats = np.max(raw * discounts / baseline, axis=1, initial=0.0)
    return best


def _truthfulness(
    answers: Sequence[str], chars: Characters, windows: Shared, settings: Settings
) -> Floats:
    """Read all answers with their markers from the left, in parallel."""
    width = settings.max_length + 2
    covering = _covering(answers, chars, windows, width)
    text = _texts(chars, width)
    skipped = np.array([ord(character) for character in settings.skipped] + [_NOTHING])
    counted = ~np.isin(text, skipped)
    shares = covering / (len(answers) - 1) * (1.0 / settings.threshold)
    # Adding 0.0 for skipped characters changes no sum, and accumulate adds from the left.
    total = np.add.accumulate(np.where(counted, np.minimum(1.0, shares), 0.0), axis=1)
    count = np.cumsum(counted, axis=1)
    discounts = np.array([settings.discount(i) for i in range(width)])
    scores = total / np.maximum(count, 1) * discounts
    target = settings.target_length
    best = np.max(scores[:, target:], axis=1, where=counted[:, target:], initial=0.0)
    last = width - 1 - np.argmax(counted[:, ::-1], axis=1)
    final = np.where(counted.any(axis=1), scores[np.arange(len(answers)), last], 0.0)
    result: Floats = np.maximum(best, final)
    return result


def _texts(chars: Characters, width: int) -> NDArray[np.int64]:
    """Returns the code points of every text with its markers, as far as they are read."""
    rows = len(chars.lengths)
    everywhere = np.arange(len(chars.codes))
    begin, end = (ord(marker) for marker in _MARKERS)
    text = _matrix(chars, everywhere, chars.codes - _NOTHING, (rows, width), 1) + _NOTHING
    text[:, 0] = begin
    ended = chars.lengths + 1 < width
    text[ended, chars.lengths[ended] + 1] = end
    return text


def _covering(
    answers: Sequence[str], chars: Characters, windows: Shared, width: int
) -> NDArray[np.int64]:
    """Returns for every character the largest number of other answers that contain a window covering it."""
    n = windows.n
    # Windows are indexed by their first character, and must lie entirely in what is read.
    known = _matrix(chars, windows.start, windows.others, (len(answers), width), 1)
    known[:, width - n + 1 :] = 0
    for row, start, others in _windows(answers, n, width):
        known[row, start] = others
    covering = known.copy()
    for shift in range(1, n):
        covering[:, shift:] = np.maximum(covering[:, shift:], known[:, : width - shift])
    return covering


def _windows(answers: Sequence[str], n: int, width: int) -> list[tuple[int, int, int]]:
    """Returns windows with an added marker: row, first character, and number of other answers with it.

    Other answers contain such a window only if they contain the marker's character, which is rare.
    """
    holding = [
        (row, answer)
        for row, answer in enumerate(answers)
        if any(marker in answer for marker in _MARKERS)
    ]
    if not holding:
        return []
    windows = []
    for row, answer in enumerate(answers):
        text = f"^{answer}$"[:width]
        starts = {0, len(text) - n} if len(answer) + 2 <= width else {0}
        for start in starts:
            window = text[start : start + n] if start >= 0 else ""
            if len(window) == n:
                others = sum(window in other for place, other in holding if place != row)
                windows.append((row, start, others))
    return windows
