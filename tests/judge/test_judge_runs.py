"""Pairs out of runs, ratings of runs, and both against the scores."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest
import scipy.stats  # type: ignore[import-untyped]

from fault_server import Asked, FaultServer, Handler
from judging import chat_reply, command, token
from pfgen_rs import load_benchmark, sample_runs, score_runs
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.run_files import named_results
from pfgen_rs.judge import Pair, grading, read_pairs, sample_path
from pfgen_rs.judge.agreement.agree import agreement_by_margin, scored_pairs
from pfgen_rs.judge.pairs import pairs_of_runs


def frame(model: str, questions: int, trials: int) -> pl.DataFrame:
    rows = [
        (f"Q{q:02}", f"質問{q}", f"{model} {q} {t}")
        for t in range(trials)
        for q in range(questions)
    ]
    return pl.DataFrame(rows, schema=["question_id", "question", "answer"], orient="row")


def graded(out: Path, url: str, *arguments: object) -> str:
    options = ["-b", "mini", "-e", "openai", "-m", "judge"]
    return command("grade", *arguments, *options, "--base-url", url, "--out", out).stdout


def test_every_two_runs_meet_on_every_question_and_trial() -> None:
    runs = {name: frame(name, 3, count) for name, count in {"a": 4, "b": 2, "c": 3}.items()}
    found = pairs_of_runs(runs, references={"質問1": "模範"}, trials=None)
    assert Counter(frozenset(pair.models) for pair in found) == {
        frozenset("ab"): 6,
        frozenset("ac"): 9,
        frozenset("bc"): 6,
    }
    assert len({pair.id for pair in found}) == len(found)
    firsts = Counter(pair.models for pair in found)
    for a, b in ("ab", "ac", "bc"):
        assert abs(firsts[a, b] - firsts[b, a]) <= 1
    for pair in found:
        for model, answer in zip(pair.models, pair.answers, strict=True):
            trial = int(pair.id.split("/")[1]) - 1
            assert answer == f"{model} {int(pair.question_id[1:])} {trial}"
        assert pair.reference == ("模範" if pair.question_id == "Q01" else None)


def test_samples_are_spread_over_the_questions() -> None:
    runs = {name: frame(name, 7, 5) for name in "ab"}
    for count in (1, 7, 10, 35):
        found = pairs_of_runs(runs, trials=None, sample=count, seed=3)
        assert len({pair.id for pair in found}) == count
        counts = Counter(pair.question_id for pair in found)
        numbers = [counts[f"Q{q:02}"] for q in range(7)]
        assert max(numbers) - min(numbers) <= 1
        assert found == pairs_of_runs(runs, trials=None, sample=count, seed=3)
    assert pairs_of_runs(runs, trials=None, sample=7, seed=1) != pairs_of_runs(
        runs, trials=None, sample=7, seed=2
    )
    with pytest.raises(SettingsError, match="invalid sample 36: expected 1 to 35"):
        pairs_of_runs(runs, trials=None, sample=36)
    with pytest.raises(InputError, match="at least two runs"):
        pairs_of_runs({"a": frame("a", 1, 1)})


def test_pairs_and_scores_on_the_command_line(tmp_path: Path) -> None:
    runs, out = sample_runs(), tmp_path / "pairs.jsonl"
    said = command("pairs", runs["faithful"], runs["careless"], "--out", out, "--trials", "2")
    assert said.stdout == f"wrote 28 pairs of 14 questions to {out}\n"
    found = read_pairs(out)
    assert {tuple(sorted(pair.models)) for pair in found} == {("mini/careless", "mini/faithful")}
    assert all(pair.reference for pair in found)
    folder = sample_path() / "verdicts" / "runs"
    [row, *_] = json.loads(command("against-scores", folder, "--format", "json").stdout)["pairs"]
    assert row["pairs"] + row["ties"] == 42


def test_agreement_by_margin_counts_what_the_scores_say() -> None:
    benchmark = load_benchmark("mini")
    pairs = read_pairs(sample_path() / "verdicts" / "runs" / "pairs.jsonl")
    foreign = Pair("x", "知らない質問", ("a", "b"), ("あ", "い"))
    scores = scored_pairs([*pairs, foreign], benchmark)
    assert scores["pair"].to_list() == [pair.id for pair in pairs]
    letters: dict[str, str | None] = {pair.id: "ABC"[n % 3] for n, pair in enumerate(pairs)}
    letters[pairs[0].id] = None
    del letters[pairs[1].id]
    table = agreement_by_margin(scores, {"somebody": letters}, bins=3)
    right = counted = ties = 0
    for pair in pairs:
        a, b = (benchmark.score(pair.question, answer).average for answer in pair.answers)
        letter = letters.get(pair.id)
        ties += letter == "C" or a == b
        if letter in ("A", "B") and a != b:
            counted += 1
            right += letter == ("A" if a > b else "B")
    total = table.row(0, named=True)
    assert (total["margin"], total["pairs"], total["agree"]) == ("all", counted, right)
    assert (total["ties"], total["missing"]) == (ties, 2)
    interval = scipy.stats.binomtest(right, counted).proportion_ci(method="exact")
    assert (total["low"], total["high"]) == pytest.approx((interval.low, interval.high))
    assert table["pairs"][1:].sum() == counted
    with pytest.raises(InputError, match="none of the pairs' questions"):
        scored_pairs([foreign], benchmark)


def test_correlations_are_those_of_scipy() -> None:
    scores = {f"m{n}": 0.1 * n + 0.03 * (n % 3) for n in range(9)}
    means = pl.DataFrame(
        {"model": [*scores, "other"], "mean": [n + 0.5 * (n % 4) for n in range(10)]}
    )
    found = grading.run_correlation(means, scores)
    x, y = found.runs["score"].to_list(), found.runs["rating"].to_list()
    expected = scipy.stats.pearsonr(x, y)
    assert found.pearson == pytest.approx(expected.statistic)
    assert found.pearson_interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.spearman == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    few = grading.run_correlation(means[:2], scores)
    assert (few.pearson, few.pearson_interval) == (None, (None, None))


def rating(handler: Handler, asked: Asked) -> None:
    """Rate an answer by its length, in brackets."""
    answer = asked.prompt.rpartition("[The Start of Assistant's Answer]\n")[2]
    score = min(10, max(1, len(answer) // 20))
    text = f"説明。Rating: [[{score}]]"
    tokens = [token("説明。"), token("Rating: "), token("[["), token(str(score)), token("]]")]
    handler.reply(200, chat_reply(text, tokens))


def test_runs_are_graded_and_correlated(tmp_path: Path) -> None:
    runs, out = sample_runs(), tmp_path / "ratings"
    with FaultServer(default=rating) as server:
        said = graded(out, server.url, *runs.values(), "--trials", 2)
        assert len(server.asked) == 3 * 14 * 2
        again = graded(out, server.url, *runs.values(), "--trials", 2)
        assert again.startswith(f"{out}: 84 of 84 ratings, 0 new")
        assert len(server.asked) == 84
    assert "Pearson's r of ratings and scores" in said
    ratings = grading.read_ratings(out)
    assert ratings["item"].n_unique() == 84
    results = named_results(score_runs([str(path) for path in runs.values()], "mini"))
    texts: dict[str, list[str]] = {}
    for name, result in results.items():
        for question, answer in result.frame.select("question_id", "answer").iter_rows():
            texts.setdefault(f"{question}/{name}", []).append(answer)
    for item, value in ratings.select("item", "rating").iter_rows():
        question, trial, model = item.split("/", 2)
        answer = texts[f"{question}/{model}"][int(trial) - 1] + "\n[The End of Assistant's Answer]"
        assert value == min(10, max(1, len(answer) // 20))
    means = {row["model"]: row for row in grading.mean_ratings(ratings).iter_rows(named=True)}
    for model, row in means.items():
        mine = ratings.filter(pl.col("model") == model)["rating"]
        assert row["mean"] == pytest.approx(mine.mean())
        assert (row["ratings"], row["invalid"]) == (28, 0)


def test_rubrics_are_filled_and_results_read(tmp_path: Path) -> None:
    (tmp_path / "rubric.txt").write_text("正確か\n5: とても\n")
    (tmp_path / "prompts.toml").write_text(
        '[grade.rubric]\ntext = "{answer}\\n###\\n{rubric}"\nscale = [1, 5]\nresult = true\n'
    )
    texts = []

    def by_rubric(handler: Handler, asked: Asked) -> None:
        texts.append(asked.prompt.partition("\n###\n")[2])
        handler.reply(200, chat_reply("Feedback: 3つの点で優れる。 [RESULT] 4"))

    with FaultServer(default=by_rubric) as server:
        own = ("--prompts", tmp_path / "prompts.toml", "--prompt", "rubric")
        more = ("--rubric", tmp_path / "rubric.txt", "--trials", 1)
        graded(tmp_path / "r", server.url, sample_runs()["faithful"], *own, *more)
    assert set(texts) == {"正確か\n5: とても"}
    assert grading.read_ratings(tmp_path / "r")["rating"].unique().to_list() == [4.0]


QUESTIONS = [question.text for question in load_benchmark("mini")][:4]


def write_run(folder: Path, text: str) -> Path:
    """A run of the model M, as published folders have them, whose answers all contain a text."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model": "M", "mode": "qa"}))
    lines = [
        json.dumps({"question": each, "answer": f"{each} {text} {n}"}, ensure_ascii=False)
        for each in QUESTIONS
        for n in range(2)
    ]
    (folder / "pfgen.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "pfgen.jsonl"


def rating_by_word(handler: Handler, asked: Asked) -> None:
    """Rate by what the answer says."""
    score = next(n for word, n in (("良", 9), ("中", 5), ("悪", 2)) if f" {word} " in asked.prompt)
    handler.reply(200, chat_reply(f"説明。Rating: [[{score}]]"))


def test_two_runs_of_one_model_keep_their_own_ratings(tmp_path: Path) -> None:
    runs = {word: write_run(tmp_path / word / "run", word) for word in "良中悪"}
    wanted = {"良": 9.0, "中": 5.0, "悪": 2.0}
    out = tmp_path / "r"

    def rated(words: Sequence[str]) -> grading.RatedRuns:
        paths = [str(runs[word]) for word in words]
        return grading.rated_runs(out, named_results(score_runs(paths, "mini")), "mini")

    with FaultServer(default=rating_by_word) as server:
        for order in permutations(runs.values()):
            graded(out, server.url, *order)
        assert len(server.asked) == 3 * 2 * len(QUESTIONS)
    for words in permutations(runs):
        found = rated(words)
        ratings = dict(found.correlation.runs.select("model", "rating").rows())
        assert len(ratings) == 3
        assert {w: ratings[name] for name in ratings for w in wanted if w in name} == wanted
        assert (set(found.ratings.missing.values()), found.ratings.others) == ({0}, 0)
    assert rated("悪").ratings.notes() == [
        "16 ratings of answers that are not in these runs: kept, but not used"
    ]
    # Answers that have changed are not rated.
    run = runs["良"]
    run.write_text(run.read_text("utf-8").replace("良", "新"), encoding="utf-8")
    found = rated("良中")
    assert found.correlation.runs["rating"].to_list() == [5.0]
    assert sorted(found.ratings.missing.values()) == [0, 8]
    assert "8 answers without a rating" in found.ratings.notes()[0]
