"""Generating runs: an engine answers prompts, and a resumable folder keeps the answers."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pfgen_rs import Result, errors
from pfgen_rs.ask import journal, loop
from pfgen_rs.ask.costs import Prices
from pfgen_rs.ask.engines import cure_for_thinking
from pfgen_rs.ask.protocol import LOG, SEEDS, Answered, Details, Engine, Task, Usage, abilities
from pfgen_rs.ask.request import Group, Request, Respondent, digest_of
from pfgen_rs.benchmark import Benchmark, resolve, score_file
from pfgen_rs.generate import calls
from pfgen_rs.generate.config import Prompter, RunConfig
from pfgen_rs.io import atomic, locks, run_files
from pfgen_rs.io.cleaning import cleaned
from pfgen_rs.io.lines import parse_line, text_field
from pfgen_rs.io.text import shortened
from pfgen_rs.questions.examples import Example, read_examples

_FIELDS = ("question", "answer")


class RunFolder(journal.Journal):
    """The folder of a run whose trials answer `questions`, in this order; several processes may work in it.

        journal.jsonl       one record an answer, with who gave it and what it took
        trial_003.jsonl     a finished trial, written once all its answers are in the journal
        generation.json     what the journal says of all answers, and the calls

    `models`: those that have answered, as servers say.
    """

    def __init__(self, config: RunConfig, results: Path, questions: Sequence[str]) -> None:
        self.folder, self.questions = config.folder(results), questions
        super().__init__(self.folder / run_files.ANSWERS, ("trial", "question"), self._noted_answer)
        self._config = f"{config.to_json()}\n".encode()
        self.models: set[str] = set()
        self._files: set[int] | None = None  # trials that had one when this was first asked
        self._answers: defaultdict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)

    def prepare(self) -> None:
        """Create the folder, or check that an existing one can be continued, and read it.

        Raises `GenerationError` if it belongs to another configuration or other questions, `InputError` if
        packing would lose answers, and `OutputError`.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise atomic.writing_failed(self.folder, error) from error
        with locks.locked(self.folder):
            for temporary in self.folder.glob(".*.tmp"):
                atomic.remove_abandoned(temporary)
            self._write_config()
            for trial in sorted(self.folder.iterdir()):
                if run_files.is_trial_file(trial.name):
                    self._check(trial)
            run_files.packed_trials(self.folder, len(self.questions))
        self.look()
        self.finish_trials()

    def _noted_answer(self, record: Mapping[str, Any]) -> None:
        trial, question = record.get("trial"), record.get("question")
        if type(trial) is not int or not isinstance(record.get("answer"), str):
            problem = "is not the record of an answer: remove the line to ask for it again"
            raise errors.InputError(problem, path=self.path, line=self._lines + 1)
        self._answers[trial][str(question)] = record
        if isinstance(record.get("served"), str):
            self.models.add(record["served"])

    def _write_config(self) -> None:
        path = self.folder / run_files.CONFIG
        try:
            old = path.read_bytes()
        except FileNotFoundError:
            atomic.write_atomic(path, self._config)
            return
        except OSError as error:
            raise errors.InputError(errors.unreadable(error), path=path) from error
        if old != self._config:
            raise errors.GenerationError(
                f"{path}: does not match the configuration that its folder is named after: restore it, or "
                "use another results folder"
            )

    def _check(self, trial: Path) -> None:
        try:
            lines = trial.read_bytes().splitlines()
        except OSError as error:
            raise errors.InputError(errors.unreadable(error), path=trial) from error
        found = Counter(_question(line, trial, n) for n, line in enumerate(lines, 1))
        if found != Counter(self.questions):
            raise errors.GenerationError(
                f"{trial}: does not answer each of the {len(self.questions)} questions once: remove it to "
                "generate the trial again, or use another results folder"
            )

    def trial_path(self, trial: int) -> Path:
        """Returns the path of a finished trial."""
        return self.folder / run_files.trial_file_name(trial)

    def is_finished(self, trial: int) -> bool:
        """Whether a trial is finished."""
        return self.trial_path(trial).exists()

    def __contains__(self, key: journal.Key) -> bool:
        """Whether a question of a trial is answered."""
        if super().__contains__(key):
            return True
        if self._files is None:  # later ones are written from the journal
            names = (path.name for path in self.folder.glob("*"))
            self._files = {n for n in map(run_files.trial_number, names) if n is not None}
        return key[0] in self._files

    def add(self, *records: Mapping[str, Any]) -> int:
        """Append answers, and write the trials of which they are the last ones."""
        added = super().add(*records)
        for trial in {record["trial"] for record in records}:
            self._finish(trial)
        return added

    def finish_trials(self) -> None:
        """Write all trials whose answers are complete."""
        for trial in list(self._answers):
            self._finish(trial)

    def _finish(self, trial: int) -> None:
        records = self._answers[trial]
        if len(records) < len(self.questions):
            return
        if not self.is_finished(trial):
            lines = (_published(records[question]) for question in self.questions)
            atomic.write_atomic(self.trial_path(trial), "".join(lines).encode())
        del self._answers[trial]

    def answers(self) -> dict[int, list[dict[str, str]]]:
        """Returns all answers so far by trial, with `question` and `answer`, without claiming anything."""
        self.look()
        numbers = (run_files.trial_number(path.name) for path in self.folder.iterdir())
        begun = {*self._answers, *(number for number in numbers if number is not None)}
        found = {number: self._answers_of(number) for number in sorted(begun)}
        return {number: answers for number, answers in found.items() if answers}

    def _answers_of(self, trial: int) -> list[dict[str, str]]:
        if self.is_finished(trial):
            lines = self.trial_path(trial).read_bytes().splitlines()
            records: list[Mapping[str, Any]] = [parse_line(line) for line in lines]
        else:
            answered = self._answers[trial]
            records = [answered[question] for question in self.questions if question in answered]
        return [{key: text_field(record, key) for key in _FIELDS} for record in records]

    def pack(self) -> None:
        """Write all finished trials to `trials.jsonl.xz`, unless it is up to date."""
        with locks.locked(self.folder):
            content, _ = run_files.packed_trials(self.folder, len(self.questions))
            if content is not None:
                atomic.write_atomic(self.folder / run_files.PACKED, content)


