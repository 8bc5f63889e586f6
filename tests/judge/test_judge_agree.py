"""`agree`: every table equals the obvious way in plain Python; what is missing is left out and counted."""

import json
import math
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
import pytest

import agreement_oracle as oracle
from made_judgments import decisions_frame, humans_frame, letters, made, raters_of
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge import agree, compare_judges
from pfgen_rs.judge.agreement.tables import question_differences
from pfgen_rs.judge.decisions import RULES
from pfgen_rs.stats import resampling
from pfgen_rs.stats.permutation import sign_flip_by_size
from pfgen_rs.stats.resampling import clopper_pearson

PAIRS = 120
TASKS = ("writing", "summary")


def sample(seed: int = 0, *, missing: float = 0.2, raters: int = 3) -> tuple[pl.DataFrame, Any]:
    """Decisions with invalid verdicts, and verdicts of raters by name, `None` where one did not judge."""
    random = np.random.default_rng(seed)
    judge = made(random, PAIRS, bias=0.8)
    frame = decisions_frame(
        judge,
        question_id=[f"Q{i // 3}" for i in range(PAIRS)],
        task=[TASKS[i % 2] for i in range(PAIRS)],
        length_a=random.integers(1, 5, PAIRS),
        length_b=random.integers(1, 5, PAIRS),
        model_a=random.choice(["gpt-4o", "openai/gpt-3.5-turbo", "calm2-7b"], PAIRS),
        model_b=random.choice(["Llama-2-7b", "gpt-4"], PAIRS),
    )
    invalid = pl.Series(random.random(PAIRS) < 0.1)
    none = pl.lit(None, dtype=pl.String)
    frame = frame.with_columns(
        pl.when(invalid).then(none).otherwise(pl.col(name)).alias(name)
        for name in ("v2", "strict", "tie")
    )
    codes = raters_of(random, judge.truth, raters, right=0.6)
    gaps = {
        name: np.where(random.random(PAIRS) < missing, -1, each) for name, each in codes.items()
    }
    return frame, gaps


def rows_of(table: pl.DataFrame, **where: Any) -> list[dict[str, Any]]:
    found = [
        row for row in table.to_dicts() if all(row[key] == value for key, value in where.items())
    ]
    assert found
    return found


def test_concordance_by_rule_task_and_rater() -> None:
    frame, codes = sample()
    found = agree(frame, humans_frame(codes)).concordance
    for rule in RULES:
        for task in (None, *TASKS):
            mine = [task in (None, each) for each in frame["task"]]
            decided = frame[rule].filter(pl.Series(mine)).to_list()
            rates = []
            for rater, each in codes.items():
                verdicts = [x for x, kept in zip(letters(each), mine, strict=True) if kept]
                (row,) = rows_of(found, rule=rule, task=task, rater=rater)
                rates.append(oracle.concordance(decided, verdicts))
                assert row["concordance"] == pytest.approx(rates[-1], abs=1e-15)
                assert row["left_out"] == verdicts.count(None)
                assert row["pairs"] + row["left_out"] == len(verdicts)
                assert row["right"] == round(rates[-1] * row["pairs"])
                assert row["low"] < row["concordance"] < row["high"]
            (row,) = rows_of(found, rule=rule, task=task, rater=None)
            assert row["concordance"] == pytest.approx(sum(rates) / len(rates), abs=1e-15)
            assert (row["pairs"], row["right"], row["left_out"]) == (len(decided), None, None)


def test_robustness_and_position() -> None:
    frame, codes = sample()
    found = agree(frame, humans_frame(codes))
    for task in (None, *TASKS):
        mine = frame if task is None else frame.filter(task=task)
        (row,) = rows_of(found.robustness, task=task)
        assert row["robustness"] == oracle.robustness(mine["v1"].to_list(), mine["v2"].to_list())
        assert row["invalid"] == mine["v2"].null_count()
        assert row["low"] < row["robustness"] < row["high"]
    expected = oracle.towards_first(frame["v1"].to_list(), frame["v2"].to_list())
    assert (found.position.count, found.position.n) == expected
    assert found.position.interval == clopper_pearson(*expected)


def test_decisions_are_counted() -> None:
    frame, _ = sample()
    found = agree(frame).decisions
    (strict,) = rows_of(found, rule="strict")
    assert strict["invalid"] == frame["v2"].null_count() > 0
    assert strict["undecided"] == frame["strict"].null_count() - strict["invalid"] > 0
    for row in found.to_dicts():
        for letter in "ABC":
            assert row[letter] == (frame[row["rule"]] == letter).sum()
        assert sum(row[name] for name in ("A", "B", "C", "undecided", "invalid")) == PAIRS


