"""Judging judges: figures against plain Python and by hand, the formats' examples, the bundled pairs."""

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl
import pytest

from helpers import pfgen
from pfgen_rs.cli.judge_meta import FIGURES
from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.judge import Pair, meta, meta_of_files, read_pairs
from pfgen_rs.judge.agreement.meta import MetaEvaluation
from pfgen_rs.judge.formats import read_format
from pfgen_rs.judge.imported import Imported, import_to
from pfgen_rs.judge.meta_files import trivial_judgments
from pfgen_rs.judge.pairs import TRAPS, leading_letters
from pfgen_rs.questions.left_out import maker_key

Record = dict[str, Any]
SWAPPED = {"A": "B", "B": "A", "C": "C", None: None}


def lines(path: Path, records: Iterable[Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def values(found: MetaEvaluation, judge: str, task: str | None = None) -> dict[str, float]:
    rows = found.figures.filter(judge=judge).filter(pl.col("task").eq_missing(task))
    return dict(zip(rows["figure"], rows["value"], strict=True))


# Figures against plain Python


def expected(rows: Sequence[Record]) -> dict[str, float]:
    """Follows judging 10 row by row. Verdicts `v` speak of the pair."""
    known = [row for row in rows if row["gold"]]
    right = [[v in [*row["gold"]] for v in row["v"]] for row in known]
    shown = [(row["v"][0], SWAPPED[row["v"][1]]) for row in rows]
    valid = [each for each in shown if None not in each]
    primacy, recency = (
        sum("".join(map(str, each)) in cases.split() for each in valid)
        for cases in ("AA AC CA", "BB BC CB")
    )
    given = [(row, v) for row in rows for v in row["v"] if v]
    longer = ["A" if row["lengths"][0] > row["lengths"][1] else "B" for row in rows]
    unequal = [
        (row, best) for row, best in zip(rows, longer, strict=True) if len({*row["lengths"]}) > 1
    ]
    won = [v == best for row, best in unequal for v in row["v"] if v in ("A", "B")]
    clear = [(row["gold"], best) for row, best in unequal if row["gold"] in ("A", "B")]
    of = {row["id"]: "AB"[row["own"]] for row in rows if row["own"] is not None}

    def points(verdict: str, own: str) -> float:
        return 0.5 if verdict == "C" else float(verdict == own)

    own = [points(v, of[row["id"]]) for row, v in given if row["id"] in of]
    own_gold = [
        mean(points(g, of[row["id"]]) for g in row["gold"]) for row in known if row["id"] in of
    ]
    whole = []
    for question in {row["question"] for row in rows}:
        mine = [row for row in rows if row["question"] == question]
        if len(mine) > 1 and all(row["gold"] for row in mine):
            whole += [all(row["v"][o] in [*row["gold"]] for row in mine) for o in (0, 1)]
    shares = {
        "accuracy_1": [one for one, _ in right],
        "accuracy_2": [two for _, two in right],
        "accuracy": [each for both in right for each in both],
        "both": [all(both) for both in right],
        "tie": [
            None not in row["v"] and (row["v"][0] if len({*row["v"]}) == 1 else "C") in row["gold"]
            for row in known
        ],
        "question": whole,
        "agreement": [row["v"][0] is not None and len({*row["v"]}) == 1 for row in rows],
        "first": [s == "A" for each in shown for s in each if s in ("A", "B")],
        "consistency": [each in (("A", "B"), ("B", "A"), ("C", "C")) for each in valid],
        "longer": won,
        "longer_gold": [gold == best for gold, best in clear],
        "own": own,
        "own_gold": own_gold,
        "invalid": [v is None for row in rows for v in row["v"]],
    }
    found = {name: mean(each) for name, each in shares.items() if each}
    r, p, n = recency, primacy, len(valid)
    spread = (r * r / (r + p) - p * p / (r + p)) if r + p else 0.0
    if n:
        found |= {"primacy": p / n, "recency": r / n, "preference": spread / n}
    return found


@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_plain_python_by_category_too(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    rows: list[Record] = [
        {
            "id": str(n),
            "question": str(source.randrange(12)),
            "gold": source.choice(["A", "B", "C", "AB", "BC", "ABC", ""]),
            "v": [source.choice(["A", "A", "B", "C", None]) for _ in range(2)],
            "lengths": [source.randint(1, 4) for _ in range(2)],
            "own": source.choice([0, 1, None]),
        }
        for n in range(40)
    ]
    for row in rows:  # a question has one category
        row["task"] = "xy"[int(row["question"]) % 2]
    names = {0: ["openai/gpt-4", "b"], 1: ["b", "o1-mini"], None: ["a", "b"]}
    records = [
        {
            "id": row["id"],
            "question_id": row["question"],
            "task": row["task"],
            "question": "q",
            "models": names[row["own"]],
            "answers": ["字" * length for length in row["lengths"]],
            **({"gold": [*row["gold"]]} if row["gold"] else {}),
            "judge": "gpt-4o",
            "verdicts": row["v"],
        }
        for row in rows
    ]
    found = meta_of_files([lines(tmp_path / "v.jsonl", records)], resamples=100)
    for task in (None, "x", "y"):
        chosen = [row for row in rows if task in (None, row["task"])]
        assert values(found, "gpt-4o", task) == pytest.approx(expected(chosen))
    inside = found.figures.filter(pl.col("value").is_between("low", "high"))
    assert len(inside) == len(found.figures) > 40


def frame(verdicts: Sequence[tuple[str | None, str | None]], **more: Sequence[Any]) -> pl.DataFrame:
    """Decisions about pairs `0`, `1`, …, each a question."""
    count = len(verdicts)
    columns = {
        "pair": [str(n) for n in range(count)],
        "question_id": [str(n) for n in range(count)],
        "task": [None] * count,
        "model_a": ["a"] * count,
        "model_b": ["b"] * count,
        "length_a": [1] * count,
        "length_b": [1] * count,
        "v1": [v for v, _ in verdicts],
        "v2": [v for _, v in verdicts],
        "tie": [one if one == two else "C" for one, two in verdicts],
        "probability": [None] * count,
        "judged_1": [True] * count,
        "judged_2": [True] * count,
    }
    return pl.DataFrame(columns | more, infer_schema_length=None).with_columns(
        pl.col("task", "v1", "v2", "probability").cast(pl.String)
    )


@pytest.mark.parametrize(
    ("verdicts", "wanted"),
    [
        # As shown AA, AA, BB, AB: (1 - 2)/4; primacy 2, recency 1, consistent 1.
        ([("A", "B"), ("A", "B"), ("B", "A"), ("A", "A")], (-0.25, 2, 1, 1)),
        # As shown AC, CA (towards the first), BC, CB, CB (towards the last), CC: (3 - 2)/6.
        (
            [("A", "C"), ("C", "B"), ("B", "C"), ("C", "A"), ("C", "A"), ("C", "C")],
            (1 / 6, 2, 3, 1),
        ),
        # Always the first, always the last; a pair with an invalid verdict does not count.
        ([("A", "B")] * 5, (-1.0, 5, 0, 0)),
        ([("B", "A")] * 5 + [("A", None)], (1.0, 0, 5, 0)),
    ],
)
def test_preference_scores_by_hand(
    verdicts: list[tuple[str, str]], wanted: tuple[float, int, int, int]
) -> None:
    found = meta({"j": frame(verdicts)}, {})
    names = ("primacy", "recency", "consistency")
    counts = [found.of(name)["j"]["count"] for name in names]
    row = found.of("preference")["j"]
    assert (row["value"], *counts) == pytest.approx(wanted)
    assert -1 <= row["low"] <= row["value"] <= row["high"] <= 1


def test_probabilities_and_repetitions_count_where_they_are() -> None:
    more: dict[str, list[Any]] = {
        "probability": ["A", None, "B"],
        "stable_1": [True, None, False],
        "stable_2": [None, None, None],
    }
    table = frame([("A", "A"), ("A", "A"), ("A", "A")], **more)
    table = table.with_columns(pl.col("stable_2").cast(pl.Boolean))
    found = values(meta({"j": table}, {"0": ("A",), "1": ("A",), "2": ("A",)}), "j")
    assert (found["probability"], found["accuracy"], found["stable_1"]) == (1 / 3, 1.0, 0.5)
    assert "stable_2" not in found


def test_only_order_1_may_be_judged_and_pairs_without_judgments_are_counted() -> None:
    table = frame([("A", None), ("B", None), (None, None)], judged_2=[False] * 3)
    table = table.with_columns(judged_1=pl.Series([True, True, False]))
    found = meta({"j": table}, {"0": ("A",), "1": ("A",), "2": ("A",)})
    assert values(found, "j") == {
        "accuracy_1": 0.5,
        "accuracy": 0.5,
        "first": 0.5,
        "invalid": 0.0,
    }
    assert found.judges.row(0) == ("j", 2, 2, 2, 1)
    assert found.notes == ("j: 1 pair not judged: left out",)


def test_judges_without_judgments_and_frames_that_lack_columns_are_refused() -> None:
    table = frame([("A", "A")])
    nothing = table.with_columns(judged_1=pl.lit(value=False), judged_2=pl.lit(value=False))
    with pytest.raises(InputError, match="judge 'j' has judged none of the pairs"):
        meta({"j": nothing}, {})
    with pytest.raises(InputError, match="columns missing in the frame of decisions of j: tie"):
        meta({"j": table.drop("tie")}, {})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gpt-4o-2024-05-13", "openai/o1-mini", True),
        ("text-davinci-003", "ChatGPT-4o-latest", True),
        ("claude-3-haiku", "anthropic/claude-3-opus", True),
        ("gpt-neox-20b", "gpt-4", False),
        ("gpt4all-13b", "gpt-4", False),
        ("llama-2-70b-chat", "Meta-Llama-3-8B", True),
        ("rinna/japanese-gpt-neox", "rinna/bilingual-gpt", True),
        ("vicuna-13b", "llama-13b", False),
        ("x", "X", True),
    ],
)
def test_families_are_told_by_names(one: str, other: str, same: bool) -> None:
    assert (maker_key(one) == maker_key(other)) is same


# The formats, by hand


def llmbar(label: int, *games: Mapping[str, str | None]) -> Record:
    results: list[Any] = [
        {
            f"swap = {swap}": {"completion": ["said", "stop"], "winner": w}
            for swap, w in game.items()
        }
        for game in games
    ]
    about = {"input": f"問い{label}", "output_1": "甲", "output_2": "乙乙", "label": label}
    return about | ({"results": [["an answer of its own", "stop"], *results]} if games else {})


def test_llmbar_has_winners_of_outputs_and_the_last_round_counts(tmp_path: Path) -> None:
    folder, first = tmp_path / "LLMBar" / "Adversarial" / "GPTInst", {"False": "1", "True": "1"}
    records = [
        llmbar(1, first),  # right in both orders
        llmbar(2, first, {"False": "2", "True": "1"}),  # the debate ends right, and wrong
        llmbar(2, {"False": "tie", "True": None}),  # wrong, and invalid
    ]
    place = folder / "evaluators" / "GPT-4" / "Swap"
    lines(place / "result.json", records)
    (place / "statistics.json").write_text('{\n  "correct_both": "1 / 3"\n}')
    lines(folder / "dataset.json", [llmbar(label) for label in (1, 2, 2)])
    found = meta_of_files([tmp_path / "LLMBar"])
    own = values(found, "GPT-4/Swap")
    # Order 1: 1 of 3; order 2: 1 of 3; both: the first. As shown AB; BB (towards the last).
    assert (own["accuracy_1"], own["accuracy_2"], own["both"]) == (2 / 3, 1 / 3, 1 / 3)
    assert (own["preference"], own["invalid"]) == (0.5, 1 / 6)
    assert values(found, "GPT-4/Swap", "Adversarial/GPTInst") == own
    bare = read_format([folder])
    assert [*bare.pairs] == [f"Adversarial/GPTInst/{n}" for n in (1, 2, 3)]
    assert [pair.gold for pair in bare.pairs.values()] == [("A",), ("B",), ("B",)]


def test_reward_bench_meets_every_wrong_answer_and_ties_the_right_ones(tmp_path: Path) -> None:
    one = {"id": "1", "prompt": "問い", "chosen": ["正"], "rejected": ["誤", "偽", "否"]}
    tied = {"id": "2", "prompt": "色は？", "chosen": ["赤", "青", "緑"], "rejected": ["犬"]}
    records: list[Record] = [
        {**one, "subset": "Math", "models": ["m1", "m2", "m3", "m4"]},
        {**tied, "subset": "Ties", "models": None},
    ]
    path = tmp_path / "data.parquet"
    pl.DataFrame(records).write_parquet(path)
    found = read_format([path])
    assert found.source == "reward-bench-2"
    golds = {name: "".join(pair.gold) for name, pair in found.pairs.items()}
    ties = {"2:1=2": "C", "2:2=3": "C"}
    math = {"1:1:1": "A", "1:1:2": "B", "1:1:3": "A"}
    assert golds == {**math, "2:1:1": "A", "2:2:1": "B", "2:3:1": "A", **ties}
    assert found.pairs["1:1:2"].models == ("m3", "m1")
    assert found.pairs["1:1:2"].answers == ("偽", "正")
    same = read_format([lines(tmp_path / "data.jsonl", records)])
    assert same.pairs == found.pairs
    # A judge that is right in both orders about two of three pairs has no whole question.
    judged = Imported("x", dict(found.pairs))
    for name, letter in (("1:1:1", "A"), ("1:1:2", "B"), ("1:1:3", "B")):
        judged.add_judgment(found.pairs[name], 1, "j", letter)  # type: ignore[arg-type]
    import_to(tmp_path / "v", judged)
    assert values(meta_of_files([tmp_path / "v"]), "j", "Math")["question"] == 0
    assert values(meta_of_files([tmp_path / "v"]), "j", "Math")["accuracy"] == 2 / 3


def judge_bench(name: str, label: str, *decisions: str | None) -> Record:
    said = {"judge_model": "m", "prompt": "…", "response": "[[…]]"}
    about = {"pair_id": name, "original_id": 1, "source": "math", "question": "問い"}
    about |= {"response_model": "gpt-4o", "response_A": "甲", "response_B": "乙", "label": label}
    games = [{"judgment": said, "decision": each} for each in decisions]
    return about | ({"judge_name": "vanilla", "judgments": games} if games else {})


def test_judge_bench_decides_as_shown(tmp_path: Path) -> None:
    records = [
        judge_bench("p", "A>B", "A>B", "B>A"),  # right in both orders
        judge_bench("q", "B>A", "A>B", "A>B"),  # wrong, and right: towards the first
        judge_bench("r", "A>B", "A=B", None),  # a tie, and invalid
    ]
    found = meta_of_files([lines(tmp_path / "o.jsonl", records)])
    own = values(found, "m/vanilla", "math")
    assert (own["accuracy_1"], own["accuracy_2"], own["both"]) == (1 / 3, 2 / 3, 1 / 3)
    assert (own["preference"], own["agreement"]) == (-0.5, 1 / 3)
    pair = read_format([tmp_path / "o.jsonl"]).pairs["p"]
    assert (pair.question_id, pair.gold) == ("math/1", ("A",))


HEAD = (
    '"cmp_index"\t"question"\t"answer1"\t"answer2"\t"A"\t"B"\t"reference_answer"\t"task"\t"gpt-4"'
)


def tsv(path: Path, rows: Sequence[tuple[str, str, str, str]]) -> Path:
    texts = {"m1": '甲\n「""1""」', "m2": "乙"}
    content = [HEAD]
    for name, a, b, said in rows:
        cells = (f"{name};{a};{b}", "問い", texts[a], texts.get(b, ""), a, b, "", "UML", said)
        content.append("\t".join(f'"{cell}"' for cell in cells))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(content) + "\n", "utf-8")
    return path