def _published(record: Mapping[str, Any]) -> str:
    kept = {key: record.get(key) for key in (*_FIELDS, "timestamp")}
    with suppress(KeyError, TypeError, ValueError):  # a record that somebody else wrote
        time = datetime.fromisoformat(record["timestamp"]).replace(tzinfo=None)
        kept["timestamp"] = time.isoformat(timespec="microseconds")
    return json.dumps(kept, ensure_ascii=False) + "\n"


def _question(line: bytes, trial: Path, number: int) -> str:
    try:
        return text_field(parse_line(line), "question")
    except errors.InputError as error:
        problem = f"{error.problem}: remove the file to generate the trial again"
        raise errors.InputError(problem, path=trial, line=number) from None


Place = Benchmark | str | os.PathLike[str] | None

_ROUNDS = 10
"""How often an answer is asked for, with another seed each time, as long as it is empty."""
_SHOWN = 40  # characters
_MODELS = 10
"""Number of models after which others are no longer told of, since a server may invent names."""


@dataclass(frozen=True, kw_only=True)
class Run(loop.Asked):
    """The result of a call of `generate`, of whose requests each is a question of a trial.

    `trials`: the requested number of trials; `finished`: how many of them are finished; `result`: the scores,
    if requested. `usage`: requests and tokens of this call, if the engine counts them.
    """

    folder: Path
    config: RunConfig
    trials: int
    finished: int
    result: Result | None = None
    usage: Usage | None = None


