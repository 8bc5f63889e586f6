"""Building a set end to end, what goes wrong, builds that go on where they stopped, a million candidates."""

import io
import json
import lzma
import math
import os
import pickle
import random
import re
import shutil
import signal
import statistics
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings as examples, strategies as st

import made
import timing
from builds import CONFIG, IDS, ROWS, STEPS, command, files, prepare, write_lines
from grammar import load
from helpers import pfgen
from pfgen_rs import Settings, load_benchmark
from pfgen_rs.errors import BuildError, ConfigError, InputError, OutputError
from pfgen_rs.references import config, steps as pipeline_steps
from pfgen_rs.references.built import Built, BuiltQuestion
from pfgen_rs.references.config import BuildConfig, read_outlines
from pfgen_rs.references.filters import Duplicates, Singletons
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.on_ray import QuestionGroups
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select
from pfgen_rs.references.steps import Context, State, Step, StepReport
from places import ROOT, part


@pytest.fixture
def prepared(tmp_path: Path) -> BuildConfig:
    return prepare(tmp_path)


def provenance(config: BuildConfig) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((config.path(config.out) / "provenance.json").read_bytes())
    return found


def test_a_set(prepared: BuildConfig) -> None:
    told: list[tuple[str, str]] = []
    built = build(prepared, progress=lambda what, step, _, __: told.append((what, step)))
    assert isinstance(built, Built)
    assert list(files(built.folder)) == ["Q03.json", "Q14.json", "README.md", "provenance.json"]
    assert not list(prepared.folder.glob(".*"))
    benchmark = load_benchmark(built.folder)
    counts = {q.id: {s: len(a) for s, a in q.answers.items()} for q in benchmark}
    assert counts == {"Q03": {"A": 40, "B": 40}, "Q14": {"A": 40}}
    assert benchmark["Q03"].note == "例です。"
    assert {"reading", "normalise", "rules", "singletons"} <= {step for _, step in told}
    originals = {row["answer"].replace("、 ", "、") for row in ROWS}
    for question in benchmark:
        for answers in question.answers.values():
            assert len(set(answers)) == 40
            assert set(answers) <= originals
    for answers in benchmark["Q03"].answers.values():
        assert all("昇華" in answer for answer in answers)


def test_where_every_candidate_went(prepared: BuildConfig) -> None:
    build(prepared)
    found = provenance(prepared)
    assert found["inputs"][0]["name"] == "candidates.jsonl"
    assert found["inputs"][0]["candidates"] == len(ROWS)
    assert str(prepared.folder) not in json.dumps(found)
    for question in found["questions"].values():
        before = question["candidates"]
        assert [step["step"] for step in question["steps"]] == list(STEPS)
        mine = Counter(row["model"] for row in ROWS if row["question"] == question["question"])
        assert dict(zip(found["models"], question["models"], strict=True)) == mine
        for step in question["steps"]:
            assert step["before"] == before
            before = step["after"]
            assert sum(step["models"]) == before
            removed = sum(each["count"] for each in step["removed"])
            assert removed == (0 if step["step"] == "select" else step["before"] - before)
            for each in step["removed"]:
                assert len(each["examples"]) == min(3, each["count"])
        assert sum(question["answers"].values()) == before
    normalise, rules = found["questions"]["Q03"]["steps"][:2]
    assert normalise["removed"]
    assert normalise["details"]["corrected"]
    assert [each["reason"] for each in rules["removed"]] == ["says-it-sublimes"]


def test_names_of_models_are_not_repeated(prepared: BuildConfig) -> None:
    rows = [{**row, "model": f"organisation-{i % 97}/model"} for i, row in enumerate(ROWS)]
    write_lines(prepared.folder / "candidates.jsonl", rows)
    build(prepared)
    text = (prepared.folder / "set" / "provenance.json").read_text(encoding="utf-8")
    assert text.count('"organisation-') == 97 + len(provenance(prepared)["makers"])
    assert max(len(line) for line in text.splitlines() if line.startswith('      "models": ')) > 97


def test_pools_of_many_parts(prepared: BuildConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "model": f"model-{i % 17}"} for i, row in enumerate(ROWS)]
    write_lines(prepared.folder / "candidates.jsonl", rows)
    expected = of_whole(prepared)
    monkeypatch.setattr(pipeline_steps, "PART", 100)
    assert files(build(prepared).folder) == expected


