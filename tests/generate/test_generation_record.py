"""What a run's folder says of its generation, and what commands tell of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from engine_tasks import engine
from fault_server import Asked, FaultServer, Handler
from generating import FakeEngine, Place, answer_to, journal
from pfgen_rs import OutputError, leaderboard, score_file
from pfgen_rs.ask.costs import Prices
from pfgen_rs.ask.protocol import Answered, Details, Outcome, Parameters, Usage
from pfgen_rs.generate import RunConfig, Task
from pfgen_rs.io import atomic
from pfgen_rs.io.run_files import packed_trials
from pfgen_rs.runs.generation import generation_of, is_odd, summarised, told

OLD: dict[str, Any] = {
    "finish_reason": "stop",
    "served": "a",
    "usage": None,
    "left_out": [],
    "timestamp": "2",
}
NEW = {**OLD, "sampling": {"temperature": 1.0}, "empty": 0, "attempts": 1, "seconds": 0.5}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "generation.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([{}], ""),
        ([{"finish_reason": "length"}, {"finish_reason": None}], "1 of 1 answer ended by"),
        ([{"empty": 2}, {}], "1 answer asked for again because empty"),
        ([{}, {"served": "b"}, {}], "2 models answered: 'a' (2), 'b' (1)"),
        ([{"served": f"m{n}\x1b"} for n in range(9)], r"'m1\x1b' (1), 'm2\x1b' (1), …"),
        ([{}, {"served": None}], ""),
        ([{}, {"sampling": None}], ""),
        ([{}, {"sampling": {"temperature": 0}}], "answers were sampled in 2 ways"),
        ([{}, {"left_out": ["seed"]}], "answers were sampled in 2 ways"),
    ],
)
def test_what_is_told_of_records(changes: list[dict[str, Any]], said: str) -> None:
    found = summarised([{**NEW, **each} for each in changes])
    assert said in told(found)
    assert bool(told(found)) == bool(said)
    assert is_odd(found) == (bool(said) and "empty" not in said)


def test_old_and_foreign_records_are_counted_as_far_as_they_go() -> None:
    foreign = {"served": ["x"], "usage": [1], "seconds": "1", "empty": -1, "attempts": 10**400}
    found = summarised([OLD, {**NEW, "timestamp": "1"}, foreign, {"seconds": 10**400}])
    assert found["answers"] == 4
    assert found["cut"] == {"answers": 0, "known": 2, "share": 0.0}
    assert found["asked_again"] == {"answers": 0, "known": 1, "share": 0.0}
    assert found["said"]["served"][0] == {"value": "a", "answers": 2, "first": "1", "last": "2"}
    assert found["said"]["served"][1]["last"] == ""
    assert found["counted"]["seconds"]["percentiles"]["95"] == 0.5
    assert summarised([])["cut"]["share"] is None


def test_each_call_writes_what_the_journal_says(place: Place) -> None:
    class Noting(FakeEngine):
        usage = Usage()

        def notes(self) -> dict[str, Any]:
            return {"concurrency": [1, 2]} if self.usage.requests < 9 else {"many": "x" * 99999}

    def blank_then_dead(task: Task) -> str | Exception:
        asked.usage += Usage(requests=1)
        if asked.usage.requests == 1:
            return " "
        return answer_to(task) if asked.usage.requests < 4 else KeyboardInterrupt()  # type: ignore[return-value]

    asked = Noting(blank_then_dead)
    with pytest.raises(KeyboardInterrupt):
        place.run(asked)
    first = of(place.folder)
    [call] = first["calls"]
    assert (first["answers"], call["new"], call["failed"]) == (2, 2, None)
    assert (call["error"], call["client"]) == ("KeyboardInterrupt", {"concurrency": [1, 2]})

    asked.reply = lambda task: " " if task.trial == 3 else answer_to(task)
    asked.usage = Usage(requests=9)
    place.run(asked, prices=Prices(1.0, 2.0, "JPY"))
    second = of(place.folder)
    assert [each["given_up"] for each in second["calls"]] == [0, 2]
    assert second["calls"][1]["failed"] == 2
    assert second["calls"][1]["client"] is None  # too long
    assert second["cost"] == {"amount": 0.0, "shown": "0.00 JPY", "answers": 0}
    assert "cost 0.00 JPY for 0 of 4 answers" in told(second)

    content = (place.folder / "generation.json").read_bytes()
    records = journal(place.folder)
    place.run(FakeEngine(), trials=2)  # which asks nothing
    assert (place.folder / "generation.json").read_bytes() == content
    (place.folder / "generation.json").unlink()
    place.run(FakeEngine(), trials=2)
    third = of(place.folder)
    assert third["calls"] == []
    assert {key: third[key] for key in summarised(records)} == summarised(records)


class Dies(FakeEngine):
    def __init__(self) -> None:
        super().__init__(lambda _: KeyError("the real error"))


@pytest.mark.parametrize("engine_type", [FakeEngine, Dies])
@pytest.mark.parametrize("noted", ["text", lambda: 1 / 0, lambda: {(1, 2): 3}, lambda: math.nan])
def test_notes_of_an_engine_end_nothing(
    place: Place, engine_type: type[FakeEngine], noted: Any
) -> None:
    asked = engine_type()
    asked.notes = noted  # type: ignore[attr-defined]
    with pytest.raises(KeyError, match="real") if engine_type is Dies else nullcontext():
        place.run(asked)
    [call] = of(place.folder)["calls"]
    assert call["client"] is None


def test_a_summary_that_cannot_be_written_is_a_warning(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.run(FakeEngine(), trials=1)
    (place.folder / "generation.json").unlink()
    (place.folder / "generation.json").mkdir()
    assert place.run(FakeEngine(), trials=2, score=True).result is not None
    assert len(packed_trials(place.folder, 2)[1]) == 0
    assert "generation.json is not up to date" in caplog.text


def test_only_answers_that_were_appended_are_new(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = atomic.append

    def append(path: Path, file: Any, size: int, content: bytes) -> None:
        if size:
            raise OutputError("full")
        real(path, file, size, content)

    monkeypatch.setattr(atomic, "append", append)
    with pytest.raises(OutputError, match="full"):
        place.run(FakeEngine())
    assert of(place.folder)["calls"][0]["new"] == len(journal(place.folder)) == 1


def test_a_broken_journal_is_a_warning_for_what_is_scored(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    folder = place.run(FakeEngine(), trials=1).folder
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b"[]\n")
    result = score_file(folder, place.benchmark)
    assert result.generation is None
    assert result.to_html()
    assert "journal.jsonl, line 3" in caplog.text


def test_a_server_that_invents_names_is_told_of_for_a_while(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    class Inventive(FakeEngine):
        def generate(self, tasks: Sequence[Task], _parameters: Parameters) -> Iterator[Outcome]:
            for number, task in enumerate(tasks):
                yield Answered(task, answer_to(task), Details(model=f"m{number}"))

    folder = place.run(Inventive(), trials=20).folder
    assert len(caplog.messages) == 10
    page = score_file(folder, place.benchmark).to_html()
    assert ("m19<" in page, "m20<" in page, "<td>20</td>" in page) == (True, False, True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[" * 99999,
        b'{"answers": "many"}',
        b"\xff",
        *(b'"amount": %b' % n for n in (b"NaN", b"1e999", b"9" * 4000)),
        None,
    ],
)
def test_a_summary_that_is_damaged_or_old_is_not_believed(
    place: Place, content: bytes | None
) -> None:
    place.run(FakeEngine(), trials=1)
    good = generation_of(str(place.folder))
    assert good is not None
    assert good == generation_of(str(place.folder / "trials.jsonl.xz"))
    path = place.folder / "generation.json"
    if content is None:  # a process was killed
        place.run(FakeEngine(lambda task: answer_to(task) if task.trial < 3 else None), trials=4)
        cost = {"amount": 1.0, "shown": "1.00 JPY", "answers": 2}
        old = {"journal_bytes": 1, "answers": 99, "cost": cost}
        path.write_text(json.dumps({**of(place.folder), **old}))
        found = generation_of(str(place.folder))
        assert found == {**good, **summarised(journal(place.folder)), "cost": cost}
        return
    is_part = content.startswith(b'"')
    path.write_bytes(path.read_bytes().replace(b'"amount": null', content) if is_part else content)
    assert generation_of(str(place.folder)) == summarised(journal(place.folder))
    (place.folder / "journal.jsonl").unlink()
    assert generation_of(str(place.folder)) is None


def test_records_have_what_was_sent(place: Place) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

    def no_seed(handler: Handler, asked: Asked) -> None:
        if "seed" in asked.body:
            faults.status(400, "no seed", param="seed")(handler, asked)
        else:
            faults.answer("答え")(handler, asked)

    config = RunConfig("openai-api", "m", temperature=0.5, top_p=None)
    with FaultServer(default=no_seed) as server:
        asked = engine(server, optional="seed", concurrency=1)
        folder = place.run(asked, config, trials=2).folder
    found = [{k: r[k] for k in ("seed", "left_out", "attempts", "empty")} for r in journal(folder)]
    one = {"seed": None, "left_out": ["seed"], "attempts": 2, "empty": 0}
    assert found == [one, one, {**one, "attempts": 1}, {**one, "attempts": 1}]
    sent = {"max_tokens": 300, "temperature": 0.5, "stop": ["Q:", "\n\n"]}
    assert all(record["sampling"] == sent for record in journal(folder))


def test_nothing_that_is_published_depends_on_it(place: Place) -> None:
    folder = place.run(FakeEngine(), trials=2).folder
    with_it = score_file(folder, place.benchmark)
    packed = packed_trials(folder, 2)
    rows = leaderboard([with_it]).rows()
    assert rows[0]["generation"]["answers"] == 4
    assert "generation" not in leaderboard([with_it]).to_polars().columns
    assert with_it.to_html().count('class="config"') == 2
    for name in ("generation.json", "journal.jsonl"):
        (folder / name).unlink()
    without = score_file(folder, place.benchmark)
    assert without.generation is None
    assert without.to_html().count('class="config"') == 1
    assert without.to_json() == with_it.to_json()
    assert packed_trials(folder, 2) == packed
