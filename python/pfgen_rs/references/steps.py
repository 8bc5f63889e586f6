"""What steps of a build work on and report: pools of candidates on disk, and which of them remain.

A pool may be larger than memory, so it is read in pieces, as often as needed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from pfgen_rs import BuildError, ConfigError, InputError, _native
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.metrics import units
from pfgen_rs.metrics.settings import SKIPPED

Batches = Callable[[], Iterable[pl.Series]]
"""Each call iterates over all answers from the start, as text columns; row numbers continue across them."""

Answers = pl.Series | Sequence[str] | Batches

PART = 1 << 16  # rows
COLUMNS = ("answer", "source", "model")
Mask = NDArray[np.bool_]


def as_batches(answers: Answers) -> Batches:
    """Convert a column, a list of `str`, or batches to batches.

    Raises `InputError` for anything else.
    """
    if callable(answers):
        return answers
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        name = type(answers).__name__
        raise InputError(f"expected a column, a list or batches of answers, not {name}")
    try:
        kind = None if isinstance(answers, pl.Series) else pl.String
        column = pl.Series("answer", answers, kind)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"expected a column of text: {error}") from None
    return lambda: (column[start : start + PART] for start in range(0, len(column), PART))


def batch_texts(
    batches: Batches, *, threads: int | None = None
) -> Iterator[tuple[int, _native.Texts]]:
    """Read all answers once, yielding the number of each batch's first row and its texts.

    Raises `InputError`, naming the row, if a value is not text.
    """
    first = 0
    for batch in batches():
        if batch.null_count():
            row = first + int(batch.is_null().arg_max() or 0)
            raise InputError(f"row {row} is null: expected text")
        yield first, _native.Texts(batch, threads)
        first += len(batch)


class Pool:
    """A folder of Arrow files (parts) with the columns `COLUMNS`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def parts(self) -> list[Path]:
        """The parts in order."""
        return sorted(self.folder.glob("*.arrow"))

    def frames(self, *columns: str) -> Iterator[pl.DataFrame]:
        """Iterate over the rows in order, one part at a time.

        Raises `BuildError` for a damaged part.
        """
        for part in self.parts:
            try:
                yield pl.scan_ipc(part, glob=False).select(columns).collect()
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                raise damaged(part) from error


def damaged(path: Path) -> BuildError:
    """Returns the error to raise for unusable files of an earlier build."""
    return BuildError(
        f"{path}: the saved state of the build is damaged: remove {path.parent} to make it anew"
    )