@pytest.mark.parametrize("change", [{"threads": 1}, {"threads": 4}, {"memory": 1}], ids=str)
def test_the_same_bytes(prepared: BuildConfig, change: dict[str, Any]) -> None:
    expected = files(build(prepared).folder)
    found = files(build(replace(prepared, out="other"), **change).folder)
    found["provenance.json"] = found["provenance.json"].replace(b'"other"', b'"set"')
    assert found == expected


def lengths_of(built: Built) -> dict[tuple[str, str], list[int]]:
    """Lengths of the reference answers by question and source."""
    return {
        (question.outline.question_id, source): list(map(len, answers))
        for question in built.questions
        for source, answers in question.answers.items()
    }


def test_lengths_are_relative_to_what_is_left(prepared: BuildConfig) -> None:
    """Pools of hundreds are far below the count of 30,000, which would remove nothing."""
    steps = tuple(step for step in STEPS if step not in ("consensus", "select"))
    narrow = build(replace(prepared, steps=steps, length=Length(share=0.1), out="narrow"))
    wide = build(replace(prepared, steps=steps, length=Length(share=1.0), out="wide"))
    for place, lengths in lengths_of(narrow).items():
        whole = lengths_of(wide)[place]
        assert len(lengths) == math.ceil(len(whole) / 10)
        nearest = sorted(abs(length - 100) for length in whole)[: len(lengths)]
        assert sorted(abs(length - 100) for length in lengths) == nearest
    found = provenance(replace(prepared, out="narrow"))
    spreads = []
    for (question_id, source), lengths in lengths_of(narrow).items():
        spread = found["questions"][question_id]["lengths"][source]
        assert spread["mean"] == pytest.approx(statistics.fmean(lengths))
        spreads.append(spread["std"])
        assert spread["std"] == pytest.approx(statistics.pstdev(lengths))
    assert found["lengths"]["std"] == pytest.approx(statistics.fmean(spreads))


def test_a_share_leaves_what_the_selection_needs(prepared: BuildConfig) -> None:
    config = replace(prepared, length=Length(share=0.01, deviation=0), select=Select(90))
    built = build(config)
    assert {len(lengths) for lengths in lengths_of(built).values()} == {90}
    sources = provenance(config)["questions"]["Q03"]["steps"][5]["details"]["sources"]
    assert {each["limit"] for each in sources.values()} == {"select.count"}
    with pytest.raises(BuildError, match=r"Q03: 50 of source A, 50 of source B left, expected 90"):
        build(replace(config, length=Length(count=50, share=0.01)))


def test_idle_steps_are_told(prepared: BuildConfig, caplog: pytest.LogCaptureFixture) -> None:
    built = build(replace(prepared, length=Length(100, 10_000, share=1.0)))
    [told] = [each for each in built.warnings if each.startswith("length ")]
    assert told == (
        "length removes no answers to 2 of 2 questions (Q03, Q14): "
        "lower length.share or length.count, or set length.deviation"
    )
    assert provenance(prepared)["warnings"] == built.warnings
    assert [record.getMessage() for record in caplog.records] == built.warnings
    quiet = tuple(step for step in STEPS if step != "ranking")
    assert build(replace(prepared, out="quiet", steps=quiet)).warnings == []
    named = replace(prepared, out="named", steps=quiet, models={"nobody": {"licence": "MIT"}})
    assert build(named).warnings == ["[models]: no candidate names 'nobody'"]


def test_steps_that_remove_nearly_all_are_told(prepared: BuildConfig) -> None:
    few = replace(prepared, only=("Q14",), select=Select(5), duplicates=Duplicates("all"))
    frequent = Singletons(n=5, threshold=17, at_least=0)
    rare = build(replace(few, singletons=frequent, allow_fewer=True))
    assert rare.warnings[1].startswith("singletons removes nearly all answers to 1 of 1 que")
    assert not any("duplicates" in each for each in rare.warnings)  # told to keep all