def test_records_of_position_bias_analyzer_show_their_first_model_first(tmp_path: Path) -> None:
    rows = [
        ("q1", "m1", "m2", "Choice: A\nReason: …"),
        ("q1", "m2", "m1", "Choice: A"),  # the first both times
        ("q2", "m2", "m1", "I think [[B]]"),
        ("q2", "m1", "m2", "選択：[[A]]"),  # m1 both times
        ("q3", "m1", "m2", "neither"),
        ("q3", "m2", "m1", "[[C]]"),
        ("q3", "m1", "m1", "[[C]]"),
    ]
    for number in (1, 2):
        tsv(tmp_path / f"Repetition{number}-sample_gpt-4" / "record_gpt-4_2.tsv", rows)
        tsv(tmp_path / f"Repetition{number}-sample_gpt-4" / "consistent_cmp.tsv", rows[2:4])
    found = read_format([tmp_path])
    assert found.pairs["q1:m1:m2"].answers == ('甲\n「"1"」', "乙")
    assert found.pairs["q2:m2:m1"].task == "UML"
    told = [
        (each["pair"], each["order"], each["sample"], each["shown"]) for each in found.judgments
    ]
    for sample in (0, 1):
        assert ("q1:m1:m2", 2, sample, "A") in told
        assert ("q3:m1:m2", 1, sample, None) in told
    assert len(told) == 12
    assert found.notes == ["2 rows left out, in which a model meets itself"]
    own = values(meta_of_files([tmp_path]), "gpt-4")
    # Repetitions agree, but for the pair without a letter in its first order.
    assert (own["stable_1"], own["stable_2"], own["preference"]) == (2 / 3, 1.0, -0.5)
    shutil.rmtree(tmp_path / "Repetition2-sample_gpt-4")
    own = values(meta_of_files([tmp_path]), "gpt-4")
    # As shown AA, BA (consistent), and one pair without a letter.
    assert (own["preference"], own["consistency"], own["agreement"]) == (-0.5, 0.5, 1 / 3)
    assert own["invalid"] == 1 / 6


