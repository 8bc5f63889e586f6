"""Sites that are written again: what has not changed stays, what was interrupted is gone on with."""

import gc
import json
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import pfgen_rs.report
from checkouts import BETTER, CONFIG, FIRST, SECOND, add_run, contents, make_checkout, times
from helpers import GOOD, SEAS
from payload_texts import file_payloads
from pfgen_rs import Benchmark, InputError, OutputError, score_file
from pfgen_rs.checkout import rescoring
from pfgen_rs.errors import PfgenError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.run_files import EXAMPLES
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report import most_shown
from pfgen_rs.report.site import folder as folders, plots_page
from pfgen_rs.report.site.board import board_of
from pfgen_rs.report.site.builder import RunPages, ScoredRuns, Site, given_runs, worked_ahead
from pfgen_rs.report.site.folder import MARKER, SiteFolder, slug
from pfgen_rs.report.site.model_facts import bundled_facts
from pfgen_rs.report.update import report
from pfgen_rs.runs.result import Result
from site_samples import RUNS, made_entries

NOTICE = 'data-t="not_complete"'


@pytest.fixture(autouse=True)
def _no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take seconds, and have tests of their own."""
    monkeypatch.setattr(plots_page, "are_plottable", lambda _: False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    found = make_checkout(tmp_path / "checkout")
    assert report(found).problems == []
    return found


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the runs that are scored for pages, as it happens."""
    found: list[str] = []
    again = rescoring.scored_again

    def noted(benchmark: Any, runs: Sequence[Any], jobs: int | None) -> Iterator[Any]:
        for item in again(benchmark, runs, jobs):
            found.append(item[0])
            yield item

    monkeypatch.setattr(rescoring, "scored_again", noted)
    return found


@pytest.fixture
def known(checkout: Path, scored: list[str]) -> Path:
    """A checkout whose site has been written."""
    built(checkout)
    scored.clear()
    return checkout


def built(checkout: Path, **options: Any) -> set[str]:
    """Write the site; the files that were written."""
    place = checkout.parent / "site"
    before = times(place)
    assert report(checkout, html=place, **options).problems == []
    return {p for p, time in times(place).items() if before.get(p) != time}


def of_run(run: str) -> set[str]:
    return {f"runs/{slug(run)}/{name}" for name in ("index.html", "data.js")}


FRONT = {"index.html", "models/index.html", "board.js", "means.js"}


def model_page(name: str) -> str:
    return f"models/{slug(name)}/index.html"


def test_a_run_has_two_files_and_all_are_listed(checkout: Path, scored: list[str]) -> None:
    made = built(checkout)
    questions = len(list((checkout / "data").glob("Q*.json")))
    shared = {"benchmark/index.html", "compare/index.html", "compare/data.js", *FRONT}
    assert {*of_run(FIRST), *of_run(SECOND), *shared, MARKER} <= made
    models = [name for name in made if name.startswith("models/")]
    assert len(models) == 3  # the table, and a page for each
    assert len(made) == 5 + len(shared) + 2 + 3 + 2 * questions  # scripts, references, windows
    listed = json.loads((checkout.parent / "site" / MARKER).read_bytes())["files"]
    assert {*listed, MARKER} == made
    assert scored[0] == max((SECOND, FIRST), key=lambda run: score(checkout, run))  # the best first
    assert sorted(scored) == sorted([FIRST, SECOND])


def shown_answers(checkout: Path, run: str) -> list[int]:
    """How many answers to each question the page of a run holds."""
    content = (checkout.parent / "site" / "runs" / slug(run) / "data.js").read_bytes()
    return [len(part["texts"]) for part in file_payloads(content).values() if part]


