"""Checkouts reported: what is stale is made anew, what is broken is told, nothing else is touched."""

import hashlib
import html
import json
import lzma
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, strategies as st

from checkouts import (
    BETTER,
    FIRST,
    MARKS,
    SECOND,
    add_run,
    contents,
    edit,
    make_checkout,
    text,
    times,
)
from helpers import (
    CATS,
    FULL_DISK,
    GOOD,
    QUESTIONS,
    SEAS,
    SLOW_DISK,
    TIMEOUT,
    environment,
    pfgen,
    python,
    write_benchmark,
)
from pfgen_rs import load_benchmark, score_file
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.checkout.published import Published, published, read_published
from pfgen_rs.checkout.rescoring import BOLD, STRUCK, marks_of
from pfgen_rs.errors import BenchmarkError, BenchmarkNotFoundError, OutputError
from pfgen_rs.questions.question import Question
from pfgen_rs.report import markup, readme as leaderboard
from pfgen_rs.report.readme import run_readme
from pfgen_rs.report.update import report

# What a report makes of the small checkout.
MADE = {
    "leaderboard.parquet",
    "leaderboard.csv",
    "leaderboard.json",
    *(f"{run}/{name}" for run in (FIRST, SECOND) for name in ("README.md", "result.json")),
    *(f"{run}/trials.jsonl.xz" for run in (FIRST, SECOND)),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "checkout")


@pytest.fixture
def reported(checkout: Path) -> Path:
    assert report(checkout).problems == []
    return checkout


def written(folder: Path, **options: Any) -> set[str]:
    """Report; the files that were written."""
    before = times(folder)
    done = report(folder, **options)
    assert done.problems == []
    after = times(folder)
    changed = {path for path, time in after.items() if before.get(path) != time}
    assert changed == {path.relative_to(folder).as_posix() for path in done.written}
    return changed


# What is made.


def test_everything_is_made(checkout: Path) -> None:
    before = contents(checkout)
    done = report(checkout)
    assert (done.problems, done.unfinished, done.scored) == ([], [], sorted([FIRST, SECOND]))
    after = contents(checkout)
    assert after.keys() - before.keys() == MADE
    assert {path for path in before if before[path] != after[path]} == {"README.md"}


