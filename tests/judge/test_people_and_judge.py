"""Win rates by people and a judge together: by hand, in simulations, and from the command line."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import pfgen
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge import read_humans, sample_path
from pfgen_rs.judge.agreement.prediction_powered import people_and_judge
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.stats.resampling import fewest_questions

RATES = ("people", "judge", "together")


def pairs_of(judge: str, models: tuple[str, str] = ("a", "b")) -> pl.DataFrame:
    """Pairs "0", "1", … of two models, each of a question of its own; `-`: no decision."""
    rows = [(str(i), *models, None if x == "-" else x) for i, x in enumerate(judge)]
    frame = pl.DataFrame(rows, schema=["pair", "model_a", "model_b", "first"], orient="row")
    return frame.with_columns(question_id="pair")


def people(*verdicts: str, rater: str = "r") -> pl.DataFrame:
    """Verdicts of raters on the first pairs, a text each; `-`: none."""
    rows = [
        (str(i), f"{rater}{n}", letter)
        for n, letters in enumerate(verdicts)
        for i, letter in enumerate(letters)
        if letter != "-"
    ]
    return pl.DataFrame(rows, schema=["pair", "rater", "verdict"], orient="row")


def test_six_pairs_by_hand() -> None:
    """People say 1 1 0 1 0 of five pairs, the judge 1 1 0 0 0 and 1 of the sixth; level 50 %.

    Questions move people's mean by (2, 2, −3, 2, −3, 0)/25 and the judge's difference (mean of five − mean of
    six = −1/10) by (11, 11, 1, 1, 1, −25)/300: λ = (16/3000)/(29/3000), and the rate is 3/5 + λ/10. The
    variance is 5/3 of the squares that are left; Student's quantile for 50 % and 3 degrees is 0.764892.
    """
    found = people_and_judge(pairs_of("AABBBA"), people("AABAB"), rule="first", level=0.5)
    row = found.models.row(0, named=True)
    assert (row["model"], row["people"], row["judge"]) == ("a", 0.6, 0.5)
    assert row["weight"] == pytest.approx(16 / 29)
    assert row["together"] == pytest.approx(19 / 29)
    left = 1.2 / 25 - (16 / 3000) ** 2 / (29 / 3000)
    reach = 0.764892 * (5 / 3 * left) ** 0.5
    assert row["together_low"] == pytest.approx(19 / 29 - reach, abs=1e-6)
    assert row["together_high"] == pytest.approx(19 / 29 + reach, abs=1e-6)
    assert row["worth"] == pytest.approx(5 * (5 / 4 * 1.2 / 25) / (5 / 3 * left))
    other = found.models.row(1, named=True)
    for name in RATES:
        assert other[name] == pytest.approx(1 - row[name])
        assert other[f"{name}_low"] == pytest.approx(1 - row[f"{name}_high"])


def test_raters_are_averaged_and_ties_are_half() -> None:
    found = people_and_judge(pairs_of("ABC"), people("AB-", "CB-", "B-A"), rule="first").models
    row = dict(zip(found.columns, found.sort("model").row(0), strict=True))
    assert row["people"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert row["judge"] == 0.5
    assert (row["people_games"], row["judge_games"]) == (3, 3)


def test_with_few_questions_people_decide_alone() -> None:
    few = fewest_questions(0.95)
    for number, weighs in ((few - 1, False), (few, True)):
        verdicts = ("AB" * few)[:number]
        found = people_and_judge(pairs_of("AB" * 30), people(verdicts), rule="first")
        assert (found.models["weight"] > 0).all() is weighs
        assert any("with fewer than 9 questions judged" in note for note in found.notes) != weighs
        if not weighs:
            for end in ("", "_low", "_high"):
                assert found.models[f"people{end}"].equals(found.models[f"together{end}"])


def test_what_a_judge_did_not_decide_counts_for_people() -> None:
    decided = "AABABBABAABB" * 4
    asked = people("A" * 3 + "B" * 3 + decided[6:20])
    found = people_and_judge(pairs_of("--" + decided[2:]), asked, rule="first")
    assert found.models["people_games"].to_list() == [20, 20]
    assert found.models["judge_games"].to_list() == [46, 46]
    [note] = found.notes
    assert note.startswith("2 pairs judged by people and not decided by the judge")


def test_people_and_judge_may_have_no_game_in_common() -> None:
    asked = people("AAB" * 5)
    found = people_and_judge(pairs_of("-" * 15 + "AB" * 15), asked, rule="first").models
    assert found["weight"].to_list() == [0.0, 0.0]
    assert found["together"].to_list() == pytest.approx([2 / 3, 1 / 3])


def test_everything_judged_by_people_needs_no_judge() -> None:
    letters = "AABABBACBAAB"
    found = people_and_judge(pairs_of("A" * 12), people(letters), rule="first").models
    assert found["weight"].to_list() == [0.0, 0.0]
    assert found["together"].equals(found["people"])


def test_a_model_that_people_did_not_see_has_the_judges_rate_alone() -> None:
    extra = pairs_of("AAB", ("a", "c")).with_columns(pair="9" + pl.col("pair"))
    frame = pl.concat([pairs_of("AB" * 6), extra])
    found = people_and_judge(frame, people("AB" * 6), rule="first")
    row = found.models.filter(model="c").row(0, named=True)
    assert row["judge"] == pytest.approx(1 / 3)
    assert (row["people"], row["together"], row["together_low"], row["worth"]) == (None,) * 4
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_a_model_against_itself_is_left_out() -> None:
    frame = pl.concat(
        [pairs_of("AB" * 6), pairs_of("C", ("a", "a")).with_columns(pair=pl.lit("x"))]
    )
    found = people_and_judge(frame, people("AB" * 6), rule="first")
    assert found.notes == []
    assert found.models["judge_games"].to_list() == [12, 12]


def test_what_cannot_be_used() -> None:
    frame, humans = pairs_of("AB"), people("A")
    for pairs, verdicts, message in (
        (frame.drop("model_a"), humans, "columns missing in the frame of decisions: model_a"),
        (frame, humans.drop("rater"), "columns missing in the frame of human verdicts: rater"),
        (frame, people("X"), "unknown letter 'X'"),
        (frame, humans.with_columns(pair=pl.lit("?")), "people judged none of the pairs"),
    ):
        with pytest.raises(InputError, match=message):
            people_and_judge(pairs, verdicts, rule="first")
    with pytest.raises(SettingsError):
        people_and_judge(frame, humans, rule="first", level=2)


# Simulations: the judge's error grows with the difference in length, so that its own rate is wrong


STRENGTHS = np.array([0.4, 0.0, -0.4])
PAIRS, RATERS = 2000, 2


def letters(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    seen = values + random.normal(0, 0.8, values.shape)
    return np.where(seen > 0.3, "A", np.where(seen < -0.3, "B", "C"))


def world(
    random: np.random.Generator, number: int, *, a_question: int, blind: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Decisions about pairs of three models, and verdicts of two raters on `number` of them.

    `a_question`: pairs about a question, which are judged by people together. `blind`: a judge that guesses.
    """
    a = random.integers(0, 3, PAIRS)
    b = (a + random.integers(1, 3, PAIRS)) % 3
    questions = np.arange(PAIRS) // a_question
    of_question = STRENGTHS + random.normal(0, 0.7, (questions[-1] + 1, 3))
    apart = of_question[questions, a] - of_question[questions, b] + random.normal(0, 0.8, PAIRS)
    longer = random.normal(0, 1, PAIRS) + 0.5 * (a == 2) - 0.5 * (b == 2)
    judge = random.choice([*"ABC"], PAIRS) if blind else letters(apart + 0.8 * longer, random)
    frame = {
        "pair": [str(i) for i in range(PAIRS)],
        "question_id": questions,
        "model_a": [f"m{i}" for i in a],
        "model_b": [f"m{i}" for i in b],
        "first": judge,
    }
    chosen = random.choice(questions[-1] + 1, number // a_question, replace=False)
    judged = np.flatnonzero(np.isin(questions, chosen))
    verdicts = letters(np.repeat(apart[judged], RATERS), random)
    humans = {
        "pair": np.repeat(judged, RATERS).astype(str),
        "rater": np.tile([f"r{i}" for i in range(RATERS)], len(judged)),
        "verdict": verdicts,
    }
    return pl.DataFrame(frame), pl.DataFrame(humans)


def true_rates() -> np.ndarray:
    """The models' true rates: a pair differs by a normal variable of variance 2·0.7² + 2·0.8²."""
    random = np.random.default_rng(0)
    noise = random.normal(0, (2 * 0.49 + 2 * 0.64) ** 0.5, 400_000)
    found = []
    for model in range(3):
        others = [other for other in range(3) if other != model]
        seen = [STRENGTHS[model] - STRENGTHS[other] + noise for other in others]
        found.append(
            np.mean([np.mean(each > 0.3) + np.mean(abs(each) <= 0.3) / 2 for each in seen])
        )
    return np.array(found)


def simulated(
    repeats: int, number: int, **how: object
) -> tuple[dict[str, float], dict[str, float]]:
    """The shares of intervals that contain the true rate, and the mean widths, by kind of rate."""
    random, true = np.random.default_rng(number), true_rates()
    frames = []
    for _ in range(repeats):
        decisions, humans = world(random, number, **how)  # type: ignore[arg-type]
        frames.append(people_and_judge(decisions, humans, rule="first").models)
    table = pl.concat(frames).with_columns(
        true=pl.col("model").replace_strict({f"m{i}": x for i, x in enumerate(true)})
    )
    low, high = ({name: pl.col(f"{name}_{end}") for name in RATES} for end in ("low", "high"))
    held = table.select((pl.col("true").is_between(low[n], high[n])).mean().alias(n) for n in RATES)
    width = table.select((high[name] - low[name]).mean().alias(name) for name in RATES)
    return held.row(0, named=True), width.row(0, named=True)


@pytest.mark.parametrize("a_question", [1, 4])
@pytest.mark.parametrize("number", [100, 200, 400])
def test_intervals_with_a_biased_judge_hold_and_are_shorter(number: int, a_question: int) -> None:
    held, width = simulated(250, number, a_question=a_question, blind=False)
    assert 0.93 <= held["together"] <= 0.975  # of 750 intervals, with a standard error of 0.01
    assert held["judge"] < 0.2
    assert width["together"] < (0.8 if a_question == 4 else 0.9) * width["people"]


@pytest.mark.parametrize("number", [100, 400])
def test_a_judge_that_guesses_does_no_harm(number: int) -> None:
    held, width = simulated(250, number, a_question=4, blind=True)
    assert held["together"] >= 0.93
    assert held["judge"] < 0.5
    assert width["together"] == pytest.approx(width["people"], rel=0.02)


def test_a_few_simulations() -> None:
    """What the slow simulations show, coarsely."""
    held, width = simulated(40, 200, a_question=1, blind=False)
    assert held["together"] > 0.88 > held["judge"]
    assert width["together"] < width["people"]


def test_the_command_shows_what_the_library_computes(tmp_path: Path) -> None:
    folder, file = sample_path() / "verdicts" / "careful", sample_path() / "humans.jsonl"
    decisions = VerdictFolder(folder).decisions()
    expected = people_and_judge(decisions, read_humans(file, decisions["pair"]))
    words = ("judge", "rank", folder, "--humans", file)
    found = json.loads(pfgen(*words, "--format", "json").stdout)["people_and_judge"]
    assert found == json.loads(json.dumps(expected.to_dict()))
    shown = pfgen(*words).stdout
    assert "win rates by people, by the judge, and by both together" in shown
    for row in expected.models.iter_rows(named=True):
        assert f"{100 * row['together']:.1f}" in shown
    humans = tmp_path / "h.csv"
    humans.write_text("id,rater,verdict\nunknown,r,A\n")
    done = pfgen("judge", "rank", folder, "--humans", humans)
    assert done.returncode == 2
    assert "unknown pair id 'unknown'" in done.stderr
