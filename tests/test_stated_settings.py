"""Sets of another length: question files state how answers are scored, and whatever scores obeys."""

import json
import lzma
import pickle
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import oracle
import pfgen_rs
from helpers import pfgen, write_benchmark, write_run
from pfgen_rs import Benchmark, Settings, load_benchmark, score_file
from pfgen_rs.errors import BenchmarkError, SettingsError
from pfgen_rs.integrations import arrow
from pfgen_rs.integrations.lm_eval.pfgen import scored
from pfgen_rs.metrics.units import Answer, Unit
from pfgen_rs.questions.folder import KnownQuestions
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select
from pfgen_rs.report.site.benchmark_page import page_settings
from pfgen_rs.training import Reward
from words import Words

QUESTION = "何ですか？"
PUBLISHED_GAIN = 0.0304
"""The most by which the average of a published reference answer rises if the answer is repeated."""
SETS: list[tuple[Unit, int]] = [("word", 60), ("character", 75), ("token", 200)]


class Made(NamedTuple):
    """A built set, one of its reference answers, and the same twice."""

    folder: Path
    settings: Settings
    once: Answer
    twice: Answer

    @property
    def bench(self) -> Benchmark:
        return load_benchmark(self.folder)


def text_of(unit: Unit, symbols: Sequence[int]) -> Any:
    if unit == "token":
        return list(symbols)
    if unit == "word":
        return " ".join(f"w{symbol}" for symbol in symbols)
    return "".join(chr(0x4E00 + symbol) for symbol in symbols)


def repeated(answer: Any, unit: Unit) -> Any:
    return f"{answer} {answer}" if unit == "word" else answer + answer


def built(folder: Path, unit: Unit, target: int, *, configured: int | None = None) -> Path:
    """A set of rotations of a text of `target` units: where one of them ends, others go on."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(target)
    with (folder / "candidates.jsonl").open("w", encoding="utf-8") as file:
        for number in (1, 2):
            ring = chance.sample(range(1, 2000), target)
            for at in range(target):
                turned = [*ring[at:], *ring[:at]][: target - chance.randint(0, target // 25)]
                record = {"question": f"{QUESTION}{number}", "answer": text_of(unit, turned)}
                file.write(json.dumps(record) + "\n")
    config = BuildConfig(
        candidates=("candidates.jsonl",),
        out="set",
        unit=unit,
        steps=("length", "consensus", "select"),
        length=Length(target=target if configured is None else configured, share=1.0),
        select=Select(count=max(10, target // 3)),
        allow_fewer=True,
        folder=folder,
    )
    return build(config).folder


@pytest.fixture(scope="module", params=SETS, ids=lambda each: f"{each[1]} {each[0]}s")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    unit, target = request.param
    folder = built(tmp_path_factory.mktemp("built"), unit, target)
    first = json.loads((folder / "Q01.json").read_bytes())["answers"]["X"][0]
    settings = replace(Settings.for_length(target, unit), helpfulness=False)  # there are no rules
    return Made(folder, settings, first, repeated(first, unit))


def expected(made: Made, answer: Any) -> float:
    """The average by the plain scorer, with the settings of the set's length."""
    settings = made.settings
    splits: dict[str, Callable[[Any], Any]] = {
        "character": str,
        "word": Words,
        "token": lambda ids: "".join(map(chr, ids)),
    }
    split = splits[settings.unit]
    data = json.loads((made.folder / "Q01.json").read_bytes())
    answers = {s: [split(a) for a in column] for s, column in data["answers"].items()}
    names = ("target_length", "zero_length", "max_length")
    plain = oracle.Settings(**{name: getattr(settings, name) for name in names})
    found: float = oracle.Question({"answers": answers}, plain).score(split(answer))["average"]
    return found


def by_command(made: Made, folder: Path, *options: str) -> Any:
    """What `pfgen-rs score` prints for a run that answers twice."""
    run = folder / "run.jsonl"
    rows = [{"question": f"{QUESTION}{n}", "answer": made.twice} for n in (1, 2)]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return pfgen("score", run, "-b", made.folder, "--format", "json", *options)


