"""A set against another: the estimates by simulation, the figures against the obvious way."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import CATS, pfgen, write_run
from pfgen_rs import Benchmark, InputError, Question, SettingsError, load_benchmark, score_file
from pfgen_rs.lazy import Floats
from pfgen_rs.questions.question import content_bytes
from pfgen_rs.references import check
from pfgen_rs.references.check.against import MOST, RunScores, Variances, against
from places import ROOT

ALIKE = [(0, 1, 2)] * 6
MIXED = [(0, 1), (0, 1, 2), (1, 2), (0, 1, 2), (3, 4), (0, 2)]
TASTE, NOISE = 0.06, 0.1
"""Deviations of a source's error: what it has in all questions, and what it has in one."""


SCALES = np.array([0.8, 1.0, 1.25, 0.9, 1.1])
"""How far sources spread runs, on which nothing depends."""


def simulated(
    design: Sequence[tuple[int, ...]], runs: int, seed: int, scales: Floats = SCALES**0
) -> tuple[Floats, RunScores]:
    """What the sources have in common, shape (runs, questions), and the scores by the design's sources."""
    random = np.random.default_rng(seed)
    true = random.normal(0.5, 0.1, (runs, 1)) + random.normal(0, 0.05, (runs, len(design)))
    columns = [(q, source) for q, own in enumerate(design) for source in own]
    questions, sources = (np.array(side) for side in zip(*columns, strict=True))
    taste = random.normal(0, TASTE, (runs, 5))[:, sources]
    values = true[:, questions] + taste + random.normal(0, NOISE, (runs, len(columns)))
    return true, RunScores(true, scales[sources] * values, questions, sources)


def fresh(true: Floats, sources: int, seed: int) -> Floats:
    """Means over the questions of scores by as many other sources."""
    random, runs = np.random.default_rng(seed), len(true)
    taste = random.normal(0, TASTE / np.sqrt(sources), runs)
    noise = random.normal(0, NOISE / np.sqrt(sources), true.shape)
    return np.asarray((true + noise).mean(axis=1) + taste)


@pytest.mark.parametrize("design", [ALIKE, MIXED])
@pytest.mark.parametrize("spread", [0, 1])
def test_the_ceiling_is_what_fresh_sources_reach(
    design: Sequence[tuple[int, ...]], spread: int
) -> None:
    true, found = simulated(design, 40_000, 1, SCALES**spread)
    runs, questions = (np.ones(count, np.int64) for count in true.shape)
    variances = found.variances(runs, questions)
    assert variances is not None
    error = TASTE**2 + NOISE**2 / 6
    assert variances.source / variances.true == pytest.approx(
        error / (0.1**2 + 0.05**2 / 6), rel=0.04
    )
    for sources in (1, 2, 3):
        r = dataclasses.replace(found, own=fresh(true, sources, 2)[:, None] + 0 * true)
        reached = r.correlation(runs, questions)
        assert variances.reached(sources) == pytest.approx(reached, abs=0.005)
        assert variances.worth(reached) == pytest.approx(sources, rel=0.1)
    assert variances.reached(np.inf) == pytest.approx(found.correlation(runs, questions), abs=0.005)


def test_few_runs_and_drawn_ones_follow_the_formula() -> None:
    """Every question has the same sources, so means over questions are enough; drawn twice is there twice."""
    _, found = simulated(ALIKE, 7, 3, SCALES)
    runs, questions = np.array([2, 0, 1, 1, 3, 0, 1]), np.array([1, 0, 2, 1, 1, 1])
    by_source = [
        np.repeat(found.by_source[:, found.sources == source] @ questions / 6, runs)
        for source in range(3)
    ]
    whole, r = np.var(np.mean(by_source, axis=0)), np.corrcoef(by_source)
    agreement = r[np.triu_indices(3, 1)].mean()
    expected = whole * agreement, whole * (1 - agreement), whole * (1 - agreement) / 3
    assert found.variances(runs, questions) == pytest.approx(expected, rel=1e-9)


def test_organisations_are_drawn_where_there_are_three() -> None:
    """Runs of an organisation that are all alike count as one, not as five."""
    _, found = simulated(ALIKE, 4, 5)
    own = found.own + np.random.default_rng(6).normal(0, 0.1, found.own.shape)
    alike = RunScores(
        np.repeat(own, 5, axis=0),
        np.repeat(found.by_source, 5, axis=0),
        found.questions,
        found.sources,
    )
    names = [f"{n:02}" for n in range(20)]
    by_run, by_organisation, by_two = (
        alike.figures(organisations)
        for organisations in (names, [name for name in "abcd" for _ in range(5)], ["a", *"b" * 19])
    )
    assert by_organisation["pearson"] == by_run["pearson"]
    assert by_organisation["low"] < by_run["low"] - 0.05
    assert by_two == by_run


