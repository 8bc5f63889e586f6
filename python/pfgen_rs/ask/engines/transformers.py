"""Hugging Face transformers in this process: any causal language model, on any torch device."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pfgen_rs.ask.engines import engine, vllm
from pfgen_rs.ask.protocol import ABILITIES, Answered, Counting, Outcome, Parameters, Task
from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.extras import missing

if TYPE_CHECKING:
    from pfgen_rs.ask.transformers_batches import Batches


@engine("transformers")
class TransformersEngine(Counting):
    """A model in transformers, loaded with the first task.

    `model`: a name on the Hugging Face Hub or a folder, at `revision`. `dtype`: `auto` (the model's own) or a
    name such as `bfloat16`. `device`: where to put the model (default: the GPU, if available); `device_map`
    (requires accelerate) distributes it instead. `batch_size`: number of prompts at a time, of similar
    length. `chat_template`: a template, or the path of a file with one, to replace the model's own;
    `chat_template_kwargs`: arguments of the template.

    With `Parameters.logprobs` a forward pass gives the log probabilities of the most likely tokens, before
    temperature and top-p; with `max_tokens=1` there is a single forward pass for a batch.

    An answer is determined by its task's seed and does not depend on its batch, except for rounding errors.
    Only temperature and top-p affect the sampling; the other generation settings of the model are ignored, as
    in the published runs.

    A prompt that leaves no room for the answer is `Failed`. Raises `GenerationError` if the model cannot be
    loaded, weights or a chat template are missing, or memory is insufficient.
    """

    name = "hf"  # the name in published runs
    thinking_off = 'chat_template_kwargs={"enable_thinking": false}'
    abilities = ABILITIES

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
        """Check the settings without loading the model.

        Raises `SettingsError`, and `GenerationError` if a package is missing.
        """
        if batch_size < 1:
            raise SettingsError(f"batch_size must be at least 1, not {batch_size}")
        try:
            import torch
            import transformers
        except ImportError as error:
            raise missing("engine transformers", "transformers", error, GenerationError) from None
        if dtype != "auto" and not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise SettingsError(
                f"unknown dtype {dtype!r}: expected auto, bfloat16, float16 or another torch dtype"
            )
        self._torch, self._transformers = torch, transformers
        self.model = model
        self._hub = {"revision": revision, "trust_remote_code": trust_remote_code}
        self._dtype = dtype
        self._device = device
        self._device_map = device_map
        template = vllm.read_chat_template(chat_template)
        self._how = (batch_size, template, dict(chat_template_kwargs or {}))
        self._batches: Batches | None = None

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, longest prompts first; closing stops before the next batch."""
        if not tasks:
            return
        if self._batches is None:
            self._batches = self._loaded()
        for outcome in self._batches.outcomes(tasks, parameters):
            if isinstance(outcome, Answered) and outcome.details and outcome.details.usage:
                self.count(outcome.details.usage)
            yield outcome

    def close(self) -> None:
        """Release the model."""
        self._batches = None

    def _loaded(self) -> "Batches":
        from pfgen_rs.ask.transformers_batches import Batches

        try:
            tokenizer = self._transformers.AutoTokenizer.from_pretrained(self.model, **self._hub)
            how = {"dtype": self._dtype, "device_map": self._device_map, **self._hub}
            model, found = self._transformers.AutoModelForCausalLM.from_pretrained(
                self.model, output_loading_info=True, **how
            )
            if self._device_map is None:
                model = model.to(self._device or _best_device(self._torch))
        # A missing model, a damaged file, lack of memory, untrusted code: each has its own type.
        except Exception as error:
            raise GenerationError(f"transformers cannot load {self.model!r}: {error}") from error
        if lacking := sorted(found["missing_keys"]):  # transformers warns, and makes them up
            problem = f"{len(lacking)} weights are missing from its files: {', '.join(lacking[:3])}"
            raise GenerationError(f"transformers cannot load {self.model!r}: {problem}")
        return Batches(model.eval(), tokenizer, *self._how)


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
