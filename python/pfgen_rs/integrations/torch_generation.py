"""Generates answers with a transformers model during training, without affecting it."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from transformers.generation import StoppingCriteriaList, StopStringCriteria

from pfgen_rs.ask.protocol import Parameters, Task, by_parameters
from pfgen_rs.errors import SettingsError
from pfgen_rs.integrations import torch_sharding as sharding
from pfgen_rs.integrations.callbacks import check_sampling
from pfgen_rs.integrations.torch_ranks import LIMIT, Ranks, end_if_given_up

_SEEDS = 1 << 63


@dataclass
class ModelGenerate:
    """`generate(tasks) -> texts` with `model.generate`, for `StepEvaluator`.

    `model`: a transformers model, which may be wrapped (`DistributedDataParallel`, `torch.compile`, FSDP);
    `wrapper`: the wrapped module that contains it, if that is another one, such as `trainer.model` of
    Lightning. `tokenizer`: its tokenizer, with a chat template in mode `chat`. `stop`: strings that end
    generation; warns if the tokenizer does not support them. `temperature` 0 always chooses the likeliest
    token. Tasks with parameters of their own are sampled with these. Prompts are sorted by length and
    batched, those with the same parameters together; each batch is sampled with its own seed.

    In a distributed run, all ranks must call it: they share the batches, and each returns all texts. Texts do
    not depend on the number of ranks or on the state of random number generators. If a rank fails, all ranks
    raise an error, and none waits for others in a collective.

    A sharded model (FSDP, DeepSpeed ZeRO-3, tensor parallelism) is gathered weight by weight into a copy in
    rank 0's memory, which generates on `device` (default: that of the model) while the others wait; the copy
    is then dropped. All ranks first check that there is room.

    `limit`: seconds after which generation is given up, with an error on all ranks. It runs in a thread,
    which is left behind if it does not end, as in a GPU kernel that hangs; later calls are errors until then.

    Raises `SettingsError` for values out of range, prompts too long for the model, missing or failing chat
    templates, and sharded models with weights that their configuration does not know.
    """

    model: Any
    tokenizer: Any
    stop: Sequence[str] = ()
    batch_size: int = 16
    max_new_tokens: int = 300
    temperature: float = 1.0
    top_p: float = 0.98
    wrapper: Any = None
    limit: float = LIMIT
    device: Any = None
    _stoppable: dict[tuple[str, ...], bool] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check settings that do not depend on the tasks."""
        if not callable(self.tokenizer):
            kind = type(self.tokenizer).__name__
            raise SettingsError(f"the tokenizer must be a transformers tokenizer, not {kind}")
        chosen = self.batch_size, self.max_new_tokens, self.temperature, self.top_p, self.limit
        check_sampling(*chosen)

    def __call__(self, tasks: Sequence[Task]) -> list[str]:
        """Generate a text for each task; restores the model's mode and torch's random state."""
        ranks = Ranks(self.limit)
        wrapper = self._wrapper
        model, weights = sharding.unwrapped(self.model), None
        with undisturbed(wrapper):
            prompts, made = ranks.together(lambda: self._ready(tasks))
            batches = self._batches(tasks, prompts)
            if made is not None:
                weights = sharding.gathered(wrapper, model)

            def work(mine: list[list[int]]) -> list[list[str]]:
                ours = model
                if mine and weights is not None:
                    ours = sharding.whole(made, weights, model, self.device or _device(model))
                return [self._batch(ours, rows, tasks, prompts) for rows in mine]

            found = ranks.share(batches, work, alone=made is not None)
        texts = [""] * len(tasks)
        for rows, answers in zip(batches, found, strict=True):
            for row, text in zip(rows, answers, strict=True):
                texts[row] = text
        return texts

    def check(self, tasks: Sequence[Task]) -> tuple[list[list[int]], Any]:
        """Returns the tokens of each prompt and, for a sharded model, a skeleton of it (else `None`).

        Raises `SettingsError` if a prompt cannot be answered, or there can be no such skeleton.
        """
        prompts = [self._ids(task) for task in tasks]
        self._check_room(tasks, prompts)
        model, wrapper = sharding.unwrapped(self.model), self._wrapper
        return prompts, sharding.skeleton(model, wrapper) if sharding.is_sharded(wrapper) else None

    def _ready(self, tasks: Sequence[Task]) -> tuple[list[list[int]], Any]:
        """Returns what `check` returns, if all that follows has room."""
        prompts, made = self.check(tasks)
        if made is not None:
            sharding.check_memory(made, next(self.model.parameters()))
        return prompts, made

    @property
    def _wrapper(self) -> Any:
        return self.model if self.wrapper is None else self.wrapper

    def _batches(self, tasks: Sequence[Task], prompts: Sequence[list[int]]) -> list[list[int]]:
        batches = []
        for places in by_parameters(tasks).values():
            order = sorted(places, key=lambda place: (len(prompts[place]), place))
            starts = range(0, len(order), self.batch_size)
            batches += [order[start : start + self.batch_size] for start in starts]
        return batches

    def _batch(
        self,
        model: Any,
        rows: Sequence[int],
        tasks: Sequence[Task],
        prompts: Sequence[list[int]],
    ) -> list[str]:
        width = max(len(prompts[row]) for row in rows)
        pad = self._pad
        # Padding goes in front, so that generated tokens begin at the same position in all rows.
        ids = [[pad] * (width - len(prompts[row])) + prompts[row] for row in rows]
        mask = [[0] * (width - len(prompts[row])) + [1] * len(prompts[row]) for row in rows]
        device = _device(model)
        end_if_given_up()  # training goes on, with random numbers of its own
        torch.manual_seed((tasks[rows[0]].seed << 20 | rows[0]) % _SEEDS)
        made = model.generate(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=torch.tensor(mask, device=device),
            pad_token_id=pad,
            use_cache=True,
            synced_gpus=False,  # with ZeRO-3, it would wait for ranks that do not generate
            stopping_criteria=StoppingCriteriaList([end_if_given_up]),
            **self._sampling(self._parameters(tasks[rows[0]])),
        )
        return list(self.tokenizer.batch_decode(made[:, width:], skip_special_tokens=True))

    def _parameters(self, task: Task) -> Parameters:
        """Returns how a task is sampled, without `None`."""
        ours = Parameters(self.max_new_tokens, self.temperature, self.top_p, tuple(self.stop))
        own = task.parameters
        if own is None:
            return ours
        names = ("max_tokens", "temperature", "top_p")
        return replace(own, **{n: getattr(ours, n) for n in names if getattr(own, n) is None})

    def _sampling(self, parameters: Parameters) -> dict[str, Any]:
        """Returns sampling arguments, which override the model's own generation settings."""
        chosen: dict[str, Any] = {"do_sample": False, "max_new_tokens": parameters.max_tokens}
        if parameters.temperature:
            sampled = {"temperature": parameters.temperature, "top_p": parameters.top_p, "top_k": 0}
            chosen |= {"do_sample": True, **sampled}
        # Stop strings only save time, because texts are cut there afterwards anyway.
        if parameters.stop and self._is_stoppable(parameters.stop):
            chosen |= {"stop_strings": list(parameters.stop), "tokenizer": self.tokenizer}
        return chosen

    def _is_stoppable(self, stop: tuple[str, ...]) -> bool:
        if stop not in self._stoppable:
            self._stoppable[stop] = True
            try:
                StopStringCriteria(self.tokenizer, list(stop))
            except ValueError as error:
                self._stoppable[stop] = False
                warnings.warn(
                    f"transformers does not support stop strings with {type(self.tokenizer).__name__} "
                    f"({error}): always generating {self.max_new_tokens} tokens and cutting afterwards",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return self._stoppable[stop]

    def _ids(self, task: Task) -> list[int]:
        if task.mode != "chat":
            return list(self.tokenizer(task.prompt)["input_ids"])
        text = self._chat(task)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _chat(self, task: Task) -> str:
        if not getattr(self.tokenizer, "chat_template", None):
            raise SettingsError(
                "the tokenizer has no chat template, which mode chat needs: set `tokenizer.chat_template`, "
                "or choose mode completion or qa"
            )
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    task.messages, tokenize=False, add_generation_prompt=True
                )
            )
        except Exception as error:  # templates are programs, which may raise anything
            raise SettingsError(f"the tokenizer's chat template failed: {error}") from error

    @property
    def _pad(self) -> int:
        tokens = (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id, 0)
        return next(int(token) for token in tokens if token is not None)

    def _check_room(self, tasks: Sequence[Task], prompts: Sequence[list[int]]) -> None:
        room = getattr(sharding.unwrapped(self.model).config, "max_position_embeddings", None)
        news = [self._parameters(task).max_tokens or 0 for task in tasks]
        sizes = [len(prompt) + new for prompt, new in zip(prompts, news, strict=True)]
        if room is None or max(sizes) <= room:
            return
        worst = sizes.index(max(sizes))
        own = tasks[worst].parameters is not None
        cure = (
            "use fewer shots, or omit this task" if own else "reduce num_examples or max_new_tokens"
        )
        raise SettingsError(
            f"a prompt of {len(prompts[worst])} tokens plus {news[worst]} new tokens exceed the model's "
            f"limit of {room}{f' ({tasks[worst].question})' if own else ''}: {cure}"
        )


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Switch to evaluation mode without gradients, and restore modules' modes and random state at the end."""
    modes = [(module, module.training) for module in model.modules()]
    # Seeds are set for all devices.
    devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        model.eval()
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training


def _device(model: Any) -> Any:
    return next(model.parameters()).device