@pytest.mark.parametrize("rule", RULES)
def test_kappa_and_confusion(rule: Any) -> None:
    frame, codes = sample(3)
    found = agree(frame, humans_frame(codes), rule=rule)
    for rater, each in codes.items():
        both = [(d, v) for d, v in zip(frame[rule], letters(each), strict=True) if v]
        (row,) = rows_of(found.cohen, rater=rater)
        assert row["kappa"] == pytest.approx(oracle.cohen(*zip(*both, strict=True)), abs=1e-14)
        assert row["pairs"] == len(both)
        for counts in rows_of(found.confusion, rater=rater):
            for letter in "ABC":
                assert counts[letter] == both.count((counts["decision"], letter))


def test_leave_one_out() -> None:
    frame, codes = sample(1)
    found = agree(frame, humans_frame(codes), rule="tie").leave_one_out
    named = {rater: letters(each) for rater, each in codes.items()}
    for rater, own in named.items():
        others = [named[other] for other in named if other != rater]
        most = [oracle.majority(row) for row in zip(*others, strict=True)]
        decided = zip(own, most, frame["tie"], strict=True)
        kept = [(h, m, d) for h, m, d in decided if h and m]
        (row,) = rows_of(found, rater=rater)
        assert row["pairs"] == len(kept)
        assert row["left_out"] == sum(h is not None for h in own) - len(kept)
        assert row["human"] == pytest.approx(np.mean([h == m for h, m, _ in kept]))
        assert row["judge"] == pytest.approx(np.mean([d == m for _, m, d in kept]))
        assert row["difference"] == pytest.approx(row["judge"] - row["human"])
        assert row["difference_low"] < row["difference"] < row["difference_high"]


def test_agreement_of_raters_who_may_be_missing() -> None:
    frame, codes = sample(missing=0)
    rows = list(zip(*map(letters, codes.values()), strict=True))
    found = agree(frame, humans_frame(codes)).rater_agreement
    assert found is not None
    assert (found.statistic, found.pairs) == ("fleiss_kappa", PAIRS)
    assert found.value == pytest.approx(oracle.fleiss(rows), abs=1e-14)
    assert found.interval.low < found.value < found.interval.high
    frame, codes = sample()
    humans = humans_frame(codes)
    refused = agree(frame, humans)
    assert refused.rater_agreement is None
    lacking = sum(-1 in row for row in zip(*codes.values(), strict=True))
    assert any(f"{lacking} of 120 pairs lack raters: no Fleiss' kappa" in n for n in refused.notes)
    found = agree(frame, humans, allow_missing=True).rater_agreement
    assert found is not None
    assert found.statistic == "krippendorff_alpha"
    assert found.interval.low < found.value < found.interval.high
    assert found.pairs == sum(
        row.count(-1) < 2 for row in map(list, zip(*codes.values(), strict=True))
    )
    assert agree(frame, humans_frame({"r": codes["rater1"]})).rater_agreement is None


def test_biases_of_judge_and_raters() -> None:
    frame, codes = sample()
    found = agree(frame, humans_frame(codes), judge="gpt-4-turbo", rule="tie").biases
    everyone = {None: frame["tie"].to_list(), **{r: letters(each) for r, each in codes.items()}}
    longer = [
        "A" if a > b else "B" if b > a else None
        for a, b in zip(frame["length_a"], frame["length_b"], strict=True)
    ]
    for rater, decided in everyone.items():
        both = [(f, d) for f, d in zip(longer, decided, strict=True) if f]
        winners = [(f, d) for f, d in both if d in ("A", "B")]
        (row,) = rows_of(found, bias="longer answer", rater=rater)
        assert row["n"] == len(winners) > 0
        assert row["wins"] == sum(f == d for f, d in winners)
        assert row["share"] == row["wins"] / row["n"]
        bounds = clopper_pearson(row["wins"], row["n"])
        assert (row["low"], row["high"]) == (bounds.low, bounds.high)
        assert row["ties"] == sum(d == "C" for _, d in both)