def test_tokens(prepared: BuildConfig) -> None:
    rows = [row for row in ROWS if row["source"] == "B"]
    steps = ("duplicates", "singletons", "select")
    write_lines(prepared.folder / "candidates.jsonl", rows)
    config = replace(prepared, steps=steps, questions="", duplicates=Duplicates("once"))
    [texts] = load_benchmark(build(config).folder)["Q01"].answers.values()
    ids = [{**row, "answer": list(map(ord, row["answer"]))} for row in rows]
    for name in ("tokens.jsonl", "tokens.parquet"):
        path = prepared.folder / name
        if path.suffix == ".parquet":
            pl.DataFrame(ids).write_parquet(path)
        else:
            write_lines(path, ids)
        found = build(replace(config, candidates=(name,), unit="token", out=path.stem))
        settings = Settings(unit="token")
        [tokens] = load_benchmark(found.folder, settings=settings)["Q01"].answers.values()
        assert sorted("".join(map(chr, answer)) for answer in tokens) == sorted(texts)


def test_words(prepared: BuildConfig) -> None:
    words = ("the cat", "a dog", "one bird", "my fish", "no frog")
    verbs = ("sleeps", "eats", "runs away", "sees it", "goes home")
    rows = [{"question": "q", "answer": f"{w} {v}."} for w in words for v in verbs]
    rows.append({"question": "q", "answer": "the cat sleeps badly."})
    write_lines(prepared.folder / "candidates.jsonl", rows)
    config = replace(
        prepared,
        questions="",
        unit="word",
        steps=("singletons", "length"),
        singletons=Singletons(n=1, at_least=0),
        length=Length(4, share=0.4),
    )
    [question] = build(replace(config, allow_fewer=True)).questions
    assert [report.after for report in question.reports] == [25, 10]
    [answers] = question.answers.values()
    assert all(len(answer.replace(".", " .").split()) == 4 for answer in answers)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
@pytest.mark.parametrize("size", [100, 3_000, 20_000])
def test_a_disk_that_fills(prepared: BuildConfig, size: int) -> None:
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size},) * 2)"
    done = command(prepared.folder, first=limit)
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert not (prepared.folder / "set").exists()


# What goes wrong.


def test_too_few_are_left(prepared: BuildConfig) -> None:
    config = replace(prepared, select=Select(count=1_000))
    with pytest.raises(BuildError) as raised:
        build(config)
    told = str(raised.value)
    assert told.startswith("question Q03: ")
    assert "expected 1,000: 1,200 candidates, normalise" in told
    assert "(also too few for Q14)" in told
    assert "--allow-fewer" in told
    assert not config.path("set").exists()
    built = build(replace(config, allow_fewer=True))
    assert len(built.questions) == 2


def test_a_rule_that_removes_everything(prepared: BuildConfig) -> None:
    rules = '[[Q14.rule]]\nname = "none"\nforbid = "。"\n'
    (prepared.folder / "rules.toml").write_text(rules, encoding="utf-8")
    with pytest.raises(BuildError, match=r"question Q14: rules: 'none' removes all [0-9]+ ans"):
        build(replace(prepared, allow_fewer=True))


def test_nothing_is_left_of_any_question(prepared: BuildConfig) -> None:
    rows = [{"question": row["question"], "answer": f"、{i}"} for i, row in enumerate(ROWS[:9])]
    write_lines(prepared.folder / "candidates.jsonl", rows)
    steps = ("length",)
    config = replace(prepared, steps=steps, length=Length(deviation=1), allow_fewer=True)
    with pytest.raises(BuildError, match=r"removes all [0-9] answers"):
        build(config)
    every = Singletons(n=1, at_least=0)
    config = replace(prepared, steps=("singletons",), singletons=every, allow_fewer=True)
    with pytest.raises(BuildError) as raised:
        build(config)
    assert str(raised.value) == (
        "no question has any answers left: Q03: 7 candidates, singletons 0; Q14: 2 candidates, singletons 0"
    )


def test_questions_for_which_nothing_is_left(prepared: BuildConfig) -> None:
    mine = [row for row in ROWS if row["source"] == "B"]
    write_lines(prepared.folder / "candidates.jsonl", mine)
    with pytest.raises(BuildError, match="Q14: no answers left, expected 40: 0 candidates"):
        build(prepared)
    built = build(replace(prepared, allow_fewer=True))
    assert [question.outline.question_id for question in built.left_out] == ["Q14"]
    assert list(files(built.folder)) == ["Q03.json", "README.md", "provenance.json"]


