"""Rewards in TRL's own trainer; where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import trl
from datasets import Dataset

import tiny_torch
from pfgen_rs.generate import Prompter, read_examples
from pfgen_rs.training import Reward

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("chat", [False, True])
def test_grpo_is_trained_on_scores(tmp_path: Path, chat: bool) -> None:
    tasks = Prompter(read_examples("mini"), num_examples=1).tasks(1)[:4]
    prompts: list[Any] = [
        [{"role": "user", "content": f"Q: {task.question}"}] if chat else task.prompt
        for task in tasks
    ]
    given: list[Any] = []

    class Watched(Reward):
        def __call__(self, prompts: Any, completions: Any, **columns: Any) -> list[float]:
            given.append((prompts, completions, columns))
            return super().__call__(prompts, completions, **columns)

    arguments = trl.GRPOConfig(
        str(tmp_path),
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=8,
        max_steps=2,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    )
    trainer = trl.GRPOTrainer(
        tiny_torch.model(),
        reward_funcs=[Watched("mini"), Watched("mini", "fluency")],
        args=arguments,
        train_dataset=Dataset.from_dict({"prompt": prompts, "level": [1, 2, 3, 4]}),
        processing_class=tiny_torch.tokenizer(tiny_torch.TEMPLATE),
    )
    trainer.train()
    assert len(given) == 4
    logged = {name for row in trainer.state.log_history for name in row}
    assert {"rewards/pfgen/mean", "rewards/pfgen_fluency/mean"} <= logged
    found, completions, columns = given[0]
    assert len(found) == len(completions) == len(columns["level"]) == 4
    assert all(isinstance(completion, list) == chat for completion in completions)