@pytest.mark.parametrize("sources", [0.3, 1.0, 2.6, 99.0, np.inf])
def test_worth_inverts_what_is_reached(sources: float) -> None:
    variances = Variances(0.02, 0.003, 0.001)
    assert variances.worth(variances.reached(sources)) == pytest.approx(min(sources, MOST))
    assert variances.worth(1.0) == MOST
    assert np.isnan(variances.worth(-0.5))


def test_sources_that_do_not_agree_have_no_ceiling() -> None:
    opposite = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0]])
    found = RunScores(opposite[:, :1], opposite, np.array([0, 0]), np.array([0, 1]))
    assert found.variances(np.ones(4, np.int64), np.ones(1, np.int64)) is None
    assert found.variances(np.array([4, 0, 0, 0]), np.ones(1, np.int64)) is None


@pytest.mark.published
def test_two_official_sources_foretell_the_third(
    published_benchmark: Benchmark, published_dir: Path
) -> None:
    """One source against the two others, on average, as far as the agreement of those two says."""
    questions = [q for q in published_benchmark if len(q.sources) == 3]
    bench = Benchmark(questions, "")
    files = sorted({path.parent for path in (published_dir / "result").glob("**/trials.jsonl*")})
    values = check.scores.by_source(bench, check.scores.scored_runs(bench, files)[0])
    runs = list(dict.fromkeys(run for run, _ in values[None]))
    scores = np.array([[[values[s][run, q.id] for s in "PST"] for q in questions] for run in runs])
    for chosen, tolerance in ((np.full(len(runs), True), 3e-4), (scores.mean((1, 2)) > 0.5, 2e-3)):
        reached, foretold = [], []
        for left in range(3):
            two = np.delete(scores[chosen], left, axis=2)
            columns = np.repeat(np.arange(len(questions)), 2), np.tile([0, 1], len(questions))
            found = RunScores(scores[chosen, :, left], two.reshape(len(two), -1), *columns)
            once = [np.ones(count, np.int64) for count in found.own.shape]
            variances = found.variances(once[0], once[1])
            assert variances is not None
            reached.append(found.correlation(once[0], once[1]))
            foretold.append(variances.reached(1))
        assert np.mean(foretold) == pytest.approx(np.mean(reached), abs=tolerance)


# Sets.


@pytest.fixture(scope="module")
def other() -> Benchmark:
    """Three questions of the bundled set, two of them of two sources, with few answers."""
    bench = load_benchmark("mini")
    names = ["Q02", *[q.id for q in bench if len(q.sources) == 2][:2]]
    return Benchmark([_short(bench[name], slice(60)) for name in names], "")


def _short(question: Question, part: slice) -> Question:
    answers = {source: own[part] for source, own in question.answers.items()}
    return dataclasses.replace(question, answers=answers)


@pytest.fixture(scope="module")
def own(other: Benchmark) -> Benchmark:
    """The same questions but one under other ids, with other answers of one source."""
    questions = [_short(load_benchmark("mini")[q.id], slice(60, 120)) for q in other][:-1]
    changed = [
        dataclasses.replace(q, id=f"Q{n}x", answers={"X": q.answers["A"]})
        for n, q in enumerate(reversed(questions))
    ]
    return Benchmark(changed, "")