def test_every_way_to_score_a_set_of_another_length(made: Made, tmp_path: Path) -> None:
    bench, right = made.bench, expected(made, made.twice)
    run = tmp_path / "one.jsonl"
    run.write_text(json.dumps({"question": "Q01", "answer": made.twice}) + "\n", encoding="utf-8")
    tokens = made.settings.unit == "token"
    table = pl.DataFrame({"question": ["Q01"], "answer": [made.twice]}).to_arrow()
    [of_rows] = pfgen_rs.results_from_scores(pfgen_rs.scan(run, made.folder), made.folder)
    ways = {
        "score": bench.score("Q01", made.twice).average,
        "score_batch": bench.score_batch(["Q01"], [made.twice])["average"][0],
        "scorer": bench.scorer()(["Q01"], [made.twice])[0],
        "a pickled scorer": pickle.loads(pickle.dumps(bench.scorer()))(["Q01"], [made.twice])[0],
        "cached indexes": made.bench.prepare().score("Q01", made.twice).average,
        "evaluate": bench.evaluate(["Q01"], [made.twice]).by_question["average"][0],
        "score_file": score_file(run, made.folder).by_question["average"][0],
        "results_from_scores": of_rows.by_question["average"][0],
        "scan": pfgen_rs.scan(run, made.folder).collect()["average"][0],
        "Arrow": arrow.scorer(made.folder)(table)["average"][0].as_py(),
        "explain": bench.explain("Q01", made.twice).score.average,
    }
    if not tokens:
        document = {
            "benchmark": str(made.folder),
            "question_id": "Q01",
            "question": f"{QUESTION}1",
            "mode": "completion",
            "think": "keep",
        }
        ways |= {
            "reward": Reward(made.folder)(["Q01"], [made.twice])[0],
            "lm-eval": scored([[str(made.twice)]], [document])[0].scores["score"],
        }
    assert ways == dict.fromkeys(ways, right)
    assert page_settings(bench.settings)["settings"]["target_length"] == made.settings.target_length


def test_the_command_scores_a_set_of_another_length_and_signs_it(
    made: Made, tmp_path: Path, settled: None
) -> None:
    part = f"length:{made.settings.target_length}-{made.settings.zero_length}-"
    for _ in range(2):  # read, then remembered
        [row] = json.loads(by_command(made, tmp_path).stdout)
        assert part in row["signature"]
        assert row["score"] == score_file(tmp_path / "run.jsonl", made.folder).score
        KnownQuestions(made.folder).keep(made.bench.prepare())
    explained = pfgen("explain", "Q01", "x", "-b", made.folder, "--format", "json")
    assert explained.returncode == (2 if made.settings.unit == "token" else 0)
    if explained.returncode == 0:
        assert part in json.loads(explained.stdout)["signature"]


@pytest.mark.parametrize("unit", ["character", "word", "token"])
@pytest.mark.parametrize("target", [20, 33, 60, 150])
@pytest.mark.parametrize("configured", [None, 100], ids=["with length.target", "with the default"])
def test_an_answer_given_twice_gains_no_more_than_in_published_sets(
    tmp_path: Path, unit: Unit, target: int, configured: int | None
) -> None:
    bench = load_benchmark(built(tmp_path, unit, target, configured=configured))
    for question in bench:
        for answers in question.answers.values():
            once = bench.score_batch([question.id] * len(answers), list(answers))
            again = [repeated(answer, unit) for answer in answers]
            twice = bench.score_batch([question.id] * len(answers), again)
            gain = (twice["average"] - once["average"]).max()
            assert isinstance(gain, float)
            assert gain <= PUBLISHED_GAIN


def test_published_sets_gain_what_is_said(published_benchmark: Benchmark) -> None:
    question = published_benchmark["Q01"]
    answers = list(question.answers["R"])
    once = published_benchmark.score_batch(["Q01"] * len(answers), answers)["average"]
    again = [answer * 2 for answer in answers]
    twice = published_benchmark.score_batch(["Q01"] * len(answers), again)["average"]
    assert (twice - once).max() == pytest.approx(PUBLISHED_GAIN, abs=1e-4)


