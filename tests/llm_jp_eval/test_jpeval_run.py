"""Running a model on llm-jp-eval's tasks: requests, resuming, sharing, failures and scores."""

import json
import os
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import Result

from fault_server import Asked, Behaviour, FaultServer, Handler, answer, body, status
from helpers import SCRIPT, environment
from jpeval_data import SAMPLES, SHOTS, jp_eval, jp_json, write_data
from judging import engine_for
from pfgen_rs.ask.costs import Budget, Prices, token_counter
from pfgen_rs.ask.loop import Asked as Outcome
from pfgen_rs.ask.request import Respondent
from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, read_tasks
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, filled
from pfgen_rs.llm_jp_eval.registry import find_profile
from pfgen_rs.llm_jp_eval.report.runs import read_result
from pfgen_rs.llm_jp_eval.running import TaskRun, default_folder
from pfgen_rs.llm_jp_eval.scoring import ScoreSettings

MODEL = Respondent("openai-api", "judge")
GOLD = {text: output for pairs in SAMPLES.values() for text, output in pairs}
TOTAL = len(GOLD)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


@pytest.fixture
def datas(folder: Path) -> list[TaskData]:
    return read_tasks(folder, SAMPLES)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def input_of(prompt: str) -> str:
    return prompt.rpartition("\n\n### 入力:\n")[2].removesuffix("\n\n### 応答:\n")


def gold(handler: Handler, asked: Asked) -> None:
    """Give the gold answer, and count 7 tokens."""
    text = GOLD[input_of(asked.prompt)]
    reply = json.loads(body(text, asked.path.endswith("/chat/completions")))
    reply["usage"] = {"prompt_tokens": 5, "completion_tokens": 2}
    handler.reply(200, json.dumps(reply).encode())


def slowly(handler: Handler, asked: Asked) -> None:
    time.sleep(0.05)
    gold(handler, asked)


def run(folder: Path, out: Path, url: str, *more: object) -> Result:
    engine = ("-e", "openai", "--base-url", url, "--set", "retries=0")
    return jp_eval("run", "org/m", *engine, "--data", folder, "--out", out, *more)


def opened(out: Path, datas: list[TaskData]) -> TaskRun:
    made = TaskRun(out, datas, MODEL)
    made.open()
    return made


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "outputs.jsonl").read_bytes().splitlines()]