@pytest.fixture(scope="module")
def runs(other: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Five runs of three organisations, of answers by bundled ones."""
    folder, texts = tmp_path_factory.mktemp("runs"), {q.text for q in other}
    bundled = sorted((ROOT / "data" / "mini" / "runs").iterdir())
    rows = []
    for place in bundled:
        frame = score_file(place, "mini").frame.filter(pl.col("question").is_in(texts))
        rows.append(frame.select("question", "answer").rows())
    mixed = [rows[0][::2] + rows[2][1::2], rows[1][::2] + rows[2][1::2]]
    models = ["a/one", "a/two", "b/one", "b/two", "c"]
    return [
        write_run(folder / str(n), own, model=model)
        for n, (own, model) in enumerate(zip([*rows, *mixed], models, strict=True))
    ]


def both(bench: Benchmark, path: Path, texts: set[str]) -> float:
    frame = score_file(path, bench, skip_bad_lines=True).frame
    by_question = frame.filter(pl.col("question").is_in(texts)).group_by("question_id")
    means = by_question.agg((pl.col("fluency") + pl.col("truthfulness")).mean() / 2)
    return float(means.to_series(1).mean())  # type: ignore[arg-type]


def test_a_set_against_another_of_other_ids(
    own: Benchmark,
    other: Benchmark,
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit of good runs lies between the two scores of a run, of which the other set's counts."""
    monkeypatch.setattr(check.against, "GOOD", 0.505)
    found = own.check(runs, against=other)
    texts = {q.text for q in own}
    x, y = ([both(bench, path, texts) for path in runs] for bench in (own, other))
    whole, good = found.tables["against"].to_dicts()
    assert found.tables["against_runs"].rows() == [
        (name, name[0], pytest.approx(a, abs=2e-6), pytest.approx(b, abs=2e-6))
        for name, a, b in zip(["a/one", "a/two", "b/one", "b/two", "c"], x, y, strict=True)
    ]
    assert whole["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-5)
    assert whole["other"] == other.signature
    assert whole["low"] <= whole["pearson"] <= whole["high"]
    counts = ("which", "runs", "organisations", "questions", "ceiling_questions", "ceiling_sources")
    assert [whole[name] for name in counts] == ["all", 5, 3, 2, 1, 2]
    assert whole["one_source"] < whole["two_sources"] < whole["infinitely_many"]
    above = [sum(value > 0.505 for value in values) for values in (x, y)]
    assert above[0] < above[1]
    assert (good["which"], good["runs"]) == ("above 0.505", above[1])
    [told] = [
        line for line in found.findings if line.startswith("it ranks these 5 runs as well as ")
    ]
    assert "over the 1 question with several sources it reaches" in told
    page = check.report_markdown(found)
    assert "## Against another set" in page
    assert found.to_dir(tmp_path)[-1].read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("count", "sources", "reason"),
    [(3, ["A", "B"], "it takes 4 runs"), (5, ["A"], "none of the questions has several sources")],
)
def test_why_there_is_no_ceiling(
    count: int, sources: list[str], reason: str, own: Benchmark, other: Benchmark, runs: list[Path]
) -> None:
    left = [
        dataclasses.replace(q, answers={s: q.answers[s] for s in sources})
        for q in other
        if "B" in q.answers
    ]
    found = own.check(runs[-count:], against=Benchmark(left, ""))
    assert found.tables["against"]["worth"].null_count() == 2
    assert reason in found.tables["against"]["no_ceiling"][0]
    assert any("is unknown" in line and reason in line for line in found.findings)


def test_two_runs_have_no_correlation(own: Benchmark, other: Benchmark, runs: list[Path]) -> None:
    found = own.check(runs[:2], against=other)
    assert found.tables["against"]["pearson"].null_count() == 2
    assert any("rank 2 runs as well is unknown" in line for line in found.findings)


def test_sets_that_cannot_be_compared(own: Benchmark, other: Benchmark, runs: list[Path]) -> None:
    with pytest.raises(SettingsError, match="name runs"):
        own.check(against=other)
    elsewhere = dataclasses.replace(next(iter(other)), text=CATS)
    with pytest.raises(InputError, match="no question in common"):
        own.check(runs, against=Benchmark([elsewhere], ""))
    responses = check.scores.scored_runs(own, runs)[0]
    rows = [("a/one", "Q0x"), ("b/one", "Q1x")]
    apart = pl.concat(
        responses.filter((pl.col("run") == run) & (pl.col("question_id") == q)) for run, q in rows
    )
    with pytest.raises(InputError, match="answered by all runs"):
        against(own, other, apart)


def test_the_command_says_how_many_sources(
    own: Benchmark, other: Benchmark, runs: list[Path], tmp_path: Path
) -> None:
    for name, bench in (("own", own), ("other", other)):
        (tmp_path / name).mkdir()
        for q in bench:
            content = content_bytes(
                {**vars(q), "question_id": q.id, "question": q.text}, q.answers, None
            )
            (tmp_path / name / f"{q.id}.json").write_bytes(content)
    folder = str(tmp_path / "other")
    arguments = ["build", "check", str(tmp_path / "own"), "--against", folder]
    named = [part for run in runs for part in ("--run", str(run))]
    done = pfgen(*arguments, *named, "--format", "json")
    assert done.returncode == 0, done.stderr
    found, expected = json.loads(done.stdout), own.check(runs, against=other)
    signed = pl.lit(load_benchmark(folder).signature).alias("other")
    assert found["against"] == expected.tables["against"].with_columns(signed).to_dicts()
    assert found["against_runs"] == expected.tables["against_runs"].to_dicts()
    assert any(f"those of {folder!r}" in line for line in found["findings"])
    done = pfgen(*arguments)
    assert done.returncode == 2
    assert "name runs (--run)" in done.stderr