def test_a_set_far_from_its_target_is_scored_at_its_own_length(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = load_benchmark(built(tmp_path, "word", 60, configured=100))
    assert bench.settings.target_length in (59, 60)
    assert "far from 100 (length.target): the length discount begins at" in caplog.text


def test_a_set_of_the_published_length_is_written_as_published(tmp_path: Path) -> None:
    folder = built(tmp_path, "character", 100)
    assert "scoring" not in json.loads((folder / "Q01.json").read_bytes())
    assert load_benchmark(folder).settings == Settings(helpfulness=False)  # it has no rules
    assert load_benchmark(folder, settings=Settings(max_n=5)).settings.max_n == 5


def test_settings_survive_copies_compression_and_no_provenance(made: Made, tmp_path: Path) -> None:
    for path in made.folder.glob("Q*.json"):
        packed = lzma.compress(path.read_bytes())
        (tmp_path / f"{path.name}.xz").write_bytes(packed)
    other = load_benchmark(tmp_path)
    assert (other.settings, other.signature) == (made.settings, made.bench.signature)
    for path in tmp_path.iterdir():
        data = json.loads(lzma.decompress(path.read_bytes()))
        data["scoring"]["threshold"] = 0.01
        path.write_bytes(lzma.compress(json.dumps(data).encode()))
    changed = load_benchmark(tmp_path)
    assert changed.settings.threshold == 0.01
    assert changed.metadata_hash != other.metadata_hash


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ngrams", "1-5"), "max_n 10, not 5"),
        (("--unit", "{other}"), "unit '{unit}', not '{other}'"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_a_command_that_contradicts_its_set_is_an_error(
    made: Made, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    names = {"unit": made.settings.unit, "other": "character"}
    if made.settings.unit == "character":
        names["other"] = "word"
    done = by_command(made, tmp_path, *(option.format(**names) for option in options))
    assert done.returncode == 2
    assert f"the set's question files state {said.format(**names)}: leave out" in done.stderr
    agreeing = by_command(made, tmp_path, "--ngrams", "1-10", "--unit", made.settings.unit)
    assert agreeing.returncode == 0, agreeing.stderr


def test_python_settings_that_contradict_a_set_are_an_error(made: Made) -> None:
    target = made.settings.target_length
    with pytest.raises(SettingsError, match=f"target_length {target}, not 100"):
        load_benchmark(made.folder, settings=Settings(unit=made.settings.unit))
    with pytest.raises(SettingsError, match=r"threshold 0\.005, not 0\.1"):
        made.bench.with_settings({"threshold": 0.1})
    with pytest.raises(SettingsError, match="unknown setting 'colour'"):
        load_benchmark(made.folder, settings={"colour": 60})
    paper = load_benchmark(made.folder, settings={"variant": "paper"}).settings
    assert (paper.variant, paper.target_length) == ("paper", target)


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ([], "'scoring' must be an object of settings, not []"),
        ({"target": 60}, "'scoring' has an unknown setting 'target': expected unit, min_n"),
        ({"variant": "paper"}, "'scoring' has an unknown setting 'variant'"),
        ({"target_length": "60"}, "'scoring': target_length must be a int, not '60'"),
        ({"min_n": True}, "'scoring': min_n must be a int, not True"),
        ({"target_length": 150}, "'scoring': zero_length must be larger than target_length"),
        ({"unit": "byte"}, "'scoring': unknown unit 'byte'"),
    ],
)
def test_settings_of_a_question_file_are_checked(tmp_path: Path, scoring: Any, said: str) -> None:
    write_benchmark(tmp_path, {"Q01": {"scoring": scoring}})
    with pytest.raises(BenchmarkError) as raised:
        load_benchmark(tmp_path)
    assert said in str(raised.value)
    assert "Q01.json" in str(raised.value)


def test_files_of_different_sets_are_not_mixed(tmp_path: Path) -> None:
    write_benchmark(tmp_path, {"Q02": {"scoring": {"threshold": 0.1}}})
    with pytest.raises(BenchmarkError, match=r"Q01\.json and Q02\.json state different settings"):
        load_benchmark(tmp_path)


def test_a_file_may_state_some_settings(tmp_path: Path) -> None:
    stated = {"scoring": {"target_length": 20, "zero_length": 30}}
    write_benchmark(tmp_path / "set", {"Q01": stated, "Q02": stated})
    bench = load_benchmark(tmp_path / "set")
    assert bench.settings == Settings(target_length=20, zero_length=30)
    done = pfgen("score", write_run(tmp_path / "run"), "-b", tmp_path / "set", "--format", "json")
    assert "length:20-30-200" in json.loads(done.stdout)[0]["signature"]