def test_the_leaderboard_is_by_falling_score(reported: Path) -> None:
    text = (reported / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Title\n<!-- leaderboard -->\n| <code>Rank")
    assert text.endswith("|\n\n<!-- /leaderboard -->\n# End\n")
    assert re.findall(r"<code>(\d)</code>.*\[(.*?)\]\((.*?)\)", text) == [
        ("1", "💬 other/model", f"{SECOND}/README.md"),
        ("2", "🟢 some/model", f"{FIRST}/README.md"),
    ]


def test_a_second_report_writes_nothing_and_force_makes_the_same_again(reported: Path) -> None:
    before = contents(reported)
    assert written(reported) == written(reported, force=True) == set()
    for path in MADE - {f"{run}/trials.jsonl.xz" for run in (FIRST, SECOND)}:
        (reported / path).write_bytes(b"changed by hand")
    report(reported, force=True)
    assert contents(reported) == before


def test_threads_change_nothing(reported: Path, tmp_path: Path) -> None:
    for jobs in (1, 2, 5):
        other = make_checkout(tmp_path / f"{jobs}")
        report(other, jobs=jobs)
        assert contents(other) == contents(reported)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_damaged_run_among_many(checkout: Path, jobs: int) -> None:
    names = [f"result/many/model/{i:02d}" for i in range(20)]
    for i, name in enumerate(names):
        add_run(checkout, name, GOOD if i % 2 else BETTER, {"model": f"many/{i}"})
    damaged = checkout / names[7] / "trials.jsonl.xz"
    (checkout / names[7] / "trials.jsonl").unlink()
    damaged.write_bytes(lzma.compress(text(GOOD))[:-10])
    before = contents(checkout / names[7])
    done = report(checkout, jobs=jobs)
    [problem] = done.problems
    assert str(problem).startswith(
        f"{damaged}, line 5: the compressed data is damaged or cut short"
    )
    others = sorted({FIRST, SECOND, *names} - {names[7]})
    assert (done.failed, done.scored) == ([names[7]], others)
    assert contents(checkout / names[7]) == before
    for name in others:
        result = score_file(checkout / name, checkout / "data")
        assert (checkout / name / "result.json").read_bytes() == result.to_bytes()
        digest = hashlib.sha1(result.to_bytes(), usedforsecurity=False).hexdigest()
        assert digest in (checkout / name / "README.md").read_text(encoding="utf-8")


# What is stale.


def damage(content: bytes) -> Callable[[Path], Any]:
    return lambda run: (run / "result.json").write_bytes(content)


def edited(name: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    return lambda run: edit(run / name, change)


STALE: dict[str, Callable[[Path], Any]] = {
    "no result": lambda run: (run / "result.json").unlink(),
    "no JSON": damage(b"{"),
    "no text": damage(b"\xff\xfe"),
    "no object": damage(b"[]"),
    "too deep": damage(b"[" * 100_000),
    "cut short": lambda run: damage((run / "result.json").read_bytes()[:-50])(run),
    "older version": edited("result.json", lambda r: r.pop("questions")),
    "no samples": edited("result.json", lambda r: r["questions"]["Q01"].pop("samples")),
    "text for a number": edited("result.json", lambda r: r.update(score="0.5")),
    "not a number": edited("result.json", lambda r: r["scores"].update(average=float("nan"))),
    "too large": edited("result.json", lambda r: r["questions"]["Q01"].update(score=1e200)),
    "negative spread": edited("result.json", lambda r: r.update(score_std=-0.1)),
    "lone surrogate": lambda run: damage(
        (run / "result.json").read_bytes().replace(CATS.encode(), b"\\ud800")
    )(run),
    "other questions": edited("result.json", lambda r: r.update(metadata_hash="0" * 40)),
    "other responses": edited("result.json", lambda r: r.update(input_hash="0" * 40)),
    "other settings": edited("result.json", lambda r: r.update(signature="pfgen|…")),
    "other config": edited("result.json", lambda r: r["config"].update(temperature=0.5)),
}


@pytest.mark.parametrize("change", STALE.values(), ids=STALE.keys())
def test_a_stale_result_is_made_anew(reported: Path, change: Callable[[Path], Any]) -> None:
    before = contents(reported)
    change(reported / FIRST)
    assert written(reported) == {f"{FIRST}/result.json"}
    assert contents(reported) == before


def test_a_new_config_is_taken_over(reported: Path) -> None:
    edit(reported / FIRST / "config.json", lambda config: config.update(model="new/name"))
    made = {f"{FIRST}/result.json", f"{FIRST}/README.md", "README.md"}
    assert written(reported) == {*made, *(name for name in MADE if "/" not in name)}
    assert b"new/name" in (reported / "README.md").read_bytes()


def test_new_questions_make_everything_stale(reported: Path) -> None:
    write_benchmark(reported / "data", {"Q02": {"keywords": []}})
    assert written(reported) == {*MADE, "README.md"} - {
        f"{run}/trials.jsonl.xz" for run in (FIRST, SECOND)
    }


def test_a_stale_readme_and_a_lost_table_are_made_anew(reported: Path) -> None:
    before, readme = contents(reported), f"{FIRST}/README.md"
    for name in (readme, *(name for name in MADE if "/" not in name)):
        (reported / name).unlink()
        assert written(reported) == {name}
    for content in (b"", b"# Model: some/model\n\n<!-- result.json: 0 -->\n"):
        (reported / readme).write_bytes(content)
        assert written(reported) == {readme}
    assert contents(reported) == before


def test_system_runs_have_other_places(reported: Path) -> None:
    """The example answers lie beside the questions; a result may have come without its responses."""
    data, final = reported / "data", reported / "data" / "final"
    (data / "questions.jsonl").write_bytes(text(BETTER))
    system = {"engine": "system", "mode": "system", "model": "system/ground-truth"}
    (data / "config.json").write_text(json.dumps(system))
    report(reported)
    final.mkdir()
    (final / "result.json").write_bytes((data / "result.json").read_bytes())
    report(reported)
    assert (final / "README.md").read_bytes() == (data / "README.md").read_bytes()
    leaders = (reported / "README.md").read_text(encoding="utf-8")
    assert leaders.count("| <code>N/A</code> ") == 2
    assert leaders.count("👑 system/ground-truth") == 2
    assert written(reported) == set()


# What is broken.


def without(name: str) -> Callable[[Path], Any]:
    return lambda run: (run / name).unlink()


def responses(content: bytes) -> Callable[[Path], Any]:
    """Other responses, packed and plain."""

    def change(run: Path) -> None:
        (run / "trials.jsonl").unlink()
        (run / "trials.jsonl.xz").write_bytes(lzma.compress(content))

    return change


def cut_short(run: Path) -> None:
    content = (run / "trials.jsonl.xz").read_bytes()
    (run / "trials.jsonl.xz").write_bytes(content[: len(content) // 2])


def orphaned(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    """A changed result whose responses are lost."""

    def work(run: Path) -> None:
        for name in ("trials.jsonl", "trials.jsonl.xz"):
            (run / name).unlink()
        edit(run / "result.json", change)

    return work


NINE = text([*GOOD, ("何ですか？", "誰も知りません。")])
# What was done to a run, and what the message says besides its folder.
BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (without("config.json"), "missing config.json"),
    "config no JSON": (lambda run: (run / "config.json").write_text("{'a'}"), "invalid JSON"),
    "config no object": (lambda run: (run / "config.json").write_text("[]"), "name of the 'model'"),
    "config no model": (edited("config.json", lambda c: c.pop("model")), "name of the 'model'"),
    "no answers to a question": (responses(text(GOOD[:1])), "1 of 2 questions has no answer (Q02)"),
    "another benchmark": (responses(NINE), "has no question with exactly this text or id"),
    "no answer in a line": (responses(text(GOOD) + b'{"question": ""}\n'), "line 5"),
    "no JSON lines": (responses(b"hello\n"), "line 1"),
    "empty": (responses(b""), "no responses"),
    "damaged responses": (cut_short, "is damaged or cut short"),
    "lost responses": (orphaned(lambda r: r.update(metadata_hash="0" * 40)), "other questions"),
    "lost, older version": (orphaned(lambda r: r.pop("scores")), "missing 'scores'"),
    "lost, strange question": (
        orphaned(lambda r: r["questions"].update(Q77=r["questions"].pop("Q01"))),
        "unknown question 'Q77'",
    ),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_run_is_left_alone(
    reported: Path, change: Callable[[Path], Any], message: str
) -> None:
    before = contents(reported)
    change(reported / FIRST)
    broken = contents(reported / FIRST)
    edit(reported / SECOND / "result.json", lambda result: result.update(input_hash="0" * 40))
    if "Q77" in message:
        (reported / FIRST / "README.md").unlink()  # it would be asked for
        broken.pop("README.md")
    done = report(reported)
    [problem] = done.problems
    assert message in str(problem)
    assert str(reported / FIRST) in str(problem)
    assert contents(reported / FIRST) == broken
    assert done.scored == [SECOND]
    assert (reported / SECOND / "result.json").read_bytes() == before[f"{SECOND}/result.json"]


@pytest.mark.parametrize(
    "kind", ["config no JSON", "no answers to a question", "damaged responses"]
)
def test_the_command_counts_failures(reported: Path, tmp_path: Path, kind: str) -> None:
    """With a site, too, for which answers are read again; advice names nothing that the command lacks."""
    BROKEN[kind][0](reported / FIRST)
    done = pfgen("report", reported, "--html", tmp_path / "site")
    assert done.returncode == 1
    [error] = [line for line in done.stderr.splitlines() if not line.startswith("scoring ")]
    assert str(reported / FIRST) in error
    assert "skip bad lines" not in error
    assert "allow a partial" not in error
    page = tmp_path / "site" / "index.html"
    assert page.is_file()
    told = f"2 runs: 0 scored, 1 failed; 0 files written in the checkout; site: {page}\n"
    assert done.stdout == told


READMES = {
    "# Title\n": "missing line <!-- leaderboard -->",
    "<!-- leaderboard -->\n": "missing line <!-- /leaderboard -->",
    "<!-- /leaderboard -->\n": "missing line <!-- leaderboard -->",
    "<!-- /leaderboard -->\n<!-- leaderboard -->\n": "line 1: the mark <!-- /leaderboard --> comes before",
    MARKS * 2: "line 3: duplicate mark <!-- leaderboard -->",
    f"{MARKS}<!-- /leaderboard -->": "duplicate mark <!-- /leaderboard -->",
}


def test_a_readme_without_a_place_for_the_leaderboard_stays(checkout: Path) -> None:
    for content, message in READMES.items():
        (checkout / "README.md").write_text(content)
        [problem] = report(checkout).problems
        assert str(problem).startswith(str(checkout / "README.md"))
        assert message in str(problem)
        assert (checkout / "README.md").read_text() == content
    assert contents(checkout).keys() >= MADE


def test_no_main_readme(checkout: Path) -> None:
    (checkout / "README.md").unlink()
    done = pfgen("report", checkout)
    assert done.returncode == 1
    *scored, error = done.stderr.splitlines()
    assert scored == [f"scoring {run}: no result.json" for run in (SECOND, FIRST)]
    assert error.startswith(f"error: {checkout / 'README.md'}: no such file: the leaderboard goes")
    assert contents(checkout).keys() >= MADE


def test_what_is_no_checkout(tmp_path: Path, checkout: Path) -> None:
    with pytest.raises(BenchmarkNotFoundError, match=r"not a directory"):
        report(tmp_path / "nowhere")
    with pytest.raises(BenchmarkNotFoundError, match=r"not a checkout of pfgen-bench"):
        report(checkout / "result")
    (checkout / "data" / "Q03.json").write_bytes(b"{}")
    with pytest.raises(BenchmarkError, match=r"Q03\.json: missing key"):
        report(checkout)
    for arguments in (["nowhere"], [checkout / "result"], [checkout], ["--jobs=0", checkout], []):
        done = pfgen("report", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "rror" in done.stderr


def test_a_file_in_the_way(reported: Path) -> None:
    """What cannot be written is told of that run alone."""
    path = reported / FIRST / "README.md"
    path.unlink()
    path.mkdir()
    (path / "content").touch()
    (reported / SECOND / "README.md").unlink()
    [problem] = report(reported).problems
    assert isinstance(problem, OutputError)
    assert str(path) in str(problem)
    assert (reported / SECOND / "README.md").is_file()


def test_hostile_names_and_answers(checkout: Path) -> None:
    answer = "</dd><script>alert(1)</script>\n\n# |`*_[x](y)\\\x1b[31m\u202e&amp;"
    name = "result/a b/(c)[d]|<e>/%41*_`"
    config = {"model": "a|b](javascript:alert(1))<script>\n`*x", "mode": ["qa"], "engine": {}}
    add_run(checkout, name, [(CATS, answer), (SEAS, "```\n# x")], config)
    assert report(checkout).problems == []
    readme = (checkout / name / "README.md").read_text(encoding="utf-8")
    shown, fence, after = readme.partition("```json\n")  # in which nothing acts
    assert "<script" not in shown + after.partition("\n```\n")[2]
    assert fence
    name_shown = "a&#124;b&#93;(javascript:alert(1))&lt;script&gt;&#92;n&#96;&#42;x"
    assert shown.startswith(f"# Model: {name_shown}\n")
    lines = (checkout / "README.md").read_text(encoding="utf-8").splitlines()
    [row] = [line for line in lines if "javascript" in line]
    assert row.count("|") == lines[2].count("|")
    assert f"[❔ {name_shown}](result/" in row
    assert "](result/a%20b/%28c%29%5Bd%5D%7C%3Ce%3E/%2541%2A_%60/README.md)</code>" in row


# Reports that are killed, or find no room: every file is the old one or the new one.

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")
FILES = 10  # of a report of the small checkout
PACKED = 2  # of them are written first
SCORED = [f"scoring {run}: its answers have changed since it was scored" for run in (SECOND, FIRST)]


@pytest.fixture
def stale(reported: Path) -> Path:
    """A checkout in which everything was made, and is stale."""
    for path in reported.glob("result/**/trials.jsonl"):
        path.write_bytes(path.read_bytes() + text(GOOD))
    return reported


@posix
@pytest.mark.parametrize(
    ("number", "place"),
    [(signal.SIGINT, 1), (signal.SIGTERM, 3), *((signal.SIGKILL, n) for n in (2, 4, 6, FILES))],
)
def test_a_signal_while_writing(stale: Path, number: signal.Signals, place: int) -> None:
    old = contents(stale)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_DISK, str(place), "report", str(stale), "--jobs=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.read(7) == b"writing"
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT)
    killed = number == signal.SIGKILL
    assert process.returncode == (-number if killed else 128 + number)
    assert err.decode().splitlines() == (SCORED if place > PACKED else [])
    left = contents(stale)
    temporary = {path for path in left if path.endswith(".tmp")}
    assert len(temporary) == (1 if killed else 0)
    assert report(stale).problems == []
    new = contents(stale)
    assert left.keys() - old.keys() == temporary
    assert new.keys() == old.keys()
    changed = [path for path in old if old[path] != new[path]]
    assert len(changed) == FILES
    assert all(left[path] in (old[path], new[path]) for path in old)
    assert sum(left[path] == new[path] for path in changed) == place - 1


@posix
def test_a_full_disk(stale: Path) -> None:
    before = contents(stale)
    done = python(FULL_DISK, "report", stale, "--force")
    assert done.returncode == 1
    errors = done.stderr.splitlines()
    assert len(errors) >= 2
    assert all(error.startswith("error: ") for error in errors)
    assert all("cannot be written" in error for error in errors)
    assert contents(stale) == before


def test_the_command_tells_what_it_did(stale: Path) -> None:
    done = pfgen("report", stale)
    assert (done.returncode, done.stderr.splitlines()) == (0, SCORED)
    assert done.stdout == f"2 runs: 2 scored; {FILES} files written in the checkout\n"


# Pieces.


def test_the_rest_of_a_readme_stays() -> None:
    for end in (b"\n", b"\r\n"):
        before, after = b"\xff\x00 x" + end, b"y" + end + b" <!-- leaderboard --> z"
        marks = [mark.encode() + end for mark in (leaderboard.BEGIN, leaderboard.END)]
        old = before + marks[0] + b"old" + end + marks[1] + after
        new = leaderboard.readme_with_leaderboard(old, "new\n", Path("README.md"))
        assert new == before + marks[0] + b"new\n\n" + marks[1] + after


def test_icons_are_of_modes_and_long_names_are_cut(reported: Path) -> None:
    run = read_published(reported / FIRST, FIRST)
    for length, shown in ((40, "x" * 40), (41, "x" * 37 + "...")):
        run.config["model"] = "x" * length
        assert run.label == f"🟢 {shown}"
    icons = {"qa": "💬", "chat": "💬", "completion": "🟢", "other": "❔", None: "❔"}
    for mode, icon in icons.items():
        run.config["mode"] = mode
        assert run.icon == icon


# READMEs of runs: text that does nothing, and marks as counted in the obvious way.


TEXT = st.text(st.characters(codec="utf-8"))


@given(TEXT)
def test_escaped_text_reads_as_it_was_and_does_nothing(text: str) -> None:
    for escape, active in ((markup.escape, "_{}()#+-.!"), (markup.cell_text, "")):
        if min(text, default=" ") >= " ":
            assert html.unescape(escape(text)) == text
        plain = re.sub(r"&#?\w+;", "", escape(text))
        assert not set(plain) & set("*`[]|<>&\"'\\\n\r\t\0" + active)
    assert markup.escape("\n\t\x00\x1b") == "&#92;n&#92;t&#92;x00&#92;x1b"


@given(TEXT.filter(lambda text: "\0" not in text))
def test_targets_of_links(path: str) -> None:
    target = markup.link_target(path)
    assert re.fullmatch(r"[\w/@+:,=~.%-]*", target, re.ASCII)
    assert unquote(target) == path


@given(st.text("ab日本", max_size=9), st.lists(st.text("ab日本"), max_size=4))
def test_padding(heading: str, cells: list[str]) -> None:
    def width(text: str) -> int:
        return len(text) + sum(map(text.count, "日本"))

    spaces = len(markup.padding(heading, cells)) / len("&nbsp;")
    assert width(heading) + spaces == max(map(width, [heading, *cells]))


def plain_marks(question: Question, answer: str) -> bytes:
    """Marks by looking for every window in every reference answer."""
    text, references = f"^{answer}$", [a for own in question.answers.values() for a in own]
    counts = {
        i: sum(text[i - 1 : i + 2] in reference for reference in references)
        for i in range(1, len(text) - 1)
    }
    marks = []
    for i in counts:
        common = max(counts.get(j, 0) for j in (i - 1, i, i + 1))
        bold, struck = common > 0.1 * len(references), common < 0.005 * len(references)
        marks.append(BOLD if bold else STRUCK if struck else 0)
    return bytes(marks)


def made(folder: Path, references: int) -> Benchmark:
    """A question whose answers hold some windows rarely, and some often."""
    answers = [
        "いつもある。" + ("時々ある。" if i % 12 == 0 else "") + ("稀である$" if i == 0 else "")
        for i in range(references)
    ]
    question = {**QUESTIONS["Q01"], "answers": {"A": answers[::2], "B": answers[1::2]}}
    folder.mkdir()
    (folder / "Q01.json").write_text(json.dumps(question))
    return load_benchmark(folder)


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Benchmark]:
    """Questions with so many reference answers: at, above and below the limits of the marks."""
    folder = tmp_path_factory.mktemp("sets")
    return {number: made(folder / str(number), number) for number in (199, 200, 201, 240)}


@given(
    st.sampled_from([199, 200, 201, 240]),
    st.lists(st.lists(st.sampled_from(["いつも", "ある。", "時々", "稀", "で", "$", "^", "x"]))),
)
def test_marks_are_those_of_looking_for_every_window(
    benchmarks: dict[int, Benchmark], references: int, answers: list[list[str]]
) -> None:
    benchmark = benchmarks[references]
    texts = ["".join(parts) for parts in answers]
    result = {"questions": {"Q01": {"samples": [{"answer": text} for text in texts]}}}
    [marks] = marks_of(benchmark, [result])
    assert marks == {
        ("Q01", i): plain_marks(benchmark["Q01"], text) for i, text in enumerate(texts)
    }


def test_sources_that_the_published_set_lacks(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    report(checkout)
    text = (checkout / FIRST / "README.md").read_text(encoding="utf-8")
    assert re.search(r"- Fluency: \d\.\d{3} \(A:\d\.\d{4}\+B:\d\.\d{4}\)\n", text)
    assert f'## <a name="Q01"></a>Q01. {CATS}\n' in text


# Half-way between two printed numbers: in each, another one of the three shares must be added last to get
# the sum that the two other orders do not give.
TIES = [
    {"P": 0.23906, "T": 0.29961, "S": 0.17383},
    {"P": 0.20076, "T": 0.22867, "S": 0.20207},
    {"P": 0.10329, "T": 0.30937, "S": 0.16484},
]


def with_fluency(checkout: Path, shares: dict[str, float]) -> Published:
    """The first run's result with these shares, in this order."""
    path = checkout / FIRST / "result.json"
    result = json.loads(path.read_bytes())
    result["questions"]["Q01"]["scores"]["fluency"] = shares
    return published(json.dumps(result).encode(), path, FIRST)


@pytest.fixture(scope="module")
def shared_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = make_checkout(tmp_path_factory.mktemp("reported") / "checkout")
    report(checkout)
    return checkout


def printed_fluency(found: Published, **how: bool) -> str:
    marks = defaultdict[tuple[str, int], bytes](bytes)
    text = run_readme(found.result, "0" * 40, marks, **how).decode()
    [shown] = re.findall(r"## <a name=\"Q01\">.*\n\n.*\n  - Fluency: (\S+) \(PFN:", text)
    return str(shown)


@pytest.mark.parametrize("order", list(permutations("PTS")))
def test_shares_are_added_in_the_order_of_the_file(
    shared_checkout: Path, order: tuple[str, ...]
) -> None:
    for tie in TIES:
        shares = {source: tie[source] for source in order}
        a, b, c = shares.values()
        assert printed_fluency(with_fluency(shared_checkout, shares)) == f"{a + b + c:.3f}"


def test_a_readme_of_a_newer_python_stays(shared_checkout: Path) -> None:
    """Python's `sum` has been compensated since 3.12; a run without responses is described, not scored."""
    found = with_fluency(
        shared_checkout, dict(zip("PST", (0.10329, 0.30937, 0.16484), strict=True))
    )
    sums = {printed_fluency(found, compensated=choice) for choice in (False, True)}
    assert sums == {"0.577", "0.578"}
    folder = shared_checkout / "result" / "lost" / "answers"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(found.result))
    report(shared_checkout)
    path = folder / "README.md"
    plain = path.read_text(encoding="utf-8")
    assert plain.count("Fluency: 0.577") == 1
    for content in (plain.replace("Fluency: 0.577", "Fluency: 0.578"), plain):
        path.write_text(content, encoding="utf-8")
        report(shared_checkout, force=True)
        assert path.read_text(encoding="utf-8") == content


def test_an_edited_configuration_is_shown_in_its_own_order(shared_checkout: Path) -> None:
    config = {
        "model": "some/model",
        "temperature": 1.0,
        "engine": "vllm",
        "nested": {"b": 1, "a": 2},
    }
    folder = add_run(shared_checkout, "result/edited/run")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    report(shared_checkout)
    assert f"```json\n{json.dumps(config)}\n```" in (folder / "README.md").read_text(
        encoding="utf-8"
    )