def test_calibration() -> None:
    frame, codes = sample()
    found = agree(frame, humans_frame(codes)).calibration
    assert found is not None
    most = [oracle.majority(row) for row in zip(*map(letters, codes.values()), strict=True)]
    largest = frame.select(pl.max_horizontal("p_a", "p_b", "p_c")).to_series().to_list()
    kept = [(p, d == m) for p, d, m in zip(largest, frame["probability"], most, strict=True) if m]
    error = 0.0
    for i, row in enumerate(found.table.to_dicts()):
        inside = [(p, right) for p, right in kept if row["from"] <= p < row["to"]]
        assert (row["pairs"], row["right"]) == (len(inside), sum(right for _, right in inside))
        if inside:
            probability = sum(p for p, _ in inside) / len(inside)
            share = row["right"] / len(inside)
            assert row["probability"] == pytest.approx(probability)
            assert row["share"] == share
            assert row["low"] <= share <= row["high"]
            error += len(inside) / len(kept) * abs(share - probability)
        else:
            assert row["probability"] is row["share"] is row["low"] is None
        assert row["from"] == i / 10
    assert found.error == pytest.approx(error)
    assert found.pairs == len(kept)
    assert found.without_majority == PAIRS - len(kept) > 0
    sure = frame.with_columns(p_a=pl.lit(1.0), p_b=pl.lit(0.0), probability=pl.lit("A"))
    certain = agree(sure, humans_frame(codes)).calibration
    assert certain is not None
    assert certain.table["pairs"].to_list() == [0] * 9 + [certain.pairs]


def test_comparisons_of_rules() -> None:
    frame, codes = sample()
    humans = humans_frame(codes)
    found = agree(frame, humans, rule="tie")
    means = {
        row["rule"]: row["concordance"] for row in rows_of(found.concordance, task=None, rater=None)
    }
    assert found.comparisons["other"].to_list() == ["probability", "strict", "first"]
    for row in found.comparisons.to_dicts():
        assert row["difference"] == pytest.approx(means["tie"] - means[row["other"]])
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["p"] <= row["p_holm"] <= 1
        same_frame = compare_judges(frame, frame, humans, rules=("tie", row["other"]))
        assert same_frame.p == row["p"]
        assert same_frame.difference == pytest.approx(row["difference"])
        assert same_frame.interval.low == pytest.approx(row["low"], abs=0.02)


def test_two_judges_on_common_pairs() -> None:
    frame, codes = sample()
    humans = humans_frame(codes)
    other, _ = sample(7)
    found = compare_judges(frame.head(100), other.tail(90).reverse(), humans)
    assert (found.pairs, found.left_out) == (70, 50)
    common = frame.head(100).tail(70)["pair"].to_list()
    rates = []
    for each in (frame, other):
        decided = dict(zip(each["pair"], each["probability"], strict=True))
        by_rater = [dict(zip(frame["pair"], letters(c), strict=True)) for c in codes.values()]
        shares = [
            oracle.concordance([decided[p] for p in common], [verdicts[p] for p in common])
            for verdicts in by_rater
        ]
        rates.append(sum(shares) / len(shares))
    assert (found.first, found.second) == pytest.approx(tuple(rates))
    assert found.interval.low < found.difference < found.interval.high
    assert 0 < found.p <= 1
    turned = compare_judges(other.tail(90), frame.head(100), humans)
    assert turned.p == pytest.approx(found.p, abs=0.03)
    assert turned.difference == pytest.approx(-found.difference)
    assert json.dumps(found.to_dict())
    with pytest.raises(InputError, match="no pair that both judges decided"):
        compare_judges(frame.head(10), frame.tail(10), humans.filter(pl.col("pair") == "1"))
    with pytest.raises(InputError, match="unknown pair '50': neither judge"):
        compare_judges(frame.head(10), frame.tail(10), humans.filter(pl.col("pair") == "50"))


def test_without_raters_or_probabilities() -> None:
    frame, codes = sample()
    alone = agree(frame, judge="gpt-4")
    tables = {name for name, value in alone.to_dict().items() if value and isinstance(value, list)}
    assert tables == {"decisions", "robustness", "biases"}
    assert alone.calibration is None
    assert alone.rater_agreement is None
    assert json.dumps(alone.to_dict(), allow_nan=False)
    none = frame.with_columns(pl.lit(None, dtype=pl.String).alias("probability"))
    with pytest.raises(InputError, match="no pair has a decision by probability: choose the rule"):
        agree(none)
    found = agree(none, humans_frame(codes), rule="strict")
    assert set(found.concordance["rule"]) == {"strict", "tie", "first"}
    assert found.calibration is None


