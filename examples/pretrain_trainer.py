# /// script
# requires-python = ">=3.11"
# dependencies = ["pfgen_rs[plots,transformers]", "accelerate>=1.1"]
#
# [tool.uv.sources]
# pfgen_rs = { path = ".." }
# ///
"""Pretrain a small Llama from scratch with transformers' Trainer, and see its score rise.

    python examples/pretrain_trainer.py [--steps 1000] [--seed 0] [--out pretrain_trainer]

The same texts as in `pretrain_tiny.py`, a token a character. It takes a GPU where there is one; on two cores
give it fewer steps. The folder gets `curve.parquet`, `curve.png` and `answers/`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

from characters import END, Characters, training_texts
from pfgen_rs import Benchmark, load_benchmark
from pfgen_rs.generate import Prompter, read_examples
from pfgen_rs.integrations.transformers import PfgenCallback
from pfgen_rs.training import plot_curve, read_curve


def tokenizer_of(characters: Characters) -> PreTrainedTokenizerFast:
    """A tokenizer with a token a character; the one that ends a text also fills rows."""
    tokenizer = Tokenizer(models.WordLevel(characters.codes, unk_token=END))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def llama(characters: Characters, width: int, layers: int) -> LlamaForCausalLM:
    """A model with random weights, and room for one text."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(characters.known),
            hidden_size=width,
            intermediate_size=4 * width,
            num_hidden_layers=layers,
            num_attention_heads=max(width // 32, 1),
            max_position_embeddings=characters.context,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=0,
            pad_token_id=0,
        )
    )


def training_rows(characters: Characters, texts: list[str]) -> list[dict[str, Any]]:
    """Rows as the trainer takes them: what fills a row behind its end is neither read nor learnt."""
    rows = []
    for row, text in zip(characters.rows(texts), texts, strict=True):
        read = len(text) + 1  # the token that ends it, too
        labels = row.copy()
        labels[read:] = -100
        rows.append({"input_ids": row, "attention_mask": (labels != -100) * 1, "labels": labels})
    return rows


def evaluation(options: Any, benchmark: Benchmark, characters: Characters) -> PfgenCallback:
    """What asks the model all questions every few steps, within the room that it has."""
    prompts = Prompter(read_examples(benchmark.folder), num_examples=0).tasks(1)
    return PfgenCallback(
        benchmark,
        every=options.every,
        trials=options.trials,
        seed=options.seed,
        num_examples=0,
        max_new_tokens=characters.context - max(len(task.prompt) for task in prompts),
        batch_size=64,
        folder=options.out,
    )


def arguments(options: Any) -> TrainingArguments:
    """How to train."""
    return TrainingArguments(
        output_dir=str(options.out / "checkpoints"),
        max_steps=options.steps,
        per_device_train_batch_size=options.batch,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=options.steps // 20,
        logging_steps=options.every,
        save_strategy="no",
        report_to=[],
        seed=options.seed,
    )


def chosen() -> Any:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations")
    parser.add_argument("--trials", type=int, default=4, help="answers to each question at one")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("pretrain_trainer"))
    return parser.parse_args()


def main() -> None:
    """Train, and show the curve."""
    options = chosen()
    set_seed(options.seed)
    benchmark = load_benchmark("mini")
    texts = training_texts(benchmark)
    characters = Characters(texts)
    Trainer(
        model=llama(characters, options.width, options.layers),
        args=arguments(options),
        train_dataset=training_rows(characters, texts),
        processing_class=tokenizer_of(characters),
        callbacks=[evaluation(options, benchmark, characters)],
    ).train()
    curve, _ = read_curve(options.out / "curve.parquet")
    plot_curve(curve, options.out / "curve.png")
    print(curve.select("step", "score", "fluency", "truthfulness", "helpfulness"))


if __name__ == "__main__":
    main()