def test_files_of_others_are_not_touched_by_any_build(prepared: BuildConfig) -> None:
    (prepared.folder / "set").mkdir()
    (prepared.folder / "set" / "Q99.json").write_text("{}", encoding="utf-8")
    with pytest.raises(OutputError, match=r"not written by pfgen-rs build \(such as Q99.json\)"):
        build(prepared)
    (prepared.folder / "set" / "provenance.json").write_text("{}", encoding="utf-8")
    with pytest.raises(OutputError, match="question files not written by"):
        build(prepared)
    built = '{"questions": {"Q99": {}}}'
    (prepared.folder / "set" / "provenance.json").write_text(built, encoding="utf-8")
    assert "Q99.json" not in files(build(prepared).folder)
    with pytest.raises(OutputError, match=r"contains a set with other questions \(Q03, …\)"):
        build(replace(prepared, only=("Q14",)))
    assert not list(prepared.folder.glob(".*"))


def test_a_place_that_cannot_be_written(prepared: BuildConfig) -> None:
    (prepared.folder / "set").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="set: not a directory"):
        build(prepared)


def test_two_builds_at_once(prepared: BuildConfig) -> None:
    fcntl = pytest.importorskip("fcntl")
    work = prepared.folder / ".set.pfgen-rs"
    work.mkdir()
    handle = os.open(work, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(BuildError, match="another build of this set is running"):
        build(prepared)
    assert work.is_dir()
    os.close(handle)
    build(prepared)


def test_rules_for_unknown_questions(prepared: BuildConfig) -> None:
    rules = '[[Q77.rule]]\nname = "none"\nforbid = "。"\n'
    (prepared.folder / "rules.toml").write_text(rules, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"toml: unknown question 'Q77': expected one of Q03"):
        build(prepared)


def test_bad_lines_are_counted(prepared: BuildConfig) -> None:
    with (prepared.folder / "candidates.jsonl").open("a", encoding="utf-8") as file:
        file.write("{\n")
    (prepared.folder / "lax.toml").write_text("skip_bad_lines = true\n" + CONFIG, encoding="utf-8")
    done = pfgen("build", prepared.folder / "lax.toml")
    assert done.returncode == 0
    assert "warning: candidates.jsonl: skipped 1 line\n" in done.stderr


def test_the_command(prepared: BuildConfig) -> None:
    path = prepared.folder / "set.toml"
    path.write_text(CONFIG, encoding="utf-8")
    done = pfgen("build", path, "--format", "json", "--memory", "512MiB", "--question", "Q14")
    assert done.returncode == 0
    assert (
        done.stderr.count("warning") == done.stderr.count("ranking does not apply to 1 of 1") == 1
    )
    [row] = json.loads(done.stdout)
    assert (row["question_id"], row["candidates"], row["answers"]) == ("Q14", 600, {"A": 40})
    assert row["lengths"]["A"]["std"] > 0
    wide = CONFIG.replace("count = 200", "count = 2_000")
    path.write_text(wide, encoding="utf-8")
    shown = pfgen("build", "--out", prepared.folder / "other", path)
    assert "Q03" in shown.stdout
    assert "±" in shown.stdout
    assert "warning: length removes no answers to 2 of 2 questions" in shown.stderr
    assert str(prepared.folder / "other") in shown.stdout


@pytest.mark.parametrize(
    ("change", "option", "told"),
    [
        ("sed = 3", "", "unknown key 'sed' (did you mean 'seed'?)"),
        ("only = ['Q99']", "", "unknown question 'Q99'"),
        ("normalise.extra = ['style.toml']", "", "style.toml"),
        ("", "--memory=4XB", "invalid size"),
        ("", "--memory=1KB", "must be at least 64 MiB"),
    ],
)
def test_the_command_refuses(prepared: BuildConfig, change: str, option: str, told: str) -> None:
    path = prepared.folder / "set.toml"
    path.write_text(change + "\n" + CONFIG, encoding="utf-8")
    done = pfgen("build", path, *([option] if option else []))
    assert done.returncode == 2
    assert told in done.stderr
    assert not (prepared.folder / "set").exists()


# Candidates grouped by question, as Ray hands them to a task.


def grouped(config: BuildConfig, table: pl.DataFrame) -> Any:
    """What Ray gets for the rows of each question, by id."""
    outlines = tuple(read_outlines(config.path(config.questions)))
    groups = QuestionGroups(config, outlines, outlines, config.prepared())
    work = pickle.loads(pickle.dumps(groups))
    known = pl.DataFrame(work.identified(table.to_arrow()))
    parts = (work.grouped(own.to_arrow()) for _, own in known.group_by("question_id"))
    return {part["question_id"][0]: part["built"][0] for part in parts}


def figures_of(question: BuiltQuestion) -> tuple[object, ...]:
    lengths = {source: (each.mean, each.std) for source, each in question.lengths.items()}
    return question.answers, question.models, question.reports, lengths, question.candidates


def test_rows_in_any_order(tmp_path: Path) -> None:
    config = prepare(tmp_path)
    built = build(config)
    table = pl.DataFrame(ROWS).sample(fraction=1.0, shuffle=True, seed=1).with_row_index("line")
    names = dict(zip((each.outline.question for each in built.questions), IDS, strict=True))
    named = pl.when(pl.col("line") % 2 == 0).then(pl.col("question").replace(names))
    table = table.with_columns(question=named.otherwise("question"))
    groups = grouped(config, table)
    for question in built.questions:
        assert figures_of(groups[question.outline.question_id]) == figures_of(question)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": None}, "question Q03: 1 of the candidates without an answer"),
        ({"question": "?"}, r"question '\?': not the text or id"),
        ({"question": None}, "not the text or id"),
    ],
)
def test_unusable_rows_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    config = prepare(tmp_path)
    table = pl.DataFrame(ROWS)
    row = {**table.row(7, named=True), **changes}
    table = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
    [error] = [each for each in grouped(config, table).values() if isinstance(each, InputError)]
    assert re.search(message, str(error)), str(error)
    groups = grouped(replace(config, skip_bad_lines=True), table)
    assert sorted(groups) == list(IDS)
    assert {type(each) for each in groups.values()} == {BuiltQuestion}


