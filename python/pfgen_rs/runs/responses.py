"""The texts of scored runs: in memory, or read again from their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.cleaning import Mode, cleaned, default_stop, without_thoughts
from pfgen_rs.io.csv import csv_records
from pfgen_rs.io.lines import line_records, lines_at, parse_line
from pfgen_rs.io.reading import converted_text, read_ahead
from pfgen_rs.io.source import DELIMITED, Source
from pfgen_rs.io.tables import table_records
from pfgen_rs.lazy import np, pl
from pfgen_rs.metrics.units import Answer
from pfgen_rs.runs.score_store import Part, ResponseScores


def with_texts(
    frame: pl.DataFrame, questions: pl.Series, answers: pl.Series, kept: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Returns a chunk's rows in the form of `Result.frame`, followed by the kept columns.

    `frame`: the result of `ResponseScores.frame`.
    """
    place, scores = frame.get_columns()[:2], frame.get_columns()[2:]
    texts = [questions.alias("question"), answers.alias("answer")]
    more = [] if kept is None else kept.get_columns()
    return pl.DataFrame([*place, *texts, *scores, *more])


class FileResponses:
    """Responses of a file; `kept` has its chunks if they fit into memory."""

    def __init__(
        self,
        source: Source,
        options: Options,
        kept: list[Chunk] | None,
        clean: Mode | None = None,
    ) -> None:
        self._source, self._kept, self._clean = source, kept, clean
        self._options = replace(options, check=False, clean=clean or False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where the texts are, but those of a pipe."""
        return FileResponses, (self._source, self._options, None, self._clean)

    def frames(self, scores: ResponseScores) -> Iterator[pl.DataFrame]:
        """Yield rows with texts and scores, in order."""
        for [frame] in self.frames_of_runs([scores]):
            yield frame

    def frames_of_runs(self, runs: Sequence[ResponseScores]) -> Iterator[list[pl.DataFrame]]:
        """Yield the rows of several runs of the file, chunk by chunk, as one table per run."""
        if self._kept is not None:
            yield from self._joined(runs, self._kept)
            return
        with read_ahead([self._source], self._options) as readings:
            yield from self._joined(runs, next(readings))

    def _joined(
        self, runs: Sequence[ResponseScores], chunks: Iterable[Chunk]
    ) -> Iterator[list[pl.DataFrame]]:
        together: Iterable[tuple[Any, ...]] = zip_longest(chunks, *(each.parts for each in runs))
        for chunk, *parts in together:
            frames = []
            for scores, part in zip(runs, parts, strict=True):
                mine = self._of_part(chunk, part, scores)
                rows = scores.frame(part)
                frames.append(with_texts(rows, mine.questions, mine.answers, mine.kept))
            yield frames

    def _of_part(self, chunk: Chunk | None, part: Part | None, scores: ResponseScores) -> Chunk:
        """Returns a chunk without skipped responses and those of other runs."""
        if chunk is not None and part is not None and len(chunk) != part.rows:
            lines = scores.frame(part).get_column("line").to_numpy()
            chunk = chunk.where(np.isin(chunk.lines, lines))
        if chunk is None or part is None or len(chunk) != part.rows:
            raise InputError("the file changed while it was in use", path=self._source.path)
        return chunk

    def records(
        self, samples: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Yield the answer and complete record of some responses."""
        (question, key), replace_invalid = self._options.fields, self._options.replace_invalid
        lines, starts = (list(column) for column in zip(*samples, strict=True))
        records: Iterable[dict[str, Any]]
        if (texts := self._texts()) is not None:
            parse = partial(parse_line, replace_invalid=replace_invalid)
            records = map(parse, lines_at(texts, starts))
        elif self._source.is_table:
            records = table_records(self._source, lines)
        elif self._source.suffix in DELIMITED:
            records = csv_records(self._source, lines, replace_invalid=replace_invalid)
        else:
            records = line_records(self._source, starts, replace_invalid=replace_invalid)
        for record in records:
            answer = self._prepared(record[key])
            others = {name: value for name, value in record.items() if name != question}
            if key == "answer":
                yield answer, {**others, key: answer}
            else:
                del others[key]
                yield answer, {"answer": answer, **others}

    def _prepared(self, answer: Answer) -> Answer:
        if isinstance(answer, str) and self._options.strips_reasoning:
            answer = without_thoughts(answer)
        if self._clean is None:
            return answer
        return cleaned(str(answer), self._clean, default_stop(self._clean))

    def _texts(self) -> Iterable[tuple[int, bytes]] | None:
        """Returns the lines that were decoded, in pieces with offsets, unless the file has them."""
        texts = {
            chunk.text_start: chunk.text for chunk in self._kept or () if chunk.text is not None
        }
        if texts:
            return texts.items()
        return converted_text(self._source, self._options)