def test_many_runs_hold_fewer_answers(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = "result/lab/long"
    add_run(checkout, run, GOOD * 8)
    built(checkout)
    everything = shown_answers(checkout, run)
    assert min(everything) >= 8
    assert built(checkout) == set()
    monkeypatch.setattr(pfgen_rs.report, "_MANY", 2)
    monkeypatch.setattr(pfgen_rs.report, "_PER_QUESTION_OF_MANY", 7)
    built(checkout)
    assert 5 <= max(shown_answers(checkout, run)) <= 7
    assert [most_shown(100), most_shown(2), most_shown(3)] == [7, 1000, 7]


def score(checkout: Path, run: str) -> float:
    found: float = json.loads((checkout / run / "result.json").read_bytes())["score"]
    return found


def test_nothing_has_changed(
    known: Path, scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Site, "write", lambda *_, **__: pytest.fail("a site is made"))
    assert (built(known), scored) == (set(), [])


def test_a_run_that_has_changed_is_made_again_alone(known: Path, scored: list[str]) -> None:
    (known / FIRST / "trials.jsonl.xz").unlink()
    add_run(known, FIRST, [*GOOD[:-1], *BETTER[1:]])
    told = {"index.html", "models/index.html", "board.js", "means.js", model_page("some/model")}
    assert built(known) == {*of_run(FIRST), *told, "compare/data.js", MARKER}
    assert scored == [FIRST]


THIRD = "result/third/model/0000000"


def add_third(checkout: Path) -> None:
    add_run(checkout, THIRD, BETTER, {"model": "third/model"})


def test_a_new_run_and_one_that_is_gone(known: Path, scored: list[str]) -> None:
    add_third(known)
    told = {*FRONT, "compare/data.js", MARKER}
    assert built(known) == {*of_run(THIRD), *told, model_page("third/model")}
    shutil.rmtree(known / THIRD)
    assert built(known) == told
    assert not (known.parent / "site" / "runs" / slug(THIRD)).exists()
    assert scored == [THIRD]


def test_other_questions_make_everything_stale(known: Path, scored: list[str]) -> None:
    path = next((known / "data").glob("Q*.json"))
    question = json.loads(path.read_bytes())
    texts = next(iter(question["answers"].values()))
    texts.append(texts[0] + texts[0])
    path.write_text(json.dumps(question), encoding="utf-8")
    assert {*of_run(FIRST), *of_run(SECOND), "benchmark/index.html"} <= built(known)
    assert sorted(scored) == sorted([FIRST, SECOND])


def test_another_version(known: Path, scored: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("folder", "builder"):
        monkeypatch.setattr(f"pfgen_rs.report.site.{module}.code_digest", lambda: "another")
    assert built(known) == {MARKER}  # the pages are the same
    assert sorted(scored) == sorted([FIRST, SECOND])


FILES: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "shorter": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "other": lambda path: path.write_bytes(path.read_bytes()[:-2] + b"x\n"),
}


@pytest.mark.parametrize("how", FILES)
@pytest.mark.parametrize(
    "name", ["index.html", "compare/data.js", "windows/q000.js", "runs/{}/data.js"]
)
def test_files_that_are_not_as_they_were_are_mended(known: Path, name: str, how: str) -> None:
    place = known.parent / "site"
    before = contents(place)
    name = name.format(slug(FIRST))
    FILES[how](place / name)
    # A page that the others lead to is missing, so that the table says so for a while.
    told = {"models/index.html"} if (name, how) == ("index.html", "gone") else set()
    assert built(known) == {name, MARKER, *told}
    assert {**contents(place), MARKER: b""} == {**before, MARKER: b""}


def test_facts_examples_and_configurations(known: Path, scored: list[str]) -> None:
    text = '[[released]]\ndate = 2024-01-02\nsource = "s"\nmodels = ["some/model"]\n'
    (known / "models.toml").write_text(text, encoding="utf-8")
    assert built(known) == {"board.js", model_page("some/model"), MARKER}
    assert built(known) == set()
    example = json.dumps({"question": SEAS, "answer": "例"}, ensure_ascii=False) + "\n"
    (known / "data" / EXAMPLES).write_text(example, encoding="utf-8")
    assert built(known) == {"benchmark/index.html", MARKER}
    assert scored == []
    (known / FIRST / "config.json").write_text(json.dumps({**CONFIG, "engine": "another"}))
    assert f"runs/{slug(FIRST)}/index.html" in built(known)
    assert set(scored) == {FIRST}


def test_a_run_that_is_no_longer_usable_has_no_page(known: Path) -> None:
    place = known.parent / "site"
    for path in (known / FIRST).glob("trials*"):
        path.write_bytes(b"damaged")
    assert report(known, html=place).failed == [FIRST]
    assert not (place / "runs" / slug(FIRST)).exists()
    board = file_payloads((place / "board.js").read_bytes())["board"]
    assert board["runs"]["page"].count(None) == 1
    listed = json.loads((place / MARKER).read_bytes())["files"]
    assert {*listed, MARKER} == contents(place).keys()


def test_force_makes_everything_again(known: Path, scored: list[str]) -> None:
    place = known.parent / "site"
    before = contents(place)
    path = place / "runs" / slug(FIRST) / "data.js"
    state = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert built(known) == set(), "the file looks as it was"
    built(known, force=True)
    assert set(scored) == {FIRST, SECOND}
    assert {**contents(place), MARKER: b""} == {**before, MARKER: b""}
    assert built(known) == set()


def test_two_processes_do_not_write_a_site_together(known: Path) -> None:
    place = known.parent / "site"
    before = contents(place)
    add_third(known)
    program = (
        "import sys; from pfgen_rs.report.site.folder import SiteFolder\n"
        "with SiteFolder(sys.argv[1]).writing(): print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline().strip() == b""
        assert other.poll() is None
        with pytest.raises(OutputError, match="another process is writing this site"):
            built(known)
        assert {name: contents(place)[name] for name in before} == before
        other.kill()
    assert contents(place).keys() - before.keys() == {".pfgen-site.lock"}
    assert of_run(THIRD) < built(known)
    assert not (place / ".pfgen-site.lock").exists()


def test_a_folder_is_read_again_once_it_is_locked(tmp_path: Path) -> None:
    """Another process may have finished a site meanwhile."""
    late, place = SiteFolder(tmp_path / "site"), tmp_path / "site"
    with (first := SiteFolder(place)).writing():
        first.write("a/index.html", b"a")
        first.finish()
    with late.writing():
        late.write("index.html", b"b")
        late.finish()
    assert contents(place).keys() == {MARKER, "index.html"}


@pytest.mark.parametrize("at", [MARKER, "index.html", "data.js"])
def test_a_build_that_was_killed(known: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """It is killed while it writes the first marker, the leaderboard, or the answers of a new run."""
    place = known.parent / "site"
    before = contents(place)
    add_third(known)
    write = write_atomic

    def killed(path: Path, content: bytes) -> None:
        if path.name == at:
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / f".{path.name}.{'0' * 16}.tmp").write_bytes(content[:9])
            raise KeyboardInterrupt
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "write_atomic", killed)
        with pytest.raises(KeyboardInterrupt):
            built(known, jobs=1)
    assert len(list(place.rglob("*.tmp"))) == 1
    shutil.rmtree(known / THIRD)
    (known / "models.toml").write_text("", encoding="utf-8")  # so that something has changed
    built(known)
    assert {**contents(place), MARKER: b""} == {**before, MARKER: b""}
    assert not (place / "runs" / slug(THIRD)).exists()


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        value = json.loads(content)
        change(value)
        return json.dumps(value).encode()

    return edit


MARKERS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda content: content[: len(content) // 2],
    "no parts": edited(lambda v: v.pop("parts")),
    "list for parts": edited(lambda v: v.update(parts=[])),
    "a part too short": edited(lambda v: v["parts"].update(front=[])),
    "another value": edited(lambda v: v["parts"][f"run {FIRST}"].__setitem__(2, {"figures": 3})),
    "number": edited(lambda v: v.update(parts=3, whole=3, digest=3)),
    "list": lambda _: b"[1]",
}


@pytest.mark.parametrize("how", MARKERS)
def test_a_damaged_marker_costs_time_alone(known: Path, scored: list[str], how: str) -> None:
    place = known.parent / "site"
    (place / "mine").write_text("mine")
    before = contents(place)
    (place / MARKER).write_bytes(MARKERS[how](before[MARKER]))
    assert built(known) == {MARKER}
    assert sorted(scored) == sorted([FIRST, SECOND])
    assert contents(place) == before


def test_a_site_that_is_cut_off(
    checkout: Path, scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_EVERY", 0)
    made = RunPages.made

    def interrupted(self: Any, run: str, *more: Any) -> Any:
        if len(scored) > 1:
            raise KeyboardInterrupt
        return made(self, run, *more)

    with monkeypatch.context() as patch:
        patch.setattr(RunPages, "made", interrupted)
        with pytest.raises(KeyboardInterrupt):
            report(checkout, html=checkout.parent / "site", jobs=1)
    place = checkout.parent / "site"
    first, second = scored
    assert NOTICE in (place / "index.html").read_text(encoding="utf-8")
    board = file_payloads((place / "board.js").read_bytes())["board"]
    assert f"runs/{slug(second)}/index.html" in board["runs"]["page"]
    assert (place / "benchmark" / "index.html").exists()
    assert all((place / name).exists() for name in of_run(first))
    scored.clear()
    leftover = place / "runs" / slug(second)
    leftover.mkdir(exist_ok=True)
    (leftover / f".data.js.{'0' * 16}.tmp").write_bytes(b"half")
    rest = {"index.html", "models/index.html", "compare/index.html", "compare/data.js", MARKER}
    rest |= {model_page("some/model"), model_page("other/model")}
    again = built(checkout)
    [script] = [name for name in again if name.startswith("assets/model-")]
    assert again == {*of_run(second), *rest, script}
    assert scored == [second]
    assert NOTICE not in (place / "index.html").read_text(encoding="utf-8")
    assert list(place.rglob("*.tmp")) == []


@pytest.fixture(scope="module")
def results(mini: Benchmark) -> dict[str, Result]:
    scored = [score_file(bundled_path() / "runs" / name, mini) for name in RUNS]
    return {e.run: result for e, result in zip(made_entries(3), scored, strict=True)}


def made_site(folder: Path, mini: Benchmark) -> Site:
    return Site(SiteFolder(folder), board_of(made_entries(3), mini, bundled_facts()), mini)


@pytest.mark.parametrize("count", [3, 2])
def test_no_links_to_runs_without_scores(
    mini: Benchmark, results: dict[str, Result], tmp_path: Path, count: int
) -> None:
    names = list(results)[:count]
    broken = names[1]

    def scored(runs: Sequence[str]) -> Iterator[tuple[str, Result | PfgenError]]:
        for run in runs:
            yield run, InputError("damaged") if run == broken else results[run]

    site = made_site(tmp_path, mini)
    [(run, problem)] = site.write(ScoredRuns(dict.fromkeys(names), scored), whole="x")
    assert (run, str(problem)) == (broken, "damaged")
    board = file_payloads((tmp_path / "board.js").read_bytes())["board"]
    assert {page for page in board["runs"]["page"] if page} == {
        f"runs/{slug(run)}/index.html" for run in names if run != broken
    }
    assert NOTICE not in (tmp_path / "index.html").read_text(encoding="utf-8")
    first = tmp_path / "runs" / slug(names[0]) / "index.html"
    assert "../../compare/index.html" in first.read_text(encoding="utf-8")
    assert (tmp_path / "compare" / "index.html").exists()
    data = file_payloads((tmp_path / "compare" / "data.js").read_bytes())["compare/data"]
    assert len(data["runs"]) == count - 1
    assert not SiteFolder(tmp_path).is_whole("x")  # the error is to be told again


def test_progress_is_told(mini: Benchmark, results: dict[str, Result], tmp_path: Path) -> None:
    told: list[Any] = []

    def steps(total: int) -> Any:
        told.append(total)
        return nullcontext(told.append)

    keyed = ScoredRuns(dict.fromkeys(results, "key"), given_runs(results).scored)
    for wanted in ([3, *results], []):
        told.clear()
        made_site(tmp_path, mini).write(keyed, steps=steps)
        assert told == wanted


@pytest.mark.parametrize("jobs", [1, 3])
def test_only_as_many_items_as_threads_are_held(jobs: int) -> None:
    class Item:
        pass

    taken: list[weakref.ref[Item]] = []
    most = 0

    def items() -> Iterator[Item]:
        nonlocal most
        for _ in range(20):
            item = Item()
            taken.append(weakref.ref(item))
            gc.collect()
            most = max(most, sum(ref() is not None for ref in taken))
            yield item
            del item

    assert list(worked_ahead(lambda _: len(taken), items(), jobs)) != []
    assert len(taken) == 20
    assert most <= jobs + 1