POOLS = st.lists(
    st.tuples(
        st.sampled_from(["q", "r"]),
        st.text("ab", min_size=3, max_size=6),
        st.sampled_from(["P", "S"]),
        st.sampled_from(["m", "n", "o"]),
    ),
    min_size=1,
    max_size=40,
)


@examples(max_examples=25, deadline=None)
@given(data=st.data(), rows=POOLS, keep=st.sampled_from(["once", "weight", "all"]))
def test_the_order_of_candidates_does_not_matter(
    data: st.DataObject, rows: list[tuple[str, ...]], keep: Any
) -> None:
    names = ("question", "answer", "source", "model")
    results = []
    stratify: Any = data.draw(st.sampled_from(["", "model"]))
    with tempfile.TemporaryDirectory() as folder:
        for out in ("a", "b"):
            order = data.draw(st.permutations(rows))
            cut = data.draw(st.integers(0, len(rows)))
            for name, part in (("1.jsonl", order[:cut]), ("2.jsonl", order[cut:])):
                write_lines(
                    Path(folder, name), [dict(zip(names, row, strict=True)) for row in part]
                )
            config = BuildConfig(
                candidates=("?.jsonl",),
                out=out,
                name="set",
                steps=("duplicates", "singletons", "length", "consensus", "select"),
                duplicates=Duplicates(keep),
                singletons=Singletons(n=2, at_least=0),
                length=Length(target=4, count=8, share=0.9),
                select=Select(count=3, stratify=stratify),
                allow_fewer=True,
                folder=Path(folder),
            )
            try:
                built = build(config, memory=data.draw(st.sampled_from([1 << 10, 1 << 30])))
            except BuildError as error:
                results.append({"error": str(error).encode()})
                continue
            found = files(built.folder)
            origin = json.loads(found.pop("provenance.json"))
            del origin["inputs"]
            results.append(found | {"origin": json.dumps(origin).encode()})
        assert results[0] == results[1]


