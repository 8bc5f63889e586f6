"""The engine for transformers, with small random models and tokenizers that are made here.

`make test-torch` runs this; where torch is missing it is skipped.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine_tasks import details, tasks
from pfgen_rs.ask.engines.transformers import TransformersEngine
from pfgen_rs.ask.protocol import Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.errors import GenerationError, SettingsError

pytestmark = pytest.mark.filterwarnings("default")
torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

POSITIONS = 96
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]"
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
SPECIAL = ["<pad>", "<bos>", "<eos>"]
OTHERS = ["\n", "Q", ":", "A", " ", "[", "]", "p", *"0123456789"]


def _tokenizer(template: str | None) -> Any:
    """A token a character, with a beginning of text as Llama has it."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

    texts = list(dict.fromkeys([*SPECIAL, *LETTERS, *OTHERS]))
    backend = Tokenizer(models.WordLevel({text: i for i, text in enumerate(texts)}, "<pad>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    backend.post_processor = processors.TemplateProcessing(
        "<bos> $A", special_tokens=[("<bos>", 1)]
    )
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<bos>", eos_token="<eos>", unk_token="<pad>"
    )
    made.chat_template = template
    return made


def _save(path: Path, kind: str, template: str | None) -> None:
    """A small random model with its tokenizer."""
    tokenizer = _tokenizer(template)
    tokenizer.save_pretrained(path)
    torch.manual_seed(1)
    common = {"vocab_size": len(tokenizer), "bos_token_id": 1, "eos_token_id": 2}
    if kind == "gpt2":
        sizes = {"n_positions": POSITIONS, "n_embd": 32, "n_layer": 2, "n_head": 2}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**common, **sizes))
    else:
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        sizes |= {"num_attention_heads": 2, "num_key_value_heads": 1}
        sizes["max_position_embeddings"] = POSITIONS
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**common, **sizes))
    model.save_pretrained(path)


