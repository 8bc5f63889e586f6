"""Builds that are killed, fail or change their settings, and go on with what is done."""

import io
import json
import os
import re
import shutil
import signal
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builds import CONFIG, ROWS, STEPS, command, files, prepare, write_lines
from pfgen_rs import load_benchmark
from pfgen_rs.errors import BuildError
from pfgen_rs.references import config
from pfgen_rs.references.built import Built
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select
from pfgen_rs.references.steps import Context, State, Step, StepReport

TOO_MANY = CONFIG.replace("count = 40", "count = 1_000").replace("2_000", "0")
"""Asks for more answers than are left: the build fails after its last step."""
KILL = str(int(signal.SIGKILL))
POINTS = ["before gathered", "after gathered", "writing"] + [
    f"{when} {step}" for step in STEPS for when in ("before", "after")
]


@pytest.fixture
def prepared(tmp_path: Path) -> BuildConfig:
    return prepare(tmp_path)


def work(config: BuildConfig) -> Path:
    return config.folder / ".set.pfgen-rs"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_resumed(prepared: BuildConfig, point: str) -> None:
    expected = files(build(replace(prepared, out="whole", name="set")).folder)
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
    found["provenance.json"] = found["provenance.json"].replace(b'"name": ""', b'"name": "set"')
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
    expected = files(build(replace(prepared, out="whole", name="set")).folder)
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
    config = replace(prepared, candidates=("-",), select=Select(1_000, proposals=0))
    results = []
    for rows in (ROWS, ROWS[:1_000], ROWS[:1_000]):
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        with pytest.raises(BuildError) as raised:
            build(config)
        results.append(str(raised.value))
    assert results[0] != results[1] == results[2]
