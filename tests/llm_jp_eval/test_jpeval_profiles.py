"""Profiles: published vectors and averages, sums by an obvious oracle, and runs of several boards at once."""

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fault_server import Asked, FaultServer, Handler, body
from jpeval_data import jp_eval, jp_json, write_data, write_file
from pfgen_rs import InputError, SettingsError
from pfgen_rs.llm_jp_eval import (
    averages,
    board_averages,
    evaluate,
    plans,
    prediction,
    profile_averages,
    profile_value,
    profiles,
    read_tasks,
    registry,
)
from pfgen_rs.llm_jp_eval.averaging import score_texts
from pfgen_rs.llm_jp_eval.evaluation_files import Sample, read_task
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, items
from pfgen_rs.llm_jp_eval.scoring import ScoreSettings
from pfgen_rs.stats import means

BOARDS = ("swallow", "nejumi4", "nejumi3")


@cache
def vectors(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "profiles" / "vectors.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def sets(folder: Path) -> list[dict[str, Any]]:
    return list(json.loads((folder / "profiles" / "averages.json").read_text("utf-8")))


# Published vectors


@pytest.mark.parametrize("board", BOARDS)
def test_values_are_those_of_the_boards(board: str, jpeval_dir: Path) -> None:
    own = [each for each in vectors(jpeval_dir) if each["profile"] == board]
    assert len(own) > 50
    for each in own:
        task, gold, output = each["task"], each["gold"], each["output"]
        found = profile_value(board, task, gold, output, metric=each["metric"], shots=each["shots"])
        if each["metric"] in ("pearson", "spearman"):
            assert found == pytest.approx(each["value"], abs=1e-12), each
        else:
            assert found == each["value"], each
        if isinstance(output, str):
            assert profile_value(board, task, gold, output) == each["value"], each
            assert prediction(output, board, task) == each["prediction"], each
            control = profiles.controlled(board, task, each["prediction"])
            assert control == each.get("controllability"), each


@pytest.mark.parametrize("number", range(6))
def test_averages_are_those_of_the_boards(number: int, jpeval_dir: Path) -> None:
    given_set = sets(jpeval_dir)[number]
    scores, published = given_set["scores"], given_set["llm-jp-eval-1.3.0"]
    found = profile_averages("1.3.0", scores)
    assert found == averages(scores) == profile_averages("1.3.0", {"scores": scores})
    texts = {name: f"{found[name]:.4f}" for name in published["score_texts"]}
    assert (texts, found["AVR"]) == (published["score_texts"], published["AVR_by_paper"])

    swallow = dict(given_set["swallow"])
    assert score_texts(scores) == swallow.pop("score_texts")
    expected = swallow.pop("jmmlu") | swallow.pop("nli_balanced") | swallow
    assert profile_averages("swallow", given_set) == expected
    bare = profile_averages("swallow", scores)
    assert bare == {name: expected[name] for name in ("MC", "NLI", "QA", "RC")}

    nejumi = given_set["nejumi4"]
    found = profile_averages("nejumi4", nejumi["input"])
    assert {name: found[name] for name in nejumi["result"]} == nejumi["result"]


# Sums, and what the boards' code leaves out


NUMBERS = st.lists(st.floats(0, 1), min_size=1, max_size=140)


@given(NUMBERS)
def test_sums_are_those_of_the_boards(values: list[float]) -> None:
    assert means.running_mean(values) == running(values) / len(values)
    assert means.numpy_mean(values) == pairwise(values) / len(values)
    assert means.kahan_mean(values) == kahan(values) / len(values)
    exact = sum(map(Fraction, values), Fraction()) / len(values)
    assert abs(Fraction(means.kahan_mean(values)) - exact) < 1e-15


def running(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total = total + value
    return total


def kahan(values: Sequence[float]) -> float:
    s = c = 0.0
    for x in values:
        y = x - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


def pairwise(values: Sequence[float]) -> float:
    """As the boards' numpy adds up to 128 numbers; more are halved at a multiple of 8."""
    n = len(values)
    if n > 128:
        half = n // 2 - n // 2 % 8
        return pairwise(values[:half]) + pairwise(values[half:])
    if n < 8:
        return running(values)
    blocks = [values[i : i + 8] for i in range(0, n - n % 8, 8)]
    r = [running(column) for column in zip(*blocks, strict=True)]
    total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    return running([total, *values[n - n % 8 :]])


def test_the_three_sums_differ() -> None:
    values = [0.1] * 11
    found = {running(values), pairwise(values), kahan(values)}
    assert len(found) > 1


TABLE = {"aio": 0.5, "alt-e-to-j": 0.25, "jamp": 1.0, "kuci": 0.0, "jmmlu_SymbolChoice": 0.9}


def test_means_of_tables_skip_columns_under_the_name_of_the_board_only() -> None:
    found = profile_averages("nejumi4", {"score_0shot": TABLE, "control_0shot": TABLE})
    assert found["score_AVG_0shot"] == 0.5  # of jamp and kuci
    assert found["score_mean_0shot"] == 1.75 / 4
    assert found["control_AVG_0shot"] == 1.25 / 3
    assert found["AVG_jaster_0shot"] == (0.5 + 1.75) / 5
    assert found["score_AVG_2shot"] is found["TOTAL_SCORE"] is found["GLP_情報検索"] is None


def test_what_lacks_parts_is_partial(jpeval_dir: Path) -> None:
    board = registry.find_profile("nejumi4")
    whole, alone = (sets(jpeval_dir)[n]["nejumi4"]["input"] for n in (5, 0))
    lacking = board_averages.partial(board, whole)
    assert not {"GLP_表現", "GLP_翻訳", "GLP_構文解析"} & {*lacking}
    found = board_averages.partial(board, alone)
    assert {"TOTAL_SCORE", "GLP_専門的知識", "score_AVG_0shot", "ALT_制御性"} <= {*found}
    assert not {"GLP_意味解析", "ALT_堅牢性", "GLP_表現"} & {*found}
    assert not [name for name in found if profile_averages("nejumi4", alone)[name] is None]


REFUSED: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (("nejumi5", "jamp", "a", "a"), {}, SettingsError, "unknown profile"),
    (("nejumi4", "jamb", "a", "a"), {}, SettingsError, "unknown task"),
    (("nejumi4", "jsts", ["1"], ["1"]), {"metric": "pearson"}, SettingsError, "has no pearson"),
    (("swallow", "jsts", "1", "1"), {"metric": "pearson"}, InputError, "expected a list of texts"),
    (("swallow", "jamp", ["a"], ["a"]), {}, InputError, "expected text in row 0, found list"),
    (("swallow", "jamp", ["a"], ["a"]), {"metric": "sum:exact_match"}, SettingsError, "mean:exact"),
    (("swallow", "jamp", ["a", "b"], ["a"]), {"metric": "mean:exact_match"}, InputError, "2 golds"),
]


@pytest.mark.parametrize(("given_values", "named", "kind", "message"), REFUSED)
def test_what_boards_do_not_have_is_refused(
    given_values: tuple[Any, ...], named: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        profile_value(*given_values, **named)


@pytest.mark.parametrize(
    ("board", "values"),
    [
        ("1.3.0", [1]),
        ("swallow", {"score_0shot": {}}),
        ("swallow", {"scores": {"jamp_exact_match": "1"}}),
        ("nejumi4", {"jamp_exact_match": 0.5}),
        ("nejumi4", [1]),
    ],
)
def test_values_of_other_profiles_are_refused(board: str, values: Any) -> None:
    with pytest.raises(InputError, match=r"expected a (number|table such as score_0shot), not "):
        profile_averages(board, values)


def test_foreign_tasks_are_in_no_table() -> None:
    own = {"aio": 0.5, "alt-e-to-j": 0.25, "jamp": 1.0, "kuci": 0.0}
    tables = ({"score_0shot": {**own, **more}} for more in ({}, {"chabsa": 0.0, "a_exam": 0.0}))
    one, other = (profile_averages("nejumi4", each) for each in tables)
    assert one == other


# What profiles ask for


CHOICES = "質問：問{}\n選択肢：A.あ,B.い,C.う,D.え"
PAIRS = {
    "jamp": [("前提：雨\n仮説：水", "entailment"), ("前提：火\n仮説：水", "neutral")],
    "jmmlu": [(CHOICES.format(n), "ABCD"[n]) for n in range(3)],
    "mawps": [("1+1", "2")],
    "kuci": [("文", "1"), ("章", "0")],
    "chabsa": [("文章：甲", "売上 positive")],
    "alt-e-to-j": [("cat", "猫")],
}
EXAMPLES = {
    task: [(f"例{n}：{text}", gold) for n in range(5)] for task, ((text, gold), *_) in PAIRS.items()
}
STATED = {"instruction": "答えよ。", "output_length": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = write_data(tmp_path / "data", PAIRS, EXAMPLES)
    for path in data.rglob("*.json"):
        record = json.loads(path.read_text("utf-8"))
        write_file(path, {**record, **STATED})
    return data


def asked_by(folder: Path, profile: str, *tasks: str, **how: Any) -> list[Any]:
    plan = plans.plan(read_tasks(folder, tasks), ScoreSettings(profile), **how)
    return list(items(plan.datas, plan.settings.n, plan.settings.prompts))


def test_nejumi_asks_in_turns(folder: Path) -> None:
    intro = registry.find_profile("nejumi4").chat + "\n答えよ。\n\n"
    zero, _, two, _ = asked_by(folder, "nejumi4", "jamp")
    assert zero.messages == (("user", intro + "前提：雨\n仮説：水"),)
    text = "前提：雨\n仮説：水"
    assert two.messages == (
        ("user", f"{intro}例0：{text}"),
        ("assistant", "entailment"),
        ("user", f"例1：{text}"),
        ("assistant", "entailment"),
        ("user", text),
    )
    assert zero.id == two.id == "jamp/test/0"
    assert zero.digest() != two.digest()


def test_variants_are_made_of_jmmlu(folder: Path) -> None:
    own = plans.with_variants(read_tasks(folder, ["jmmlu"]), profiles.VARIANTS)
    symbols, incorrect = own[1].samples[1], own[2].samples[1]
    assert symbols == Sample("質問：問1\n選択肢：$.あ,&.い,#.う,@.え", "&")
    assert incorrect == Sample(CHOICES.format(1), "A,C,D")
    plan = plans.plan(own, ScoreSettings("nejumi4"))
    named = [data.task for data in plan.datas]
    assert named == ["jmmlu@0", "jmmlu@2", "jmmlu_SymbolChoice@2", "jmmlu_IncorrectChoice@2"]


def test_variants_are_made_whatever_files_there_are(folder: Path) -> None:
    other = {"instruction": "？", "output_length": 1, "metrics": ["exact_match"]}
    samples = [{"input": "別", "output": "$"}]
    for split in ("test", "train"):
        path = folder / "evaluation" / split / "jmmlu_SymbolChoice.json"
        write_file(path, {**other, "samples": samples})
    for names in ([], ["jmmlu", "jmmlu_SymbolChoice"]):
        datas, _ = plans.profile_data(folder, "nejumi4", names, "test", None, {})
        [symbols] = [data for data in datas if data.task == "jmmlu_SymbolChoice"]
        assert [sample.output for sample in symbols.samples] == ["$", "&", "#"]


def test_metrics_that_a_profile_lacks_are_refused_before_anything_is_asked(folder: Path) -> None:
    write_data(folder, {"jsts": [("x", "1.0")]}, {"jsts": [("x", "1.0")]})
    with pytest.raises(SettingsError, match="the profile 'nejumi4' has no pearson"):
        asked_by(folder, "nejumi4", "jsts")


def test_profiles_share_prompts_that_are_alike(folder: Path) -> None:
    ours, swallow = (asked_by(folder, name, "jamp", "jmmlu") for name in ("1.3.0", "swallow"))
    same = {item.digest() for item in ours} & {item.digest() for item in swallow}
    assert {item.task for item in ours if item.digest() in same} == {"jamp"}
    assert len(asked_by(folder, "swallow", "jmmlu", shots=2)[0].prompt) < len(swallow[-1].prompt)


def test_the_default_profile_keeps_its_tasks() -> None:
    assert len(registry.chosen_tasks()) == 17
    for board in registry.profiles():
        for task in registry.find_profile(board).tasks:
            registry.find_task(task)


# Commands


SAID = {
    ("completion", "前提：雨\n仮説：水"): "entailment\n\n",
    ("completion", "前提：火\n仮説：水"): " neutral",
    ("chat", "前提：雨\n仮説：水"): "'ENTAILMENT'",
    ("chat", "前提：火\n仮説：水"): "わからない",
    ("chat", "1+1"): "２.0",
    ("chat", "文"): "5",
}


def board_says(handler: Handler, asked: Asked) -> None:
    chat = asked.path.endswith("/chat/completions")
    last = asked.body["messages"][-1]["content"] if chat else asked.prompt
    own = [
        text
        for (mode, end), text in SAID.items()
        if mode == ("chat" if chat else "completion")
        and last.endswith((end, f"{end}\n\n### 応答:\n"))
    ]
    text = own[0] if own else "A"
    handler.reply(200, body(text, chat))


def run(folder: Path, out: Path, url: str, *more: object) -> Any:
    engine = ("-e", "openai", "--base-url", url, "--set", "retries=0")
    return jp_eval("run", "m", *engine, "--data", folder, "--out", out, *more)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_one_run_gives_the_figures_of_all_boards(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with FaultServer(default=board_says) as server:
        first = run(folder, out, server.url)
        assert (first.exit_code, len(server.asked)) == (0, 4)  # chabsa, jamp, mawps
        chosen = ("--profile", "1.3.0,swallow", "--profile", "nejumi4")
        done = run(folder, out, server.url, *chosen)
        assert done.exit_code == 0, done.output
        # jmmlu with 5 examples; chats: 2 x (jamp, jmmlu, mawps, kuci, alt-e-to-j) and 2 x 3 for variants
        assert len(server.asked) == 4 + 3 + 2 * (2 + 3 + 1 + 2 + 1) + 6
        chats = [each.body for each in server.asked if "messages" in each.body]
        assert {(each["temperature"], each["top_p"]) for each in chats} == {(0.1, 1.0)}
        again = run(folder, out, server.url, "--profile", "nejumi4")
        assert "24 of 24 outputs, 0 new" in again.stdout
        assert "has the figures of nejumi4 alone now: run with --profile nejumi4,1" in again.stderr
    found = jp_json("score", out / "outputs.jsonl", "--data", folder, *chosen)
    boards = found["profiles"]
    assert [*boards] == ["1.3.0", "swallow", "nejumi4"]
    assert boards["1.3.0"]["scores"]["jamp_exact_match"] == 0.5
    assert boards["swallow"]["scores"]["jamp_exact_match"] == 1.0
    nejumi = boards["nejumi4"]
    assert nejumi["scores"]["jamp@0_exact_match"] == nejumi["scores"]["jamp@2_exact_match"] == 0.5
    assert nejumi["scores"]["mawps@0_exact_match_figure"] == 1.0
    # 1: jmmlu's answer A is label A; the variants' are neither symbols nor lists.
    assert nejumi["averages"]["ALT_堅牢性"] == 1.0
    assert nejumi["averages"]["control_mean_0shot"] == (0.5 + 1 + 0 + 1) / 4
    assert "TOTAL_SCORE" in nejumi["partial"]
    assert nejumi["not_computed"].keys() == {f"alt-e-to-j@{n}_comet_wmt22" for n in (0, 2)}
    signatures = [board["signature"] for board in boards.values()]
    assert [each.split("|")[2] for each in signatures] == [f"profile:{name}" for name in boards]
    assert "|n:100|shots:0+2|" in signatures[2]
    assert "|temperature:0.1|seed:1|top_p:1|mode:chat" in signatures[2]
    assert boards["swallow"]["averages"]["QA"] == -1.0
    assert "-1.0000" not in done.stdout
    lines = (out / "outputs.jsonl").read_text("utf-8").splitlines(keepends=True)
    first = {json.loads(line)["id"]: line for line in reversed(lines)}  # of 1.3.0
    part = tmp_path / "o.jsonl"
    part.write_text("".join(first.values()), "utf-8")
    less = ("--data", folder, "--profile", "swallow,1.3.0", "-t", "jamp,jmmlu", "--allow-missing")
    assert "1.3.0: 3 outputs were missing and count" in jp_eval("score", part, *less).stderr
    record = jp_json("score", part, *less)
    assert (record["missing"], record["samples"]) == ({}, {"jamp": 2, "jmmlu": 3})
    missing = {name: own["missing"] for name, own in record["profiles"].items()}
    assert missing == {"swallow": {}, "1.3.0": {"jmmlu": 3}}
    part.write_text("".join(lines), "utf-8")  # without the run's config.json
    copied = jp_json("score", part, "--data", folder, "--profile", "nejumi4")
    assert "|temperature:0.1|seed:1|top_p:1|" in copied["signature"]


def test_folders_of_versions_without_profiles_go_on(folder: Path, tmp_path: Path) -> None:
    out, path = tmp_path / "run", tmp_path / "run" / "config.json"
    with FaultServer(default=board_says) as server:
        run(folder, out, server.url, "-t", "jamp")
        config = json.loads(path.read_text("utf-8"))
        del config["profiles"]
        path.write_text(json.dumps(config), encoding="utf-8")
        refused = run(folder, out, server.url, "-t", "jamp", "--shots", 2)
        assert "was started with shots=4, now 2" in refused.stderr
        done = run(folder, out, server.url, "-t", "jamp", "--profile", "1.3.0,swallow")
        assert "2 of 2 outputs, 0 new" in done.stdout
        assert len(server.asked) == 2
    found = json.loads(path.read_text("utf-8"))["profiles"]
    assert [*found] == ["1.3.0", "swallow"]
    assert found["1.3.0"] == {"shots": 4, "temperature": 0.0, "top_p": None}


def test_options_override_profiles_and_are_signed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    chosen = ("--profile", "nejumi4", "-t", "jamp", "-n", 1, "--shots", 3, "--temperature", 0)
    with FaultServer(default=board_says) as server:
        assert run(folder, out, server.url, *chosen).exit_code == 0
        assert [len(each.body["messages"]) for each in server.asked] == [7]
        assert server.asked[0].body["temperature"] == 0
        refused = run(folder, out, server.url, "--profile", "nejumi4", "-t", "jamp")
    assert "profile nejumi4: was started with shots=[3], now [0, 2]" in refused.stderr
    record = json.loads((out / "scores.json").read_text("utf-8"))
    assert record["profiles"]["nejumi4"]["scores"] == {"jamp@3_exact_match": 1.0}
    assert "|n:1|shots:3|" in record["signature"]
    assert "|temperature:0|" in record["signature"]


def test_outputs_made_elsewhere_are_told_apart_by_their_digests(
    folder: Path, tmp_path: Path
) -> None:
    asked, answered = tmp_path / "prompts.jsonl", tmp_path / "o.jsonl"
    chosen = ("--data", folder, "--profile", "swallow,nejumi4", "-t", "jamp")
    assert jp_eval("prompts", *chosen, "--out", asked).exit_code == 0
    lines = [json.loads(line) for line in asked.read_text("utf-8").splitlines()]
    assert [len(each.get("messages", ())) for each in lines] == [0, 0, 1, 1, 5, 5]
    for each in lines:
        each["output"] = "entailment" if len(each.get("messages", ())) == 5 else "neutral"
    answered.write_text("\n".join(json.dumps(each) for each in reversed(lines)))
    found = jp_json("score", answered, *chosen)["profiles"]
    assert found["swallow"]["scores"] == {"jamp_exact_match": 0.5}
    right = {"jamp@0_exact_match": 0.5, "jamp@2_exact_match": 0.5}
    assert found["nejumi4"]["scores"] == right
    answered.write_text('{"id": "jamp/test/0", "output": "neutral"}')
    refused = jp_eval("score", answered, *chosen, "-n", 1)
    assert "nejumi4 has several prompts for a sample: outputs need the digests" in refused.stderr
    refused = jp_eval("prompts", *chosen, "--out", asked, "-f", "openai-completions", "-m", "m")
    assert "the prompts are chats" in refused.stderr
    jp_eval("prompts", *chosen, "--out", asked, "-f", "openai-chat", "-m", "m")
    bodies = [json.loads(line)["body"] for line in asked.read_text("utf-8").splitlines()]
    assert {(each["temperature"], each.get("top_p")) for each in bodies} == {(0, None), (0.1, 1.0)}


OWN = """
tasks = ["jamp", "kuci", "alt-e-to-j"]
shots = [1]
reading = ["strip", "lower", "cut", "nfkc"]
average = "TOTAL"
[categories]
NLI = ["jamp_exact_match"]
COMMON = ["kuci_exact_match", "mawps_exact_match"]
MT = ["alt-e-to-j_comet_wmt22"]
[averages]
TOTAL = ["NLI", "COMMON", "MT"]
"""


def test_a_profile_of_ones_own(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.toml").write_text(OWN, encoding="utf-8")
    monkeypatch.setenv(registry.ENVIRONMENT, str(tmp_path / "own"))
    registry._forget()
    try:
        with FaultServer(default=board_says) as server:
            done = run(folder, tmp_path / "run", server.url, "--profile", "mine")
        assert done.exit_code == 0, done.output
        record = json.loads((tmp_path / "run" / "scores.json").read_text("utf-8"))
        found = record["profiles"]["mine"]
        assert found["scores"] == {"jamp_exact_match": 1.0, "kuci_exact_match": 0.0}
        assert found["averages"] == {
            "NLI": 1.0,
            "COMMON": 0.0,
            "TOTAL": 0.5,
        }  # MT is missing, not 0
        assert found["partial"] == ["COMMON", "TOTAL"]
        assert "|shots:1|avg:TOTAL|" in record["signature"]
    finally:
        monkeypatch.undo()
        registry._forget()


WRONG = {
    'averaging = "sum"': "unknown averaging 'sum': expected one of means, swallow, nejumi",
    'mean = "numpy"': "unknown mean 'numpy'",
    '[averages]\nALL = ["NLI"]': "'averages.ALL' has the unknown name 'NLI'",
    "shots = 4": "'shots' must be a list",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_profiles_are_named(text: str, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "mine.toml").write_text(f'tasks = ["jamp"]\n{text}\n', encoding="utf-8")
    monkeypatch.setenv(registry.ENVIRONMENT, str(tmp_path))
    registry._forget()
    try:
        with pytest.raises(InputError, match=r"mine\.toml") as error:
            registry.profiles()
        assert WRONG[text] in str(error.value)
    finally:
        monkeypatch.undo()
        registry._forget()


def test_control_and_averages_of_an_evaluation(folder: Path) -> None:
    settings = ScoreSettings("nejumi4", prompts=PromptSettings())
    datas = plans.plan([read_task(folder, "jamp"), read_task(folder, "kuci")], settings).datas
    outputs = {
        "jamp@0": ["Entailment", "x"],
        "jamp@2": ["neutral", "neutral"],
        "kuci@0": ["1", "9"],
        "kuci@2": ["1", "0"],
    }
    found = evaluate(datas, outputs, "nejumi4")
    assert found.frame["control"].to_list() == [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    assert found.averages["GLP_意味解析"] == 0.5
    assert found.averages["control_mean_0shot"] == 0.5
    write_data(folder, {"jsts": [("x", "1.0")]}, {"jsts": [("x", "1.0")]})
    jsts = read_task(folder, "jsts")
    with pytest.raises(SettingsError, match="has no pearson"):
        evaluate([jsts], {"jsts": ["1"]}, "nejumi4")