def owned(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a copy of what is left of a frame: a filtered column of polars still holds all texts."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(pl.concat_str(name, pl.lit("")).alias(name) for name in texts)


class PoolWriter:
    """Collects rows of a new pool, and writes a part whenever there are enough."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._frames: list[pl.DataFrame] = []
        self._parts = 0
        self.waiting = 0
        self.rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows with the columns `COLUMNS`."""
        self._frames.append(frame)
        self.waiting += int(frame.estimated_size())
        self.rows += frame.height
        if sum(frame.height for frame in self._frames) >= PART:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        if not self._frames:
            return
        whole = pl.concat(self._frames)
        self._frames, self.waiting = [], 0
        for at in range(0, whole.height, PART):
            path = self._folder / f"{self._parts:06}.arrow"
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                whole[at : at + PART].write_ipc(path, compression="lz4")
            except OSError as error:
                raise writing_failed(path, error) from error
            self._parts += 1


@dataclass(frozen=True)
class State:
    """What remains of a pool after the steps so far.

    `kept`: bool, one per row of the pool. `weights`: uint32, one per row of the pool: the number of equal
    candidates that a row represents, or `None` if each represents only itself.
    """

    pool: Pool
    kept: Mask
    weights: NDArray[np.uint32] | None = None

    @property
    def height(self) -> int:
        """The number of remaining answers."""
        return int(np.count_nonzero(self.kept))

    def frames(self, *columns: str) -> Iterator[pl.DataFrame]:
        """Iterate over the remaining rows in order, one part at a time."""
        at = 0
        for frame in self.pool.frames(*columns):
            kept = self.kept[at : at + frame.height]
            at += frame.height
            yield frame.filter(pl.Series(kept))

    def batches(self, column: str) -> Callable[[], Iterator[pl.Series]]:
        """Returns a column of the remaining rows as batches, as expected by the filters."""
        return lambda: (frame.get_column(column) for frame in self.frames(column))

    def narrowed(self, mask: Mask) -> Self:
        """Returns the state with only those remaining rows for which `mask` is true."""
        kept = self.kept.copy()
        kept[self.kept] = mask
        return replace(self, kept=kept)

    def rewritten(self, folder: Path) -> Self:
        """Returns the state with a pool in `folder` of nothing but what remains."""
        writer, weights = PoolWriter(folder), self.kept_weights()
        for frame in self.frames(*COLUMNS):
            writer.add(owned(frame))
        writer.flush()
        return type(self)(Pool(folder), np.ones(writer.rows, dtype=np.bool_), weights)

    def kept_weights(self) -> NDArray[np.uint32] | None:
        """Returns the weights of the remaining rows."""
        return None if self.weights is None else self.weights[self.kept]

    def models(self) -> dict[str, int]:
        """Returns the number of remaining rows by model; empty if no row names a model."""
        counts: dict[str, int] = {}
        for frame in self.frames("model"):
            for name, count in frame.get_column("model").value_counts().iter_rows():
                counts[name] = counts.get(name, 0) + count
        return dict(sorted(counts.items())) if set(counts) - {""} else {}

    def by_source(self) -> dict[str, Mask]:
        """Returns for each source, sorted by name, a mask of its remaining rows."""
        columns = [frame.get_column("source") for frame in self.frames("source")]
        sources = pl.concat(columns) if columns else pl.Series(dtype=pl.String)
        names = sorted(sources.unique().to_list())
        return {name: (sources == name).to_numpy() for name in names}


@dataclass(frozen=True)
class Removed:
    """Answers removed for the same reason: the reason, their number, and the first few of them."""

    reason: str
    count: int
    examples: list[str]


@dataclass(frozen=True)
class StepReport:
    """The report of one step for one question; `models`: remaining answers by model."""

    step: str
    before: int
    after: int
    removed: list[Removed] = field(default_factory=list)
    details: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `dataclasses.asdict`."""
        removed = [Removed(**each) for each in data["removed"]]
        return cls(**{**data, "removed": removed})


@dataclass(frozen=True)
class Context:
    """What a step gets besides the answers and its settings.

    `prepared`: what `Step.prepared` returned. `examples`: how many removed answers to report for each
    reason. `target`: the length in units that answers should have. `needed`: how many answers of a source
    must be left for the steps that follow (0 without a selection). `folder`: where the step writes a new
    pool. `progress` is called with the amount done, the total amount (0 if unknown), and perhaps a short
    status; an exception ends the step. `skipped`: characters that Truthfulness skips.
    `question`, `note`: the question's text, and its note.
    """

    question_id: str
    prepared: Any
    unit: units.Unit
    seed: int
    examples: int
    target: int
    needed: int
    folder: Path
    memory: int
    threads: int
    progress: Callable[..., None]
    skipped: str = SKIPPED
    question: str = ""
    note: str = ""

    def report(
        self, name: str, before: State, after: State, removed: list[Removed], **details: Any
    ) -> StepReport:
        """Returns the report of a step; raises `BuildError` if a single rule removed everything."""
        if removed and removed[0].count == before.height:
            hint = "set language if they are in another one, or " * (name == "normalise")
            raise BuildError(
                f"question {self.question_id}: {name}: {removed[0].reason!r} removes all "
                f"{before.height:,} answers, such as {removed[0].examples[:1]}: {hint}change or "
                "disable that rule"
            )
        return StepReport(name, before.height, after.height, removed, details)

    def narrowed(
        self, name: str, state: State, kept: Mask, reason: str, **details: Any
    ) -> tuple[State, StepReport]:
        """Returns the answers for which `kept` is true, and the report: all others go for one reason."""
        after, removed = state.narrowed(kept), self.removed(state, [reason], np.where(kept, -1, 0))
        return after, self.report(name, state, after, removed, **details)

    def removed(
        self, state: State, reasons: Sequence[str], codes: NDArray[np.integer[Any]]
    ) -> list[Removed]:
        """Returns what is removed, with the first answers, by descending count and then by reason.

        `codes`: of each answer the index of the reason for which it goes, or -1.
        """
        counts = np.bincount(codes[codes >= 0], minlength=len(reasons)).tolist()
        found = [Removed(reason, n, []) for reason, n in zip(reasons, counts, strict=True) if n]
        numbers, at = [number for number, n in enumerate(counts) if n], 0
        for frame in state.frames("answer"):
            if all(len(each.examples) == min(self.examples, each.count) for each in found):
                break
            own, at = codes[at : at + frame.height], at + frame.height
            for number, each in zip(numbers, found, strict=True):
                first = np.flatnonzero(own == number)[: self.examples - len(each.examples)]
                each.examples.extend(frame.get_column("answer")[first].to_list())
        return sorted(found, key=lambda each: (-each.count, each.reason))

    def coded(self, state: State) -> Batches:
        """Returns the remaining answers with one code point per unit; words are read into memory."""
        answers = state.batches("answer")
        if self.unit == "character":
            return answers
        words = answers() if self.unit == "word" else ()
        coder = units.coder(self.unit, *words, skipped=self.skipped)
        return lambda: (coder.encode(column, self.threads) for column in answers())

    def column(self, state: State) -> pl.Series:
        """Returns the remaining answers, coded, in one column: for steps that few rows reach."""
        return joined(self.coded(state))


@dataclass(frozen=True)
class Step:
    """A step, which narrows the answers to a question; its fields are its section of the configuration.

    The section is named as the class. `no` and `nearly`: advice for users if it removes no or nearly all
    answers; without advice nothing is said. `breaks_ties`: whether the seed has a say, and how many answers
    later steps need.
    """

    no: ClassVar[str] = ""
    nearly: ClassVar[str] = ""
    breaks_ties: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name of its section, by which reports name it."""
        return type(self).__name__.lower()

    def prepared(self, path: Callable[[str], Path]) -> Any:
        """Returns what is in the files that the settings name, read once for all questions."""
        del path

    def key(self, context: Context) -> Any:
        """Returns all that the result depends on besides the answers, as JSON: equal keys, equal results."""
        own = [context.unit, context.skipped, context.examples, asdict(self)]
        return [*own, context.seed, context.target, context.needed] if self.breaks_ties else own

    def needs(self, after: int) -> int:
        """Returns how many answers must be there so that `after` are left."""
        return after

    def expected(self, report: StepReport) -> bool:
        """Whether it is no surprise that the step removes no or nearly all answers."""
        del report
        return False

    def run(self, state: State, context: Context) -> tuple[State, StepReport]:
        """Returns what is left, and the report."""
        raise NotImplementedError

    def check_least(self, **least: int) -> None:
        """Raise `ConfigError` for a setting below its least value; `None` is no value."""
        for name, value in least.items():
            given = getattr(self, name)
            if given is not None and given < value:
                raise ConfigError(f"{name} must be at least {value}, not {given}")


def joined(batches: Batches) -> pl.Series:
    """Returns a column in one piece."""
    columns = [owned(column.to_frame()).to_series() for column in batches()]
    return pl.concat(columns) if columns else pl.Series(dtype=pl.String)


def by_source(
    state: State, keep: Callable[[State], tuple[Mask, Mapping[str, Any]]]
) -> tuple[Mask, dict[str, Mapping[str, Any]]]:
    """Filter the answers of each source by themselves; returns a mask of all, and details by source."""
    kept, details = np.zeros(state.height, dtype=np.bool_), {}
    for source, own in state.by_source().items():
        kept[own], details[source] = keep(state.narrowed(own))
    return kept, details