# Builds that are killed, fail or change their settings, and go on with what is done.


TOO_MANY = CONFIG.replace("count = 40", "count = 1_000").replace("2_000", "0")
"""Asks for more answers than are left: the build fails after its last step."""
KILL = str(int(signal.SIGKILL))
POINTS = ["before gathered", "after gathered", "writing"] + [
    f"{when} {step}" for step in STEPS for when in ("before", "after")
]


def work(config: BuildConfig) -> Path:
    return config.folder / ".set.pfgen-rs"


def of_whole(prepared: BuildConfig) -> dict[str, bytes]:
    """The files of the set, built in another folder without interruptions."""
    found = files(build(replace(prepared, out="whole")).folder)
    found["provenance.json"] = found["provenance.json"].replace(b'"whole"', b'"set"')
    return found


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_resumed(prepared: BuildConfig, point: str) -> None:
    expected = of_whole(prepared)
    (prepared.folder / "log").touch()
    killed = command(prepared.folder, "--threads", "1", POINT=point, SIGNAL=KILL)
    assert killed.returncode == -signal.SIGKILL
    assert not (prepared.folder / "set" / "provenance.json").exists()
    done = (prepared.folder / "log").read_text(encoding="utf-8").split()
    (prepared.folder / "log").write_text("", encoding="utf-8")
    resumed = command(prepared.folder)
    assert resumed.returncode == 0, resumed.stderr
    again = Counter((prepared.folder / "log").read_text(encoding="utf-8").split())
    finished = Counter(done) if not point.startswith("before") else Counter(done[:-1])
    assert {step: again[step] for step in STEPS} == {step: 2 - finished[step] for step in STEPS}
    found = files(prepared.folder / "set")
    assert found == expected
    assert not list(prepared.folder.glob(".set*"))


def test_what_was_left_by_another_build_is_not_used(prepared: BuildConfig) -> None:
    killed = command(prepared.folder, POINT="after length", SIGNAL=KILL)
    assert killed.returncode == -signal.SIGKILL
    write_lines(prepared.folder / "candidates.jsonl", ROWS[::-1])
    resumed = command(prepared.folder)
    assert resumed.returncode == 0, resumed.stderr
    expected = files(build(replace(prepared, out="whole")).folder)
    assert files(prepared.folder / "set")["Q14.json"] == expected["Q14.json"]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("name", ["*.json", "*.npz", "*/000000.arrow"])
def test_damaged_checkpoints(prepared: BuildConfig, name: str) -> None:
    killed = command(prepared.folder, "--threads", "1", POINT="after normalise", SIGNAL=KILL)
    assert killed.returncode == -signal.SIGKILL
    [path] = (prepared.folder / ".set.pfgen-rs" / "questions" / "Q03").glob(f"normalise-{name}")
    path.write_bytes(path.read_bytes()[:100])
    resumed = command(prepared.folder)
    assert resumed.returncode == 2
    [told] = re.findall(r"is damaged: remove (.*) to make it anew", resumed.stderr)
    shutil.rmtree(told)
    assert command(prepared.folder).returncode == 0
    expected = of_whole(prepared)
    assert files(prepared.folder / "set")["Q03.json"] == expected["Q03.json"]


def test_the_way_on_is_told(prepared: BuildConfig) -> None:
    done = command(prepared.folder, "--question", "Q03", POINT="after length", SIGNAL="2")
    assert done.returncode == 130
    assert ".set.pfgen-rs: run the same command again to continue" in done.stderr
    (prepared.folder / "candidates.jsonl").write_text("{", encoding="utf-8")
    refused = command(prepared.folder)
    assert refused.returncode == 2
    assert "candidates.jsonl, line 1" in refused.stderr
    assert work(prepared).is_dir()  # the error has nothing to do with what is finished


def test_what_would_fail_again_is_not_advised(prepared: BuildConfig) -> None:
    """Too few answers are left however often the build is resumed."""
    failed = command(prepared.folder, config=TOO_MANY)
    assert failed.returncode == 2
    assert "run the same command" not in failed.stderr
    assert "or allow fewer answers (--allow-fewer): finished steps are reused" in failed.stderr


