"""What judges read: files that users write, and pairs of runs."""

import json
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import scipy.stats  # type: ignore[import-untyped]

from fault_server import Asked, FaultServer, Handler
from judging import (
    JUDGE,
    chat_reply,
    command,
    engine_for,
    judged,
    made_pairs,
    records,
    replying,
    token,
)
from pfgen_rs import load_benchmark, sample_runs, score_runs
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.run_files import named_results
from pfgen_rs.judge import compare, grading, sample_path
from pfgen_rs.judge.agreement.agree import agreement_by_margin, scored_pairs
from pfgen_rs.judge.pairs import Pair, pairs_of_runs, read_humans, read_pairs, write_pairs
from pfgen_rs.judge.requests import built_in_prompts, find_prompt, read_prompts

CRITERIA = find_prompt("criteria", "criteria")
WHOLE = 'text = "{question}{answer_a}{answer_b}"'


def prompts_file(folder: Path, toml: str) -> Path:
    (folder / "prompts.toml").write_text(toml)
    return folder / "prompts.toml"


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ('[pairwise.x]\ntext = "{question}{answer_a}"', r"missing placeholder \{answer_b\}"),
        (f'[pairwise.x]\n{WHOLE[:-1]}{{answr}}"', r"unknown placeholder \{answr\}"),
        ("[pairwise.x]\ntext = 1", "needs 'text'"),
        ('[pair.x]\ntext = "a"', r"unknown table \[pair\]"),
        ('[grade.x]\ntext = "{answer}"\nscale = [5, 1]', "invalid scale"),
        ('[grade.x]\ntext = "{answer}"\nbrackets = 1', "'brackets' must be of type bool, not 1"),
        (f'[pairwise.x]\n{WHOLE}\nverdict = "best"', "invalid verdict 'best'"),
        (f'[pairwise.x]\n{WHOLE}\nsytem = "x"', "unknown key 'sytem'"),
        ("", "contains no prompts"),
        ("[", "is not TOML"),
    ],
)
def test_bad_prompts_are_errors(toml: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        read_prompts(prompts_file(tmp_path, toml))


def test_own_prompts_are_used(tmp_path: Path) -> None:
    text = '"{question}|{answer_a}|{answer_b}|{\\"x\\"}"'
    toml = f'[pairwise.mine]\nsystem = "S {{rubric}} {{question}}"\ntext = {text}\n'
    prompt = find_prompt("mine", "pairwise", path := prompts_file(tmp_path, toml))
    values = {"question": "{answer_a}", "answer_a": "1", "answer_b": "2"}
    with pytest.raises(SettingsError, match=r"needs \{rubric\}"):
        prompt.filled(values)
    assert prompt.filled({**values, "rubric": "R"}) == (
        ("system", "S R {answer_a}"),
        ("user", '{answer_a}|1|2|{"x"}'),
    )
    with pytest.raises(SettingsError, match="unknown prompt 'reason': expected one of mine"):
        find_prompt("reason", "pairwise", path)


def test_prompts_are_those_of_the_papers(judging_dir: Path) -> None:
    golden = tomllib.loads((judging_dir / "prompts.toml").read_text("utf-8"))
    known = built_in_prompts()
    assert known["criteria"].text == golden["criteria"]["text"]
    for kind in ("pairwise", "grade"):
        for name, entry in golden[kind].items():
            ours, given = known[name], {"verdict": "first", "brackets": False, "scale": [1, 10]}
            given |= entry
            assert (ours.text, ours.kind, ours.verdict) == (given["text"], kind, given["verdict"])
            assert (ours.brackets, list(ours.scale)) == (given["brackets"], given["scale"])
    path = judging_dir / "data" / "ja-vicuna-qa" / "judge_prompts.jsonl"
    for record in map(json.loads, path.read_bytes().splitlines()):
        if record["type"] == "pairwise":
            ours = known[record["name"]]
            assert ours.system == record["system_prompt"]
            assert ours.text == record["prompt_template"].replace("{ref_answer_1}", "{reference}")


def test_prompts_without_a_reference_say_so() -> None:
    for name in ("criteria-reason", "criteria-result", "reason", "result"):
        prompt = find_prompt(name, "pairwise").without_reference()
        assert prompt.name == f"{name}/no-reference"
        assert "模範回答" not in prompt.text
        assert "\n\n\n" not in prompt.text
        assert prompt.text.count("\n") == find_prompt(name, "pairwise").text.count("\n") - 5
    with pytest.raises(SettingsError, match="needs a reference answer"):
        find_prompt("pair-math", "pairwise").without_reference()
    assert find_prompt("pair", "pairwise").without_reference() is find_prompt("pair", "pairwise")


def write(path: Path, *rows: object) -> Path:
    path.write_bytes(
        b"".join(
            (row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows
        )
    )
    return path


PAIR: dict[str, Any] = {"id": 1, "question": "q", "models": ["a", "b"], "answers": ["x", "y"]}
HUMAN = {"id": "a", "rater": "r", "verdict": "A"}
NOBODY: list[dict[str, str]] = [{"id": "a"}, {"id": "a", "rater": ""}]


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        *((PAIR, b"{", "is not JSON"), (PAIR, b"[]", "expected an object")),
        *(
            (PAIR, b'{"id": "a"}', "'models' must be a list of 2 texts"),
            (PAIR, b"\xff", "is not UTF-8"),
        ),
        *((PAIR, {**PAIR, "id": True}, "'id' must be"), (HUMAN, [], "expected an object")),
        (PAIR, {**PAIR, "id": 2, "models": ["a"]}, "'models' must be a list of 2"),
        (PAIR, {**PAIR, "id": 2, "models": ["a", 1]}, "'models' must contain texts"),
        (PAIR, {**PAIR, "id": 2, "question": 1}, "'question' must be text"),
        (PAIR, {**PAIR, "id": "1"}, "duplicate pair id '1'"),
        *((PAIR, {**PAIR, "gold": gold}, "invalid 'gold'") for gold in ("a", ["A", "A"], {"A": 1})),
        (HUMAN, {**HUMAN, "id": "z"}, "unknown pair id 'z'"),
        (HUMAN, {**HUMAN, "verdict": "D"}, "invalid verdict 'D': expected A, B or C"),
        (HUMAN, {**HUMAN, "verdict": "a"}, "invalid verdict 'a'"),
        (HUMAN, {**HUMAN, "verdict": None}, "'verdict' must be text"),
        *((HUMAN, {**rest, "verdict": "A"}, "'rater' must be") for rest in NOBODY),
        (HUMAN, HUMAN, "second verdict of rater 'r' on pair 'a'"),
    ],
)
def test_bad_pairs_and_verdicts_of_people_are_errors_with_file_and_line(
    good: object, bad: object, problem: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "file.jsonl", good, b"", bad)
    with pytest.raises(InputError, match=problem) as caught:
        read_pairs(path) if good is PAIR else read_humans(path, {"a", "b"})
    assert (caught.value.path, caught.value.line) == (path, 3)


