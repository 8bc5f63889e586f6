"""The command line as people run it: real processes, a tiny benchmark."""

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import helpers
import pfgen_rs
from helpers import CATS, GOOD, SCRIPT, SEAS, environment, lines, on_terminal, pfgen, write_run
from pfgen_rs import load_benchmark, score_file
from pfgen_rs.cli.app import COMMANDS, SECTIONS
from pfgen_rs.install import known
from pfgen_rs.metrics.signature import fixed_part
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.runs.outputs import summary_row

PLAIN = {"NO_COLOR": "1"}


def better() -> list[tuple[str, str]]:
    return [(CATS, GOOD[0][1]), (SEAS, "海の水は赤い光を吸い取るので青く見えます。")]


# Around the commands.


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_the_fixed_part_of_signatures(option: str) -> None:
    done = pfgen(option)
    assert (done.returncode, done.stdout, done.stderr) == (0, fixed_part() + "\n", "")


def test_help_shows_every_command_in_one_section_with_its_summary() -> None:
    shown = [name for names in SECTIONS.values() for name in names]
    assert sorted(shown) == sorted(COMMANDS)
    text = pfgen("--help", env={"COLUMNS": "80"}).stdout
    assert [title for title in SECTIONS if f"\n{title}:\n" in text] == list(SECTIONS)
    for name, deferred in COMMANDS.items():
        summary = " ".join((deferred.load(name).help or "").split("\n\n")[0].split())
        assert summary == deferred.summary, f"{name}: change its summary in cli/app.py, too"
        assert f" {name} {summary}" in " ".join(text.split())


