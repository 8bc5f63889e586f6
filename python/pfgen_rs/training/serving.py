"""Who answers for a checkpoint: an engine, and programs that convert the checkpoint and serve it for that."""

import asyncio
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pfgen_rs import errors
from pfgen_rs.ask import engines, protocol
from pfgen_rs.ask.server_engine import ServerEngine
from pfgen_rs.io import atomic, locks, processes, text
from pfgen_rs.training import checks
from pfgen_rs.training.checkpoints import Checkpoint, Print

LOGS = "logs"
CONVERTED = "converted"
Keep = Literal["keep", "remove"]

_PLACES = re.compile(r"\{(checkpoint|out|port|worker)\}")
_HOST = "127.0.0.1"
# Ports below those that systems give to connections: one of these might else take the port of a server that
# is starting, even one that asks whether it has started.
_FIRST_PORT, _PORTS = 20000, 12000
_TICK = 0.05  # seconds between two looks at a program
_DYING = 0.5  # seconds from the end of a server's connections to its own
_ATTEMPT = 5.0  # seconds that a server may take to say that it is ready
_LARGEST = 1 << 20  # bytes of the list of its models
_OK, _SERVER_ERRORS = 200, 500
_LARGEST_LOG = 64 << 20  # bytes, after which a log is begun again
_LAST = 4096  # bytes of a log, and
_LINES = 3  # how many of its last lines are shown, and
_LONGEST = 500  # how many characters of them


@dataclass(eq=False)
class Job:
    """A checkpoint that is to be evaluated.

    `files`: what they were when it began. `folder`: that of the curve. `worker`: a number from 0. `checks`
    are called while it is evaluated, and end it by raising a `PfgenError`.
    """

    checkpoint: Checkpoint
    files: Print
    folder: Path
    worker: int = 0
    checks: list[Callable[[], object]] = field(default_factory=list)
    _cancelled: bool = False

    def cancel(self) -> None:
        """End the evaluation with a `GenerationError`."""
        self._cancelled = True

    def check(self) -> None:
        """Raise the error that ends the evaluation, if there is one."""
        if self._cancelled:
            raise errors.GenerationError("cancelled")
        for check in list(self.checks):
            check()


EngineFor = Callable[[Job], AbstractContextManager[protocol.Engine]]
"""Makes the engine that answers for a checkpoint, for as long as the context is open."""