def test_pairs_survive_being_written(tmp_path: Path) -> None:
    pairs = [*made_pairs(3), Pair("x", "q", ("a", "b"), ("\u2028", "\U0001f600"))]
    pairs += [replace(pairs[0], id="y", gold=("B",)), replace(pairs[0], id="z", gold=("A", "C"))]
    write_pairs(tmp_path / "p.jsonl", pairs)
    assert read_pairs(tmp_path / "p.jsonl") == pairs


def test_verdicts_of_people(tmp_path: Path) -> None:
    for rows in ([("a", "r", "A"), ("b", "r", "C")], [("a", "r", "A"), (1, 2, "B")]):
        lines = [dict(zip(HUMAN, row, strict=True)) for row in rows]
        found = read_humans(write(tmp_path / "h.jsonl", *lines), {"a", "b", "1"})
        wanted = [tuple(map(str, row)) for row in rows]
        assert (found.rows(), found.columns) == (wanted, ["pair", "rater", "verdict"])
        csv = "".join(f"{','.join(row)}\n" for row in [tuple(HUMAN), *wanted])
        (tmp_path / "h.csv").write_text(csv)
        assert read_humans(tmp_path / "h.csv", {"a", "b", "1"}).rows() == wanted
    write(tmp_path / "h.jsonl")
    for name, problem in (("h", "contains no verdicts"), ("missing", "cannot be read")):
        with pytest.raises(InputError, match=problem):
            read_humans(tmp_path / f"{name}.jsonl", {"a"})


# Criteria


def bare(count: int) -> list[Pair]:
    return [replace(pair, criteria=None) for pair in made_pairs(count)]


def stating(handler: Handler, asked: Asked) -> None:
    """State criteria that name the question."""
    question = asked.prompt.split("[質問開始]\n")[1].split("\n")[0]
    handler.reply(200, chat_reply(f"<think>…</think>\n・{question}の条件\n"))