@pytest.fixture(scope="session", params=["gpt2", "llama"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with its tokenizer, as saved."""
    path = tmp_path_factory.mktemp(request.param)
    _save(path, request.param, TEMPLATE)
    return path


def engine(folder: Path, **more: Any) -> TransformersEngine:
    return TransformersEngine(str(folder), device="cpu", dtype="float32", **more)


def answered(
    folder: Path, asked: Sequence[Task], parameters: Parameters, **more: Any
) -> dict[str, str]:
    """The texts by prompt."""
    return texts(list(engine(folder, **more).generate(asked, parameters)))


def texts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    answered = [one for one in outcomes if isinstance(one, Answered)]
    assert len(answered) == len(outcomes), outcomes
    return {one.task.prompt: one.text for one in answered}


SOME = Parameters(max_tokens=12, stop=())


def varied(count: int) -> list[Task]:
    """Prompts of several lengths."""
    return [
        replace(task, prompt="ab" * (1 + i * 7 % 5) + f"{i}") for i, task in enumerate(tasks(count))
    ]


def test_an_answer_follows_from_its_seed_whatever_is_beside_it(folder: Path) -> None:
    asked = varied(9)
    alone = answered(folder, asked, SOME, batch_size=1)
    together = answered(folder, asked, SOME, batch_size=4)
    again = answered(folder, asked[::-1], SOME, batch_size=9)
    assert alone == together == again
    assert len(set(alone.values())) > 5
    before = torch.get_rng_state()
    list(engine(folder).generate(asked[:1], SOME))
    assert torch.equal(before, torch.get_rng_state())


def test_the_greedy_answer_is_what_the_model_says_is_likeliest(folder: Path) -> None:
    asked = varied(4)
    greedy = Parameters(max_tokens=6, temperature=0, stop=())
    found = answered(folder, asked, greedy, batch_size=3)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    for task in asked:
        ids = tokenizer(task.prompt, return_tensors="pt")["input_ids"]
        assert ids[0, 0] == tokenizer.bos_token_id
        made: list[int] = []
        for _ in range(6):
            with torch.inference_mode():
                best = int(model(ids).logits[0, -1].argmax())
            if best == tokenizer.eos_token_id:
                break
            made.append(best)
            ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
        assert found[task.prompt] == tokenizer.decode(made, skip_special_tokens=True)


def test_draws_have_the_model_s_probabilities() -> None:
    from pfgen_rs.ask.transformers_batches import SeededSampling

    weights = torch.tensor([0.5, 0.3, 0.15, 0.05])
    rows = 4000
    parameters = Parameters(temperature=0.5, top_p=0.9)
    sampling = SeededSampling(range(rows), parameters, torch.device("cpu"))
    scores = weights.log().expand(rows, 4)
    counts = Counter(sampling(torch.zeros(rows, 1, dtype=torch.long), scores).argmax(1).tolist())
    squares = [0.25, 0.09]  # temperature 0.5 squares them; the nucleus of 0.9 is the first two
    for token, square in enumerate(squares):
        share = square / sum(squares)
        error = math.sqrt(share * (1 - share) / rows)
        assert abs(counts[token] / rows - share) < 5 * error
    assert sum(counts.values()) == counts[0] + counts[1]


def test_a_stop_string_ends_an_answer(folder: Path) -> None:
    asked = varied(6)
    long = Parameters(max_tokens=24, stop=())
    free = answered(folder, asked, long)
    stop = next(text[4:6] for text in free.values() if len(text) > 8)
    ended = texts(list(engine(folder).generate(asked, Parameters(max_tokens=24, stop=(stop,)))))
    assert any(stop in text for text in free.values())
    for prompt, text in free.items():
        end = text.find(stop)
        assert ended[prompt] == (text if end < 0 else text[: end + len(stop)])


def test_chats_go_through_the_template(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfgen_rs.ask.transformers_batches import Batches

    seen: list[Sequence[int]] = []
    padded = Batches._padded

    def record(self: Batches, rows: Sequence[Sequence[int]]) -> Any:
        seen.extend(rows)
        return padded(self, rows)

    monkeypatch.setattr(Batches, "_padded", record)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    [task] = tasks(1, "chat")
    list(engine(folder).generate([task], SOME))
    own: Any = {"chat_template": "{{ messages[-1]['content'] }}{{ ending }}"}
    own["chat_template_kwargs"] = {"ending": "z"}
    list(engine(folder, **own).generate([task], SOME))
    written = [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in seen]
    assert written == ["[system]answer[user]p0[assistant]", "p0z"]


def test_a_chat_without_a_template_is_an_error(tmp_path: Path) -> None:
    _save(tmp_path, "gpt2", None)
    with pytest.raises(GenerationError, match="no chat template, which mode qa needs"):
        list(engine(tmp_path).generate(tasks(1, "qa"), SOME))
    assert len(list(engine(tmp_path).generate(tasks(), SOME))) == 1


def test_prompts_that_leave_no_room_fail_alone(folder: Path) -> None:
    first, second = tasks(2)
    outcomes = list(engine(folder).generate([first, replace(second, prompt="a" * 90)], SOME))
    [failed] = [one for one in outcomes if isinstance(one, Failed)]
    assert failed.reason == "the prompt has 91 tokens, more than 84"
    assert len(outcomes) == 2


def test_closing_stops_before_the_next_batch(folder: Path) -> None:
    asking = engine(folder, batch_size=2)
    outcomes = asking.generate(varied(6), SOME)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    asking.close()
    asking.close()
    assert list(asking.generate([], SOME)) == []


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="transformers cannot load"):
        list(TransformersEngine(str(tmp_path), device="cpu").generate(tasks(), SOME))
    with pytest.raises(SettingsError, match="unknown dtype 'float17'"):
        TransformersEngine("m", dtype="float17")
    with pytest.raises(SettingsError, match="batch_size"):
        TransformersEngine("m", batch_size=0)


@pytest.mark.parametrize("part", ["", ".1."])
def test_weights_that_are_missing(folder: Path, tmp_path: Path, part: str) -> None:
    """All of them, as in files of a compiled model, or those of a layer; transformers makes them up."""
    files = pytest.importorskip("safetensors.torch")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "model.safetensors"
    weights = files.load_file(path).items()
    renamed = {f"_orig_mod.{name}" if part in name else name: each for name, each in weights}
    files.save_file(renamed, path, {"format": "pt"})
    with pytest.raises(
        GenerationError, match=r"[0-9]+ weights are missing from its files: .+, .+, .+"
    ):
        list(engine(tmp_path).generate(tasks(1), SOME))


def judged(folder: Path, asked: Sequence[Task], batch: int = 4, **more: Any) -> list[Details]:
    """The details of the answers, in the order of the tasks."""
    parameters = replace(SOME, logprobs=5, **more)
    outcomes = list(engine(folder, batch_size=batch).generate(asked, parameters))
    found = {one.task: details(one) for one in outcomes}
    return [found[task] for task in asked]


def _raw_logprobs(folder: Path, ids: Sequence[int]) -> Any:
    """Those of the token that follows, by one forward pass without padding."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(torch.tensor([list(ids)])).logits[0, -1].float().log_softmax(-1)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_log_probabilities_are_those_of_a_forward_pass(folder: Path, temperature: float) -> None:
    asked = varied(5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = judged(folder, asked, max_tokens=4, temperature=temperature)
    for task, known in zip(asked, found, strict=True):
        ids = tokenizer(task.prompt)["input_ids"]
        for token in known.tokens or ():
            expected = _raw_logprobs(folder, ids)
            best = expected.topk(5)
            chosen = tokenizer.convert_tokens_to_ids(token["token"])
            assert token["logprob"] == pytest.approx(float(expected[chosen]), abs=1e-4)
            tops = [(one["token"], one["logprob"]) for one in token["top_logprobs"]]
            names = tokenizer.convert_ids_to_tokens(best.indices.tolist())
            assert [name for name, _ in tops] == names
            assert [number for _, number in tops] == pytest.approx(best.values.tolist(), abs=1e-4)
            ids.append(chosen)
    assert sum(len(known.tokens or ()) for known in found) > 10


def test_one_token_takes_one_forward_pass(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = engine(folder, batch_size=3)
    list(asking.generate(varied(1), SOME))
    assert asking._batches is not None
    passes = []
    asking._batches.model.register_forward_hook(lambda *_: passes.append(1))
    list(asking.generate(varied(3), replace(SOME, max_tokens=1, logprobs=20)))
    assert len(passes) == 1


def test_texts_do_not_depend_on_log_probabilities(folder: Path) -> None:
    asked = varied(6)
    long = replace(SOME, max_tokens=24)
    without = answered(folder, asked, long, batch_size=4)
    outcomes = list(engine(folder, batch_size=4).generate(asked, replace(long, logprobs=2)))
    assert texts(outcomes) == without
    for one in outcomes:
        assert isinstance(one, Answered)
        assert "".join(token["token"] for token in details(one).tokens or ()) == one.text


def test_the_end_of_an_answer_is_told(folder: Path) -> None:
    asked = varied(12)
    long = replace(SOME, max_tokens=24)
    free = answered(folder, asked, long)
    stop = next(text[4:6] for text in free.values() if len(text) > 8)
    stopping = replace(long, stop=(stop,))
    together = list(engine(folder, batch_size=12).generate(asked, stopping))
    # Alone, answers are followed by no padding.
    alone = list(engine(folder, batch_size=1).generate(asked, stopping))
    assert together == alone
    ends = set()
    for one in together:
        assert isinstance(one, Answered)
        known = details(one)
        assert known.usage is not None
        count = known.usage.completion_tokens
        ends.add((known.finish_reason, stop in one.text))
        if known.finish_reason == "length":
            assert count == 24
        else:
            assert len(one.text) <= count
    assert ends == {("length", False), ("stop", True), ("stop", False)}


def test_tokens_are_counted(folder: Path) -> None:
    asking = engine(folder)
    assert asking.usage == Usage()
    outcomes = list(asking.generate(varied(3), SOME))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    prompts = sum(len(tokenizer(task.prompt)["input_ids"]) for task in varied(3))
    assert (asking.usage.requests, asking.usage.reported) == (3, 3)
    assert asking.usage.prompt_tokens == prompts
    assert asking.usage.completion_tokens >= sum(map(len, texts(outcomes).values()))
    asking.close()
    assert asking.usage.requests == 3


def test_earlier_turns_go_through_the_template(folder: Path) -> None:
    [task] = tasks(1, "chat")
    later = replace(task, history=(("user", "q"), ("assistant", "a")))
    [known] = judged(folder, [later])
    assert known.usage is not None
    written = "[system]answer[user]q[assistant]a[user]p0[assistant]"
    assert known.usage.prompt_tokens == len(written)


def test_the_model_s_own_generation_settings_are_ignored(folder: Path, tmp_path: Path) -> None:
    """Since transformers 5 they take effect wherever a setting is None."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer.save_pretrained(tmp_path)
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=tokenizer.eos_token_id,
        do_sample=True,
        temperature=0.1,
        top_k=1,
        repetition_penalty=3.0,
        no_repeat_ngram_size=1,
        suppress_tokens=list(range(3, 20)),
        min_new_tokens=5,
        num_beams=2,
    )
    model.save_pretrained(tmp_path)
    for parameters in (SOME, replace(SOME, temperature=0.0)):
        expected = answered(folder, varied(4), parameters)
        assert answered(tmp_path, varied(4), parameters) == expected
    assert judged(tmp_path, varied(4)) == judged(folder, varied(4))


def _characters() -> Any:
    """Words with the space before them, and bytes for all else, as in Llama 2."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    texts = ["<unk>", "<eos>", *(f"<0x{byte:02X}>" for byte in range(256)), "a", "▁A", "B", "▁"]
    vocabulary = {text: i for i, text in enumerate(texts)}
    made = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    pieces = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*pieces, decoders.Strip(" ", 1, 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<eos>", unk_token="<unk>"
    )


def test_tokens_are_named_with_their_spaces_and_bytes() -> None:
    import tiny_torch
    from pfgen_rs.ask.transformers_batches import TokenTexts

    words = _characters()
    names = TokenTexts(words)
    ids = words.convert_tokens_to_ids(["▁A", "B", "<0xE3>", "<eos>"])
    assert words.decode(ids[:1]) == "A"  # which is why tokens are decoded after another one
    assert [names.entry(token, -1.0) for token in ids] == [
        {"token": " A", "logprob": -1.0},
        {"token": "B", "logprob": -1.0},
        {"token": "�", "bytes": [0xE3], "logprob": -1.0},
        {"token": "<eos>", "logprob": -1.0},
    ]
    assert [names.is_special(token) for token in ids] == [False, False, False, True]
    letters = tiny_torch.tokenizer()
    names = TokenTexts(letters)
    text = " Ａは\n"
    entries = [names.entry(token, -1.0) for token in letters(text)["input_ids"]]
    assert entries[0] == {"token": " ", "logprob": -1.0}
    assert entries[-1] == {"token": "\n", "logprob": -1.0}
    raw = b"".join(bytes(e.get("bytes") or e["token"].encode()) for e in entries)
    assert raw == text.encode()
    assert sum("bytes" in entry for entry in entries) == 6


def test_a_dtype_is_passed_on(folder: Path) -> None:
    half = TransformersEngine(str(folder), dtype="bfloat16", device="cpu")
    assert len(texts(list(half.generate(varied(3), SOME)))) == 3
    assert half._batches is not None
    assert half._batches.model.dtype == torch.bfloat16
