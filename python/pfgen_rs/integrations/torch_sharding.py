"""Models that are wrapped, or spread over ranks, and whole copies of these."""

import gc
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.integrations.torch_ranks import INSTEAD
from pfgen_rs.training.background import CollectiveError, reason_of

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # in a container: its own control group, of version 2
_WRAPPERS = re.compile(r"(_fsdp_wrapped_module|_checkpoint_wrapped_module|_orig_mod)\.")


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


def is_sharded(model: Any) -> bool:
    """Whether the parameters are spread over ranks, so that all of them are needed for each forward pass."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return False
    fsdp = _sharding_classes()
    if fsdp and any(isinstance(module, fsdp) for module in model.modules()):
        return True
    # Those of FSDP2 and tensor parallelism, and those of DeepSpeed.
    return any(hasattr(p, "device_mesh") or hasattr(p, "ds_id") for p in model.parameters())


@contextmanager
def usable(model: Any) -> Iterator[None]:
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


# A whole copy, in three steps: what can fail, what all ranks do, and what rank 0 does with it.


def skeleton(model: Any, wrapper: Any) -> Any:
    """Returns a model like this transformers model in a wrapper, without weights, on the device `meta`.

    Raises `SettingsError` if it cannot be built from its configuration, or the model has other weights than
    it, and if the model is not in the wrapper.
    """
    # That of FSDP2 is made of the model's own class.
    kind = next(kind for kind in type(model).__mro__ if not issubclass(kind, _sharding_classes()))
    try:
        with torch.device("meta"):
            made = kind(deepcopy(model.config))
        made.generation_config = deepcopy(model.generation_config)
    except Exception as error:
        raise SettingsError(
            f"{kind.__name__} cannot be built again from its configuration, which generating with a model "
            f"that is spread over ranks needs: {reason_of(error)}; {INSTEAD}"
        ) from error
    if unknown := sorted({*_weights(model)} - {*_weights(made)}):
        raise SettingsError(
            f"the model has weights that one built from its configuration has not, or shares with others: "
            f"{', '.join(unknown[:3])} ({len(unknown)}); {INSTEAD}"
        )
    _place(wrapper, model)
    return made.eval()


def _weights(model: Any) -> Iterator[str]:
    """Yield the names of all parameters, shared ones once, and buffers."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        flat = getattr(tensor, "_fqns", [""])  # many parameters in one, of FSDP1
        yield from (_WRAPPERS.sub("", name.removesuffix("_flat_param") + own) for own in flat)


def _place(wrapper: Any, model: Any) -> str:
    """Returns with what names of the model's weights begin in the wrapper."""
    for name, module in wrapper.named_modules():
        if module is model:
            return _WRAPPERS.sub("", f"{name}." if name else "")
    raise SettingsError("`wrapper` does not contain the model: pass the module that does")


def check_memory(made: Any, like: Any) -> None:
    """Raise if what `gathered` needs is not there: a rank that fails in it would stop all others.

    `made`: the skeleton; `like`: a parameter of the model. Raises `GenerationError` if there is no memory for
    a whole copy on rank 0, and what torch raises if there is none for the largest weight on this rank.
    """
    sizes = [parameter.numel() * like.element_size() for parameter in made.parameters()]
    # A collective may hold its result twice. Modules, of FSDP1, are gathered in training, too.
    torch.empty(2 * max(sizes), dtype=torch.uint8, device=like.device)
    if torch.distributed.get_rank() == 0:
        need, room = sum(sizes), min(_free(), default=sum(sizes))
        if need > room:
            raise GenerationError(
                f"a whole copy of the model takes {need / 2**30:.1f} GiB of memory, and "
                f"{room / 2**30:.1f} GiB are free; {INSTEAD}"
            )
        torch.empty(need, dtype=torch.uint8)  # within the limits of the process


def _free() -> Iterator[int]:
    """Yield how many bytes of memory are free on this machine and within the limit of the container."""
    with suppress(OSError):  # what there is not
        yield from (int(n) << 10 for n in re.findall(r"MemAvailable: +(\d+)", _MEMINFO.read_text()))
        for limit in re.findall(r"\d+", (_GROUP / "memory.max").read_text()):  # or "max"
            used, held = ((_GROUP / f"memory.{of}").read_text() for of in ("current", "stat"))
            # What is cached of files, active and inactive, makes room.
            yield int(limit) - int(used) + sum(map(int, re.findall(r"active_file (\d+)", held)))


def gathered(wrapper: Any, model: Any) -> dict[str, Any]:
    """Returns all weights of a sharded model in rank 0's memory; the other ranks must call it, too.

    They are gathered one by one (FSDP1: module by module), so no rank holds more than one beside them.
    Raises `CollectiveError` if this rank fails, which nothing but the end of a process should cause.
    """
    try:
        if any(hasattr(p, "ds_id") for p in model.parameters()):
            return dict(_of_deepspeed(model))
        from torch.distributed.checkpoint import state_dict

        options = state_dict.StateDictOptions(full_state_dict=True, cpu_offload=True)
        found = state_dict.get_model_state_dict(wrapper, options=options)
        prefix = _place(wrapper, model)
        return {name.removeprefix(prefix): value for name, value in found.items()}
    except Exception as error:
        raise CollectiveError(
            f"gathering the weights failed while other ranks wait: {reason_of(error)}; {INSTEAD}"
        ) from error


def whole(made: Any, weights: Mapping[str, Any], model: Any, device: Any) -> Any:
    """Returns the copy of a model, from its skeleton and all its weights, on a device.

    Raises `GenerationError` if the weights are not those of the skeleton.
    """
    made.load_state_dict(weights, strict=False, assign=True)
    for name, buffer in model.named_buffers():
        place, _, name = _WRAPPERS.sub("", name).rpartition(".")
        setattr(made.get_submodule(place), name, buffer.detach().clone())
    made.tie_weights()
    for name, tensor in (*made.named_parameters(), *made.named_buffers()):
        if tensor.is_meta:
            raise GenerationError(f"the training's model has no weights {name!r}; {INSTEAD}")
    return made.to(device)


def _of_deepspeed(model: Any) -> Iterator[tuple[str, Any]]:
    import deepspeed

    for name, parameter in model.named_parameters():
        with deepspeed.zero.GatheredParameters([parameter]):
            if torch.distributed.get_rank() == 0:
                yield name, parameter.detach().to("cpu", copy=True)


def _sharding_classes() -> tuple[Any, ...]:
    """Returns the classes of FSDP1 and, if this version of torch has it, FSDP2."""
    if not torch.distributed.is_available():
        return ()
    from torch.distributed import fsdp

    names = ("FullyShardedDataParallel", "FSDPModule")
    return tuple(getattr(fsdp, name) for name in names if hasattr(fsdp, name))
