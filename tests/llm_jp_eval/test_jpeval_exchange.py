"""Files of llm-jp-eval's inference repository, in both directions: written, generated elsewhere, scored."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from typer.testing import Result

from jpeval_data import SAMPLES, SHOTS, jp_eval, jp_json, write_data, write_file
from pfgen_rs.llm_jp_eval.evaluation_files import item_id
from pfgen_rs.llm_jp_eval.exchange import read_exchange

IDS = [item_id(task, "test", n) for task, pairs in SAMPLES.items() for n in range(len(pairs))]
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


@pytest.fixture
def prompts(data: Path, tmp_path: Path) -> Path:
    """Files of prompts, as the command writes them."""
    done = jp_eval("prompts", "--data", data, "--exchange", tmp_path / "prompts")
    assert done.exit_code == 0, done.output
    assert f"wrote 9 prompts of 4 tasks to {tmp_path / 'prompts'}\n" in done.stdout
    return tmp_path / "prompts"


def content(path: Path) -> Any:
    return json.loads(path.read_bytes())


def generated(
    prompts: Path,
    out: Path,
    outputs: Mapping[str, str | None] = {},
    *,
    foreign: bool = False,
    config: Any = None,
    change: Change = lambda _: None,
) -> Path:
    """A pipeline: adds `generated` to what it was given; its own gold answers by default, last ones first.

    `foreign`: as if llm-jp-eval itself had dumped the prompts. `change`: of a file's object, in the end.
    """
    for path in prompts.glob("*.eval-prompt.json"):
        record = content(path)
        for sample in record["samples"]:
            sample["generated"] = outputs.get(sample["id"], sample["gold"])
            if foreign:
                del sample["id"], sample["digest"]
        if foreign:
            record["config"] = {"max_num_samples": 100, "output_length_delta": 0}
        record["samples"].reverse()
        change(record)
        name = path.name.replace("prompt", "generated")
        write_file(out / name, record)
    if config is not None:
        write_file(out / "_config.json", config)
    return out


def of_task(task: str, change: Change) -> Change:
    return lambda record: change(record) if record["target_dataset"] == task else None


def score(data: Path, place: Path, *more: object) -> Result:
    return jp_eval("score", place, "--data", data, *more)


# Writing


def test_files_say_what_is_asked_and_how(data: Path, prompts: Path) -> None:
    jsts = content(prompts / "jsts.eval-prompt.json")
    assert list(jsts) == ["target_dataset", "config", "output_length", "samples"]
    assert (jsts["target_dataset"], jsts["output_length"]) == ("jsts", 3)
    assert [s["input"] for s in jsts["samples"]] == [text for text, _ in SAMPLES["jsts"]]
    assert [s["gold"] for s in jsts["samples"]] == [gold for _, gold in SAMPLES["jsts"]]
    lines = jp_eval("prompts", "--data", data, "--out", "-").stdout.splitlines()
    ours = {line["id"]: line for line in map(json.loads, lines)}
    records = [content(path) for path in sorted(prompts.glob("*.json"))]
    asked = {s["id"]: s for record in records for s in record["samples"]}
    assert asked.keys() == ours.keys()
    assert all(asked[name][key] == ours[name][key] for name in ours for key in ("prompt", "digest"))
    config = jsts["config"]
    assert all(record["config"] == config for record in records)
    assert (config["shots"], config["split"], config["output_length_delta"]) == (4, "test", 0)
    assert {"test/jsts.json", "train/jamp.json"} <= config["data"].keys()


def test_the_hash_is_that_of_all_prompts(data: Path, prompts: Path, tmp_path: Path) -> None:
    def hash_with(*options: object) -> str:
        jp_eval("prompts", "--data", data, "--exchange", tmp_path / "other", *options)
        found = content(tmp_path / "other" / "jsts.eval-prompt.json")["config"]["prompts_sha256"]
        return str(found)

    own = content(prompts / "jsts.eval-prompt.json")["config"]["prompts_sha256"]
    assert hash_with() == own
    assert len({own, hash_with("-k", 3), hash_with("--max-tokens", 5), hash_with("-n", 2)}) == 4


@pytest.mark.parametrize("options", [[], ["--out", "x.jsonl", "--exchange", "x"]])
def test_prompts_go_to_one_place(data: Path, options: list[str]) -> None:
    done = jp_eval("prompts", "--data", data, *options)
    assert (done.exit_code, "exactly one of --out and --exchange" in done.stderr) == (2, True)


# Round trips

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
OUTPUTS = st.fixed_dictionaries({name: TEXTS | st.just("3.0") for name in IDS})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(OUTPUTS, st.booleans(), st.randoms(use_true_random=False))
def test_round_trips_lose_nothing(
    data: Path,
    prompts: Path,
    tmp_path: Path,
    outputs: dict[str, str],
    foreign: bool,
    order: random.Random,
) -> None:
    """Scores, samples and all are those of the same outputs as JSON lines, bit for bit."""

    def shuffled(record: dict[str, Any]) -> None:
        order.shuffle(record["samples"])

    place = generated(prompts, tmp_path / "gen", outputs, foreign=foreign, change=shuffled)
    asked = map(json.loads, jp_eval("prompts", "--data", data, "--out", "-").stdout.splitlines())
    lines = [json.dumps({**each, "output": outputs[each["id"]]}) + "\n" for each in asked]
    (tmp_path / "lines.jsonl").write_text("".join(lines), "utf-8")
    results = []
    for name in ("gen", "lines.jsonl"):
        done = score(data, tmp_path / name, "--out", tmp_path / f"{name}.scores", "-k", 4)
        assert done.exit_code == 0, done.output
        results.append(tmp_path / f"{name}.scores")
    for name in ("scores.json", "samples.parquet"):
        assert (results[0] / name).read_bytes() == (results[1] / name).read_bytes(), name
    one, other = (content(each / "result.json") for each in results)
    assert one == other
    assert place.is_dir()


def test_identical_samples_are_told_apart_by_order(tmp_path: Path) -> None:
    pairs = [("前提：雨\n仮説：水", "neutral")] * 3
    data = write_data(tmp_path / "data", {"jamp": pairs})
    jp_eval("prompts", "--data", data, "--exchange", tmp_path / "prompts", "-k", 0)
    outputs = {f"jamp/test/{n}": each for n, each in enumerate(("neutral", "no", None))}
    place = generated(tmp_path / "prompts", tmp_path / "gen", outputs, foreign=True)
    found = jp_json("score", place, "--data", data, "--shots", 0, "--allow-missing")
    assert found["scores"] == {"jamp_exact_match": 1 / 3}
    assert found["missing"] == {"jamp": 1}


EXAM = """
category = "RC"
metrics = ["char_f1"]
output_length = 20
"""


def test_tasks_of_users(data: Path, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "my-exam.toml").write_text(EXAM, "utf-8")
    pairs = [{"input": f"問{n}", "output": f"答{n}"} for n in range(6)]
    about = {"instruction": "答えよ。", "output_length": 20, "metrics": ["char_f1"]}
    for split in ("train", "test"):
        path = data / "evaluation" / split / "my-exam.json"
        write_file(path, {**about, "few_shots": [], "samples": pairs})
    options = ("--data", data, "--task-folder", tmp_path / "tasks")
    done = jp_eval("prompts", *options, "-t", "my-exam", "--exchange", tmp_path / "prompts")
    assert done.exit_code == 0, done.output
    place = generated(tmp_path / "prompts", tmp_path / "gen", {"my-exam/test/0": "違う"})
    found = jp_json("score", place, *options)
    assert found["scores"] == {"my-exam_char_f1": pytest.approx(5 / 6)}


def test_profiles_share_prompts(data: Path, prompts: Path, tmp_path: Path) -> None:
    outputs = {"jamp/test/0": "\n\nentailment"}  # which swallow cuts, too
    place = generated(prompts, tmp_path / "gen", {**outputs, "jamp/test/1": " contradiction"})
    found = jp_json("score", place, "--data", data, "--profile", "1.3.0,swallow", "-t", "jamp")
    scores = {name: each["scores"] for name, each in found["profiles"].items()}
    assert scores["1.3.0"]["jamp_exact_match"] == 0.0
    assert scores["swallow"]["jamp_exact_match"] == 0.5


@pytest.mark.parametrize(
    ("profile", "options", "n", "part"),
    [
        ("swallow", ("--shots", 4), 6, "|shots:4|"),
        ("swallow", (), 6, "|shots:4,jmmlu=5|"),
        ("nejumi3", ("--shots", 0), 5, "|shots:0|"),
        ("nejumi3", ("--shots", 0, "-n", 6), 6, "|n:6|shots:0|"),
    ],
)
def test_numbers_that_were_chosen_come_back(
    tmp_path: Path, profile: str, options: tuple[object, ...], n: int, part: str
) -> None:
    task = "jmmlu" if profile == "swallow" else "jmmlu_SymbolChoice"
    texts = [(f"質問：問{k}\n選択肢：A.あ,B.い", "A") for k in range(6)]
    data = write_data(tmp_path / "data", {"jmmlu": texts}, {"jmmlu": texts})
    for split in ("train", "test"):
        path = data / "evaluation" / split / "jmmlu.json"
        write_file(path, {**content(path), "instruction": "答えよ。", "output_length": 1})
    place, more = tmp_path / "prompts", () if task == "jmmlu" else ("-t", f"jmmlu,{task}")
    chosen = ("--data", data, "--profile", profile, *more, *options)
    done = jp_eval("prompts", *chosen, "--exchange", place)
    assert done.exit_code == 0, done.output
    found = jp_json("score", generated(place, tmp_path / "gen"), "--data", data)
    assert found["missing"] == {}
    assert {k.partition("@")[0]: v for k, v in found["samples"].items()}[task] == n
    assert part in found["signature"]


def test_prompts_of_another_profile_are_told(data: Path, tmp_path: Path) -> None:
    options = ("--profile", "swallow", "-t", "jamp", "--shots", 2)
    jp_eval("prompts", "--data", data, *options, "--exchange", tmp_path / "p")
    place = generated(tmp_path / "p", tmp_path / "gen", foreign=False)
    done = score(data, place, "--profile", "nejumi4", "-t", "jamp")
    assert "these prompts are of the profile swallow" in done.stderr


def test_chats_with_turns_do_not_fit(data: Path, tmp_path: Path) -> None:
    options = ("prompts", "--data", data, "-t", "jamp", "--exchange", tmp_path / "p")
    done = jp_eval(*options, "--profile", "nejumi4")
    refused = "chats of several turns: choose a single profile, or --shots 0"
    assert refused in done.stderr
    assert refused in jp_eval(*options, "--profile", "1.3.0,swallow").stderr
    assert jp_eval(*options, "--profile", "nejumi4", "--shots", 0).exit_code == 0
    place = generated(tmp_path / "p", tmp_path / "gen", {"jamp/test/1": "Contradiction"})
    found = jp_json("score", place, "--data", data)
    assert (found["profile"], found["scores"]) == ("nejumi4", {"jamp@0_exact_match": 1.0})


def test_ids_of_others_do_not_count(data: Path, prompts: Path, tmp_path: Path) -> None:
    def numbered(record: dict[str, Any]) -> None:
        for number, sample in enumerate(record["samples"]):
            sample["id"] = number
            del sample["digest"]

    place = generated(prompts, tmp_path / "gen", change=numbered)
    assert jp_json("score", place, "--data", data)["scores"]["jamp_exact_match"] == 1.0


def test_a_single_file_and_chosen_tasks(data: Path, prompts: Path, tmp_path: Path) -> None:
    place = generated(prompts, tmp_path / "gen")
    found = jp_json("score", place / "jamp.eval-generated.json", "--data", data)
    assert found["samples"] == {"jamp": 2}
    assert found["scores"] == {"jamp_exact_match": 1.0}
    assert jp_json("score", place, "--data", data, "-t", "jsts")["samples"] == {"jsts": 3}


def test_the_options_of_prompts_are_known(data: Path, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("{instruction}{few_shots_text}\n問：{input}\n答：", "utf-8")
    options = (
        "--data",
        data,
        "-k",
        2,
        "--template",
        tmp_path / "own.txt",
        "-n",
        1,
        "--max-tokens",
        9,
    )
    jp_eval("prompts", *options, "--exchange", tmp_path / "prompts")
    place = generated(tmp_path / "prompts", tmp_path / "gen")
    found = jp_json("score", place, "--data", data)
    assert set(found["samples"].values()) == {1}
    parts = found["signature"].split("|")
    assert {"n:1", "shots:2", "max_tokens:9"} <= {*parts}
    assert any(part.startswith("prompt:") for part in parts)
    refused = score(data, place, "--shots", 3)
    assert "made with shots=2, not 3: leave the option out" in refused.stderr


# What _config.json and thoughts say


VLLM = {
    "model": {"_target_": "vllm.LLM", "model": "org/m", "seed": 7},
    "tokenizer": {"pretrained_model_name_or_path": "org/t"},
    "generation_config": {"temperature": 0.6, "top_p": 0.95, "max_tokens": None},
    "pipeline_kwargs": {"apply_chat_template": True, "reasoning_parser": "deepseek_r1"},
}
OLD = {**VLLM, "dump_prompts_config": {"seed": 1, "model": "other"}, "time_profile": {"seed": 5}}
NEW = {
    **VLLM,
    "inference_result_info": {"dump_prompts_config": {"temperature": 1.0}, "benchmark": {}},
}


@pytest.mark.parametrize("config", [OLD, NEW])
def test_sampling_and_parser_are_recorded(
    data: Path, prompts: Path, tmp_path: Path, config: Any
) -> None:
    def thinking(record: dict[str, Any]) -> None:
        for sample in record["samples"][1:]:
            sample["reasoning_content"] = "考えた"

    place = generated(prompts, tmp_path / "gen", config=config, change=of_task("jamp", thinking))
    assert score(data, place, "--out", tmp_path / "out").exit_code == 0
    record, result = (content(tmp_path / "out" / f"{name}.json") for name in ("scores", "result"))
    assert (
        "|temperature:0.6|seed:7|top_p:0.95|mode:chat|reasoning_parser:deepseek_r1"
        in record["signature"]
    )
    assert record["inference"] == result["config"]["inference"]
    assert record["inference"]["model"] == "org/m"
    assert record["inference"]["thoughts"] == {"jamp": {"outputs": 1, "characters": 3}}
    assert record["profiles"]["1.3.0"]["scores"]["jamp_exact_match"] == 1.0


def test_thoughts_are_no_part_of_outputs(data: Path, prompts: Path, tmp_path: Path) -> None:
    def only_thinking(record: dict[str, Any]) -> None:
        record["samples"][0] |= {"generated": None, "reasoning_content": "entailment"}

    place = generated(prompts, tmp_path / "gen", change=of_task("jamp", only_thinking))
    assert score(data, place, "--out", tmp_path / "out").exit_code == 0
    samples = pl.read_parquet(tmp_path / "out" / "samples.parquet")
    assert samples.filter(task="jamp")["output"].to_list() == ["entailment", ""]


@pytest.mark.parametrize(
    "config",
    [
        {"a": {"seed": 1}, "b": {"seed": 2}},
        {
            "seed": True,
            "temperature": "0.5",
            "reasoning_parser": "x|profile:swallow",
            "model": "a\nb",
        },
        {"seed": 10**400, "temperature": float("inf"), "top_p": float("nan")},
        {"seed": None, "a": {"b": {"c": {"d": {"e": {"f": {"g": {"seed": 1}}}}}}}},
    ],
)
def test_what_is_not_certain_is_unknown(
    data: Path, prompts: Path, tmp_path: Path, config: Any
) -> None:
    found = jp_json("score", generated(prompts, tmp_path / "gen", config=config), "--data", data)
    assert found["signature"].endswith("|temperature:unknown|seed:unknown|top_p:unknown")
    assert "inference" not in found


def test_longer_outputs_and_system_prompts_are_told(
    data: Path, prompts: Path, tmp_path: Path
) -> None:
    def changed(record: dict[str, Any]) -> None:
        record["config"]["output_length_delta"] = 512
        for sample in record["samples"]:
            sample["system_prompt"] = "あなたは賢い。"

    signature = jp_json(
        "score", generated(prompts, tmp_path / "g", change=changed), "--data", data
    )["signature"]
    assert "|output_length_delta:512|system_prompt:" in signature


def test_reports_name_what_pipelines_did_otherwise(
    data: Path, prompts: Path, tmp_path: Path
) -> None:
    for name, config in (("with", VLLM), ("without", {**VLLM, "pipeline_kwargs": {}})):
        place = generated(prompts, tmp_path / "gen", config=config)
        assert score(data, place, "--out", tmp_path / name).exit_code == 0
    notes = jp_json("report", tmp_path / "with", tmp_path / "without")["notes"]
    assert "the runs differ in reasoning_parser: deepseek_r1, none" in notes
    assert "the runs differ in mode: chat, completion" in notes


# What is refused


def drop_first(record: dict[str, Any]) -> None:
    del record["samples"][0]


def test_missing_samples_are_missing_outputs(data: Path, prompts: Path, tmp_path: Path) -> None:
    place = generated(prompts, tmp_path / "gen", change=of_task("jamp", drop_first))
    done = score(data, place)
    assert done.exit_code == 2
    assert f"{place}: 1 output is missing: jamp/test/1; --limit" in done.stderr
    found = jp_json("score", place, "--data", data, "--allow-missing")
    assert (found["missing"], found["scores"]["jamp_exact_match"]) == ({"jamp": 1}, 0.5)


def first(**changes: Any) -> Change:
    return of_task("jamp", lambda record: record["samples"][0].update(changes))


def without(key: str) -> Change:
    return of_task("jamp", lambda record: record["samples"][0].pop(key))


def whole(**changes: Any) -> Change:
    return of_task("jamp", lambda record: record.update(changes))


def doubled(record: dict[str, Any]) -> None:
    record["samples"].append(record["samples"][1])


def lengthened(record: dict[str, Any]) -> None:
    record["samples"][0]["prompt"] += "x"


def numbered(n: object) -> Change:
    return lambda record: record["config"].update(n=n)


BAD: list[tuple[Change, str]] = [
    (of_task("jamp", doubled), "sample 2 appears twice"),
    (first(id="jamp/test/7"), "unknown id 'jamp/test/7': jamp has 2 samples"),
    (first(id="jamp/test/0"), "sample 1 appears twice"),
    (first(id=f"jamp/test/0#{16 * '0'}"), "sample 1 appears twice"),
    (first(id="jsts/test/0", prompt="さあ"), "the first is jamp/test/1, which says 'さあ'"),
    (
        first(digest=None, input="よそ"),
        "the input 'よそ' and the gold 'contradiction' is not in the data",
    ),
    (first(digest="", gold="よそ"), "and the gold 'よそ' is not in the data"),
    (
        first(prompt="さあ"),
        "the first is jamp/test/1, which says 'さあ' at character 0, not '以下は、",
    ),
    (of_task("jamp", lengthened), "which says 'x' at character 422, not ''"),
    *(
        (of_task("jamp", numbered(n)), f"'config' has n={n}: expected null or 1 or more")
        for n in (0, -3, True)
    ),
    (first(digest="0" * 64), "1 output answered prompts other than those here"),
    *(
        (first(digest=digest), "sample 0 'digest' must have 64 hexadecimal digits, not")
        for digest in ("0", "0" * 32, "g" * 64, 5, ["0" * 64])
    ),
    (first(digest="A" * 64), "1 output answered prompts other than those here"),
    (first(reasoning_content=["x"]), "sample 0 must have text under 'reasoning_content'"),
    (first(generated=5), "sample 0 must have text under 'generated'"),
    (without("prompt"), "sample 0 lacks the text 'prompt'"),
    (whole(output_length=8), "had at most 8 new tokens, not 3 (--max-tokens)"),
    (whole(target_dataset="../jamp"), "must have 'samples', and 'jamp' as its 'target_dataset'"),
    (whole(samples={}), "must have 'samples'"),
    (whole(samples=["x"]), "sample 0 lacks the text 'prompt'"),
    (
        whole(config={"output_length_delta": 9}),
        "jamp.eval-generated.json: was made with other settings than chabsa.",
    ),
]


@pytest.mark.parametrize(("change", "problem"), BAD)
def test_errors_name_file_and_sample(
    data: Path, prompts: Path, tmp_path: Path, change: Change, problem: str
) -> None:
    place = generated(prompts, tmp_path / "gen", change=change)
    done = score(data, place, "--out", tmp_path / "out")
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr
    assert str(place) in done.stderr
    assert "jamp" in done.stderr or "よそ" in done.stderr
    assert not (tmp_path / "out").exists()


def test_foreign_and_doubled_samples_without_ids(data: Path, prompts: Path, tmp_path: Path) -> None:
    place = generated(prompts, tmp_path / "a", foreign=True, change=of_task("jamp", doubled))
    assert "and the gold 'entailment' appears twice" in score(data, place).stderr
    place = generated(prompts, tmp_path / "b", foreign=True, change=first(gold="neutral"))
    assert "and the gold 'neutral' is not in the data" in score(data, place).stderr


def test_prompts_of_other_options_are_refused(data: Path, tmp_path: Path) -> None:
    jp_eval("prompts", "--data", data, "--exchange", tmp_path / "prompts", "-k", 2)
    place = generated(tmp_path / "prompts", tmp_path / "gen", foreign=True)
    done = score(data, place)
    assert done.exit_code == 2
    assert "the first is chabsa/test/0, which says" in done.stderr
    assert "choose --data, --shots and the other options of prompts as they were" in done.stderr
    assert score(data, place, "--shots", 2).exit_code == 0


def test_prompts_of_other_data_are_refused(data: Path, prompts: Path, tmp_path: Path) -> None:
    place = generated(prompts, tmp_path / "gen")
    other = write_data(tmp_path / "other", SAMPLES, {**SHOTS, "jamp": SHOTS["jamp"][::-1]})
    expected = "the first is jamp/test/0, made from another file train/jamp.json: choose --data"
    assert expected in score(other, place).stderr


def test_other_splits_and_mixed_dumps_are_refused(
    data: Path, prompts: Path, tmp_path: Path
) -> None:
    write_data(data, SAMPLES, SHOTS, "dev")
    jp_eval(
        "prompts", "--data", data, "--split", "dev", "--exchange", tmp_path / "dev", "-t", "jamp"
    )
    place = generated(tmp_path / "dev", tmp_path / "gen")
    assert "unknown id 'jamp/dev/1': jamp has 2 samples in" in score(data, place).stderr
    assert score(data, place, "--split", "dev").exit_code == 0
    options = ("prompts", "--data", data, "-t", "jamp", "-k", 1, "--exchange")
    refused = jp_eval(*options, prompts)
    assert ".eval-prompt.json: was made with other settings: choose another" in refused.stderr
    assert jp_eval("prompts", "--data", data, "-t", "jamp", "--exchange", prompts).exit_code == 0
    jp_eval(*options, tmp_path / "less")
    (tmp_path / "less" / "jamp.eval-prompt.json").replace(prompts / "jamp.eval-prompt.json")
    assert (
        "jamp.eval-generated.json: was made with other settings"
        in score(data, generated(prompts, place)).stderr
    )


@pytest.mark.parametrize("name", ["nowhere", "..", "NLI", "a b"])
def test_names_of_tasks_are_known_ones(data: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "gen" / f"{name}.eval-generated.json"
    write_file(path, {"target_dataset": name, "samples": []})
    done = score(data, tmp_path / "gen")
    assert f"unknown task {name!r}" in done.stderr
    assert done.exit_code == 2


def test_a_file_that_is_not_there(data: Path, tmp_path: Path) -> None:
    done = score(data, tmp_path / "jamp.eval-generated.json")
    assert "cannot be read: No such file" in done.stderr


def test_folders_of_something_else(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert read_exchange(tmp_path / "run") is None
    refused = "run: there is no TASK.eval-generated.json in it"
    assert refused in score(data, tmp_path / "run").stderr
    (tmp_path / "run" / "jamp.eval-prompt.json").write_text("{}", "utf-8")
    assert "run: has prompts, not outputs" in score(data, tmp_path / "run").stderr
    (tmp_path / "run" / "jamp.eval-generated.json").write_text("{\n", "utf-8")
    broken = score(data, tmp_path / "run").stderr
    assert ("is not JSON" in broken, "single line" in broken) == (True, False)
