"""Batches of answers by a model of transformers, and its tokens as OpenAI has them; imports torch."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from transformers import LogitsProcessorList, TopPLogitsWarper

from pfgen_rs.ask.protocol import Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.errors import GenerationError

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""A byte in a vocabulary of characters."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SHOWN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""Bytes that byte-level vocabularies write as the character with this code; the others follow from 256 on."""
_HIDDEN = [byte for byte in range(256) if byte not in _SHOWN]
_BYTES = {chr(b): b for b in _SHOWN} | {chr(256 + i): b for i, b in enumerate(_HIDDEN)}


class TokenTexts:
    """The text of each token by itself, with the space before a word, which decoders remove at the start."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, dict[str, Any]] = {}
        self._special = frozenset(tokenizer.all_special_ids)
        self._before: list[int] = tokenizer("a", add_special_tokens=False)["input_ids"][-1:]
        self._start = self._decoded([])

    def is_special(self, token: int) -> bool:
        """Whether a token, such as the end of the text, has no text of its own."""
        return token in self._special

    def entry(self, token: int, logprob: float) -> dict[str, Any]:
        """Returns `token`, `logprob` and, if it is not whole characters, `bytes`."""
        if token not in self._known:
            self._known[token] = self._named(token)
        return {**self._known[token], "logprob": logprob}

    def _named(self, token: int) -> dict[str, Any]:
        piece = str(self._tokenizer.convert_ids_to_tokens(token))
        if self.is_special(token):
            return {"token": piece}
        text = self._decoded([token]).removeprefix(self._start)
        raw = _token_bytes(piece) if _REPLACEMENT in text else None
        return {"token": text} if raw is None else {"token": text, "bytes": raw}

    def _decoded(self, tokens: list[int]) -> str:
        """Returns the text of tokens after the letter a."""
        ids = [*self._before, *tokens]
        return str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=False)) if ids else ""


def _token_bytes(piece: str) -> list[int] | None:
    named = _BYTE.fullmatch(piece)
    if named is not None:
        return [int(named[1], 16)]
    return [_BYTES[c] for c in piece] if all(c in _BYTES for c in piece) else None


class LikeliestTokens:
    """Records each step's `count` most likely tokens with their log probabilities, before `sampling` draws.

    Recording these as they come takes far less memory than the logits of all steps.
    """

    def __init__(self, sampling: Any, count: int) -> None:
        self._sampling = sampling
        self._count = count
        self._steps: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Returns the scores after sampling; shape (rows, tokens)."""
        logprobs = scores.float().log_softmax(-1)
        best = logprobs.topk(min(self._count, logprobs.shape[-1]))
        drawn: torch.FloatTensor = self._sampling(input_ids, scores)
        chosen = logprobs.gather(-1, drawn.argmax(-1, keepdim=True))
        self._steps.append((best.indices.cpu(), best.values.cpu(), chosen.cpu()))
        return drawn

    def tokens(self, row: int, ids: Sequence[int], texts: TokenTexts) -> Iterator[dict[str, Any]]:
        """Yield the tokens generated for a row in the form of `Details.tokens`, without special ones."""
        for token, (indices, values, chosen) in zip(ids, self._steps, strict=False):
            if texts.is_special(token):
                continue
            best = zip(indices[row].tolist(), values[row].tolist(), strict=True)
            entry = texts.entry(token, float(chosen[row, 0]))
            yield {**entry, "top_logprobs": [texts.entry(*pair) for pair in best]}


