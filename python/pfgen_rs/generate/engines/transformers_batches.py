"""Batches of prompts through a model of transformers; imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig, LogitsProcessorList, TopPLogitsWarper

from pfgen_rs.errors import GenerationError
from pfgen_rs.generate.engines.protocol import Answered, Failed, Outcome, Parameters
from pfgen_rs.generate.prompts import Task

__all__ = ["Batches", "SeededSampling"]


class _Prompt(NamedTuple):
    task: Task
    ids: list[int]


class Batches:
    """Answers tasks with a model and its tokenizer, which stay as they are, as does torch's random state.

    Prompts are padded on the left to the longest of their batch. For a model in training, the caller chooses
    evaluation mode and the device.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        batch_size: int = 16,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._batch_size = batch_size
        self._chat_template = chat_template
        self._chat_template_kwargs = dict(chat_template_kwargs or {})

    def outcomes(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """One outcome for each task, the longest prompts first: too little memory shows at once."""
        prompts = sorted(self._prompts(tasks), key=lambda prompt: len(prompt.ids), reverse=True)
        room = self._room(parameters)
        fitting = []
        for prompt in prompts:
            if room is None or len(prompt.ids) <= room:
                fitting.append(prompt)
            else:
                yield Failed(
                    prompt.task, f"the prompt has {len(prompt.ids)} tokens, of {room} at most"
                )
        for start in range(0, len(fitting), self._batch_size):
            batch = fitting[start : start + self._batch_size]
            texts = self._texts(batch, parameters)
            yield from (
                Answered(prompt.task, text) for prompt, text in zip(batch, texts, strict=True)
            )

    def _prompts(self, tasks: Sequence[Task]) -> Iterator[_Prompt]:
        for task in tasks:
            if task.mode == "completion":
                yield _Prompt(task, self._tokenizer(task.prompt)["input_ids"])
            else:
                # The template has the special tokens.
                text = self._chat_text(task)
                yield _Prompt(task, self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _chat_text(self, task: Task) -> str:
        if self._chat_template is None and not self._tokenizer.chat_template:
            raise GenerationError(
                f"the model has no chat template, which mode {task.mode} needs: pass one, or use mode "
                "completion"
            )
        text = self._tokenizer.apply_chat_template(
            task.messages,
            chat_template=self._chat_template,
            tokenize=False,
            add_generation_prompt=True,
            **self._chat_template_kwargs,
        )
        return str(text)

    def _room(self, parameters: Parameters) -> int | None:
        """Tokens that a prompt may have, where the model says so."""
        positions = getattr(self._model.config, "max_position_embeddings", None)
        return None if positions is None else positions - (parameters.max_tokens or 1)

    def _texts(self, batch: Sequence[_Prompt], parameters: Parameters) -> list[str]:
        ids, mask = self._padded([prompt.ids for prompt in batch])
        sampling = SeededSampling([prompt.task.seed for prompt in batch], parameters, ids.device)
        try:
            with torch.inference_mode():
                made = self._model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    generation_config=self._settings(parameters),
                    logits_processor=LogitsProcessorList([sampling]),
                    tokenizer=self._tokenizer,
                )
        except torch.OutOfMemoryError as error:
            raise GenerationError(
                f"a batch of {len(batch)} prompts does not fit in memory: choose a smaller batch_size"
            ) from error
        texts: list[str] = self._tokenizer.batch_decode(
            made[:, ids.shape[1] :], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return texts

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and mask of shape (prompts, longest), padded on the left."""
        longest = max(map(len, rows))
        padding = self._padding
        ids = torch.tensor([[padding] * (longest - len(row)) + list(row) for row in rows])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        return ids.to(self._model.device), mask.to(self._model.device)

    @property
    def _padding(self) -> int:
        # Base models often have none; what is masked may be anything.
        chosen = (self._tokenizer.pad_token_id, self._tokenizer.eos_token_id, 0)
        return int(next(token for token in chosen if token is not None))

    def _settings(self, parameters: Parameters) -> GenerationConfig:
        """The likeliest token is taken: `SeededSampling` has made that the one that was drawn."""
        ends = getattr(self._model.generation_config, "eos_token_id", None)
        return GenerationConfig(
            do_sample=False,
            max_new_tokens=parameters.max_tokens,
            stop_strings=list(parameters.stop) or None,
            eos_token_id=self._tokenizer.eos_token_id if ends is None else ends,
            pad_token_id=self._padding,
        )


class SeededSampling:
    """Draws each row's tokens from a source of its own, so that an answer does not depend on its batch.

    Adding Gumbel noise to logarithms of probabilities makes the largest one a draw from them. Temperature 0
    takes the likeliest token; a temperature or top-p that is not given is 1.
    """

    def __init__(self, seeds: Sequence[int], parameters: Parameters, device: torch.device) -> None:
        self._sources = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._temperature = 1.0 if parameters.temperature is None else parameters.temperature
        top_p = 1.0 if parameters.top_p is None else parameters.top_p
        self._nucleus = TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Scores of shape (rows, tokens) with noise."""
        if not self._temperature:
            return scores
        scores = scores.float() / self._temperature
        if self._nucleus is not None:
            scores = self._nucleus(input_ids, scores)
        noise = torch.empty_like(scores)
        for row, source in zip(noise, self._sources, strict=True):
            row.exponential_(generator=source)
        return scores - noise.log()