def human(judge: str, winner: str, models: str = "ab", question: int = 1, turn: int = 1) -> Record:
    def said(model: str) -> list[Record]:
        texts = [
            ("user", "一"),
            ("assistant", f"{model}一"),
            ("user", "二"),
            ("assistant", f"{model}二"),
        ]
        return [{"role": role, "content": text} for role, text in texts]

    about = {"question_id": question, "winner": winner, "judge": judge, "turn": turn}
    about |= {f"model_{x}": model for x, model in zip("ab", models, strict=True)}
    return about | {f"conversation_{x}": said(m) for x, m in zip("ab", models, strict=True)}


def test_people_of_mt_bench_are_gold_and_can_be_kept(tmp_path: Path) -> None:
    records = [
        human("expert_1", "model_a"),
        human("author_2", "model_b", "ba"),  # for a as well
        human("expert_3", "tie"),
        human("expert_1", "model_b"),  # had judged
        human("expert_1", "model_a", turn=2),
        human("expert_2", "model_b", turn=2),  # a shared lead
        human("gpt4_pair", "model_a"),
        human("gpt4_pair", "tie (inconsistent)", turn=2),
    ]
    path = tmp_path / "human.parquet"
    pl.DataFrame(records).write_parquet(path)
    found = read_format([path])
    first, second = found.pairs["1:a:b"], found.pairs["1:a:b:turn-2"]
    assert (first.gold, second.gold) == (("A",), ("A", "B"))
    assert second.answers == ("a一\n\na二", "b一\n\nb二")
    assert found.humans["1:a:b", "author_2"] == "A"
    assert len(found.humans) == 5
    assert "1 verdicts left out" in found.notes[0]
    own = values(meta_of_files([path]), "gpt4_pair")
    assert (own["accuracy_1"], own["accuracy"]) == (0.5, 0.5)
    out = tmp_path / "v"
    done = pfgen("judge", "import", path, "--out", out)
    told = f"wrote 2 pairs and 2 judgments to {out}\nwrote 5 verdicts of people to {out}/humans.jsonl\n"
    assert done.stdout == told
    again = meta_of_files([out], humans=out / "humans.jsonl")
    assert values(again, "gpt4_pair")["accuracy"] == 0.5


