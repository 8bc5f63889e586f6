"""Files of other tools: recognised by content, and scored as the same answers in pfgen-bench's own layout."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import CATS, GOOD, SEAS, lines, pfgen, write_benchmark
from pfgen_rs import Benchmark, InputError, load_benchmark, scan, score_file, score_runs

Records = list[dict[str, Any]]
CASES = 40


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path / "tiny")).prepare()


def chat(question: str, answer: str) -> Records:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def completion(answer: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer, **more}
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message}],
        "usage": {"total_tokens": 1},
    }


def openai(index: int, answer: str, **more: Any) -> dict[str, Any]:
    body = completion(answer, **more)
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": f"b{index}", "custom_id": f"request-{index}", "response": response, "error": None}


def anthropic(name: str, answer: str) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": "考え"}, {"type": "text", "text": answer}]
    message = {"role": "assistant", "content": content, "stop_reason": "end_turn"}
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def lm_eval(index: int, question: str, answers: Any, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": index,
        "doc": {"question": question, "answer": "模範"},
        "target": "模範",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {question}\nA:", "arg_1": {"until": []}}},
        "resps": answers,
        "filtered_resps": answers,
        "doc_hash": "x",
        **more,
    }


def sample(index: int, question: Any, answer: str, **more: Any) -> dict[str, Any]:
    return {
        "id": index,
        "epoch": 1,
        "input": question,
        "target": "模範",
        "messages": chat(question, answer) if isinstance(question, str) else question,
        "output": completion(answer) | {"completion": answer},
        "metadata": {"by": "us"},
        **more,
    }


FEW_SHOT = "次の質問に答えてください。\n\nQ: 空とは何ですか？\nA: 空です。\n\nQ: {}\nA:"
# Layout: (its name, what its records are).
LAYOUTS: dict[str, tuple[str, Callable[[int, str, str], dict[str, Any]]]] = {
    "prompt/response": ("prompt-response", lambda _, q, a: {"prompt": q, "response": a}),
    "instruction/output": (
        "prompt-response",
        lambda _, q, a: {"instruction": q, "input": "", "output": a},
    ),
    "input/generated_text": ("prompt-response", lambda _, q, a: {"input": q, "generated_text": a}),
    "question/prediction": ("prompt-response", lambda _, q, a: {"question": q, "prediction": a}),
    "chats as prompts": (
        "prompt-response",
        lambda _, q, a: {"prompt": chat(q, a)[:1], "completion": chat(q, a)[1:]},
    ),
    "few-shot prompts": (
        "prompt-response",
        lambda _, q, a: {"prompt": FEW_SHOT.format(q), "response": a},
    ),
    "messages": (
        "chat",
        lambda _, q, a: {"messages": [*chat("前の質問", "前の答え"), *chat(q, a)]},
    ),
    "conversations": (
        "chat",
        lambda _, q, a: {
            "conversations": [{"from": "human", "value": q}, {"from": "gpt", "value": a}]
        },
    ),
    "parts": (
        "chat",
        lambda _, q, a: {"messages": [said("user", q), said("assistant", a)]},
    ),
    "lm-eval 0.4": ("lm-eval", lambda i, q, a: lm_eval(i, q, [[a]])),
    "lm-eval, flat": ("lm-eval", lambda i, q, a: lm_eval(i, q, [a], filter="none")),
    "lm-eval, text": ("lm-eval", lambda i, q, a: lm_eval(i, q, a)),
    "lm-eval, other fields": (
        "lm-eval",
        lambda i, q, a: lm_eval(i, q, [[a]]) | {"doc": {"text": q}},
    ),
    "inspect_ai": ("inspect", lambda i, q, a: sample(i, q, a)),
    "inspect_ai, messages": ("inspect", lambda i, q, a: sample(i, chat(q, a)[:1], a)),
    "batch with our ids": (
        "openai-batch",
        lambda i, q, a: openai(i, a) | {"custom_id": f"{i}/{q}"},
    ),
    "batch with ids of questions": (
        "openai-batch",
        lambda i, q, a: openai(i, a) | {"custom_id": {CATS: "Q01", SEAS: "Q02"}[q]},
    ),
    "vLLM": (
        "openai-batch",
        lambda i, q, a: openai(i, a, reasoning_content="考え") | {"custom_id": f"{i}/{q}"},
    ),
    "responses": (
        "openai-batch",
        lambda i, q, a: {
            "custom_id": f"{i}/{q}",
            "response": {
                "status_code": 200,
                "body": {
                    "output": [
                        {"type": "reasoning", "summary": []},
                        {
                            "type": "message",
                            "role": "assistant",
                            "content": [{"type": "output_text", "text": a}],
                        },
                    ]
                },
            },
        },
    ),
    "Anthropic": ("anthropic-batch", lambda i, q, a: anthropic(f"{i}/{q}", a)),
}


def records(name: str) -> Records:
    return [LAYOUTS[name][1](i, *pair) for i, pair in enumerate(GOOD)]


def written(path: Path, found: Records) -> Path:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in found)
    path.write_text(text, encoding="utf-8")
    return path


def scores(path: Any, bench: Benchmark, **how: Any) -> list[tuple[Any, ...]]:
    frame = score_file(path, bench, **how).frame
    return frame.select("question_id", "answer", pl.selectors.float()).rows()


@pytest.fixture
def wanted(tmp_path: Path, bench: Benchmark) -> list[tuple[Any, ...]]:
    path = tmp_path / "own.jsonl"
    path.write_bytes(lines())
    return scores(path, bench)


@pytest.mark.parametrize("shape", ["lines", "array", "Parquet", "chosen"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_has_the_same_scores(
    name: str, shape: str, bench: Benchmark, tmp_path: Path, wanted: list[tuple[Any, ...]]
) -> None:
    found = records(name)
    path = written(tmp_path / "answers.jsonl", found)
    if shape == "array":
        path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if shape == "Parquet":
        path = tmp_path / "answers.parquet"
        pl.DataFrame(found, strict=False).write_parquet(path)
    how: dict[str, Any] = {"layout": LAYOUTS[name][0]} if shape == "chosen" else {}
    assert scores(path, bench, **how) == wanted
    result = score_file(path, bench, **how)
    assert result.read_as.layout == LAYOUTS[name][0]
    assert result.frame["line"].to_list() == [1, 2, 3, 4]
    samples = [s for q in result.to_dict()["questions"].values() for s in q["samples"]]
    assert {s["answer"] for s in samples} == {answer for _, answer in GOOD}


def mutated(value: Any, draw: random.Random) -> Any:
    """A JSON value in which something within is gone, empty or of another type."""
    inner = list(value.items() if isinstance(value, dict) else enumerate(value))
    key, old = draw.choice(inner)
    copy = value.copy()
    if isinstance(old, dict | list) and old and draw.random() < 0.75:
        copy[key] = mutated(old, draw)
    elif draw.random() < 0.5:
        del copy[key]
    else:
        copy[key] = draw.choice([None, [], {}, 3, True, [3], {"a": 1}])
    return copy


@pytest.mark.parametrize("name", LAYOUTS)
def test_mutated_records_are_refused_or_score_the_same(
    name: str, bench: Benchmark, tmp_path: Path, wanted: list[tuple[Any, ...]]
) -> None:
    draw = random.Random(name)
    for _ in range(CASES):
        found = records(name)
        row = draw.randrange(len(found))
        found[row] = mutated(found[row], draw)
        path, refused = written(tmp_path / "mutated.jsonl", found), None
        try:
            result = score_file(path, bench)
        except InputError as error:
            refused = error
        if refused is not None:
            first = row + 1  # or the next one, which is not like it
            assert refused.line in (first, first + 1), (refused, found[row])
            continue
        same = result.frame.select("question_id", "answer", pl.selectors.float()).rows() == wanted
        assert same or result.empty == 1, found[row]  # an answer of null, which is warned of


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_in_memory(name: str, bench: Benchmark, wanted: list[tuple[Any, ...]]) -> None:
    found = records(name)
    assert scores(found, bench) == scores(pl.DataFrame(found), bench) == wanted


def batch(folder: Path, requests: dict[str, list[str]]) -> Path:
    """Outputs of a batch, and files of requests for these questions."""
    folder.mkdir(exist_ok=True)
    for file, asked in requests.items():
        bodies = [
            {"model": "m", "messages": [said("system", "簡潔に。"), said("user", question)]}
            for question in asked
        ]
        made = [{"custom_id": f"request-{i}", "body": body} for i, body in enumerate(bodies)]
        written(folder / file, made)
    return written(folder / "out.jsonl", [openai(i, a) for i, (_, a) in enumerate(GOOD)])


ASKED = [question for question, _ in GOOD]


def test_a_batch_is_joined_with_its_requests(
    bench: Benchmark, tmp_path: Path, wanted: list[tuple[Any, ...]]
) -> None:
    outputs = batch(tmp_path / "one", {"in.jsonl": ASKED})
    assert scores(outputs, bench) == wanted
    read = f"question from the requests in {tmp_path / 'one' / 'in.jsonl'}"
    assert read in str(score_file(outputs, bench).read_as)
    with pytest.raises(InputError, match="name the requests of the batch with --requests"):
        score_file(batch(tmp_path / "none", {}), bench)
    several = batch(tmp_path / "two", {"in.jsonl": ASKED, "again.jsonl": ASKED[::-1]})
    with pytest.raises(InputError, match=r"could be in .*again.jsonl or .*in.jsonl"):
        score_file(several, bench)
    assert scores(several, bench, requests=tmp_path / "two" / "in.jsonl") == wanted
    short = batch(tmp_path / "short", {"in.jsonl": ASKED[:3]})
    with pytest.raises(InputError, match=r"line 4: no request in .* has the custom_id 'request-3'"):
        score_file(short, bench)


@pytest.mark.parametrize("name", ["few-shot prompts", "lm-eval 0.4", "chats as prompts"])
def test_every_layout_can_be_scanned(name: str, bench: Benchmark, tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", records(name))
    found = scan(path, bench).select("question_id", "average").collect()
    assert found.equals(score_file(path, bench).frame.select("question_id", "average"))
    if name == "few-shot prompts":
        assert scan(pl.scan_ndjson(path), bench).select("average").collect().equals(found[:, 1:])


def test_prompts_and_reasoning_are_counted(bench: Benchmark, tmp_path: Path) -> None:
    several = f"例：{SEAS}→青い光。\n問い：{CATS}\n答え："
    found = [
        {"prompt": several, "response": "<think>\n狩り？\n</think>\n\n力をためます。"},
        {"prompt": f"問い：{SEAS}\n答え：", "response": "赤い光"},
        {"prompt": SEAS, "response": "赤い光"},
    ]
    result = score_file(written(tmp_path / "a.jsonl", found), bench)
    assert result.frame["question_id"].to_list() == ["Q01", "Q02", "Q02"]
    assert result.frame["answer"][0] == "力をためます。"
    assert str(result.read_as) == (
        "read as prompts and responses: question from prompt, answer from response; 2 prompts contain a "
        "question, 1 of them several, of which the last counts; reasoning left out of 1 answer"
    )
    kept = score_file(tmp_path / "a.jsonl", bench, think="keep")
    assert kept.frame["answer"][0] == found[0]["response"]
    own = [{"question": "Q01", "answer": found[0]["response"]}]
    plain = score_file(written(tmp_path / "own.jsonl", own), bench)
    assert plain.frame["answer"].to_list() == [own[0]["answer"]]  # as it was published
    done = pfgen("score", tmp_path / "own.jsonl", "-b", tmp_path / "tiny")
    assert "1 of 1 answer contains <think>" in done.stderr
    stripped = score_file(tmp_path / "own.jsonl", bench, think="strip")
    assert stripped.frame["answer"].to_list() == ["力をためます。"]


# What: (records, what is said).
AMBIGUOUS: dict[str, tuple[Records, str]] = {
    "two answers": (
        [{"question": CATS, "answer": "模範", "prediction": "猫"}],
        "the answer could be 'answer' or 'prediction'",
    ),
    "two questions": (
        [{"prompt": CATS, "instruction": "答えて", "response": "猫"}],
        "the question could be 'prompt' or 'instruction'",
    ),
    "two filters": (
        [lm_eval(0, CATS, [["猫"]], filter=name) for name in ("strict", "flexible")],
        "line 2: the filters 'strict' and 'flexible' repeat the same answers",
    ),
    "nothing known": ([{"q": CATS, "a": "猫"}], "missing 'question' and 'answer': found 'q', 'a'"),
    "a chat without an answer": (
        [{"messages": [*chat(CATS, "猫"), said("user", "ありがとう")]}],
        "does not end with an answer",
    ),
    "a failed request": (
        [openai(0, "猫") | {"error": {"code": "x"}}],
        "'request-0' failed: --skip-bad-lines leaves it out",
    ),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_is_ambiguous_is_refused(name: str, bench: Benchmark, tmp_path: Path) -> None:
    found, said = AMBIGUOUS[name]
    with pytest.raises(InputError, match=said):
        score_file(written(tmp_path / "a.jsonl", found), bench)
    if name != "two filters":
        with pytest.raises(InputError, match=said.removeprefix("line 2: ")):
            bench.evaluate(found)


def test_paths_of_fields(bench: Benchmark, tmp_path: Path, wanted: list[tuple[Any, ...]]) -> None:
    found = [{"x": {"q": q}, "out": [{"text": a}], "by": {"m": "n"}} for q, a in GOOD]
    path = written(tmp_path / "a.jsonl", found)
    how: dict[str, Any] = {"question_field": "x.q", "answer_field": "out.0.text"}
    assert scores(path, bench, **how) == wanted
    [run] = score_runs(path, bench, run_field="by.m", **how)
    assert run.name == "n"
    with pytest.raises(InputError, match=r"missing key 'x.p' \(there is no 'p'\)"):
        score_file(path, bench, **how | {"question_field": "x.p"})
    own = [{"question": q, "answer": a, "by": {"m": "n"}} for q, a in GOOD]
    [run] = score_runs(written(tmp_path / "own.jsonl", own), bench, run_field="by.m")
    assert (run.name, run.read_as.is_told) == ("n", False)
    dotted = written(tmp_path / "b.jsonl", [{"x.q": q, "a": a} for q, a in GOOD])
    assert scores(dotted, bench, question_field="x.q", answer_field="a") == wanted


def test_repeated_answers_are_trials(bench: Benchmark, tmp_path: Path) -> None:
    cats = [answer for question, answer in GOOD if question == CATS]
    found = [lm_eval(0, CATS, [cats]), lm_eval(1, SEAS, [["赤い光", "水", "青"]])]
    result = score_file(written(tmp_path / "a.jsonl", found), bench)
    assert result.frame["line"].to_list() == [1, 1, 2, 2, 2]
    assert result.frame["answer"].to_list() == [*cats, "赤い光", "水", "青"]
    samples = result.to_dict()["questions"]["Q02"]["samples"]
    assert {sample["answer"] for sample in samples} == {"赤い光", "水", "青"}
    with pytest.raises(InputError, match="row 0: has 2 answers: expected one in each row"):
        bench.evaluate(found)


def test_datasets_on_disk(bench: Benchmark, tmp_path: Path, wanted: list[tuple[Any, ...]]) -> None:
    from datasets import Dataset, DatasetDict

    whole = Dataset.from_list([{"messages": chat(*pair), "raw": b"x"} for pair in GOOD])
    whole.save_to_disk(tmp_path / "whole", num_shards=3)
    assert scores(tmp_path / "whole", bench) == scores(whole, bench) == wanted
    first = score_file(tmp_path / "whole", bench)
    assert first.input_hash == score_file(tmp_path / "whole", bench).input_hash
    DatasetDict({"test": whole}).save_to_disk(tmp_path / "splits")
    with pytest.raises(InputError, match=r"several splits: name one of .*test"):
        score_file(tmp_path / "splits", bench)
    assert scores(tmp_path / "splits" / "test", bench) == wanted
    whole.select([2, 1]).save_to_disk(tmp_path / "selected")
    assert scores(tmp_path / "selected", bench) == [wanted[2], wanted[1]]
    (tmp_path / "whole" / "data-00001-of-00003.arrow").write_bytes(b"damaged")
    with pytest.raises(InputError, match=r"data-00001-of-00003\.arrow"):
        score_file(tmp_path / "whole", bench)
