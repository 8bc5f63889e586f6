"""The engine for vLLM, against a stand-in for its published interface that records its calls.

vLLM itself needs a GPU or a long build, so nothing here runs it: what is tested is what it is asked.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from engine_tasks import bare, tasks
from pfgen_rs.ask.engines.vllm import VllmEngine
from pfgen_rs.ask.protocol import ABILITIES, Answered, Details, Failed, Parameters, Usage, abilities
from pfgen_rs.errors import GenerationError, SettingsError


@dataclass
class SamplingParams:
    """As `vllm.SamplingParams`, as far as it is used; its default length is vLLM's."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = 16
    logprobs: int | None = None


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    text: str
    token_ids: Sequence[int]
    logprobs: list[dict[int, Logprob]] | None = None
    finish_reason: str | None = None


@dataclass
class RequestOutput:
    outputs: list[CompletionOutput]
    prompt_token_ids: list[int] | None
    num_cached_tokens: int | None = None


@dataclass
class Recorded:
    """What was asked of vLLM."""

    loaded: list[dict[str, Any]] = field(default_factory=list)
    generated: list[tuple[list[str], list[SamplingParams]]] = field(default_factory=list)
    chats: list[tuple[list[list[dict[str, str]]], list[SamplingParams], dict[str, Any]]] = field(
        default_factory=list
    )


def _fake(
    recorded: Recorded,
    too_long: Sequence[str] = (),
    dies: bool = False,
    answer: CompletionOutput | None = None,
) -> types.ModuleType:
    class LLM:
        def __init__(
            self,
            model: str,
            *,
            dtype: str = "auto",
            revision: str | None = None,
            tensor_parallel_size: int = 1,
            max_model_len: int | None = None,
            gpu_memory_utilization: float = 0.9,
        ) -> None:
            recorded.loaded.append(
                {
                    "model": model,
                    "dtype": dtype,
                    "revision": revision,
                    "tensor_parallel_size": tensor_parallel_size,
                    "max_model_len": max_model_len,
                    "gpu_memory_utilization": gpu_memory_utilization,
                }
            )

        def generate(
            self,
            prompts: list[str],
            sampling_params: list[SamplingParams],
            *,
            use_tqdm: bool = True,
        ) -> list[RequestOutput]:
            assert not use_tqdm
            if dies:
                raise RuntimeError("engine core died")
            for prompt in prompts:
                if prompt in too_long:
                    raise ValueError(f"The prompt is too\nlong: {prompt}")
            recorded.generated.append((prompts, sampling_params))
            return [
                RequestOutput([CompletionOutput(f" to {prompt}", (1, 2, 3))], [1] * 5, cached)
                for prompt, cached in zip(prompts, [None, *[2] * len(prompts)], strict=False)
            ]

        def chat(
            self,
            messages: list[list[dict[str, str]]],
            sampling_params: list[SamplingParams],
            use_tqdm: bool = True,
            chat_template: str | None = None,
            chat_template_kwargs: dict[str, Any] | None = None,
        ) -> list[RequestOutput]:
            assert not use_tqdm
            given = {"chat_template": chat_template, "chat_template_kwargs": chat_template_kwargs}
            recorded.chats.append((messages, sampling_params, given))
            return [
                RequestOutput([answer or CompletionOutput(turns[-1]["content"], ())], None)
                for turns in messages
            ]

    module = types.ModuleType("vllm")
    vars(module).update(LLM=LLM, SamplingParams=SamplingParams)
    return module


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    found = Recorded()
    monkeypatch.setitem(sys.modules, "vllm", _fake(found, too_long=["p3", "p6"]))
    return found


def test_completions_are_generated_with_a_seed_each(recorded: Recorded) -> None:
    asked = tasks(3)
    outcomes = bare(VllmEngine("org/m").generate(asked, Parameters(stop=("Q:", "\n\n"))))
    assert outcomes == [Answered(task, f" to {task.prompt}") for task in asked]
    [(prompts, sampling)] = recorded.generated
    assert prompts == ["p0", "p1", "p2"]
    assert sampling == [
        SamplingParams(1.0, 0.98, seed, ["Q:", "\n\n"], 300) for seed in (100, 101, 102)
    ]


def test_tokens_are_counted(recorded: Recorded) -> None:
    engine = VllmEngine("m")
    list(engine.generate(tasks(3), Parameters()))
    assert engine.usage == Usage(3, 3, 15, 9, cached_tokens=4)
    list(engine.generate(tasks(1, "chat"), Parameters()))
    assert engine.usage == Usage(4, 3, 15, 9, cached_tokens=4)