def test_the_majority_of_people_is_right_where_there_is_no_gold(tmp_path: Path) -> None:
    pair = {"question": "q", "models": ["a", "b"], "answers": ["甲", "乙"], "judge": "j"}
    records = [
        {**pair, "id": "1", "verdicts": ["A"], "gold": "B"},
        {**pair, "id": "2", "verdicts": ["A"]},
        {**pair, "id": "3", "verdicts": ["C"]},
        {**pair, "id": "4", "verdicts": ["A"]},
    ]
    votes = {"1": "AAA", "2": "AAB", "3": "ABBA"}
    people = [
        {"id": name, "rater": str(n), "verdict": vote}
        for name, given in votes.items()
        for n, vote in enumerate(given)
    ]
    path, humans = lines(tmp_path / "v.jsonl", records), lines(tmp_path / "h.jsonl", people)
    # Gold stands; the majority A is right; C is not among the tied A and B; 4 has neither.
    found = meta_of_files([path], humans=humans)
    row = found.of("accuracy")["j"]
    assert (row["n"], row["count"]) == (3, 1)
    assert found.judges["gold"].to_list() == [3]
    assert found.notes == ("j: 1 pairs have no gold letters, which accuracies need",)
    assert leading_letters(["C", "C", "B", "B"]) == ("B", "C")
    assert leading_letters([]) == ()


