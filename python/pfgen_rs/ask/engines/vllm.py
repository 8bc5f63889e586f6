"""vLLM in this process: the fastest engine if there is a GPU.

Written for the public API of vLLM 0.9 and later (`LLM`, `LLM.generate`, `LLM.chat`, `SamplingParams`), and
tested with a mock that records calls; not yet tested with vLLM itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pfgen_rs import GenerationError, SettingsError, extras
from pfgen_rs.ask import Answered, Details, Failed, Outcome, Parameters, Task, Usage, protocol
from pfgen_rs.ask.engines import engine


@engine("vllm")
class VllmEngine(protocol.Counting):
    """A model in vLLM, loaded with the first task.

    `dtype`, `revision`, `tensor_parallel_size`, `max_model_len` and everything in `more` (`quantization`,
    `gpu_memory_utilization`, …) are passed to `vllm.LLM`. `chat_template`: a template, or the path of a file
    with one, to replace the model's own; `chat_template_kwargs`: arguments of the template, such as
    `{"enable_thinking": false}`. `batch_size`: number of tasks passed at a time, whose outcomes arrive
    together; vLLM itself decides how many to process at once.

    Each request uses its task's seed. vLLM reports at most `max_logprobs` log probabilities (default: 20),
    another argument of `vllm.LLM`. A prompt that vLLM rejects, for example because it is too long, is
    `Failed` with vLLM's message. Raises `GenerationError` if the model cannot be loaded or vLLM fails.
    """

    name = "vllm"
    thinking_off = 'chat_template_kwargs={"enable_thinking": false}'
    abilities = protocol.ABILITIES

    def __init__(
        self,
        model: str,
        *,
        dtype: str = "auto",
        revision: str | None = None,
        tensor_parallel_size: int = 1,
        max_model_len: int | None = None,
        chat_template: str | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        batch_size: int = 1000,
        **more: Any,
    ) -> None:
        """Check the settings without loading the model.

        Raises `SettingsError`, and `GenerationError` if vLLM is not installed.
        """
        if batch_size < 1:
            raise SettingsError(f"batch_size must be at least 1, not {batch_size}")
        try:
            import vllm
        except ImportError as error:
            raise extras.missing("engine vllm", "vllm", error, GenerationError) from None
        self._vllm = vllm
        self._settings = {
            "model": model,
            "dtype": dtype,
            "revision": revision,
            "tensor_parallel_size": tensor_parallel_size,
            "max_model_len": max_model_len,
            **more,
        }
        self._batch_size = batch_size
        self._chat: dict[str, Any] = {"chat_template": read_chat_template(chat_template)}
        if chat_template_kwargs:
            self._chat["chat_template_kwargs"] = dict(chat_template_kwargs)
        self._llm: Any = None

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task in order, a batch at a time; closing stops before the next batch."""
        remaining = iter(tasks)
        while batch := list(islice(remaining, self._batch_size)):
            if self._llm is None:
                self._llm = self._loaded()
            yield from self._outcomes(batch, parameters)

    def close(self) -> None:
        """Release the model."""
        self._llm = None

    def _loaded(self) -> Any:
        try:
            return self._vllm.LLM(**self._settings)
        # A missing model, lack of memory, no GPU, an unknown option: each has its own type.
        except Exception as error:
            raise GenerationError(
                f"vLLM cannot load {self._settings['model']!r}: {error}"
            ) from error

    def _outcomes(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Process a batch; since vLLM rejects all of it for one bad prompt, bisect to find that prompt."""
        try:
            outputs = self._outputs(tasks, [self._sampling(task, parameters) for task in tasks])
        except ValueError as error:
            if len(tasks) == 1:
                reason = " ".join(f"vLLM rejected the prompt: {error}".split())
                yield Failed(tasks[0], reason, individual=True)
                return
            half = len(tasks) // 2
            yield from self._outcomes(tasks[:half], parameters)
            yield from self._outcomes(tasks[half:], parameters)
            return
        for task, output in zip(tasks, outputs, strict=True):
            yield Answered(task, output.outputs[0].text, _details(output))

    def _outputs(self, tasks: Sequence[Task], sampling: Sequence[Any]) -> list[Any]:
        try:
            if tasks[0].mode == "completion":
                prompts = [task.prompt for task in tasks]
                outputs = self._llm.generate(prompts, sampling_params=sampling, use_tqdm=False)
            else:
                messages = [task.messages for task in tasks]
                outputs = self._llm.chat(
                    messages, sampling_params=sampling, use_tqdm=False, **self._chat
                )
        except RuntimeError as error:
            raise GenerationError(f"vLLM failed: {error}") from error
        if len(outputs) != len(tasks):
            raise GenerationError(f"vLLM returned {len(outputs)} answers for {len(tasks)} prompts")
        for output in outputs:
            self.count(_usage(output))
        return list(outputs)

    def _sampling(self, task: Task, parameters: Parameters) -> Any:
        return self._vllm.SamplingParams(seed=task.seed, **parameters.given)


def _usage(output: Any) -> Usage:
    """Returns the tokens of an output; attributes that this version of vLLM lacks count as not reported."""
    prompt = getattr(output, "prompt_token_ids", None)
    completion = getattr(output.outputs[0], "token_ids", None)
    if prompt is None or completion is None:
        return Usage(requests=1)
    cached = getattr(output, "num_cached_tokens", None) or 0
    return Usage(1, 1, len(prompt), len(completion), cached)


def _details(output: Any) -> Details:
    """Returns what is known of an output; attributes that this version of vLLM lacks count as unknown."""
    answer = output.outputs[0]
    usage = _usage(output)
    return Details(
        tokens=_tokens(answer),
        finish_reason=getattr(answer, "finish_reason", None),
        usage=usage if usage.reported else None,
    )


def _tokens(answer: Any) -> list[dict[str, Any]] | None:
    """Returns the tokens with their log probabilities, which vLLM has by token id at each position."""
    positions = getattr(answer, "logprobs", None)
    ids = getattr(answer, "token_ids", None)
    if not positions or ids is None or len(positions) != len(ids):
        return None
    pairs = list(zip(ids, positions, strict=True))
    if any(token not in position for token, position in pairs):
        return None
    tokens = [_token(token, position) for token, position in pairs]
    # The end of the text is a token, too, but no part of the text.
    *others, _ = tokens
    if "".join(one["token"] for one in others) == answer.text:
        return others or None
    return tokens


def _token(token: int, position: Mapping[int, Any]) -> dict[str, Any]:
    likely = sorted(position.values(), key=lambda one: -one.logprob)
    return {**_entry(position[token]), "top_logprobs": [_entry(one) for one in likely]}


def _entry(one: Any) -> dict[str, Any]:
    return {"token": one.decoded_token or "", "logprob": one.logprob}


def read_chat_template(given: str | None) -> str | None:
    """Returns the template: `given` itself if it contains a brace, else the contents of the file it names.

    Raises `SettingsError` if the file cannot be read.
    """
    if given is None or "{" in given:
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingsError(f"the chat template {given!r} cannot be read: {error}") from None