def content(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_a_run_asks_scores_and_asks_nothing_twice(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with FaultServer(default=gold) as server:
        done = run(folder, out, server.url)
        assert done.exit_code == 0, done.output
        assert f"{out}: 9 of 9 outputs, 9 new\n" in done.stdout
        assert "|profile:1.3.0|split:test|n:all|shots:4|avg:AVR|raw:" in done.stdout
        assert {asked.path for asked in server.asked} == {"/v1/completions"}
        sent = server.asked[0].body
        assert (sent["temperature"], sent["model"], "stop" in sent) == (0.0, "org/m", False)
        lengths = {input_of(a.prompt): a.body["max_tokens"] for a in server.asked}
        assert lengths["前提：雨\n仮説：水"] == 3
        assert lengths["文章：甲"] == 191
        again = run(folder, out, server.url, "--profile", "swallow")
        assert f"{out}: 7 of 7 outputs, 0 new\n" in again.stdout  # without chabsa
        assert len(server.asked) == TOTAL
    again = run(folder, out, "http://127.0.0.1:9/v1", "-f", "json")  # needs no engine any more
    assert (again.exit_code, json.loads(again.stdout)["profile"]) == (0, "1.3.0")
    assert json.loads(again.stdout)["scores"]["jamp_exact_match"] == 1.0
    names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    assert " ".join(names) == "config.json outputs.jsonl result.json samples.parquet scores.json"


def test_records_and_results_say_how_they_were_made(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with FaultServer(default=gold) as server:
        assert run(folder, out, server.url, "-t", "jamp", "--shots", 0).exit_code == 0
    record = records(out)[0]
    about = "id task split index sample digest output finish_reason"
    assert list(record) == f"{about} model usage left_out served seconds timestamp".split()
    assert record["seconds"] > 0
    assert record["usage"] == {"prompt_tokens": 5, "completion_tokens": 2}
    assert record["model"]["model"] == "org/m"
    config = content(out / "config.json")
    assert (config["kind"], config["tasks"], config["shots"]) == ("llm-jp-eval", ["jamp"], 0)
    assert (config["split"], config["n"]) == ("test", None)
    assert config["data"].keys() == {"test/jamp.json", "train/jamp.json"}
    signature = content(out / "scores.json")["signature"]
    assert content(out / "result.json")["config"] == {**config, "signature": signature}
    assert read_result(out / "result.json").sampled == {"jamp_exact_match"}
    frame = pl.read_parquet(out / "samples.parquet")
    assert frame["output"].to_list() == ["entailment", "contradiction"]


def test_tasks_samples_and_splits_are_added(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    write_data(folder, SAMPLES, SHOTS, "dev")
    with FaultServer(default=gold) as server:
        run(folder, out, server.url, "-t", "jamp", "-n", 1)
        assert len(server.asked) == 1
        assert "n:1|" in content(out / "scores.json")["signature"]
        run(folder, out, server.url, "-t", "jamp,QA,RC")
        assert len(server.asked) == 4
        done = run(folder, out, server.url, "-t", "jamp", "--split", "dev")
        assert (done.exit_code, len(server.asked)) == (0, 6)
    assert {r["id"] for r in records(out)[-2:]} == {"jamp/dev/0", "jamp/dev/1"}
    config = content(out / "config.json")
    assert config["data"].keys() >= {"test/jsquad.json", "dev/jamp.json"}


OTHER_SETTINGS: list[tuple[list[object], str]] = [
    (["--shots", 2], "was started with shots=4, now 2: choose another folder with --out"),
    (["--chat"], "was started with chat=False, now True"),
    (["--max-tokens", 7], "was started with max_tokens=None, now 7"),
    (["--seed", 2], "was started with seed=1, now 2"),
    (["--temperature", "none"], "was started with temperature=0.0, now None"),
]


def test_other_settings_data_and_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with FaultServer(default=gold) as server:
        run(folder, out, server.url, "-t", "jamp")
        before = {path.name: path.read_bytes() for path in out.iterdir()}
        for options, message in OTHER_SETTINGS:
            done = run(folder, out, server.url, "-t", "jamp", *options)
            assert (done.exit_code, message in done.stderr) == (2, True)
            assert {path.name: path.read_bytes() for path in out.iterdir()} == before
        path = folder / "evaluation/test/jamp.json"
        path.write_bytes(path.read_bytes() + b"\n")
        config, changed = out / "config.json", "was started with another file test/jamp.json"
        assert changed in run(folder, out, server.url, "-t", "jamp").stderr
        config.write_text('{"kind": "grade"}')
        foreign = "is not the folder of a run of llm-jp-eval"
        assert foreign in run(folder, out, server.url, "-t", "jamp").stderr
        config.unlink()
        lost = "has outputs but no config.json: choose another folder"
        assert lost in run(folder, out, server.url, "-t", "jamp").stderr
        assert len(server.asked) == 2


def test_failures_are_told_and_asked_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    prompts = {input_of(p): p for p in all_prompts(folder)}
    script: dict[str, list[Behaviour]] = {
        prompts["前提：火\n仮説：水"]: [status(400, "too long")],
        prompts["文章：乙"]: [answer("\ud800"), status(400)],
    }
    with FaultServer(script, gold) as server:
        done = run(folder, out, server.url)
        assert done.exit_code == 1, done.output
        assert f"{out}: 7 of 9 outputs, 7 new" in done.stdout
        assert "jamp/test/1: " in done.stderr
        assert "chabsa/test/1: the output contains a lone surrogate" in done.stderr
        assert "not scored, because outputs are missing: --allow-missing counts" in done.stderr
        assert not (out / "scores.json").exists()
        done = run(folder, out, server.url, "--allow-missing")
        assert (done.exit_code, len(server.asked)) == (1, 11)
        assert "1 output was missing and counts as empty" in done.stderr
        assert content(out / "scores.json")["missing"] == {"chabsa": 1}
        done = run(folder, out, server.url)
        assert (done.exit_code, len(server.asked)) == (0, 12)
    assert content(out / "scores.json")["missing"] == {}


def all_prompts(folder: Path) -> list[str]:
    settings, datas = PromptSettings(), read_tasks(folder, SAMPLES)
    return [filled(settings.template(data), each.input) for data in datas for each in data.samples]


def test_chats_and_templates_of_ones_own(folder: Path, tmp_path: Path) -> None:
    own, examples = tmp_path / "own.txt", tmp_path / "examples.txt"
    own.write_text("{few_shots_text}問 {input}", encoding="utf-8")
    examples.write_text("例 {input} {output}\n", encoding="utf-8")
    given = ["-k", 1, "--template", own, "--fewshots-template", examples, "--chat", "-t", "jsts"]
    with FaultServer(default=answer("3")) as server:
        done = run(folder, tmp_path / "run", server.url, *given, "--max-tokens", 9)
        assert done.exit_code == 0, done.output
        asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    sent = [a.body["messages"] for a in server.asked]
    expected = "例 文1：例0\n文2：文 0.0\n問 文1：甲0\n文2：乙"
    assert [{"role": "user", "content": expected}] in sent
    assert asked.body["max_tokens"] == 9
    assert "|prompt:" in done.stdout
    assert "|mode:chat|max_tokens:9" in done.stdout


def test_the_budget_counts_over_all_groups(datas: list[TaskData], tmp_path: Path) -> None:
    prices, counter = Prices(0.0, 1_000_000.0), token_counter("judge")
    made = opened(tmp_path / "run", datas)
    budget = Budget(206.0, prices, counter, made.groups)
    with FaultServer(default=gold) as server, closing(engine_for(server.url)) as engine:
        found = made.ask(engine, budget=budget)
        assert len(server.asked) == 8
    # Two outputs of at most 191 tokens: when 14 are spent, there is room for one, and after it for none.
    assert (found.stored, found.unaffordable, found.spent, found.complete) == (8, 1, 16.0, False)


def test_progress_counts_all_groups(datas: list[TaskData], tmp_path: Path) -> None:
    told: list[tuple[int, int, int]] = []

    def tell(done: int, total: int, _: float, failed: int) -> None:
        told.append((done, total, failed))

    script = {all_prompts(tmp_path / "data")[0]: [status(400)]}
    with FaultServer(script, gold) as server, closing(engine_for(server.url)) as engine:
        made = opened(tmp_path / "run", datas)
        made.ask(engine, progress=tell)
        assert {total for _, total, _ in told} == {TOTAL}
        assert told[-1] == (8, TOTAL, 1)
        assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
        told.clear()
        found = made.ask(engine, progress=tell)
    assert told[0] == (8, TOTAL, 0)
    assert told[-1] == (9, TOTAL, 0)
    assert found == Outcome(TOTAL, TOTAL, 1)


def test_what_others_answer_meanwhile_counts(datas: list[TaskData], tmp_path: Path) -> None:
    made = opened(tmp_path / "run", datas)
    first = made.groups[0]
    request = first.requests[0]
    about = {**request.about, "sample": 0, "digest": request.digest(first.respondent)}
    other, lock = made.journal(), threading.Lock()

    def meanwhile(handler: Handler, asked: Asked) -> None:
        if asked.body["max_tokens"] > 3:  # after the first group
            with lock:  # a journal is for one thread; each request has its own here
                other.add({**about, "output": "x"})
        gold(handler, asked)

    with FaultServer(default=meanwhile) as server, closing(engine_for(server.url)) as engine, other:
        assert other.claim(other.key(about))
        found = made.ask(engine)
    assert (found.stored, found.new, found.elsewhere, found.complete) == (9, 8, 0, True)


def test_hostile_outputs_and_samples(tmp_path: Path) -> None:
    hostile = "{input} {{0}} \0 \x1b[31m \u2028 \U0010ffff"
    samples = {"jsquad": [(hostile, hostile), ("long", "x" * 1_000_000)]}
    folder = write_data(tmp_path / "data", samples, {"jsquad": [(hostile, hostile)] * 4})
    datas = read_tasks(folder, samples)

    def echo(handler: Handler, asked: Asked) -> None:
        text = input_of(asked.prompt)
        handler.reply(200, body("x" * 1_000_000 if text == "long" else text))

    made = opened(tmp_path / "run", datas)
    with FaultServer(default=echo) as server, closing(engine_for(server.url)) as engine:
        assert made.ask(engine).complete
    _, found = made.score()
    assert found.scores == {"jsquad_char_f1": 1.0}
    assert found.frame["output"].to_list() == [hostile, "x" * 1_000_000]


def test_requests_are_grouped_by_length(datas: list[TaskData]) -> None:
    limited = ScoreSettings(n=1, prompts=PromptSettings(max_tokens=8))
    for settings, sizes in ((ScoreSettings(), [(3, 5), (25, 2), (191, 2)]), (limited, [(8, 4)])):
        groups = TaskRun(Path(), datas, MODEL, settings).groups
        assert [(g.respondent.max_tokens, len(g.requests)) for g in groups] == sizes


def test_damaged_journals_are_told_with_their_line(datas: list[TaskData], tmp_path: Path) -> None:
    made = opened(tmp_path / "run", datas)
    for lines, told in (
        ('{"id": "jamp/test/0", "output": 3}\n', "a record lacks 'id' or 'output'"),
        ('{"id": "jamp/test/0", "output": "3"}\n{"id"\n', "line 2: is not JSON"),
    ):
        (made.folder / "outputs.jsonl").write_text(lines)
        with pytest.raises(InputError, match=told):
            made.score()


def test_folders_are_named_after_models_which_people_are_not() -> None:
    assert default_folder("org/model") == Path("runs/llm-jp-eval/org--model")
    assert default_folder("/models/x/") == Path("runs/llm-jp-eval/models--x")
    odd = {default_folder(name).parent for name in ("", ".", "..", "/")}
    assert odd == {Path("runs/llm-jp-eval")}
    assert default_folder("..").resolve().parent == Path("runs/llm-jp-eval").resolve()
    done = jp_eval("run", "m", "-e", "manual")
    assert "the engine manual is not supported" in done.output


def test_results_have_averages_if_all_tasks_were_asked_for(folder: Path, tmp_path: Path) -> None:
    def scores(out: str) -> dict[str, str]:
        found = content(tmp_path / out / "result.json")["scores"]
        assert isinstance(found, dict)
        return found

    with FaultServer(default=gold) as server:
        run(folder, tmp_path / "all", server.url)
        run(folder, tmp_path / "named", server.url, "-t", ",".join(SAMPLES))
    assert (scores("all")["NLI"], scores("all")["MR"]) == ("1.0000", "0.0000")
    assert scores("named").keys() == {*scores("all")} - {"AVG", *find_profile("1.3.0").categories}
    outputs = tmp_path / "all/outputs.jsonl"
    jp_eval("score", outputs, "-d", folder, "-o", tmp_path / "some")
    jp_eval("score", outputs, "-d", folder, "-o", tmp_path / "every", "-t", "all")
    assert scores("some") == scores("named")
    assert scores("every") == scores("all")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    samples = {"jamp": [(f"前提：{n}\n仮説：{n}", "neutral") for n in range(60)]}
    samples["jsquad"] = [(f"文章：{n}\n質問：{n}", "答え") for n in range(20)]
    for text, output in (pair for pairs in samples.values() for pair in pairs):
        monkeypatch.setitem(GOLD, text, output)
    return write_data(tmp_path / "large", samples)


def start(folder: Path, out: Path, url: str) -> subprocess.Popen[str]:
    words = ["llm-jp-eval", "run", "org/m", "-e", "openai", "--base-url", url, "-d", folder]
    return subprocess.Popen(
        [SCRIPT, *map(str, words), "-o", out, "--concurrency", "4"],
        env=environment(OPENAI_API_KEY="none"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_run_goes_on_where_it_stopped(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    journal = out / "outputs.jsonl"
    with FaultServer(default=slowly) as server:
        process = start(large, out, server.url)
        while not journal.exists() or journal.read_bytes().count(b"\n") < 20:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.kill()
        process.communicate()
        with journal.open("ab") as file:
            file.write(b'{"id": "jamp/test/59", "torn')
        whole = [x for x in journal.read_bytes().splitlines(keepends=True) if x.endswith(b"\n")]
        before = len(server.asked)
        process = start(large, out, server.url)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        assert len(server.asked) - before == 80 - len(whole)
    assert f"80 of 80 outputs, {80 - len(whole)} new" in stdout
    assert len({r["id"] for r in records(out)}) == len(records(out)) == 80
    assert journal.read_bytes().startswith(b"".join(whole))
    assert content(out / "scores.json")["samples"] == {"jamp": 60, "jsquad": 20}


@pytest.mark.skipif(os.name == "nt", reason="no locks")
def test_processes_share_a_run(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with FaultServer(default=slowly) as server:
        processes = [start(large, out, server.url) for _ in range(2)]
        ends = [process.communicate(timeout=90) for process in processes]
        assert [process.returncode for process in processes] == [0, 0], ends
        assert len(server.asked) == 80
    assert len({r["id"] for r in records(out)}) == len(records(out)) == 80
    found = content(out / "scores.json")["profiles"]["1.3.0"]["scores"]
    assert found == {"jamp_exact_match": 1.0, "jsquad_char_f1": 1.0}


# Outputs are those of the samples, and the signature says how they were made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and a run with three examples that answered everything right."""
    place = tmp_path_factory.mktemp("made")
    write_data(place / "data")
    with pytest.MonkeyPatch.context() as patch, FaultServer(default=gold) as server:
        patch.setenv("OPENAI_API_KEY", "none")
        assert run(place / "data", place / "run", server.url, "--shots", 3).exit_code == 0
    return place


def reversed_data(folder: Path) -> Path:
    return write_data(folder, {**SAMPLES, "jamp": SAMPLES["jamp"][::-1]})


def scored(outputs: Path, data: Path, *more: object) -> Any:
    return jp_json("score", outputs, "-d", data, *more)


def answered_prompts(place: Path, data: Path) -> Path:
    """Right outputs to the prompts of `prompts`, with their digests."""
    jp_eval("prompts", "-d", data, "-k", 3, "-o", place / "prompts.jsonl")
    lines = [json.loads(x) for x in (place / "prompts.jsonl").read_bytes().splitlines()]
    for line in lines:
        line["output"] = GOLD[input_of(line.pop("prompt"))]
    write_objects(place / "answered.jsonl", lines)
    return place / "answered.jsonl"


@pytest.mark.parametrize("kind", ["run", "copied outputs", "outputs of prompts"])
def test_outputs_for_reordered_samples_are_refused(kind: str, made: Path, tmp_path: Path) -> None:
    outputs = made / "run" / "outputs.jsonl"
    if kind == "copied outputs":
        outputs = tmp_path / "copied.jsonl"
        outputs.write_bytes((made / "run" / "outputs.jsonl").read_bytes())
    elif kind == "outputs of prompts":
        outputs = answered_prompts(tmp_path, made / "data")
    shots = () if kind == "run" else ("--shots", 3)
    assert scored(outputs, made / "data", *shots)["scores"]["jamp_exact_match"] == 1.0
    done = jp_eval("score", outputs, "-d", reversed_data(tmp_path / "data"), *shots)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "by their digests, 2 outputs answered prompts other than those here" in done.stderr
    assert "the first is jamp/test/0: choose --data" in done.stderr
    less = jp_eval("score", outputs, "-d", tmp_path / "data", "-t", "jsts,EL", *shots)
    assert less.exit_code == 0  # the other tasks are the same


def test_outputs_of_a_run_are_signed_as_the_run_is(made: Path, tmp_path: Path) -> None:
    signature = content(made / "run" / "scores.json")["signature"]
    assert "|shots:3|" in signature
    assert signature.endswith("|temperature:0|seed:1|top_p:default")
    outputs = made / "run" / "outputs.jsonl"
    assert scored(outputs, made / "data", "-o", tmp_path / "s")["signature"] == signature
    result = content(tmp_path / "s" / "result.json")
    assert result == content(made / "run" / "result.json") | {
        "config": result["config"],
        "scores": result["scores"],
    }
    assert scored(outputs, made / "data", "--shots", 3)["signature"] == signature
    (tmp_path / "copied.jsonl").write_bytes(outputs.read_bytes())
    assert scored(tmp_path / "copied.jsonl", made / "data", "-k", 3)["signature"] == signature
    done = jp_eval("score", tmp_path / "copied.jsonl", "-d", made / "data")
    assert "9 outputs answered prompts other than" in done.stderr  # those with four examples
    for option, told in (
        (("--shots", 4), "shots=3, not 4"),
        (("--chat",), "chat=False, not True"),
        (("--max-tokens", 7), "max_tokens=None, not 7"),
    ):
        done = jp_eval("score", outputs, "-d", made / "data", *option)
        assert f"the run was made with {told}: leave the option out" in done.stderr


def test_what_is_not_known_of_outputs_is_named_unknown(made: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "o.jsonl"
    texts = [{"id": r["id"], "output": r["output"]} for r in records(made / "run")]
    write_objects(outputs, texts)
    unknown = "temperature:unknown|seed:unknown|top_p:unknown"
    found = scored(outputs, made / "data", "-o", tmp_path / "s")["signature"]
    assert "|shots:unknown|" in found
    assert found.endswith(f"|{unknown}|max_tokens:unknown")
    result = content(tmp_path / "s" / "result.json")
    assert {each["prompt"] for each in result["outputs"]["jamp"]} == {"{input}"}
    found = scored(outputs, made / "data", "-k", 3, "--max-tokens", 9, "--chat")["signature"]
    assert "|shots:3|" in found
    assert found.endswith(f"|{unknown}|mode:chat|max_tokens:9")
    answered = answered_prompts(tmp_path, made / "data")
    assert scored(answered, made / "data", "-k", 3)["signature"].endswith(f"|{unknown}")


def test_parameters_that_a_server_refused_are_signed_as_its_own(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("config.json", "outputs.jsonl"):
        text = (made / "run" / name).read_text("utf-8")
        changed = text.replace('"left_out": []', '"left_out": ["seed"]', 1)
        (folder / name).write_text(changed, "utf-8")
    found = scored(folder / "outputs.jsonl", made / "data")["signature"]
    assert found.endswith("|temperature:0|seed:default|top_p:default")
    again = run(made / "data", folder, "http://127.0.0.1:9/v1", "--shots", 3, "-f", "json")
    assert json.loads(again.stdout)["signature"] == found


@pytest.mark.parametrize("profiles", [[1], {"1.3.0": 5}, "swallow", None])
def test_damaged_settings_of_profiles_are_refused(
    profiles: object, made: Path, tmp_path: Path
) -> None:
    config = content(made / "run" / "config.json") | {"profiles": profiles}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    done = run(made / "data", tmp_path, "http://127.0.0.1:9/v1", "--shots", 3)
    assert "is not the folder of a run of llm-jp-eval" in done.stderr


def test_outputs_of_several_models_are_refused(made: Path, tmp_path: Path) -> None:
    lines = records(made / "run")
    lines[0]["model"]["model"] = "org/other"
    write_objects(tmp_path / "o.jsonl", lines)
    done = jp_eval("score", tmp_path / "o.jsonl", "-d", made / "data", "-k", 3)
    assert "has outputs of several models (org/m, org/other): score those of" in done.stderr


@pytest.mark.parametrize("digest", ["0" * 32, 5, "x"])
def test_damaged_digests_are_refused(digest: object, made: Path, tmp_path: Path) -> None:
    lines = [{**each, "digest": digest} for each in records(made / "run")]
    write_objects(tmp_path / "o.jsonl", lines)
    done = jp_eval("score", tmp_path / "o.jsonl", "-d", made / "data", "-k", 3)
    assert "o.jsonl, line 1: 'digest' must have 64 hexadecimal digits" in done.stderr


def test_requests_that_failed_are_told(made: Path, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"custom_id": "jamp/test/0", "response": None, "error": {"message": "too long"}},
        {
            "custom_id": "jamp/test/1",
            "response": {"status_code": 500, "body": {"error": {"message": "down"}}},
            "error": None,
        },
    ]
    write_objects(tmp_path / "o.jsonl", lines)
    done = jp_eval("score", tmp_path / "o.jsonl", "-d", made / "data", "--allow-missing")
    assert '2 requests failed, the first with {"message": "too long"}' in done.stderr


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "other"}', '{"kind": "llm-jp-eval"}'])
def test_a_config_of_another_program_says_nothing(text: str, made: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text, "utf-8")
    (tmp_path / "outputs.jsonl").write_bytes((made / "run" / "outputs.jsonl").read_bytes())
    found = scored(tmp_path / "outputs.jsonl", made / "data", "--shots", 3)
    assert found["scores"]["jamp_exact_match"] == 1.0