# Other settings.


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the steps that run."""
    counts: Counter[str] = Counter()

    def counted(name: str, real: Any) -> Any:
        def run(self: Step, state: State, context: Context) -> tuple[State, StepReport]:
            counts[name] += 1
            found: tuple[State, StepReport] = real(self, state, context)
            return found

        return run

    for name, step in config.STEPS.items():
        monkeypatch.setattr(step, "run", counted(name, step.run))
    return counts


def config_of(prepared: BuildConfig, text: str, **changes: Any) -> BuildConfig:
    return BuildConfig.from_dict(tomllib.loads(text), prepared.folder).with_changes(**changes)


def fail(prepared: BuildConfig, text: str = TOO_MANY, **changes: Any) -> None:
    """Build as far as too few answers are left."""
    with pytest.raises(BuildError, match="expected 1,000"):
        build(config_of(prepared, text, **changes), threads=1)


def go_on(prepared: BuildConfig, text: str = TOO_MANY, **changes: Any) -> Built:
    config = config_of(prepared, text, allow_fewer=True, **changes)
    return build(config, threads=1)


@pytest.mark.parametrize(
    ("change", "repeated"),
    [
        (("seed = 7", 'seed = 7\nname = "x"\nskip_bad_lines = false'), ()),
        (("count = 1_000", "count = 900"), STEPS[STEPS.index("length") :]),
        (("seed = 7", "seed = 8"), STEPS[STEPS.index("length") :]),
        (("count = 200", "count = 190"), STEPS[STEPS.index("length") :]),
        (("seed = 7", "seed = 7\nsingletons.threshold = 2"), STEPS[STEPS.index("singletons") :]),
        (('keep = "weight"', 'keep = "once"'), STEPS[STEPS.index("duplicates") :]),
        (("seed = 7", 'seed = 7\nnormalise.without = ["wave-dash"]'), STEPS),
        (("seed = 7", 'seed = 7\nsource = "Y"'), STEPS),
    ],
    ids=str,
)
def test_steps_are_repeated_from_the_first_that_changes(
    prepared: BuildConfig, ran: Counter[str], change: tuple[str, str], repeated: tuple[str, ...]
) -> None:
    fail(prepared)
    assert ran == dict.fromkeys(STEPS, 2)
    ran.clear()
    text = TOO_MANY.replace(*change)
    found = files(go_on(prepared, text).folder)
    assert ran == dict.fromkeys(repeated, 2)
    expected = files(go_on(prepared, text, out="anew").folder)
    expected["provenance.json"] = expected["provenance.json"].replace(b'"anew"', b'"set"')
    assert found == expected


def test_changes_elsewhere_repeat_nothing_else(prepared: BuildConfig, ran: Counter[str]) -> None:
    fail(prepared)
    ran.clear()
    os.utime(prepared.folder / "candidates.jsonl", (0, 0))
    questions = prepared.folder / "questions.toml"
    text = questions.read_text(encoding="utf-8").replace("例です。", "別の例です。")
    questions.write_text(text, encoding="utf-8")
    rules = '[[Q03.rule]]\nname = "dry-ice"\nrequire = "ドライアイス"\n'
    (prepared.folder / "rules.toml").write_text(rules, encoding="utf-8")
    built = go_on(prepared)
    assert ran == dict.fromkeys(STEPS[1:], 1)  # of one question
    assert load_benchmark(built.folder)["Q03"].note == "別の例です。"


def test_one_question_and_all_share_their_steps(
    prepared: BuildConfig, ran: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    fail(prepared, only=("Q03",))
    ran.clear()
    fail(prepared)
    assert ran == dict.fromkeys(STEPS, 1)
    ran.clear()
    go_on(prepared, only=("Q14",))
    assert ran == {}
    assert "keeps finished steps of other questions for later builds" in caplog.text
    shutil.rmtree(prepared.folder / "set")
    go_on(prepared)
    assert ran == dict.fromkeys(STEPS, 1)  # of Q14, whose work is gone
    assert not list(prepared.folder.glob(".*"))


def test_only_the_last_pools_are_kept(prepared: BuildConfig, ran: Counter[str]) -> None:
    other = TOO_MANY.replace("seed = 7", 'seed = 7\nnormalise.without = ["wave-dash"]')
    fail(prepared)
    fail(prepared, other)
    for folder in (work(prepared) / "questions").iterdir():
        assert len([path for path in folder.glob("*-*") if path.is_dir()]) == 2
        assert len(list(folder.glob("select-*.json"))) == 1
    ran.clear()
    go_on(prepared, other)
    assert ran == {}
    assert not list(prepared.folder.glob(".*"))


def test_a_pool_that_is_gone_is_made_again(prepared: BuildConfig, ran: Counter[str]) -> None:
    fail(prepared)
    ran.clear()
    for step in ("candidates", "normalise"):
        folder = work(prepared) / "questions" / "Q03"
        [pool] = [path for path in folder.glob(f"{step}-*") if path.is_dir()]
        shutil.rmtree(pool)
    built = go_on(prepared)
    assert ran == dict.fromkeys(("normalise",), 1)
    assert load_benchmark(built.folder)["Q03"].answers["A"]


def test_standard_inputs_are_told_apart(
    prepared: BuildConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of other candidates are not taken for those of what was piped in later."""
    config = replace(prepared, candidates=("-",), select=Select(1_000))
    results = []
    for rows in (ROWS, ROWS[:1_000], ROWS[:1_000]):
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        with pytest.raises(BuildError) as raised:
            build(config)
        results.append(str(raised.value))
    assert results[0] != results[1] == results[2]