# Real data


def test_published_judgments_of_japanese_vicuna_qa(judging_dir: Path) -> None:
    found = meta_of_files([judging_dir / "data" / "ja-vicuna-qa" / "pairwise-gpt-4"])
    counts = {
        name: found.of(name)["gpt-4 · pair"]["count"]
        for name in ("agreement", "primacy", "recency")
    }
    # 48 pairs depend on the order: 4 and 23 of them change their winner, 10 and 11 become or were ties.
    assert counts == {"agreement": 432, "primacy": 14, "recency": 34}
    assert found.judges.row(0)[:4] == ("gpt-4 · pair", 480, 80, 0)


def test_pandalm_with_its_raters(judging_dir: Path, tmp_path: Path) -> None:
    place, letters = judging_dir / "data" / "pandalm", {0: "C", 1: "A", 2: "B"}
    rows = json.loads((place / "testset-v1.json").read_bytes())
    own = json.loads((place / "pandalm-7b-testset-v1.json").read_bytes())
    verdicts = [letters.get(each["pandalm_result"]) for each in own]
    pairs = [
        {
            "id": row["idx"],
            "task": row["motivation_app"],
            "question": row["instruction"],
            "models": row["cmp_key"].split("_")[:2],
            "answers": [str(row["response1"]), str(row["response2"])],
            "judge": "pandalm-7b",
            "verdicts": [verdict],
        }
        for row, verdict in zip(rows, verdicts, strict=True)
    ]
    votes = [[letters[row[f"annotator{n}"]] for n in (1, 2, 3)] for row in rows]
    path = lines(tmp_path / "v.jsonl", pairs)
    shares = []
    for rater in range(3):
        people = [
            {"id": row["idx"], "rater": rater, "verdict": vote[rater]}
            for row, vote in zip(rows, votes, strict=True)
        ]
        one = meta_of_files([path], humans=lines(tmp_path / "h.jsonl", people), resamples=100)
        shares.append(one.of("accuracy_1")["pandalm-7b"]["value"])
    assert shares == pytest.approx([0.6596597, 0.6516517, 0.6696697], abs=5e-8)
    assert mean(shares) == pytest.approx(0.6603270, abs=5e-8)
    people = [
        {"id": row["idx"], "rater": n, "verdict": v}
        for row, vote in zip(rows, votes, strict=True)
        for n, v in enumerate(vote)
    ]
    found = meta_of_files([path], humans=lines(tmp_path / "h.jsonl", people))
    right = [
        verdict in [x for x in vote if vote.count(x) == max(map(vote.count, vote))]
        for verdict, vote in zip(verdicts, votes, strict=True)
    ]
    assert found.of("accuracy")["pandalm-7b"]["value"] == pytest.approx(mean(right))


