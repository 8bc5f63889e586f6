"""A transformers model that answers while it is trained; where torch is installed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_torch  # noqa: E402
from pfgen_rs import SettingsError  # noqa: E402
from pfgen_rs.ask.protocol import Parameters  # noqa: E402
from pfgen_rs.generate import Prompter, Task, read_examples  # noqa: E402
from pfgen_rs.integrations.torch_generation import ModelGenerate  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


def tasks(mode: Any = "completion") -> list[Task]:
    return Prompter(read_examples("mini"), mode, num_examples=1).tasks(1)[:7]


def generate(**more: Any) -> ModelGenerate:
    settings = {"max_new_tokens": 6, "batch_size": 3, **more}
    return ModelGenerate(tiny_torch.model(), tiny_torch.tokenizer(tiny_torch.TEMPLATE), **settings)


def test_a_batch_gives_what_each_prompt_gives() -> None:
    """Greedily, with padding in front or without any."""
    alone = generate(temperature=0.0)
    together = generate(temperature=0.0, batch_size=7)
    texts = [alone([task])[0] for task in tasks()]
    assert together(tasks()) == texts
    tokenizer, model = alone.tokenizer, alone.model
    for task, text in zip(tasks(), texts, strict=True):
        ids = torch.tensor([tokenizer(task.prompt)["input_ids"]])
        for _ in range(6):
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], 1)
        assert tokenizer.decode(ids[0, -6:], skip_special_tokens=True) == text


def test_tasks_with_parameters_of_their_own() -> None:
    """They are sampled with these, and the others as without them."""
    settings: dict[str, Any] = {"max_new_tokens": 8, "stop": ["Q:"], "batch_size": 4}
    plain, own = tasks(), Parameters(3, 0.0, None, ())
    whole = generate(**settings)(plain)
    mixed = [*plain, *(replace(task, parameters=own) for task in plain)]
    found = generate(**settings)(mixed)
    assert found[: len(plain)] == whole
    greedy = generate(temperature=0.0, max_new_tokens=3)(plain)
    assert found[len(plain) :] == greedy
    assert greedy != [text[:3] for text in whole]


def test_prompts_without_room_for_their_own_length() -> None:
    ours = generate(max_new_tokens=1)
    task = replace(tasks()[0], question="jamp/test/0", parameters=Parameters(1 << 20))
    told = r"plus 1048576 new tokens exceed .* \(jamp/test/0\): use fewer shots, or omit this task"
    with pytest.raises(SettingsError, match=told):
        ours([*tasks(), task])


def test_samples_do_not_depend_on_what_was_drawn_before() -> None:
    ours = generate()
    first = ours(tasks())
    torch.rand(5)
    assert ours(tasks()) == first
    assert len(set(first)) > 1


def test_nothing_is_left_changed() -> None:
    ours = generate()
    ours.model.train()
    ours.model.lm_head.eval()  # frozen, say
    modes = [module.training for module in ours.model.modules()]
    before = torch.random.get_rng_state()
    ours(tasks())
    assert [module.training for module in ours.model.modules()] == modes
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.is_grad_enabled()


def test_stop_strings_and_chats() -> None:
    settings: dict[str, Any] = {"temperature": 0.0, "max_new_tokens": 24}
    whole = generate(**settings)(tasks("chat"))
    mark = next(c for text in whole for c in text[:-2] if c.isascii() and c.isprintable())
    ended = generate(**settings, stop=[mark])(tasks("chat"))
    for text, cut in zip(whole, ended, strict=True):
        assert text.startswith(cut)
        assert mark not in cut[:-1]
    assert ended != whole


def test_tokenizers_that_cannot_look_for_stop_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are longer, and the same up to the stop string."""
    whole = generate(temperature=0.0, max_new_tokens=24)(tasks())
    ours = generate(temperature=0.0, max_new_tokens=24, stop=["Q:"])

    def fail(*_: Any) -> None:
        raise ValueError("substring not found")

    monkeypatch.setattr("pfgen_rs.integrations.torch_generation.StopStringCriteria", fail)
    with pytest.warns(
        RuntimeWarning, match=r"\(substring not found\): always generating 24 tokens"
    ) as told:
        assert ours(tasks()) == whole
    assert len([one for one in told if "substring" in str(one.message)]) == 1  # not once a batch


def test_what_is_no_tokenizer() -> None:
    with pytest.raises(SettingsError, match="must be a transformers tokenizer, not str"):
        ModelGenerate(tiny_torch.model(), "gpt2")


def test_chat_templates_that_fail() -> None:
    ours = generate()
    ours.tokenizer = tiny_torch.tokenizer("{{ raise_exception('no system role') }}")
    with pytest.raises(SettingsError, match="chat template failed: no system role"):
        ours(tasks("chat"))
    ours.tokenizer = tiny_torch.tokenizer()
    with pytest.raises(SettingsError, match="has no chat template, which mode chat needs"):
        ours(tasks("chat"))