def test_criteria_are_made_once_a_question(tmp_path: Path) -> None:
    pairs, out = bare(6), compare.criteria_file(tmp_path / "pairs.jsonl")
    assert out == tmp_path / "pairs.criteria.jsonl"
    with FaultServer(default=stating) as server:
        for new in (3, 0):
            asked = compare.make_criteria(pairs, engine_for(server.url), JUDGE, CRITERIA, out)
            assert (asked.total, asked.new, asked.complete) == (3, new, True)
        assert len(server.asked) == 3
    found = {row["question_id"]: row["criteria"] for row in records(tmp_path, out.name)}
    assert found == {f"q{n}": f"・質問{n}の条件" for n in range(3)}
    assert compare.pairs_with_criteria(made_pairs(1), out)[0][0].criteria == "・正確さ"
    assert list(compare.criteria_requests(made_pairs(4), CRITERIA)) == []
    complete, notes = compare.pairs_with_criteria(pairs, out)
    wanted = [f"・質問{n // 2}の条件" for n in range(6)]
    assert ([pair.criteria for pair in complete], notes) == (wanted, [])
    # They belong to the question they were made of.
    changed = [replace(pair, question="別の質問") for pair in pairs[:2]] + pairs[2:]
    complete, [note] = compare.pairs_with_criteria(changed, out)
    assert [pair.criteria for pair in complete] == [None, None, *wanted[2:]]
    assert "1 question were made of other texts and are not used: 'q0'" in note
    own = write(tmp_path / "own.jsonl", {"question_id": "q0", "criteria": "・私の条件"})
    complete, notes = compare.pairs_with_criteria(changed, own)
    assert ([pair.criteria for pair in complete][:2], notes) == (["・私の条件"] * 2, [])


def test_empty_and_cut_criteria_are_failures(tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    for reply, reason in (
        (chat_reply("<think>x</think> \n"), "the criteria are empty"),
        (chat_reply("・条件", finish="length"), "cut off by the token limit"),
        (chat_reply("<think>考え中"), "cut off by the token limit"),
    ):
        with FaultServer(default=replying(reply)) as server:
            asked = compare.make_criteria(bare(2), engine_for(server.url), JUDGE, CRITERIA, out)
        assert not asked.complete
        assert reason in asked.failures[0].reason
        assert not records(tmp_path, "c.jsonl")


def test_prompts_with_criteria_need_them_and_questions_have_one_text(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="pair 'p0' has no criteria"):
        judged(tmp_path / "v", bare(1), prompt="criteria-result")
    assert not (tmp_path / "v").exists()
    one, other = bare(2)
    with pytest.raises(InputError, match="the question id 'q0' but different questions"):
        list(compare.criteria_requests([one, replace(other, question="別")], CRITERIA))


# Pairs out of runs, ratings of runs, and both against the scores.


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
    # Ratings belong to answers, in whatever order runs are given.
    turned = dict(reversed(results.items()))
    found = grading.rated_runs(out, turned, "mini")
    rated = dict(found.correlation.runs.select("model", "rating").iter_rows())
    assert rated == {model: pytest.approx(row["mean"]) for model, row in means.items()}
    assert found.ratings.notes() == []
    few = dict([*results.items()][:1])
    [missing, others] = grading.rated_runs(out, few, "mini", trials=3).ratings.notes()
    assert "14 answers without a rating: run judge grade on it" in missing
    assert others == "56 ratings of answers that are not in these runs: kept, but not used"


def test_rubrics_are_filled_and_results_read(tmp_path: Path) -> None:
    (tmp_path / "rubric.txt").write_text("正確か\n5: とても\n")
    toml = '[grade.rubric]\ntext = "{answer}\\n###\\n{rubric}"\nscale = [1, 5]\nresult = true\n'
    texts = []

    def by_rubric(handler: Handler, asked: Asked) -> None:
        texts.append(asked.prompt.partition("\n###\n")[2])
        handler.reply(200, chat_reply("Feedback: 3つの点で優れる。 [RESULT] 4"))

    with FaultServer(default=by_rubric) as server:
        own = ("--prompts", prompts_file(tmp_path, toml), "--prompt", "rubric")
        more = ("--rubric", tmp_path / "rubric.txt", "--trials", 1)
        graded(tmp_path / "r", server.url, sample_runs()["faithful"], *own, *more)
    assert set(texts) == {"正確か\n5: とても"}
    assert grading.read_ratings(tmp_path / "r")["rating"].unique().to_list() == [4.0]