# The bundled pairs


def test_no_trivial_rule_does_well_on_the_pairs_with_traps() -> None:
    pairs = read_pairs(TRAPS)
    tasks = ("length", "confidence", "facts", "politeness", "formatting")
    golds = Counter((pair.task, *pair.gold) for pair in pairs)
    assert golds == {(task, letter): 6 for task in tasks for letter in "AB"}
    assert len({pair.question for pair in pairs}) == len({pair.id for pair in pairs}) == 60
    found = meta_of_files([TRAPS])
    assert found.rules
    rules = {judge: row["value"] for judge, row in found.of("accuracy").items()}
    assert rules["always the first"] == 0.5
    assert rules["the longer answer"] <= 0.5
    assert max(rules.values()) <= 0.6
    assert found.of("accuracy", "length")["the longer answer"]["value"] == 0
    assert found.of("accuracy", "formatting")["more Markdown"]["value"] == 0
    polite = ("ございます", "存じます", "申し上げ", "賜り")
    for pair in pairs:
        good, bad = pair.answers if pair.gold == ("A",) else pair.answers[::-1]
        assert (pair.models[pair.answers.index(good)], len(bad) >= 50) == ("traps/sound", True)
        if pair.task == "politeness":
            assert sum(map(bad.count, polite)) > sum(map(good.count, polite))


