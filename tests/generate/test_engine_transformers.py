"""The engine for transformers, with small random models and tokenizers that are made here.

`make test-torch` runs this; where torch is missing it is skipped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine_tasks import tasks
from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.generate.engines import Answered, Failed, Outcome, Parameters
from pfgen_rs.generate.engines.transformers import TransformersEngine
from pfgen_rs.generate.prompts import Task

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


def _model(kind: str, size: int) -> Any:
    torch.manual_seed(1)
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=size,
            n_positions=POSITIONS,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=1,
            eos_token_id=2,
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.LlamaConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=POSITIONS,
        bos_token_id=1,
        eos_token_id=2,
    )
    return transformers.LlamaForCausalLM(config)


@pytest.fixture(scope="session", params=["gpt2", "llama"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with its tokenizer, as saved."""
    path = tmp_path_factory.mktemp(request.param)
    tokenizer = _tokenizer(TEMPLATE)
    tokenizer.save_pretrained(path)
    _model(request.param, len(tokenizer)).save_pretrained(path)
    return path


def engine(folder: Path, **more: Any) -> TransformersEngine:
    return TransformersEngine(str(folder), device="cpu", dtype="float32", **more)


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
    alone = texts(list(engine(folder, batch_size=1).generate(asked, SOME)))
    together = texts(list(engine(folder, batch_size=4).generate(asked, SOME)))
    again = texts(list(engine(folder, batch_size=9).generate(asked[::-1], SOME)))
    assert alone == together == again
    assert len(set(alone.values())) > 5
    before = torch.get_rng_state()
    list(engine(folder).generate(asked[:1], SOME))
    assert torch.equal(before, torch.get_rng_state())


def test_the_greedy_answer_is_what_the_model_says_is_likeliest(folder: Path) -> None:
    asked = varied(4)
    greedy = Parameters(max_tokens=6, temperature=0, stop=())
    found = texts(list(engine(folder, batch_size=3).generate(asked, greedy)))
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
    from pfgen_rs.generate.engines.transformers_batches import SeededSampling

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
    free = texts(list(engine(folder).generate(asked, long)))
    stop = next(text[4:6] for text in free.values() if len(text) > 8)
    ended = texts(list(engine(folder).generate(asked, Parameters(max_tokens=24, stop=(stop,)))))
    assert any(stop in text for text in free.values())
    for prompt, text in free.items():
        end = text.find(stop)
        assert ended[prompt] == (text if end < 0 else text[: end + len(stop)])


def test_chats_go_through_the_template(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfgen_rs.generate.engines.transformers_batches import Batches

    seen: list[Sequence[int]] = []
    padded = Batches._padded

    def record(self: Batches, rows: Sequence[Sequence[int]]) -> Any:
        seen.extend(rows)
        return padded(self, rows)

    monkeypatch.setattr(Batches, "_padded", record)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    [task] = tasks(1, "chat")
    list(engine(folder).generate([task], SOME))
    own = "{{ messages[-1]['content'] }}{{ ending }}"
    list(
        engine(folder, chat_template=own, chat_template_kwargs={"ending": "z"}).generate(
            [task], SOME
        )
    )
    written = [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in seen]
    assert written == ["[system]answer[user]p0[assistant]", "p0z"]


def test_a_chat_without_a_template_is_an_error(tmp_path: Path) -> None:
    tokenizer = _tokenizer(None)
    tokenizer.save_pretrained(tmp_path)
    _model("gpt2", len(tokenizer)).save_pretrained(tmp_path)
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


def test_a_dtype_is_passed_on(folder: Path) -> None:
    half = TransformersEngine(str(folder), dtype="bfloat16", device="cpu")
    assert len(texts(list(half.generate(varied(3), SOME)))) == 3
    assert half._batches is not None
    assert half._batches._model.dtype == torch.bfloat16
