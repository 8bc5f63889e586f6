"""The engine for vLLM, against a stand-in for its published interface that records its calls.

vLLM itself needs a GPU or a long build, so nothing here runs it: what is tested is what it is asked.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine_tasks import bare, details, tasks
from pfgen_rs.ask.engines.vllm import VllmEngine
from pfgen_rs.ask.protocol import ABILITIES, Answered, Details, Failed, Parameters, Usage, abilities
from pfgen_rs.errors import GenerationError, SettingsError


class Vllm:
    """The module, with what was asked of it: the settings of models, and the arguments of calls.

    `SamplingParams` are the options that are given; the others are vLLM's own.
    """

    SamplingParams = dict

    def __init__(self, answer: Callable[[str], object] | None = None) -> None:
        self._answer = answer or (lambda text: SimpleNamespace(text=text, token_ids=()))
        self.loaded: list[dict[str, Any]] = []
        self.prompts: list[list[str]] = []
        self.chats: list[list[list[dict[str, str]]]] = []
        self.sampling: list[list[dict[str, Any]]] = []
        self.templates: list[dict[str, Any]] = []

    def LLM(self, **settings: Any) -> Any:  # noqa: N802 - vLLM's name
        if "size" in settings:
            raise TypeError("unexpected keyword argument 'size'")
        self.loaded.append(settings)
        return SimpleNamespace(generate=self._generate, chat=self._chat)

    def _generate(
        self, prompts: list[str], *, sampling_params: list[dict[str, Any]], use_tqdm: bool
    ) -> list[object]:
        assert not use_tqdm
        for prompt in prompts:
            if prompt in ("p3", "p6"):
                raise ValueError(f"The prompt is too\nlong: {prompt}")
        self.prompts.append(prompts)
        self.sampling.append(sampling_params)
        cached = [None, *[2] * len(prompts)]
        return [
            SimpleNamespace(
                outputs=[SimpleNamespace(text=f" to {prompt}", token_ids=(1, 2, 3))],
                prompt_token_ids=[1] * 5,
                num_cached_tokens=count,
            )
            for prompt, count in zip(prompts, cached, strict=False)
        ]

    def _chat(
        self,
        messages: list[list[dict[str, str]]],
        *,
        sampling_params: list[dict[str, Any]],
        use_tqdm: bool,
        **template: Any,
    ) -> list[object]:
        assert not use_tqdm
        self.chats.append(messages)
        self.sampling.append(sampling_params)
        self.templates.append(template)
        return [SimpleNamespace(outputs=[self._answer(turns[-1]["content"])]) for turns in messages]


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Vllm:
    found = Vllm()
    monkeypatch.setitem(sys.modules, "vllm", found)
    return found


def test_completions_are_generated_with_a_seed_each(vllm: Vllm) -> None:
    asked = tasks(3)
    outcomes = bare(VllmEngine("org/m").generate(asked, Parameters(stop=("Q:", "\n\n"))))
    assert outcomes == [Answered(task, f" to {task.prompt}") for task in asked]
    assert vllm.prompts == [["p0", "p1", "p2"]]
    common = {"max_tokens": 300, "temperature": 1.0, "top_p": 0.98, "stop": ["Q:", "\n\n"]}
    assert vllm.sampling == [[{"seed": seed, **common} for seed in (100, 101, 102)]]
    # What is none is left to vLLM.
    nothing = Parameters(max_tokens=None, temperature=None, top_p=None, stop=())
    list(VllmEngine("m").generate(tasks(), nothing))
    assert vllm.sampling[-1] == [{"seed": 100}]


def test_tokens_are_counted(vllm: Vllm) -> None:
    engine = VllmEngine("m")
    list(engine.generate(tasks(3), Parameters()))
    assert engine.usage == Usage(3, 3, 15, 9, cached_tokens=4)
    list(engine.generate(tasks(1, "chat"), Parameters()))
    assert engine.usage == Usage(4, 3, 15, 9, cached_tokens=4)


def judged(
    monkeypatch: pytest.MonkeyPatch, text: str, ids: Sequence[int], logprobs: object, reason: str
) -> tuple[Details, Vllm]:
    """What is known of such an answer to a chat with earlier turns."""
    known = {"text": text, "token_ids": ids, "logprobs": logprobs, "finish_reason": reason}
    found = Vllm(lambda _: SimpleNamespace(**known))
    monkeypatch.setitem(sys.modules, "vllm", found)
    task = replace(*tasks(1, "chat"), history=(("user", "u1"), ("assistant", "a1")))
    [outcome] = VllmEngine("m").generate([task], Parameters(logprobs=20))
    return details(outcome), found


def logprob(value: float, text: str | None = None) -> object:
    return SimpleNamespace(logprob=value, decoded_token=text)


def test_details_have_the_tokens_of_each_position(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {7: logprob(-2.5, " B"), 5: logprob(-0.5, "A")}
    positions = [first, {9: logprob(-0.1, "<end>")}]
    known, vllm = judged(monkeypatch, " B", [7, 9], positions, "stop")
    assert [turn["content"] for turn in vllm.chats[0][0]] == ["answer", "u1", "a1", "p0"]
    assert vllm.sampling[0][0]["logprobs"] == 20
    likely = [{"token": "A", "logprob": -0.5}, {"token": " B", "logprob": -2.5}]
    assert known == Details([{"token": " B", "logprob": -2.5, "top_logprobs": likely}], "stop")
    known, _ = judged(monkeypatch, " B<end>", [7, 9], positions, "length")
    assert [token["token"] for token in known.tokens or ()] == [" B", "<end>"]
    assert known.finish_reason == "length"


@pytest.mark.parametrize(
    "logprobs", [[], [{7: logprob(-1.0)}] * 2, [{8: logprob(-1.0)}], None], ids=str
)
def test_log_probabilities_that_do_not_fit_the_tokens_are_none(
    logprobs: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(monkeypatch, "A", [7], logprobs, "stop")[0] == Details(None, "stop")


def test_everything_is_declared(vllm: Vllm) -> None:
    assert abilities(VllmEngine("m")) == ABILITIES
    [outcome] = VllmEngine("m").generate(tasks(), Parameters())
    assert details(outcome) == Details(usage=Usage(1, 1, 5, 3))


def test_chats_are_given_as_messages_with_the_template(vllm: Vllm, tmp_path: Path) -> None:
    template, thinking = "{{ messages }}", {"enable_thinking": False}
    (tmp_path / "chat.jinja").write_text(template)
    asked = tasks(2, "chat")
    for given in (template, str(tmp_path / "chat.jinja")):
        engine = VllmEngine("m", chat_template=given, chat_template_kwargs=thinking)
        outcomes = bare(engine.generate(asked, Parameters()))
        assert outcomes == [Answered(task, task.prompt) for task in asked]
    list(VllmEngine("m").generate(tasks(1, "qa"), Parameters()))
    assert vllm.chats[:2] == [[task.messages for task in asked]] * 2
    assert [[params["seed"] for params in each] for each in vllm.sampling[:2]] == [[100, 101]] * 2
    given_template = {"chat_template": template, "chat_template_kwargs": thinking}
    assert vllm.templates == [given_template, given_template, {"chat_template": None}]


def test_the_model_is_loaded_once_when_it_is_needed_and_with_all_settings(vllm: Vllm) -> None:
    settings: dict[str, Any] = {
        "dtype": "bfloat16",
        "revision": "v1",
        "tensor_parallel_size": 2,
        "max_model_len": 4096,
        "gpu_memory_utilization": 0.5,
    }
    engine = VllmEngine("m", batch_size=2, **settings)
    assert list(engine.generate([], Parameters())) == []
    assert vllm.loaded == []
    assert len(list(engine.generate(tasks(3), Parameters()))) == 3
    assert [len(prompts) for prompts in vllm.prompts] == [2, 1]
    assert vllm.loaded == [{"model": "m", **settings}]
    engine.close()
    engine.close()
    list(engine.generate(tasks(), Parameters()))
    assert len(vllm.loaded) == 2


def test_prompts_that_are_refused_fail_alone(vllm: Vllm) -> None:
    outcomes = list(VllmEngine("m").generate(tasks(8), Parameters()))
    assert [outcome.task.prompt for outcome in outcomes] == [f"p{i}" for i in range(8)]
    failed = [(one.task.prompt, one.reason) for one in outcomes if isinstance(one, Failed)]
    said = "vLLM rejected the prompt: The prompt is too long: "
    assert failed == [(prompt, said + prompt) for prompt in ("p3", "p6")]


def test_what_is_wrong_is_said(vllm: Vllm, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GenerationError, match=r"vLLM cannot load 'm': .*unexpected.*'size'"):
        list(VllmEngine("m", size=3).generate(tasks(), Parameters()))
    with pytest.raises(SettingsError, match="batch_size"):
        VllmEngine("m", batch_size=0)
    with pytest.raises(SettingsError, match=r"'no/such\.jinja' cannot be read"):
        VllmEngine("m", chat_template="no/such.jinja")

    def dies(*_: object, **__: object) -> None:
        raise RuntimeError("engine core died")

    monkeypatch.setattr(vllm, "_generate", dies)
    with pytest.raises(GenerationError, match="vLLM failed: engine core died"):
        list(VllmEngine("m").generate(tasks(), Parameters()))
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(GenerationError, match=r"pip install 'pfgen_rs\[vllm\]'"):
        VllmEngine("m")