def test_details_have_the_tokens_of_each_position(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled, other, end = Logprob(-2.5, 3, " B"), Logprob(-0.5, 1, "A"), Logprob(-0.1, 1, "<end>")
    answer = CompletionOutput(" B", [7, 9], [{7: sampled, 5: other}, {9: end}], "stop")
    monkeypatch.setitem(sys.modules, "vllm", _fake(recorded, answer=answer))
    [task] = tasks(1, "chat")
    history = (("user", "u1"), ("assistant", "a1"))
    judging = Parameters(logprobs=20)
    [outcome] = VllmEngine("m").generate([replace(task, history=history)], judging)
    [(messages, sampling, _)] = recorded.chats
    assert [turn["content"] for turn in messages[0]] == ["answer", "u1", "a1", "p0"]
    assert sampling[0].logprobs == 20
    assert isinstance(outcome, Answered)
    likely = [{"token": "A", "logprob": -0.5}, {"token": " B", "logprob": -2.5}]
    tokens = [{"token": " B", "logprob": -2.5, "top_logprobs": likely}]
    assert outcome.details == Details(tokens, "stop")
    cut = replace(answer, text=" B<end>", finish_reason="length")
    monkeypatch.setitem(sys.modules, "vllm", _fake(recorded, answer=cut))
    [outcome] = VllmEngine("m").generate([task], judging)
    assert isinstance(outcome, Answered)
    assert outcome.details is not None
    assert [token["token"] for token in outcome.details.tokens or ()] == [" B", "<end>"]
    assert outcome.details.finish_reason == "length"


def test_log_probabilities_that_do_not_fit_the_tokens_are_none(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for logprobs in ([], [{7: Logprob(-1.0)}] * 2, [{8: Logprob(-1.0)}], None):
        answer = CompletionOutput("A", [7], logprobs)
        monkeypatch.setitem(sys.modules, "vllm", _fake(recorded, answer=answer))
        [outcome] = VllmEngine("m").generate(tasks(1, "chat"), Parameters(logprobs=20))
        assert isinstance(outcome, Answered)
        assert outcome.details == Details()


def test_everything_is_declared(recorded: Recorded) -> None:
    assert abilities(VllmEngine("m")) == ABILITIES
    [outcome] = VllmEngine("m").generate(tasks(), Parameters())
    assert isinstance(outcome, Answered)
    assert outcome.details == Details(usage=Usage(1, 1, 5, 3))


def test_what_is_none_is_left_to_vllm(recorded: Recorded) -> None:
    nothing = Parameters(max_tokens=None, temperature=None, top_p=None, stop=())
    list(VllmEngine("m").generate(tasks(), nothing))
    assert recorded.generated[0][1] == [SamplingParams(seed=100)]


def test_chats_are_given_as_messages_with_the_template(recorded: Recorded, tmp_path: Path) -> None:
    template = "{{ messages }}"
    (tmp_path / "chat.jinja").write_text(template)
    thinking = {"enable_thinking": False}
    asked = tasks(2, "chat")
    for given in (template, str(tmp_path / "chat.jinja")):
        engine = VllmEngine("m", chat_template=given, chat_template_kwargs=thinking)
        assert bare(engine.generate(asked, Parameters())) == [
            Answered(task, task.prompt) for task in asked
        ]
    list(VllmEngine("m").generate(tasks(1, "qa"), Parameters()))
    first, second, third = recorded.chats
    assert first == second
    assert first[0] == [task.messages for task in asked]
    assert [params.seed for params in first[1]] == [100, 101]
    assert first[2] == {"chat_template": template, "chat_template_kwargs": thinking}
    assert third[2] == {"chat_template": None, "chat_template_kwargs": None}


def test_the_model_is_loaded_once_when_it_is_needed_and_with_all_settings(
    recorded: Recorded,
) -> None:
    engine = VllmEngine(
        "m",
        dtype="bfloat16",
        revision="v1",
        tensor_parallel_size=2,
        max_model_len=4096,
        gpu_memory_utilization=0.5,
        batch_size=2,
    )
    assert list(engine.generate([], Parameters())) == []
    assert recorded.loaded == []
    assert len(list(engine.generate(tasks(3), Parameters()))) == 3
    assert [len(prompts) for prompts, _ in recorded.generated] == [2, 1]
    assert recorded.loaded == [
        {
            "model": "m",
            "dtype": "bfloat16",
            "revision": "v1",
            "tensor_parallel_size": 2,
            "max_model_len": 4096,
            "gpu_memory_utilization": 0.5,
        }
    ]
    engine.close()
    engine.close()
    list(engine.generate(tasks(), Parameters()))
    assert len(recorded.loaded) == 2


def test_prompts_that_are_refused_fail_alone(recorded: Recorded) -> None:
    outcomes = list(VllmEngine("m").generate(tasks(8), Parameters()))
    assert [outcome.task.prompt for outcome in outcomes] == [f"p{i}" for i in range(8)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert [(one.task.prompt, one.reason) for one in failed] == [
        (prompt, f"vLLM rejected the prompt: The prompt is too long: {prompt}")
        for prompt in ("p3", "p6")
    ]


def test_a_model_that_cannot_be_loaded_is_an_error(recorded: Recorded) -> None:
    with pytest.raises(GenerationError, match=r"vLLM cannot load 'm': .*unexpected.*'size'"):
        list(VllmEngine("m", size=3).generate(tasks(), Parameters()))


def test_a_vllm_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", _fake(Recorded(), dies=True))
    with pytest.raises(GenerationError, match="vLLM failed: engine core died"):
        list(VllmEngine("m").generate(tasks(), Parameters()))


def test_what_is_wrong_is_said_at_once(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="batch_size"):
        VllmEngine("m", batch_size=0)
    with pytest.raises(SettingsError, match=r"'no/such\.jinja' cannot be read"):
        VllmEngine("m", chat_template="no/such.jinja")
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(GenerationError, match=r"pip install 'pfgen_rs\[vllm\]'"):
        VllmEngine("m")