def test_results_repeat_with_their_seed_and_tasks_are_optional() -> None:
    frame, codes = sample()
    humans = humans_frame(codes)
    first, second, other = (agree(frame, humans, seed=seed) for seed in (5, 5, 6))
    assert json.dumps(first.to_dict(), allow_nan=False) == json.dumps(second.to_dict())
    assert other.concordance["low"].to_list() != first.concordance["low"].to_list()
    assert other.concordance.drop("low", "high").equals(first.concordance.drop("low", "high"))
    without = agree(frame.drop("task"), humans).concordance
    everything = first.concordance.filter(pl.col("task").is_null())
    assert everything.drop("low", "high").equals(without.drop("low", "high"))


def test_invalid_frames_and_settings() -> None:
    frame, codes = sample()
    humans = humans_frame(codes)
    for decisions, verdicts, message in (
        (frame.drop("v2", "tie"), humans, "columns missing in the frame of decisions: v2, tie"),
        (frame, humans.drop("rater"), "columns missing in the frame of human verdicts: rater"),
        (frame.head(0), humans, "no pairs"),
        (pl.concat([frame, frame.head(1)]), humans, "pair '0' occurs twice"),
        (frame.tail(100), humans, "a verdict on the unknown pair"),
        (frame, pl.concat([humans, humans.head(1)]), "rater 'rater1' has two verdicts on pair"),
        (frame, humans.with_columns(verdict=pl.lit("D")), "unknown letter 'D' in column 'verdict'"),
        (frame.with_columns(v1=pl.lit("tie")), humans, "unknown letter 'tie' in column 'v1'"),
    ):
        with pytest.raises(InputError, match=message):
            agree(decisions, verdicts)
    for changes, message in (
        ({"rule": "majority"}, "unknown rule 'majority': expected one of probability, strict"),
        ({"resamples": 10}, "invalid number of resamples 10"),
        ({"seed": -1}, "invalid seed -1"),
        ({"level": 95}, "invalid confidence level 95"),
    ):
        with pytest.raises(SettingsError, match=message):
            agree(frame, **changes)


def test_undefined_values_are_null() -> None:
    """All raters say the same everywhere: no kappa, and JSON without NaN."""
    frame, codes = sample()
    alike = {rater: np.zeros_like(each) for rater, each in codes.items()}
    found = agree(frame.with_columns(probability=pl.lit("A")), humans_frame(alike))
    assert found.rater_agreement is not None
    assert math.isnan(found.rater_agreement.value)
    assert found.to_dict()["rater_agreement"]["value"] is None
    assert found.cohen["kappa"].null_count() == 3
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_intervals_have_a_width_where_all_questions_agree() -> None:
    """A judge that is always right, and the same in both orders, on five questions."""
    letters = list("ABABC")
    frame = pl.DataFrame(
        {
            "pair": [str(n) for n in range(5)],
            "question_id": [str(n) for n in range(5)],
            **dict.fromkeys(("v1", "v2", "probability", "strict", "tie", "first"), letters),
        }
    )
    humans = pl.DataFrame({"pair": frame["pair"], "rater": ["x"] * 5, "verdict": letters})
    found = agree(frame, humans, rule="tie")
    for table in (found.concordance, found.robustness):
        assert table["low"].to_list() == pytest.approx([0.5655] * len(table), abs=1e-4)
        assert table["high"].to_list() == [1.0] * len(table)
    assert found.cohen["kappa"].to_list() == [1.0]
    assert -0.5 < found.cohen["low"][0] < 0.5
    assert (found.comparisons["low"] < -0.3).all()
    assert (found.comparisons["high"] > 0.3).all()


# The bootstrap draws whole questions, however they are stored; sign flips