def test_an_unknown_command_names_the_nearest() -> None:
    done = pfgen("scor", "a.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such command 'scor'. Did you mean 'score'?" in done.stderr


@pytest.mark.parametrize(
    ("words", "known"), [("pl", {"plan-trials", "plot"}), ("score --benchmark ", {"mini"})]
)
def test_completion_knows_commands_and_benchmarks(words: str, known: set[str]) -> None:
    wanted = {"_PFGEN_RS_COMPLETE": "complete_bash", "COMP_CWORD": str(words.count(" ") + 1)}
    done = pfgen(env={**wanted, "COMP_WORDS": f"pfgen-rs {words}"})
    assert set(done.stdout.split()) == known


@pytest.mark.parametrize(
    "arguments",
    [
        *(["nonsense"], ["score"], ["data", "install", "no-such-benchmark"]),
        *(["score", "x", "--ngrams", lengths] for lengths in ("many", "5-2")),
        *(["score", "x", "--format", "xml"], ["score", "x", "--per-response", "scores.xls"]),
        *(["score", "x", "--threads", "0"], ["score", "x", "-b", "no-such-benchmark"]),
        *(["index", "count", *more] for more in (["Q01"], ["no-such-question", "猫"], ["Q01", ""])),
    ],
)
def test_bad_usage(arguments: list[str]) -> None:
    done = pfgen(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "rror" in done.stderr


# score


def test_several_runs_make_a_leaderboard(benchmark: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", model="組織/普通のモデル")
    write_run(tmp_path / "runs" / "b", better())
    (tmp_path / "runs" / "c.jsonl").write_bytes(lines(GOOD[2:]))
    done = pfgen("score", tmp_path / "runs" / "*", "-b", benchmark)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows[3:6]] == [["1", "b"], ["2", "組織/普通のモデル"], ["3", "c"]]
    result = score_file(tmp_path / "runs" / "a", benchmark)
    figures = summary_row(result)
    low, high = figures["score_low"], figures["score_high"]
    wanted = [f"{result.score:.4f}", f"[{low:.3f},", f"{high:.3f}]", f"±{result.score_std:.4f}/√2"]
    wanted += [f"{result.length:.1f}", f"±{result.length_std:.1f}", f"{result.fluency:.4f}"]
    wanted += [f"{result.truthfulness:.4f}", f"{result.helpfulness:.4f}"]
    assert [*rows[4][2:5], *rows[4][-6:]] == wanted
    assert done.stdout.splitlines()[-1] == result.signature


def test_one_trial_has_no_published_spread(benchmark: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "once", GOOD[:2])
    done = pfgen("score", run, "-b", benchmark)
    [row] = [line.split() for line in done.stdout.splitlines() if " once " in line]
    assert "±0.0000/√1" not in done.stdout
    assert "–" in row


def test_json_and_csv_say_the_same(benchmark: Path, tmp_path: Path) -> None:
    paths = [write_run(tmp_path / "a"), write_run(tmp_path / "b", better())]
    as_json = pfgen("score", *paths, "--format", "json", env={"PFGEN_RS_BENCHMARK": str(benchmark)})
    as_csv = pfgen("score", *paths, "-f", "csv", "-b", benchmark)
    runs = json.loads(as_json.stdout)
    rows = list(csv.DictReader(io.StringIO(as_csv.stdout)))
    assert [run["name"] for run in runs] == ["b", "a"]
    for run, row in zip(runs, rows, strict=True):
        result = score_file(run["file"], benchmark)
        for key in ("score", "score_std", "length", "length_std", "fluency", "helpfulness"):
            assert run[key] == getattr(result, key) == float(row[key])
        for key in ("trial_se", "question_se", "score_low", "score_high"):
            found = float(row[key]) if row[key] else None  # as of a single trial
            assert run[key] == found == summary_row(result)[key]
        assert run["score_low"] < run["score"] < run["score_high"]
        assert run["signature"] == row["signature"] == result.signature


def test_standard_input(benchmark: Path) -> None:
    done = pfgen("score", "-", "-b", benchmark, "-f", "json", stdin=lines())
    [run] = json.loads(done.stdout)
    assert (run["file"], run["responses"]) == ("-", 4)


def test_settings_reach_the_signature(benchmark: Path, tmp_path: Path) -> None:
    records = [{"q": question, "text": answer} for question, answer in GOOD]
    pl.DataFrame(records).write_csv(tmp_path / "run.csv")
    named = ("--question-field", "q", "--answer-field", "text", "--threads", "1")
    changed = ("--variant", "paper", "--ngrams", "2-3")
    done = pfgen("score", tmp_path / "run.csv", "-b", benchmark, *named, *changed, "-f", "json")
    [run] = json.loads(done.stdout)
    assert "|variant:paper|n:2-3|" in run["signature"]


def test_results_are_written_as_published(benchmark: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", model="m")
    done = pfgen("score", run, "-b", benchmark, "--out", tmp_path / "out")
    assert done.returncode == 0
    score_file(run, benchmark).to_json(tmp_path / "expected.json")
    written = (tmp_path / "out" / "result.json").read_bytes()
    assert written == (tmp_path / "expected.json").read_bytes()


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".arrow"])
def test_scores_of_every_response(benchmark: Path, tmp_path: Path, suffix: str) -> None:
    paths = [write_run(tmp_path / "a", GOOD[:1]), write_run(tmp_path / "b", better())]
    target = tmp_path / f"scores{suffix}"
    assert pfgen("score", *paths, "-b", benchmark, "--per-response", target).returncode == 0
    readers: dict[str, Callable[[bytes], pl.DataFrame]] = {
        ".parquet": pl.read_parquet,
        ".jsonl": pl.read_ndjson,
        ".csv": pl.read_csv,
        ".arrow": pl.read_ipc,
    }
    frame = readers[suffix](target.read_bytes())
    expected = [score_file(path, benchmark) for path in paths]
    assert frame.get_column("file").to_list() == [r.path for r in expected for _ in r.frame.rows()]
    signatures = [result.signature for result in expected for _ in result.frame.rows()]
    assert frame.get_column("signature").to_list() == signatures
    assert "questions:1/2" in signatures[0]
    for column in ("line", "answer", "average", "truthfulness_B"):
        values = [value for r in expected for value in r.frame.get_column(column).to_list()]
        assert frame.get_column(column).to_list() == values


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names of any bytes")
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_file_name_that_is_no_text(benchmark: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    path.write_bytes(lines())
    target = tmp_path / f"scores{suffix}"
    assert pfgen("score", path, "-b", benchmark, "--per-response", target).returncode == 0
    frame = pl.read_parquet(target) if suffix == ".parquet" else pl.read_ndjson(target)
    files = frame.get_column("file").unique().to_list()
    assert files == [str(tmp_path / "caf\\xe9.jsonl")]


def test_uneven_runs_are_loud(benchmark: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", GOOD[:3])
    done = pfgen("score", run, "-b", benchmark)
    assert done.returncode == 0
    assert "questions have 1 to 2 answers; the score uses the first 1 of each" in done.stderr


def test_an_input_is_never_overwritten(benchmark: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines())
    done = pfgen("score", path, "-b", benchmark, "--per-response", path)
    assert done.returncode == 2
    assert path.read_bytes() == lines()


def test_missing_questions_are_loud(benchmark: Path, tmp_path: Path) -> None:
    run, out = write_run(tmp_path / "run", GOOD[:1]), tmp_path / "out"
    done = pfgen("score", run, "-b", benchmark)
    assert done.returncode == 0
    assert "1 of 2 questions has no answer (Q02)" in done.stderr
    assert "|questions:1/2|" in done.stdout
    refused = pfgen("score", run, "-b", benchmark, "--out", out)
    assert refused.returncode == 2
    assert "--allow-partial" in refused.stderr
    assert not out.exists()
    allowed = pfgen("score", run, "-b", benchmark, "--out", out, "--allow-partial")
    assert allowed.returncode == 0
    assert list(json.loads((out / "result.json").read_bytes())["questions"]) == ["Q01"]


# explain


def test_explain_shows_where_the_score_comes_from(benchmark: Path) -> None:
    answer = GOOD[2][1]
    done = pfgen("explain", "Q01", answer, "-b", benchmark)
    assert (done.returncode, done.stderr) == (0, "")
    score = load_benchmark(benchmark).score("Q01", answer)
    shown = done.stdout
    assert shown.startswith(f"Q01  {CATS}\n\n{answer}\n")
    rules = {row[0]: row[1:] for line in shown.splitlines() if len(row := line.split()) == 6}
    assert rules["狩り"] == ["missed", "nowhere", "1", "×", "0"]
    assert rules["体力"] == ["missed", "nowhere", "0.5", "×", "0.5"]
    assert str(score.average) in shown
    assert shown.splitlines()[-1] == score.signature


def test_explain_an_answer_of_a_run(benchmark: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    records = [{"prompt": question, "response": answer} for question, answer in GOOD]
    run.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    asked = ("explain", "Q02", "-b", benchmark, "--format", "json")
    done = pfgen(*asked, "--file", run, "--trial", "2")
    assert json.loads(done.stdout)["answer"] == GOOD[3][1]
    assert "read as prompts and responses" in done.stderr
    refused = pfgen(*asked, "--file", run, "--trial", "3")
    assert "no answer 3: the run has 2 answers to Q02" in refused.stderr
    assert refused.returncode == pfgen(*asked).returncode == 2


def test_explain_as_json_from_standard_input(benchmark: Path) -> None:
    answer = "猫は狩りのために体力を残して眠ります。"
    arguments = ("explain", CATS, "-", "-b", benchmark, "--format", "json")
    found = json.loads(pfgen(*arguments, stdin=f"{answer}\n".encode()).stdout)
    loaded = load_benchmark(benchmark)
    assert found["answer"] == answer
    assert found["scores"] == loaded.score("Q01", answer).to_dict()
    assert found["characters"] == loaded.explain("Q01", answer).characters.to_dicts()
    assert [rule["met"] for rule in found["rules"]] == [True, True]
    assert found["details"]["helpfulness"] == {"value": 1.0, "cut": len(answer), "discount": 1.0}


ACTING = "猫\x1b[2J\x1b]0;title\x07[bold red]眠[/bold red]\r\n:cat:\u202e\x9b31m\u2028\u200d終"


def test_untrusted_text_cannot_act(benchmark: Path, tmp_path: Path) -> None:
    done = pfgen("explain", "Q01", "-", "-b", benchmark, stdin=ACTING.encode())
    assert not {"\x1b", "\x07", "\r", "\u202e", "\x9b", "\u2028", "\u200d"} & set(done.stdout)
    assert "\\x1b[2J" in done.stdout
    assert "[bold red]眠[/bold red]" in done.stdout
    assert ":cat:\\u202e\\x9b31m\\u2028\\u200d終" in done.stdout
    as_json = pfgen(
        "explain", "Q01", "-", "-b", benchmark, "-f", "json", stdin=ACTING.encode()
    ).stdout
    assert not {"\x1b", "\u202e", "\x9b", "\u2028", "\u200d"} & set(as_json)
    assert json.loads(as_json)["answer"] == ACTING
    run = write_run(tmp_path / "run", model="[red]\x1b[31m[/red]")
    assert "[red]\\x1b[31m[/red]" in pfgen("score", run, "-b", benchmark).stdout
    (tmp_path / "bad.jsonl").write_bytes(b'{"\\u001b[31m": 1}\n')
    assert "\x1b" not in pfgen("score", tmp_path / "bad.jsonl", "-b", benchmark).stderr


def test_arguments_that_are_no_unicode(benchmark: Path) -> None:
    command = [os.fsencode(SCRIPT), b"explain", b"Q01", b"\xff", b"-b", os.fsencode(benchmark)]
    done = subprocess.run(command, capture_output=True, env=environment(), check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert pfgen("explain", "Q01", "-", "-b", benchmark, stdin=b"\xff").returncode == 2


# index


def test_index_counts(benchmark: Path) -> None:
    arguments = ("Q01", "狩り", "眠", "犬", "-b", benchmark)
    counts = json.loads(pfgen("index", "count", *arguments, "-f", "json").stdout)
    assert [entry["count"] for entry in counts] == [3, 3, 0]
    found = json.loads(pfgen("index", "df", *arguments, "-f", "json").stdout)
    assert found[0] == {"pattern": "狩り", "document_frequency": 3, "by_source": {"A": 2, "B": 1}}
    table = pfgen("index", "df", *arguments).stdout
    assert ["狩り", "3", "2", "1"] in [line.split() for line in table.splitlines()]
    assert "犬" in pfgen("index", "count", *arguments).stdout


def test_index_locates(benchmark: Path) -> None:
    arguments = ("index", "locate", CATS, "ために", "-b", benchmark)
    found = json.loads(pfgen(*arguments, "-f", "json", "--limit", "1").stdout)
    place = {"source": "A", "answer": 0, "offset": 5}
    answer = helpers.QUESTIONS["Q01"]["answers"]["A"][0]
    text = {"left": answer[:5], "match": "ために", "right": answer[8:18]}
    assert found == {"total": 2, "places": [{**place, **text}]}
    assert "ために体力を" in pfgen(*arguments).stdout


def test_index_tops(benchmark: Path) -> None:
    arguments = ("index", "top", "Q01", "-n", "2", "-b", benchmark)
    found = json.loads(pfgen(*arguments, "--limit", "2", "--format", "json").stdout)
    ngrams = load_benchmark(benchmark)["Q01"].index.ngrams(2, 1, 2)
    assert [(g["text"], g["count"]) for g in found] == [(g.text, g.occurrences) for g in ngrams]
    assert ngrams[0].text in pfgen(*arguments).stdout


# Terminals and pipes


@pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")
@pytest.mark.parametrize(("columns", "env"), [(30, {}), (64, {}), (80, PLAIN), (120, {})])
def test_a_terminal_gets_its_width_and_colours(
    benchmark: Path, tmp_path: Path, columns: int, env: dict[str, str]
) -> None:
    from rich.cells import cell_len
    from rich.text import Text

    paths = [
        write_run(tmp_path / str(i), model=f"組織/とても長い名前のモデル{i}") for i in range(3)
    ]
    shown = on_terminal(["score", *map(str, paths), "-b", str(benchmark)], columns, env)
    plain = [Text.from_ansi(line).plain.rstrip() for line in shown.split("\r\n")]
    end = max(i for i, line in enumerate(plain[:-1]) if not line)
    table = plain[:end]
    assert len(table) >= 4
    assert max(map(cell_len, table)) <= columns
    assert [sum(f"デル{i}" in line for line in plain) for i in range(3)] == [1, 1, 1]
    assert any("──" in line for line in table) == (columns >= 60)
    assert any("truth" in line for line in table)
    assert plain[-2] == load_benchmark(benchmark).signature
    answer = on_terminal(["explain", "Q01", GOOD[0][1], "-b", str(benchmark)], columns, env)
    assert ("\x1b[1;32m" in answer) == (not env)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"'{SCRIPT}' index top Q01 -b mini -n 3 --limit 100000 2>'{tmp_path}/err' | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, env=environment(), check=False)
    assert done.returncode == 0
    assert (tmp_path / "err").read_bytes() == b""


def test_an_output_that_knows_no_japanese(benchmark: Path) -> None:
    arguments = ("index", "count", "Q01", "狩り", "-b", benchmark)
    ascii_only = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    assert "\\u72e9" in pfgen(*arguments, env=ascii_only).stdout
    found = json.loads(pfgen(*arguments, "-f", "json", env=ascii_only).stdout)
    assert found == [{"pattern": "狩り", "count": 3}]


def test_list_names_bundled_and_known_benchmarks() -> None:
    done = pfgen("data", "list")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["mini", "bundled", "14", str(bundled_path())] in rows
    assert ["pfgen-bench", "not", "installed", "50"] in [row[:4] for row in rows]
    mini, published = json.loads(pfgen("data", "list", "--format", "json").stdout)
    assert (mini["name"], mini["path"]) == ("mini", str(bundled_path()))
    assert published["revision"] == known()["pfgen-bench"].revision


def test_where_prints_a_folder_alone(tmp_path: Path) -> None:
    assert pfgen("data", "where", "mini").stdout == f"{bundled_path()}\n"
    chosen = {"PFGEN_RS_BENCHMARK": str(tmp_path)}
    assert pfgen("data", "where", env=chosen).stdout == f"{tmp_path}\n"
    done = pfgen("data", "where", "pfgen-bench")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pfgen-rs data install pfgen-bench" in done.stderr


def test_a_wrong_source_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "Q01.json").write_text("{}")
    for source in (tmp_path, tmp_path / "none.tar.gz"):
        done = pfgen("data", "install", "pfgen-bench", "--from", source)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {source}: ")
    assert pfgen("data", "where", "pfgen-bench").returncode == 2


@pytest.mark.published
def test_install_from_a_checkout(published_dir: Path, tmp_path: Path) -> None:
    done = pfgen("data", "install", "--from", published_dir)
    folder = Path(os.environ["PFGEN_RS_CACHE"]) / "benchmarks" / "pfgen-bench"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"pfgen-bench is installed in {folder}\n"
    assert pfgen("data", "where", "pfgen-bench").stdout == f"{folder}\n"
    listed = pfgen("data", "list").stdout
    assert "not installed" not in listed
    run = published_dir / "result/openai/chatgpt-o1/9a61e92"
    assert pfgen("verify", run, "-b", "pfgen-bench").returncode == 0


def in_terminal(*arguments: str, cwd: Path) -> tuple[int, str]:
    """Exit code and standard error of `pfgen-rs`, its standard input being a terminal."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [SCRIPT, *arguments],
            stdin=theirs,
            capture_output=True,
            timeout=helpers.TIMEOUT,
            env=environment(),
            cwd=cwd,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


def test_the_command_that_it_names_works_from_anywhere(tmp_path: Path) -> None:
    for told in (pfgen("score").stderr, in_terminal("score", "--threads", "x", cwd=tmp_path)[1]):
        assert "sample runs" not in told
    code, err = in_terminal("score", cwd=tmp_path)
    assert code == 2
    problem, hint, command = err.splitlines()
    assert problem.startswith("error: no runs given: ")
    assert "bundled sample runs" in hint
    script, *arguments = shlex.split(command)
    assert script == "pfgen-rs"
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", *arguments, "--format", "csv"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(PFGEN_RS_BENCHMARK="elsewhere"),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in pfgen_rs.sample_runs():
        assert name in done.stdout