class EngineMaker:
    """Makes an engine of `pfgen_rs.ask` for each checkpoint: a function `engine_for` of `Watcher`.

    `engine`: its name (default: `openai` with `serve`, else `command`); `options`: its options. Its model is
    the path of the checkpoint. In `command`, `{checkpoint}` is replaced with that, and `{worker}` with the
    number of the worker. All commands are split like those of a shell, but there is none.

    `convert`: a program that makes a folder (or file) `{out}`, which takes the place of the checkpoint from
    then on. It is called so when the program has succeeded, in the folder `converted` (default: the folder of
    this name beside the curve), and used again, by one job at a time, while program and files are the same;
    then it is removed. With `keep="remove"`, it is removed after the evaluation. `convert_timeout`: seconds.

    `serve`: a program that serves `{checkpoint}` to the engine at `{port}` of 127.0.0.1, a port that is free.
    It has `serve_timeout` seconds until it answers `/health` (unless it has no such path) and names its model
    in `/v1/models`, to requests with the engine's key. After the evaluation, its process group is stopped.

    The output of these programs goes to `logs/step_….log` beside the curve; beyond 64 MiB, the log is begun
    again. If one fails, takes too long, or ends before the engine does, that is a `GenerationError`. Raises
    `SettingsError`.
    """

    def __init__(
        self,
        engine: str | None = None,
        *,
        convert: str | Sequence[str] | None = None,
        keep: Keep = "keep",
        converted: Path | None = None,
        convert_timeout: float = 3600.0,
        serve: str | Sequence[str] | None = None,
        serve_timeout: float = 600.0,
        **options: Any,
    ) -> None:
        self._engine = engine or ("command" if serve is None else "openai")
        self._options = options
        takes = engines.options(self._engine)
        if "command" in takes and "command" in options:
            options["command"] = _words(options["command"], "--command", "checkpoint")
        self._convert = convert and _words(convert, "--convert", "checkpoint", "out")
        self._serve = serve and _words(serve, "--serve", "checkpoint", "port")
        self._keep, self._converted = keep == "keep", converted
        if serve is not None and ("base_url" not in takes or options.get("base_url") is not None):
            able = " or ".join(engines.names_with("base_url"))
            raise errors.SettingsError(
                f"a server requires the engine {able}, without its own address"
            )
        for name, limit in (("convert_timeout", convert_timeout), ("serve_timeout", serve_timeout)):
            checks.check_seconds(limit, name)
        self._limits = convert_timeout, serve_timeout
        self._ports: set[int] = set()

    @contextmanager
    def __call__(self, job: Job) -> Iterator[protocol.Engine]:
        """Yield the engine for a checkpoint; raises `GenerationError` and `OutputError`."""
        with suppress(OSError):
            _log(job).unlink()
        with (
            self._loadable(job) as path,
            self._served(job, path) as (model, options),
            closing(engines.make(self._engine, model, **options)) as engine,
        ):
            yield engine

    @contextmanager
    def _loadable(self, job: Job) -> Iterator[Path]:
        """Yield the path of what an engine loads."""
        path = job.checkpoint.path
        if not self._convert:
            yield path
            return
        prefix = f"{_step(job)}-{_digest(self._convert, path)}-"
        place = (self._converted or job.folder / CONVERTED) / f"{prefix}{_digest(job.files)}"
        while True:
            job.check()
            with _alone_with(place) as is_alone:
                if is_alone:
                    for old in place.parent.glob(f"{prefix}*"):  # of files that have changed
                        with _alone_with(old) as is_unused:  # false for `place`
                            if is_unused:
                                _remove(old)
                    try:
                        if not place.exists():
                            self._make(job, self._convert, place)
                        yield place
                    finally:
                        if not self._keep:
                            _remove(place)
                    return
            time.sleep(_TICK)  # it is made or used for another curve

    def _make(self, job: Job, command: Sequence[str], place: Path) -> None:
        """Convert a checkpoint; `place` appears complete or not at all."""
        for left in place.parent.glob(f".{place.name}.*.tmp"):  # of a killed process
            _remove(left)
        out = place.with_name(f".{place.name}.{os.urandom(8).hex()}.tmp")
        words = _filled(command, checkpoint=job.checkpoint.path, out=out, worker=job.worker)
        try:
            with _running("converter", words, job) as program:
                program.wait(lambda: program.ending is not None, self._limits[0], "did not end")
                if program.ending != "exited with code 0":
                    program.check()
            if not out.exists() or (out.is_dir() and not any(out.iterdir())):
                raise program.failed("succeeded, but wrote nothing to {out}")
            atomic.put_in_place(out, place)
        except OSError as error:
            raise atomic.writing_failed(place, error) from error
        finally:
            _remove(out)

    @contextmanager
    def _served(self, job: Job, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the model's name and the options of the engine, while its server is running."""
        places: dict[str, Path | int] = {"checkpoint": path, "worker": job.worker}
        if not self._serve:
            own = self._options.get("command")
            filled = {} if own is None else {"command": _filled(own, **places)}
            yield str(path), {**self._options, **filled}
            return
        with self._free_port() as port:
            words = _filled(self._serve, **places, port=port)
            options = {**self._options, "base_url": f"http://{_HOST}:{port}/v1"}
            asker: Any = engines.make(self._engine, "unknown", **options)
            known = isinstance(asker, ServerEngine)
            headers = asker.form.headers(asker.place.sent_key) if known else {}
            with _running("server", words, job) as server:
                models: list[str] = []
                server.wait(
                    lambda: _is_ready(port, headers, models), self._limits[1], "did not answer"
                )
                job.checks.append(server.check)
                try:
                    yield models[0], options
                    server.check()
                except errors.GenerationError:
                    server.check(_DYING)  # which says more than an engine that lacks it
                    raise
                finally:
                    job.checks.remove(server.check)
            if _is_taken(port):  # by a program that was faster, and has perhaps answered
                raise errors.GenerationError(f"another program answers at the server's port {port}")

    @contextmanager
    def _free_port(self) -> Iterator[int]:
        """Yield a port that is free, and no other worker's."""
        ports = (_FIRST_PORT + secrets.randbelow(_PORTS) for _ in range(_PORTS))
        port = next(one for one in ports if one not in self._ports and not _is_taken(one))
        self._ports.add(port)
        try:
            yield port
        finally:
            self._ports.discard(port)


class _Program:
    """A program that runs for a job, and its log."""

    def __init__(self, what: str, group: processes.ProcessGroup, job: Job, log: Path) -> None:
        self._what, self._group, self._job, self._log = what, group, job, log

    @property
    def ending(self) -> str | None:
        """Describes how it ended; `None` while it is running."""
        return self._group.ending

    def wait(self, done: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Wait until something is done; raises `GenerationError` if that takes longer."""
        end = time.monotonic() + seconds
        while not done():
            self._job.check()
            self._bound_log()
            if self._what == "server":
                self.check()
            if time.monotonic() >= end:
                raise self.failed(f"{otherwise} within {seconds:g} seconds")
            time.sleep(_TICK)

    def check(self, seconds: float = 0.0) -> None:
        """Raise `GenerationError` if the program has ended, or ends within `seconds`."""
        self._bound_log()
        with suppress(subprocess.TimeoutExpired):
            self._group.process.wait(seconds)
        if self.ending is not None:
            raise self.failed(self.ending)

    def _bound_log(self) -> None:
        with suppress(OSError):
            if self._log.stat().st_size > _LARGEST_LOG:
                os.truncate(self._log, 0)  # the program appends to it

    def failed(self, how: str) -> errors.GenerationError:
        """Returns an error with the last lines of the log."""
        lines: list[str] = []
        with suppress(OSError), self._log.open("rb") as file:  # somebody may have removed it
            file.seek(max(0, self._log.stat().st_size - _LAST))
            lines = file.read().decode("utf-8", "replace").split("\n")
        last = " | ".join([line.strip() for line in lines if line.strip()][-_LINES:])
        said = f": {text.shortened(text.visible(last), _LONGEST)}" if last else ""
        return errors.GenerationError(f"the {self._what} {how}; its log is {self._log}{said}")


@contextmanager
def _running(what: str, words: Sequence[str], job: Job) -> Iterator[_Program]:
    """Run a program, whose output goes to the log; at the end, it is stopped with its children.

    Messages name only the program, not its arguments, which may contain keys.
    """
    log = _log(job)
    _folder(log.parent)
    try:
        with log.open("ab") as file:
            streams = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": subprocess.STDOUT}
            try:
                group = processes.ProcessGroup(words, **streams)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else error
                problem = f"the {what} {words[0]!r} cannot be started: {reason}"
                raise errors.GenerationError(problem) from error
    except OSError as error:
        raise atomic.writing_failed(log, error) from error
    try:
        yield _Program(what, group, job, log)
    finally:
        group.stop()


def _is_ready(port: int, headers: dict[str, str], models: list[str]) -> bool:
    """Whether a server answers; then `models` gets the name of its first model."""
    health = asyncio.run(_got(port, "/health", headers))[0]
    if health is None or health >= _SERVER_ERRORS:  # some list their models while they load them
        return False
    status, content = asyncio.run(_got(port, "/v1/models", headers))
    if status in (401, 403):
        raise errors.GenerationError(f"the server refuses the engine's API key (status {status})")
    with suppress(ValueError, LookupError, TypeError, RecursionError):
        name = json.loads(content)["data"][0]["id"]
        if status == _OK and isinstance(name, str):
            models.append(name)
    return bool(models)


def _is_taken(port: int) -> bool:
    """Whether a program listens at a port."""
    try:
        socket.create_connection((_HOST, port), _ATTEMPT).close()
    except OSError:
        return False
    return True


async def _got(port: int, path: str, headers: dict[str, str]) -> tuple[int | None, bytes]:
    """Returns the status and body of a response; no status if there is none in time."""
    import aiohttp

    limit, content = aiohttp.ClientTimeout(_ATTEMPT), b""
    try:
        url = f"http://{_HOST}:{port}{path}"
        async with aiohttp.request("GET", url, headers=headers, timeout=limit) as reply:
            while len(content) < _LARGEST and (part := await reply.content.readany()):
                content += part
            return reply.status, content
    except (OSError, aiohttp.ClientError):
        return None, b""


def _words(command: str | Sequence[str], what: str, *places: str) -> list[str]:
    try:
        words = atomic.command_words(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise errors.SettingsError(f"{what} cannot be split into arguments: {error}") from None
    for place in places:
        if not any(f"{{{place}}}" in word for word in words):
            meant = "the checkpoint's path" if place == "checkpoint" else f"its {place}"
            raise errors.SettingsError(
                f"{what} does not contain {{{place}}}: put it where {meant} belongs"
            )
    return words


def _filled(words: Sequence[str], **places: Path | int) -> list[str]:
    """Returns a command with its places filled, each once: what is put there is not looked at again."""
    return [_PLACES.sub(lambda match: str(places.get(match[1], match[0])), word) for word in words]


def _step(job: Job) -> str:
    return f"step_{job.checkpoint.step:08d}"


def _log(job: Job) -> Path:
    return job.folder / LOGS / f"{_step(job)}.log"


def _digest(*about: object) -> str:
    return hashlib.sha256(repr(about).encode("utf-8", "replace")).hexdigest()[:16]


def _alone_with(place: Path) -> AbstractContextManager[bool]:
    """Locks what is converted while it is made, used or removed; yields whether nobody else does that."""
    return locks.alone_with(_folder(place.parent) / f".{place.name}.lock")


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise atomic.writing_failed(path, error) from error
    return path


def _remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)