@pytest.mark.parametrize(("questions", "classes"), [(30, 40), (300, 3), (7, 2)])
def test_resampled_sums_have_the_moments_of_whole_questions(questions: int, classes: int) -> None:
    """Few classes: kinds of questions are drawn instead of questions, which must not change anything."""
    random = np.random.default_rng(0)
    groups = np.concatenate([np.arange(questions), random.integers(0, questions, questions // 2)])
    kinds, table = random.integers(0, classes, len(groups)), random.integers(0, 4, (classes, 3))
    kinds[:classes] = np.arange(classes)
    sums = np.array([table[kinds[groups == q]].sum(axis=0) for q in range(questions)])
    mean, covariance = sums.sum(axis=0), np.cov(sums.T, ddof=0) * questions
    found = resampling.resampled_sums(resampling.Questions(groups, kinds), table, 4000, 0)
    assert found.mean(axis=0) == pytest.approx(mean, rel=0.02)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.cov(found.T) / scale == pytest.approx(covariance / scale, abs=0.07)


def test_questions_of_a_kind_are_merged_only_where_they_are_alike() -> None:
    random = np.random.default_rng(1)
    groups, kinds = np.repeat(np.arange(400), 2), random.integers(0, 3, 800)
    questions = resampling.Questions(groups, kinds)
    (block,) = questions.weights(200, 0)
    assert block.shape == (200, 6)  # unordered pairs of three classes
    assert (block.sum(axis=1) == 400).all()
    table = np.eye(3, dtype=np.int64)
    copies = np.unique(np.sort(kinds.reshape(-1, 2)), axis=0, return_counts=True)
    merged = {tuple(k): int(n) for k, n in zip(copies[0].tolist(), copies[1], strict=True)}
    found = block.mean(axis=0)
    for row, mean in zip(questions.sums(table).tolist(), found, strict=True):
        kind = tuple(i for i in range(3) for _ in range(row[i]))
        assert mean == pytest.approx(merged[kind], rel=0.1)
    alone = resampling.Questions(np.arange(40), np.arange(40))
    (weights,) = alone.weights(100, 0)
    assert weights.shape == (100, 40)
    assert (weights.sum(axis=1) == 40).all()


def test_classes_have_equal_values() -> None:
    random = np.random.default_rng(3)
    for values in (3, 5000):
        columns = [random.integers(0, values, 2000) for _ in range(4)]
        classes, places = resampling.classes_of(columns)
        rows = np.stack(columns, axis=1)
        assert (rows[places[classes]] == rows).all()
        assert len(places) == len(np.unique(rows, axis=0)) == classes.max() + 1


def test_sign_flips_of_few_questions_are_exact() -> None:
    differences = np.array([0.5, 0.0, 0.25, -0.125, 0.0, 1.0])
    signs = np.array(list(product((-1, 1), repeat=6)))
    reached = np.abs(signs @ differences) >= differences.sum()
    assert sign_flip_by_size(differences, permutations=10_000, seed=0) == reached.mean()
    assert sign_flip_by_size(np.zeros(4), permutations=100, seed=0) == 1


def test_sign_flips_of_many_questions() -> None:
    """Flipping sizes together is flipping each: p of a sum that is normal is known."""
    random = np.random.default_rng(0)
    for sizes in ([1.0], [1.0, 2.0, 0.5], random.random(30)):
        differences = random.choice(sizes, 3000) * random.choice([-1, 1], 3000, p=[0.48, 0.52])
        z = abs(differences.sum()) / np.sqrt((differences**2).sum())
        p = sign_flip_by_size(differences, permutations=20_000, seed=1)
        assert p == pytest.approx(2 * NormalDist().cdf(-z), abs=0.012)


def test_differences_of_questions_add_up_to_that_of_concordance() -> None:
    gained = np.array([[1, 0, -1, 1], [0, 0, 1, 1]])
    found = question_differences(gained, np.array([4.0, 3.0]), np.array([0, 1, 1, 2]))
    assert found == pytest.approx([1 / 8, (-1 / 4 + 1 / 3) / 2, (1 / 4 + 1 / 3) / 2])
    assert found.sum() == pytest.approx((1 / 4 + 2 / 3) / 2)


@pytest.mark.slow
def test_intervals_of_agree_cover() -> None:
    """The same through `agree`, for the mean of three raters."""
    random = np.random.default_rng(6)

    def drawn(questions: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        judge = made(random, 3 * questions, offsets=np.repeat(random.normal(0, 0.7, questions), 3))
        frame = decisions_frame(judge, question_id=[str(i // 3) for i in range(3 * questions)])
        return frame, humans_frame(raters_of(random, judge.truth, 3))

    def mean(frame: pl.DataFrame, humans: pl.DataFrame, **settings: Any) -> tuple[float, ...]:
        row = agree(frame, humans, **settings).concordance.row(3, named=True)
        assert (row["rule"], row["rater"]) == ("probability", None)
        return row["low"], row["concordance"], row["high"]

    _, true, _ = mean(*drawn(60_000), resamples=100)
    intervals = [mean(*drawn(60), resamples=200, permutations=100, seed=i) for i in range(300)]
    covered = np.mean([low <= true <= high for low, _, high in intervals])
    assert 0.92 <= covered <= 0.98