_NEUTRAL = {
    "do_sample": False,
    "num_beams": 1,
    "num_return_sequences": 1,
    "min_length": 0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "remove_invalid_values": False,
    **dict.fromkeys(
        (
            *("temperature", "top_p", "top_k", "min_p", "typical_p", "min_new_tokens"),
            *("bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "sequence_bias"),
            *("forced_bos_token_id", "forced_eos_token_id", "exponential_decay_length_penalty"),
            "guidance_scale",
        )
    ),
}
"""Settings under which a model's logits are used as they are, whatever its own generation settings."""


class _Prompt(NamedTuple):
    task: Task
    ids: list[int]


@dataclass
class Batches:
    """Answers tasks with a model and its tokenizer, without modifying them or torch's random state.

    Prompts are padded on the left to the longest in their batch. For a model in training, the caller sets
    evaluation mode and the device.
    """

    model: Any
    tokenizer: Any
    batch_size: int = 16
    chat_template: str | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def outcomes(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, longest prompts first, so that lack of memory shows early."""
        prompts = sorted(self._prompts(tasks), key=lambda prompt: len(prompt.ids), reverse=True)
        room = self._room(parameters)
        fitting = []
        for prompt in prompts:
            if room is None or len(prompt.ids) <= room:
                fitting.append(prompt)
            else:
                reason = f"the prompt has {len(prompt.ids)} tokens, more than {room}"
                yield Failed(prompt.task, reason, individual=True)
        for start in range(0, len(fitting), self.batch_size):
            batch = fitting[start : start + self.batch_size]
            yield from self._answers(batch, parameters)

    def _prompts(self, tasks: Sequence[Task]) -> Iterator[_Prompt]:
        for task in tasks:
            if task.mode == "completion":
                yield _Prompt(task, self.tokenizer(task.prompt)["input_ids"])
            else:
                # The template adds the special tokens.
                text = self._chat_text(task)
                yield _Prompt(task, self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _chat_text(self, task: Task) -> str:
        if self.chat_template is None and not self.tokenizer.chat_template:
            raise GenerationError(
                f"the model has no chat template, which mode {task.mode} needs: pass chat_template, or "
                "use mode completion"
            )
        text = self.tokenizer.apply_chat_template(
            task.messages,
            chat_template=self.chat_template,
            tokenize=False,
            add_generation_prompt=True,
            **self.chat_template_kwargs,
        )
        return str(text)

    def _room(self, parameters: Parameters) -> int | None:
        """Returns the maximum number of tokens in a prompt, or `None` if the model does not say."""
        positions = getattr(self.model.config, "max_position_embeddings", None)
        return None if positions is None else positions - (parameters.max_tokens or 1)

    def _answers(self, batch: Sequence[_Prompt], parameters: Parameters) -> Iterator[Answered]:
        ids, mask = self._padded([prompt.ids for prompt in batch])
        sampling: Any = SeededSampling([p.task.seed for p in batch], parameters, ids.device)
        recorder: LikeliestTokens | None = None
        if parameters.logprobs is not None:
            sampling = recorder = LikeliestTokens(sampling, parameters.logprobs)
        try:
            with torch.inference_mode():
                made = self.model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    logits_processor=LogitsProcessorList([sampling]),
                    tokenizer=self.tokenizer,
                    **self._settings(parameters),
                )
        except torch.OutOfMemoryError as error:
            raise GenerationError(
                f"a batch of {len(batch)} prompts does not fit in memory: reduce batch_size"
            ) from error
        made = made[:, ids.shape[1] :]
        texts: list[str] = self.tokenizer.batch_decode(
            made, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        for row, (prompt, text, own) in enumerate(zip(batch, texts, made.tolist(), strict=True)):
            count, is_stopped = self._length(own, text, parameters)
            tokens = None
            if recorder is not None:
                tokens = list(recorder.tokens(row, own[:count], self._token_texts)) or None
            usage = Usage(1, 1, len(prompt.ids), count)
            details = Details(tokens, "stop" if is_stopped else "length", usage=usage)
            yield Answered(prompt.task, text, details)

    def _length(self, ids: Sequence[int], text: str, parameters: Parameters) -> tuple[int, bool]:
        """Returns the number of a row's tokens without padding, and whether the answer ended by itself."""
        is_stopped = any(stop in text for stop in parameters.stop)
        if not is_stopped:
            for count, token in enumerate(ids, 1):
                if token in self._ends:
                    return count, True
        count = len(ids)
        while count and ids[count - 1] == self._padding:
            count -= 1
        return count, is_stopped or count < len(ids)

    @cached_property
    def _token_texts(self) -> TokenTexts:
        return TokenTexts(self.tokenizer)

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns ids and mask, shape (prompts, longest), padded on the left."""
        longest = max(map(len, rows))
        padding = self._padding
        ids = torch.tensor([[padding] * (longest - len(row)) + list(row) for row in rows])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        return ids.to(self.model.device), mask.to(self.model.device)

    @property
    def _padding(self) -> int:
        # Base models often have no padding token; masked positions may hold any token.
        chosen = (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id, 0)
        return int(next(token for token in chosen if token is not None))

    @property
    def _ends(self) -> list[int]:
        ends = getattr(self.model.generation_config, "eos_token_id", None)
        if ends is None:
            ends = self.tokenizer.eos_token_id
        if ends is None:
            return []
        return [ends] if isinstance(ends, int) else list(ends)

    def _settings(self, parameters: Parameters) -> dict[str, Any]:
        """Use greedy decoding: `SeededSampling` makes the sampled token the most likely one."""
        limit = {} if parameters.max_tokens is None else {"max_new_tokens": parameters.max_tokens}
        return {
            # Arguments override the model's own settings, which a GenerationConfig only would where it
            # differs from None.
            **_NEUTRAL,
            **limit,
            "stop_strings": list(parameters.stop) or None,
            "eos_token_id": self._ends or None,
            "pad_token_id": self._padding,
        }


class SeededSampling:
    """Samples each row's tokens from its own random source, so that answers do not depend on their batch.

    The maximum of log probabilities plus Gumbel noise is a sample from the distribution. Temperature 0
    selects the most likely token; temperature and top-p default to 1.
    """

    def __init__(self, seeds: Sequence[int], parameters: Parameters, device: torch.device) -> None:
        self._sources = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._temperature = 1.0 if parameters.temperature is None else parameters.temperature
        top_p = 1.0 if parameters.top_p is None else parameters.top_p
        self._nucleus = TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Returns the scores with noise added; shape (rows, tokens)."""
        if not self._temperature:
            return scores
        scores = scores.float() / self._temperature
        if self._nucleus is not None:
            scores = self._nucleus(input_ids, scores)
        noise = torch.empty_like(scores)
        for row, source in zip(noise, self._sources, strict=True):
            row.exponential_(generator=source)
        return scores - noise.log()
