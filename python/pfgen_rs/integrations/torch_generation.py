"""Generates answers with a transformers model during training, without affecting training, on all ranks."""

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial
from typing import Any, TypeVar

import torch
from transformers.generation import StopStringCriteria

from pfgen_rs.ask.protocol import Parameters, Task, by_parameters
from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.integrations.callbacks import check_sampling
from pfgen_rs.training.background import CollectiveError, reason_of

T = TypeVar("T")
B = TypeVar("B")
_PATIENCE = 60.0  # seconds for the others to end what they generate in step with this rank
_INSTEAD = (
    "to keep training whatever happens, generate outside of it: pass `engine` to the callback, or evaluate "
    "checkpoints with `pfgen-rs watch`"
)
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
    raise an error. With a sharded model (FSDP), a rank that fails while the others wait for it in a forward
    pass raises a `CollectiveError` after a minute instead.

    Raises `SettingsError` for values out of range, prompts too long for the model, and missing or failing
    chat templates.
    """

    model: Any
    tokenizer: Any
    stop: Sequence[str] = ()
    batch_size: int = 16
    max_new_tokens: int = 300
    temperature: float = 1.0
    top_p: float = 0.98
    wrapper: Any = None
    _stoppable: dict[tuple[str, ...], bool] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check settings that do not depend on the tasks."""
        if not callable(self.tokenizer):
            kind = type(self.tokenizer).__name__
            raise SettingsError(f"the tokenizer must be a transformers tokenizer, not {kind}")
        check_sampling(self.batch_size, self.max_new_tokens, self.temperature, self.top_p)

    def __call__(self, tasks: Sequence[Task]) -> list[str]:
        """Generate a text for each task; restores the model's mode and torch's random state."""
        ranks = Ranks()
        prompts = ranks.together(lambda: self.check(tasks))
        batches = self._batches(tasks, prompts)
        wrapper = self.model if self.wrapper is None else self.wrapper
        in_step = ranks.are_in_step(wrapper)
        with undisturbed(wrapper), whole(wrapper):
            found = ranks.share(
                wrapper, batches, lambda rows: self._batch(rows, tasks, prompts, in_step=in_step)
            )
        texts = [""] * len(tasks)
        for rows, made in zip(batches, found, strict=True):
            for row, text in zip(rows, made, strict=True):
                texts[row] = text
        return texts

    def check(self, tasks: Sequence[Task]) -> list[list[int]]:
        """Returns the tokens of each prompt; raises `SettingsError` if it cannot be answered."""
        prompts = [self._ids(task) for task in tasks]
        self._check_room(tasks, prompts)
        return prompts

    def _batches(self, tasks: Sequence[Task], prompts: Sequence[list[int]]) -> list[list[int]]:
        batches = []
        for places in by_parameters(tasks).values():
            order = sorted(places, key=lambda place: (len(prompts[place]), place))
            starts = range(0, len(order), self.batch_size)
            batches += [order[start : start + self.batch_size] for start in starts]
        return batches

    def _batch(
        self,
        rows: Sequence[int],
        tasks: Sequence[Task],
        prompts: Sequence[list[int]],
        *,
        in_step: bool,
    ) -> list[str]:
        width = max(len(prompts[row]) for row in rows)
        pad = self._pad
        # Padding goes in front, so that generated tokens begin at the same position in all rows.
        ids = [[pad] * (width - len(prompts[row])) + prompts[row] for row in rows]
        mask = [[0] * (width - len(prompts[row])) + [1] * len(prompts[row]) for row in rows]
        model = unwrapped(self.model)
        device = next(model.parameters()).device
        torch.manual_seed((tasks[rows[0]].seed << 20 | rows[0]) % _SEEDS)
        made = model.generate(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=torch.tensor(mask, device=device),
            pad_token_id=pad,
            use_cache=True,
            # Ranks whose texts are complete go on with forward passes until all are.
            synced_gpus=in_step or None,
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
        room = getattr(unwrapped(self.model).config, "max_position_embeddings", None)
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
    devices = {p.device for p in model.parameters() if p.device.type == "cuda"}
    with torch.random.fork_rng(devices=list(devices)), torch.no_grad():
        model.eval()
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training


# Ranks of a distributed run: sharing work, failing together, and models that are spread over them.


class Ranks:
    """All ranks, or this process alone if it is not part of a distributed run."""

    def __init__(self) -> None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.count = torch.distributed.get_world_size() if distributed else 1
        self.rank = torch.distributed.get_rank() if distributed else 0

    def gather(self, value: T, group: Any = None) -> list[T]:
        """Returns the values of all ranks, which must all call this; `group`: default is torch's own."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(values, value, group=group)
        return values

    def together(self, work: Callable[[], T], *, in_step: bool = False) -> T:
        """Returns what `work` returns here. If it fails on any rank, raises on all of them.

        `in_step`: whether ranks need each other while they work. One that fails then waits a minute for the
        others, which may have failed, too, or be done; if they wait for it, raises a `CollectiveError`.
        """
        group = _agreeing(torch.distributed.group.WORLD) if in_step else None
        result: list[T] = []
        error: Exception | None = None
        try:
            result.append(work())
        except Exception as raised:
            error = raised
        self._agree(error, group)
        return result[0]

    def are_in_step(self, model: Any) -> bool:
        """Whether all ranks are needed for each forward pass of a model."""
        return self.count > 1 and _is_sharded(model)

    def share(self, model: Any, batches: Sequence[B], work: Callable[[B], T]) -> list[T]:
        """Returns what `work` returns for each batch, in order, on all ranks; each does a share of the work.

        `model`: if it needs all ranks at once, some repeat a batch at the end. If `work` fails on any rank,
        raises on all of them or, if these wait for it, a `CollectiveError`.
        """
        mine: list[T] = []
        if self.are_in_step(model):
            for begin in range(0, len(batches), self.count):
                batch = batches[(begin + self.rank) % len(batches)]
                mine.append(self.together(partial(work, batch), in_step=True))
        else:
            mine = self.together(lambda: list(map(work, batches[self.rank :: self.count])))
        everyone = self.gather(mine)
        return [everyone[i % self.count][i // self.count] for i in range(len(batches))]

    def _agree(self, error: Exception | None, group: Any = None) -> None:
        """Raise if any rank has an error: its own, or a `GenerationError` that names the rank."""
        reason = None if error is None else reason_of(error)
        try:
            reasons = self.gather(reason, group)
        except RuntimeError as lost:
            if group is None:
                raise
            raise CollectiveError(
                f"rank {self.rank} {'is done' if reason is None else 'failed'} while the others generate, so "
                f"they would wait for it forever: {reason or reason_of(lost)}; {_INSTEAD}"
            ) from error
        if error is not None:
            raise error
        for rank, reason in enumerate(reasons):
            if reason is not None:
                raise GenerationError(f"rank {rank} failed: {reason}")


@cache
def _agreeing(_world: Any) -> Any:
    """Returns a group of all ranks for nothing but agreeing, which gives up after a while."""
    return torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=_PATIENCE))


def unwrapped(model: Any) -> Any:
    """Returns the model inside wrappers such as `DistributedDataParallel`."""
    while True:
        inner = getattr(model, "_orig_mod", None)  # of torch.compile
        if inner is None and not hasattr(type(model), "generate"):
            inner = model._modules.get("module") or model._modules.get("_fsdp_wrapped_module")
        if inner is None:
            return model
        model = inner


def enclosing(model: Any) -> Any:
    """Returns the FSDP1 module that wraps a model, or the model itself without one.

    Trainers may know it while their callbacks are given the model inside, which has no reference to it.
    """
    fsdp = _sharding_classes()[:1]
    for found in gc.get_objects() if fsdp else ():
        if type(found) in fsdp and unwrapped(found) is unwrapped(model):
            return found
    return model


def _is_sharded(model: Any) -> bool:
    """Whether the parameters are spread over ranks, so that all of them are needed for each forward pass."""
    fsdp = _sharding_classes()
    if fsdp and any(isinstance(module, fsdp) for module in model.modules()):
        return True
    # Those of FSDP2 and tensor parallelism, and those of DeepSpeed.
    return any(hasattr(p, "device_mesh") or hasattr(p, "ds_id") for p in model.parameters())


@contextmanager
def whole(model: Any) -> Iterator[None]:
    """Make the methods of a sharded model's inner modules usable, on all ranks at once.

    For FSDP1, gathers the parameters of its outermost module, whose own forward pass is bypassed. Those of
    FSDP2 that are left gathered are freed at the end.
    """
    fsdp = _sharding_classes()
    if fsdp and isinstance(model, fsdp[0]):
        with fsdp[0].summon_full_params(model, recurse=False, writeback=False):
            yield
        return
    try:
        yield
    finally:
        for module in model.modules():
            if len(fsdp) > 1 and isinstance(module, fsdp[1]):
                module.reshard()


def _sharding_classes() -> tuple[Any, ...]:
    """Returns the classes of FSDP1 and, if this version of torch has it, FSDP2."""
    if not torch.distributed.is_available():
        return ()
    from torch.distributed import fsdp

    names = ("FullyShardedDataParallel", "FSDPModule")
    return tuple(getattr(fsdp, name) for name in names if hasattr(fsdp, name))
