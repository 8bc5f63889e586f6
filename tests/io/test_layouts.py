"""Files of other tools: recognised by content, and scored as the same answers in pfgen-bench's own layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import CATS, GOOD, SEAS, lines, write_benchmark
from pfgen_rs import Benchmark, load_benchmark, score_file

Records = list[dict[str, Any]]


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
        "messages": chat(CATS, answer),
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


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_in_memory(name: str, bench: Benchmark, wanted: list[tuple[Any, ...]]) -> None:
    found = records(name)
    assert scores(found, bench) == scores(pl.DataFrame(found), bench) == wanted