def generate(
    config: RunConfig,
    engine: Engine,
    *,
    benchmark: Place = None,
    examples: Sequence[Example] | None = None,
    trials: int = 100,
    results: str | os.PathLike[str] = "result",
    keep_going: bool = False,
    score: bool = False,
    prices: Prices | None = None,
    progress: loop.AskingProgress | None = None,
) -> Run:
    """Generate the missing trials of a run in `results/model/hash`.

    `benchmark`: the benchmark with the questions, or any argument of `load_benchmark`. `examples`: its
    questions with example answers (default: its `questions.jsonl`). A digest of the questions becomes part of
    the configuration, unless they are the published ones. A rolling engine, such as those for servers and
    programs, gets another task for each outcome, and others get lists. Empty answers are requested again with
    another seed, ten times in all; failed tasks are requested again by the next call. If tasks fail in a row
    (8 if nothing has been answered yet, otherwise 64), or answers are blank (32, otherwise 320), the run ends
    with a `GenerationError` that gives the reason, unless `keep_going` is set. The first failure is logged as
    a warning of `pfgen_rs.generate`. `progress(done, total, rate, failed)` is called with the number of
    answers, their total, new answers per second, and the number of failed tasks.

    `score`: score the run. If trials are unfinished, for example because one question always fails, all
    answers count, and the result is marked as partial (`Result.planned`), in its signature, too. What
    decided each answer (the model that served it, `system_fingerprint`, `finish_reason`, tokens, seconds,
    settings that were sent) is kept with the answer in `journal.jsonl`, and what all say together in
    `generation.json`, with their cost if there are `prices`; a warning of `pfgen_rs.generate` says if another
    model answers than the one asked for or before (of the first ten).

    If interrupted, calling it again with the same arguments resumes the run: all answers are kept. Processes
    that share the folder share the work. If the engine's iterator ends early, the remaining tasks stay open.
    The engine is not closed. Raises `GenerationError`, `SettingsError`, `InputError` and `OutputError`.
    """
    prompter = _prompter(config, benchmark, examples)
    config = config.with_questions(prompter.examples)
    if trials < 1:
        raise errors.SettingsError(f"trials must be at least 1, not {trials}")
    folder = RunFolder(config, Path(results), prompter.questions)
    folder.prepare()
    requests = _requests(prompter, trials)
    is_open = any(tuple(request.about.values()) not in folder for request in requests)
    call = calls.Call(engine, folder, asks=is_open)
    answers = _Answers(folder, config, engine, call)
    asked = loop.Asked(len(requests), len(requests), 0)
    with call.noted(prices):
        with folder if is_open else nullcontext():
            if is_open:
                asked = loop.ask(
                    folder,
                    [Group(_respondent(config), requests)],
                    engine,
                    answers.read,
                    mode="completion" if config.mode == "completion" else "chat",
                    keep_going=keep_going,
                    progress=progress,
                )
                call.about["failed"] = len(asked.failures)
                folder.finish_trials()
        folder.pack()
    finished = sum(map(folder.is_finished, range(1, trials + 1)))
    result = None
    if score:
        whole = finished == trials
        result = score_file(folder.folder, benchmark) if whole else None
        result = result or _scored_partially(folder, config, benchmark, trials)
    return Run(
        **vars(asked),
        folder=folder.folder,
        config=config,
        trials=trials,
        finished=finished,
        result=result,
        usage=call.usage,
    )


def open_tasks(
    config: RunConfig,
    *,
    benchmark: Place = None,
    examples: Sequence[Example] | None = None,
    trials: int = 100,
    results: str | os.PathLike[str] = "result",
) -> list[Task]:
    """Returns the open tasks that `generate` would start with, in order; writes nothing."""
    prompter = _prompter(config, benchmark, examples)
    folder = RunFolder(config.with_questions(prompter.examples), Path(results), prompter.questions)
    folder.look()
    return [
        task
        for trial in range(1, trials + 1)
        for task in prompter.tasks(trial)
        if (trial, task.question) not in folder
    ]


@dataclass(frozen=True, kw_only=True)
class TrialRequest(Request):
    """A question of a trial, whose prompt is made when it is asked."""

    prompter: Prompter

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"trial {self.about['trial']}, {self.subject}"

    @property
    def has_history(self) -> bool:
        """Whether there are turns before the last message."""
        return False

    def fields(self, _respondent: Respondent) -> dict[str, Any]:
        """Returns the fields of its record that do not depend on the answer."""
        return dict(self.about)

    def task(self, _number: int, _respondent: Respondent, _mode: str) -> Task:
        """Returns the engine's task, after empty answers with another seed."""
        [task] = self.prompter.tasks(self.about["trial"], [self.subject])
        return replace(task, seed=(task.seed + self.sample) % SEEDS) if self.sample else task


def _requests(prompter: Prompter, trials: int) -> list[TrialRequest]:
    return [
        TrialRequest(question, (), {"trial": trial, "question": question}, prompter=prompter)
        for trial in range(1, trials + 1)
        for question in prompter.questions
    ]


