"""A language model of a few thousand weights, its tokenizer and its trainer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def tokenizer(template: str | None = None) -> Any:
    """Bytes, and a token for the end."""
    letters = pre_tokenizers.ByteLevel.alphabet()
    vocabulary = {letter: i for i, letter in enumerate([*sorted(letters), "<end>"])}
    made = Tokenizer(models.BPE(vocabulary, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<end>", pad_token="<end>", chat_template=template
    )


def model(dropout: float = 0.0) -> Any:
    """The same random weights every time."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=257,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=2048,
        attention_dropout=dropout,
    )
    return transformers.LlamaForCausalLM(config)


class Texts(torch.utils.data.Dataset):  # type: ignore[misc]
    """Twelve short sequences."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> dict[str, Any]:
        ids = [(index * 7 + i) % 256 for i in range(16)]
        return {"input_ids": ids, "labels": ids}


def trainer(
    folder: Path,
    callbacks: Sequence[Any],
    *,
    steps: int,
    save: int = 0,
    dropout: float = 0.0,
    template: str | None = None,
    **more: Any,
) -> Any:
    """A trainer on the CPU that says nothing."""
    arguments = transformers.TrainingArguments(
        str(folder),
        max_steps=steps,
        per_device_train_batch_size=2,
        save_strategy="steps" if save else "no",
        save_steps=save or 500,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=1,
        **more,
    )
    return transformers.Trainer(
        model(dropout),
        arguments,
        train_dataset=Texts(),
        processing_class=tokenizer(template),
        callbacks=list(callbacks),
    )