# A million candidates for one question: what a build does to them, and in how much memory.


MILLION = 1_000_000
GRAMMAR = ROOT / "data" / "mini" / "grammar" / "Q01.toml"
CANDIDATES = part("candidates")
SCALED = """
candidates = ["*.parquet"]
out = "set"
preset = "paper"
steps = ["normalise", "duplicates", "singletons", "length", "select"]
"""


def real_answers() -> list[str]:
    """Some thousand real answers, where they are at hand."""
    if not CANDIDATES:
        return []
    with lzma.open(Path(CANDIDATES, "Q01.jsonl.xz"), "rt", encoding="utf-8") as file:
        return [json.loads(line)["answer"] for line in file]


def write_million(path: Path) -> int:
    """Sentences of a grammar's answers put together anew, some with a wrong character; real answers, too."""
    question = load(GRAMMAR)
    rng, chance = random.Random(1), np.random.default_rng(1)
    drawn = [question.sources["A"].sample(rng) for _ in range(3_000)]
    sentences = [made.split_sentences(answer) for answer in drawn]
    first = pl.Series([each[0] for each in sentences])
    second = pl.Series(["".join(each[1:]) for each in sentences])
    rows = chance.integers(len(drawn), size=(2, MILLION))
    answers = first[rows[0]] + second[rows[1]]
    slips = pl.Series(chance.random(MILLION) < 0.1)
    wrong = pl.Series([chr(c) for c in chance.integers(0x4E00, 0x5600, size=MILLION)])
    slipped = answers.str.slice(0, 30) + wrong + answers.str.slice(31)
    whole = pl.concat(
        [slipped.zip_with(slips, answers), pl.Series(real_answers(), dtype=pl.String)]
    )
    pl.DataFrame({"answer": whole}).with_columns(question=pl.lit("q")).write_parquet(path)
    return len(whole)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is not told")
@pytest.mark.parametrize(("memory", "most"), [("128MiB", 500e6), ("1GB", 1.15e9)])
def test_a_million_candidates(tmp_path: Path, memory: str, most: float) -> None:
    count = write_million(tmp_path / "candidates.parquet")
    (tmp_path / "set.toml").write_text(SCALED, encoding="utf-8")
    command = ("-m", "pfgen_rs", "build", tmp_path / "set.toml", "--memory", memory)
    done = timing.process(*command, "--format", "json")
    assert done.peak < most
    [row] = json.loads(done.output)
    assert row["candidates"] == count > 0.99 * MILLION
    assert 0.5 * MILLION < row["singletons"] < row["duplicates"] <= row["normalise"]
    assert (row["length"], row["select"]) == (30_000, 1_000)
    [question] = load_benchmark(tmp_path / "set")
    [answers] = question.answers.values()
    lengths = [len(answer) for answer in answers]
    assert abs(sum(lengths) / len(lengths) - 100) < 1