def test_a_judge_can_be_tried_with_the_traps_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = pfgen(
        *("judge", "compare", TRAPS, "--engine", "openai", "--model", "m", "--dry-run"),
        *("--out", tmp_path / "v"),
    )
    assert (asked.returncode, "120 requests" in asked.stdout) == (0, True)
    shown = pfgen("judge", "meta", TRAPS)
    assert "this is what trivial rules reach" in shown.stderr
    assert "the longer answer" in shown.stdout
    (tmp_path / TRAPS).write_text("{}")  # a file of that name comes first
    assert pfgen("judge", "meta", TRAPS).returncode == 2


# The commands


def test_several_judges_stand_side_by_side_with_tokens_and_costs(tmp_path: Path) -> None:
    pairs = read_pairs(TRAPS)
    for judge, usage in (("good", {"prompt_tokens": 100, "completion_tokens": 10}), ("bad", None)):
        found = Imported("x", {pair.id: pair for pair in pairs})
        for pair in pairs:
            [right] = pair.gold
            found.add_judgment(pair, 1, judge, right if judge == "good" else "A", usage=usage)
            found.add_judgment(pair, 2, judge, SWAPPED[right] if judge == "good" else "A")  # type: ignore[arg-type]
        import_to(tmp_path / judge, found)
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\n[models.good]\nprompt = 2.5\ncompletion = 10\n')
    call = ("judge", "meta", tmp_path / "good", tmp_path / "bad", "--prices", prices)
    done = pfgen(*call, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    good, bad = told["judges"]
    shown = {(row["judge"], row["task"], row["figure"]): row["value"] for row in told["figures"]}
    assert shown["good", None, "both"] == shown["good", "facts", "accuracy_2"] == 1
    assert (shown["bad", None, "preference"], shown["bad", None, "both"]) == (-1, 0)
    # 1,000 judgments: 100,000 tokens at 2.5 a million and 10,000 at 10.
    assert good["cost"] == pytest.approx(0.25 + 0.1)
    assert (good["completion_tokens"], bad["cost"]) == (10, None)
    unused = meta_of_files([tmp_path / "good", TRAPS, tmp_path / "good"])
    assert unused.notes == ("files without judgments: left out",)
    table = pfgen(*call).stdout
    for words in ("cost of 1,000 judgments USD", "0.35", "both orders correct", "confidence"):
        assert words in table
    names = [name for key, name in FIGURES.items() if ("good", None, key) in shown]
    assert sum(name in table for name in names) >= len(names) - 3
    for width in (80, 120):
        narrow = pfgen(*call, env={"COLUMNS": str(width)}).stdout.splitlines()
        assert max(map(len, narrow)) <= width


def test_a_data_set_becomes_a_file_of_pairs_and_says_what_is_next(tmp_path: Path) -> None:
    path, out = lines(tmp_path / "d.jsonl", [judge_bench("p", "A>B")]), tmp_path / "pairs.jsonl"
    done = pfgen("judge", "import", path, "--out", out)
    assert done.stdout == f"wrote 1 pair to {out}\n"
    assert f"next: pfgen-rs judge compare {out}" in done.stderr
    [pair] = read_pairs(out)
    assert (pair.gold, pair.task) == (("A",), "math")
    again = pfgen("judge", "import", path, "--out", out)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    people = lines(tmp_path / "h.jsonl", [human("expert_1", "model_b")])
    with pytest.raises(OutputError, match="already exists"):
        import_to(out, read_format([people]))
    import_to(tmp_path / "people.jsonl", read_format([people]))
    assert "expert_1" in (tmp_path / "people.humans.jsonl").read_text()


# Damaged files


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.json", json.dumps([llmbar(1) | {"label": 3}]), "element 1: invalid 'label' 3"),
        ("a.json", json.dumps([llmbar(1) | {"label": True}]), "element 1: invalid 'label' True"),
        ("a.json", json.dumps([llmbar(1, {"False": "3"})]), "element 1: invalid 'winner' '3'"),
        ("a.json", json.dumps([llmbar(1) | {"results": [[]]}]), "element 1: 'results' must"),
        ("a.json", json.dumps([llmbar(1)])[:-9], r"a\.json, element 1: "),
        ("a.jsonl", json.dumps(judge_bench("p", "A")), "line 1: invalid 'label' 'A'"),
        ("a.jsonl", json.dumps(judge_bench("p", "A>B", "A")), "line 1: invalid 'decision' 'A'"),
        ("a.jsonl", json.dumps(human("expert_1", "a")), "line 1: invalid 'winner' 'a'"),
        ("a.jsonl", json.dumps(human("expert_1", "tie", turn=3)), "line 1: invalid 'turn' 3"),
        (
            "a.jsonl",
            json.dumps(judge_bench("p", "A>B"))
            + "\n"
            + json.dumps(judge_bench("p", "A>B") | {"response_B": "丙"}),
            "line 2: pair 'p' occurs twice with different texts",
        ),
        ("a.tsv", HEAD + '\n"q;m1;m2"\t"q', "unclosed|quotation mark"),
        ("a.tsv", HEAD + "\nq;m1;m2\tq\ta\tb\tm1\tm3\t\t\tC", "row 1: 'cmp_index' must"),
        ("a.tsv", HEAD + "\nq;m1;m2\tq\ta\tb\tm1\tm2\t\t\tC\t1", "more fields than the header"),
        ("a.tsv", HEAD.replace("answer1", "x") + "\nq;m1;m2\tq\ta\tb\tm1\tm2\t\t\tC", "'answer1'"),
        (
            "a.tsv",
            "cmp_index\tquestion\tanswer1\tanswer2\tA\tB\nq;m;n\tq\ta\tb\tm\tn",
            "column is missing",
        ),
        ("a.parquet", "PAR1 no table PAR1", r"a\.parquet: cannot be read as \.parquet"),
        ("a.parquet", "", "the file is empty"),
        ("a.tsv", "", "the file is empty"),
    ],
)
def test_damaged_files_name_their_place(
    name: str, content: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=problem) as caught:
        read_format([path])
    assert caught.value.path == path or str(caught.value.path) == str(path)


def test_trivial_rules_see_what_is_shown() -> None:
    pair = Pair("1", "q", ("a", "b"), ("# 題\n- 項", "長い長い長い文"))
    found = trivial_judgments([pair])
    shown = {(each["judge"]["model"], each["order"]): each["shown"] for each in found.judgments}
    assert shown == {
        ("always the first", 1): "A",
        ("always the first", 2): "A",
        ("the longer answer", 1): "C",
        ("the longer answer", 2): "C",
        ("the shorter answer", 1): "C",
        ("the shorter answer", 2): "C",
        ("more Markdown", 1): "A",
        ("more Markdown", 2): "B",
    }