@dataclass(frozen=True)
class _RunModel(Respondent):
    """The model of a run, which `config.json` describes."""

    def fields(self, _sample: int = 0) -> dict[str, Any]:
        return {}


def _respondent(config: RunConfig) -> Respondent:
    return _RunModel(config.engine, config.model, **asdict(config.parameters))


class _Answers:
    """Makes records of answers; warns if another model answers."""

    def __init__(
        self, folder: RunFolder, config: RunConfig, engine: Engine, call: calls.Call
    ) -> None:
        self._folder, self._config, self._engine, self._call = folder, config, engine, call
        self._parameters = asdict(config.parameters)
        self._has_seeds = "seed" in abilities(engine)

    def read(self, request: Request, answered: Answered) -> dict[str, Any]:
        config, task = self._config, answered.task
        text = cleaned(answered.text, config.mode, config.parameters.stop, think=config.think)
        if not text:
            reason, cure = why_blank(answered.text, config)
            again = request.sample + 1 < _ROUNDS
            self._call.about["given_up"] += not again
            raise loop.UnreadError(
                reason if again else f"the answer was empty in all rounds ({_ROUNDS})",
                cure=cure,
                again=again,
            )
        details = answered.details or Details()
        self._warn_of_model(details.model)
        asked = {"model": config.model, "mode": task.mode, "seed": task.seed}
        sent = config.parameters.given if details.sent is None else dict(details.sent)
        if details.sent is None and self._has_seeds:
            sent["seed"] = task.seed
        return {
            "answer": text,
            "digest": digest_of({**self._parameters, **asked, "messages": task.messages}),
            "system_fingerprint": details.system_fingerprint,
            "finish_reason": details.finish_reason,
            "engine": self._engine.name,
            "seed": sent.pop("seed", None),
            "sampling": sent,
            "attempts": details.attempts,
            "empty": request.sample,
        }

    def _warn_of_model(self, model: str | None) -> None:
        known = self._folder.models
        if model is None or model in known or len(known) >= _MODELS:
            return
        if known:
            before = ", ".join(map(repr, sorted(known)))
            LOG.warning(
                "the model that answers is now %r: earlier answers are by %s", model, before
            )
        elif model != (asked := getattr(self._engine, "model", None)):
            LOG.warning("the model that answers is %r: %r was asked for", model, asked)
        known.add(model)


def why_blank(text: str, config: RunConfig) -> tuple[str, str]:
    """Returns the reason why nothing of `text` is left after cleaning, and advice."""
    stop = config.parameters.stop
    if not text.strip():
        return (
            "the model generated no text",
            f"try another --mode; {cure_for_thinking(config.engine)}",
        )
    if config.think == "strip" and cleaned(text, config.mode, stop):
        return "the model generated nothing but thinking", cure_for_thinking(config.engine)
    ends = ", ".join(map(repr, stop)) or "none"
    reason = f"nothing is left of {shortened(text, _SHOWN)!r} after cleaning (stop strings: {ends})"
    return reason, "try other stop strings (--stop) or another --mode"


def _prompter(config: RunConfig, benchmark: Place, examples: Sequence[Example] | None) -> Prompter:
    if examples is None and isinstance(benchmark, Benchmark) and benchmark.folder is None:
        raise errors.SettingsError(
            "the benchmark was not read from files: pass its example answers as `examples`"
        )
    place = benchmark.folder if isinstance(benchmark, Benchmark) else benchmark
    return Prompter(
        read_examples(place, shown=config.num_examples > 0) if examples is None else examples,
        config.mode,
        num_examples=config.num_examples,
        seed=config.seed,
        prefix=config.prefix,
    )


def _scored_partially(
    folder: RunFolder, config: RunConfig, benchmark: Place, trials: int
) -> Result | None:
    """Score all answers of a run, including those of its unfinished trials, if there are any.

    `planned` of the result is the number of answers in `trials` trials, or in more if the folder has more.
    """
    found = folder.answers()
    records: list[Mapping[str, Any]] = [record for answers in found.values() for record in answers]
    if not records:
        return None
    return replace(
        resolve(benchmark, None).evaluate(records),
        path=str(folder.folder),
        config=json.loads(config.to_json()),
        planned=len(folder.questions) * max(trials, *found),
    )
