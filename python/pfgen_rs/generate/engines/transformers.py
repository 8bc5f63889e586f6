"""Hugging Face transformers in this process: any causal model, on any device that torch has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.extras import missing
from pfgen_rs.generate.engines.chat_template import read_chat_template
from pfgen_rs.generate.engines.protocol import Outcome, Parameters
from pfgen_rs.generate.prompts import Task

if TYPE_CHECKING:
    from pfgen_rs.generate.engines.transformers_batches import Batches

__all__ = ["TransformersEngine"]


class TransformersEngine:
    """A model in transformers, loaded when the first task comes.

    `model`: a name on the hub or a folder, at `revision`. `dtype`: `auto` (the model's own), or a name such
    as `bfloat16`. `device`: where the model goes, the GPU where there is one unless given; `device_map`
    (needs accelerate) spreads it instead. `batch_size`: prompts at a time, of similar length.
    `chat_template`: text, or the path of a file, instead of the model's; `chat_template_kwargs`: what the
    template takes.

    An answer follows from its task's seed, whatever else is in its batch, but for the last digits of sums.
    Only temperature and top-p shape the sampling; what the model's own generation settings say besides
    is left out, as the published runs have it.

    How it fails: a prompt that leaves no room for the answer is `Failed`; a model that cannot be loaded,
    a chat without a template, and too little memory are a `GenerationError`.
    """

    name = "hf"  # as published runs call it

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        dtype: str = "auto",
        device: str | None = None,
        device_map: str | Mapping[str, Any] | None = None,
        batch_size: int = 16,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """Load nothing yet; raises `SettingsError`, and `GenerationError` where a package is missing."""
        if batch_size < 1:
            raise SettingsError(f"batch size must be at least 1, not {batch_size}")
        try:
            import torch
            import transformers
        except ImportError as error:
            raise missing("engine transformers", "transformers", error, GenerationError) from None
        if dtype != "auto" and not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise SettingsError(f"unknown dtype {dtype!r}: try bfloat16, float16 or float32")
        self._torch, self._transformers = torch, transformers
        self.model = model
        self._hub = {"revision": revision, "trust_remote_code": trust_remote_code}
        self._dtype = dtype
        self._device = device
        self._device_map = device_map
        self._batch_size = batch_size
        self._chat_template = read_chat_template(chat_template)
        self._chat_template_kwargs = dict(chat_template_kwargs or {})
        self._batches: Batches | None = None

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """One outcome for each task, the longest prompts first; closing stops before the next batch."""
        if not tasks:
            return
        if self._batches is None:
            self._batches = self._loaded()
        yield from self._batches.outcomes(tasks, parameters)

    def close(self) -> None:
        """Let the model go."""
        self._batches = None

    def _loaded(self) -> Batches:
        from pfgen_rs.generate.engines.transformers_batches import Batches

        try:
            tokenizer = self._transformers.AutoTokenizer.from_pretrained(self.model, **self._hub)
            model = self._transformers.AutoModelForCausalLM.from_pretrained(
                self.model, dtype=self._dtype, device_map=self._device_map, **self._hub
            )
            if self._device_map is None:
                model = model.to(self._device or _best_device(self._torch))
        # No such model, a broken file, no memory, code that is not trusted: each has its own type.
        except Exception as error:
            raise GenerationError(f"transformers cannot load {self.model!r}: {error}") from error
        return Batches(
            model.eval(),
            tokenizer,
            batch_size=self._batch_size,
            chat_template=self._chat_template,
            chat_template_kwargs=self._chat_template_kwargs,
        )


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
