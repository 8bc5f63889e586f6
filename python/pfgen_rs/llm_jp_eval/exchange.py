"""The files that llm-jp-eval's inference repository takes and gives: prompts, and what was generated.

{task}.eval-prompt.json       `target_dataset`, `config`, `output_length`, `samples`: prompt, input, gold
{task}.eval-generated.json    the same, with `generated` in every sample
_config.json                  beside those: model, sampling, parser of thoughts

Samples are found by the `id` and `digest` that files of this package have, else by prompt, input and gold.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import atomic
from pfgen_rs.llm_jp_eval.evaluation_files import files_of, read_object
from pfgen_rs.llm_jp_eval.prompts import Outputs, digest_of_asked, items, output_of
from pfgen_rs.llm_jp_eval.registry import plain_name
from pfgen_rs.llm_jp_eval.scoring import SAMPLING, Plan

PROMPTS, GENERATED, CONFIG = ".eval-prompt.json", ".eval-generated.json", "_config.json"
_DEEPEST = 6  # levels of `_config.json`
_KNOWN: Mapping[str, tuple[tuple[type, ...], tuple[str, ...]]] = {
    **{name: ((int, float), (name,)) for name in SAMPLING},
    "model": ((str,), ("model", "pretrained_model_name_or_path")),
    "reasoning_parser": ((str,), ("reasoning_parser",)),
    "apply_chat_template": ((bool,), ("apply_chat_template",)),
}
"""What is looked for in `_config.json`: types, and names there."""
_MADE = ("profile", "split", "n", "chosen_shots", "shots", "prompt", "fewshots", "max_tokens")
_STATED = (*_MADE, "data", "output_length_delta")
"""What `config` says if this package made the prompts."""
_OTHERS = ("dump_prompts_config", "dataset_profiles", "benchmark", "time_profile", "tokenizer")
"""Parts of it that do not say how outputs were generated."""


def write_exchange(folder: Path, plans: Sequence[Plan], n: int | None, shots: int | None) -> int:
    """Write a file of prompts a task; returns the number of prompts.

    `n`, `shots`: numbers of samples and examples if they were chosen, `None` for those of the profile. Raises
    `SettingsError` unless each sample has a single prompt without earlier turns and the folder's other files
    were made with the same settings, `InputError` for files that cannot be read, and `OutputError`.
    """
    datas, settings = plans[0]
    prompts = settings.prompts
    asked = {plain_name(data.task): list(items([data], settings.n, prompts)) for data in datas}
    if len(plans) > 1 or len(asked) < len(datas) or any(map(prompts.turns, datas)):
        problem = "samples have several prompts, or chats of several turns"
        raise SettingsError(f"{problem}: choose a single profile, or --shots 0")
    digests = [item.digest() for own in asked.values() for item in own]
    config = {
        "program": f"pfgen_rs {_native.__version__}",
        "profile": settings.profile,
        "split": datas[0].split,
        "n": n,
        "chosen_shots": shots,
        **asdict(prompts),
        "data": {name: digest for data in datas for name, digest in files_of(data).items()},
        "prompts_sha256": sha256("".join(digests).encode()).hexdigest(),
        "output_length_delta": 0,
    }
    made = _made({"config": config}, folder)
    for path in folder.glob(f"*{PROMPTS}"):
        there = {**_made(read_object(path)[0], path), "data": made["data"]}
        if there != made and path.name.removesuffix(PROMPTS) not in asked:
            raise SettingsError(f"{path}: was made with other settings: choose another folder")
    for (task, own), data in zip(asked.items(), datas, strict=True):
        content = {
            "target_dataset": task,
            "config": config,
            "output_length": own[0].max_tokens,
            "samples": [
                {**item.record(), "input": sample.input, "gold": sample.output}
                for item, sample in zip(own, data.samples, strict=False)
            ],
        }
        text = json.dumps(content, ensure_ascii=False, indent=1)
        atomic.write_atomic(folder / f"{task}{PROMPTS}", text.encode())
    return len(digests)


def read_exchange(place: Path) -> Outputs | None:
    """Read a file of generated texts, or those of a folder, and `_config.json` beside them.

    `None` if there are none. Raises `InputError` for files that are not of the task that their names say, and
    whose prompts were made with other settings than those of the first.
    """
    paths = sorted(place.glob(f"*{GENERATED}")) if place.is_dir() else [place]
    files = {p.name.removesuffix(GENERATED): p for p in paths if p.name.endswith(GENERATED)}
    if not files:
        return None
    found = Outputs(place)
    records = {task: _read_file(found, task, path) for task, path in files.items()}
    first, made = next(iter(files.values())), [_made(records[task], files[task]) for task in files]
    for path, own in zip(files.values(), made, strict=True):
        for key in {**made[0], **own}:
            if key != "data" and own.get(key) != (value := made[0].get(key)):
                told = f"made with other settings than {first.name}, such as {key}={value!r:.60}"
                raise InputError(f"was {told}", path=path)
    beside = first.with_name(CONFIG)
    config = read_object(beside)[0] if beside.exists() else {}
    delta = made[0].pop("output_length_delta", None)
    found.config.update(made[0])
    found.inference.update(_inference(config, records, delta))
    return found


def _read_file(found: Outputs, task: str, path: Path) -> dict[str, Any]:
    """Add the outputs of a file of generated texts, and return its object."""
    record, found.by_task[task] = read_object(path)[0], {}
    samples = record.get("samples")
    if record.get("target_dataset") != task or not isinstance(samples, list):
        raise InputError(f"must have 'samples', and {task!r} as its 'target_dataset'", path=path)
    for number, sample in enumerate(samples):
        try:
            _add(found, task, sample, record.get("output_length"))
        except InputError as error:
            raise InputError(f"sample {number} {error.problem}", path=path) from None
    return record


def _add(found: Outputs, task: str, sample: Any, limit: Any) -> None:
    """Add what was generated for a sample, without thoughts; `None` if nothing was."""
    match sample:
        case {"prompt": str(prompt), "input": str(given), "gold": str(gold)}:
            text = sample.get("generated")
        case _:
            raise InputError("lacks the text 'prompt', 'input' or 'gold'")
    for key in ("generated", "reasoning_content"):
        if not isinstance(sample.get(key), str | None):
            raise InputError(f"must have text under {key!r}")
    if text is None and sample.get("reasoning_content"):
        text = ""
    output = replace(output_of(sample, text), model=None, asked=(prompt, limit))
    name = str(sample.get("id")).partition("#")[0]
    if not output.digest or not name.startswith(f"{task}/"):
        output = replace(output, digest=digest_of_asked(prompt, limit))
        found.unnamed.setdefault(task, []).append((given, gold, output))
    elif name in found.by_task[task]:
        raise InputError("appears twice")
    else:
        found.add(name, output)


def _inference(
    config: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]], delta: Any
) -> dict[str, Any]:
    """Returns what is known of how outputs were generated, and how many had thoughts, of what length."""
    found: dict[str, Any] = {"output_length_delta": delta} if type(delta) is int and delta else {}
    for name, (types, names) in _KNOWN.items():
        values = {each for each in _values(config, names) if type(each) in types}
        if len(values) == 1:  # of several it is not known which was used
            found[name] = values.pop()
    for task, record in records.items():
        if lengths := list(map(len, _texts(record, "reasoning_content"))):
            thoughts = {"outputs": len(lengths), "characters": sum(lengths)}
            found.setdefault("thoughts", {})[task] = thoughts
    if systems := {text for record in records.values() for text in _texts(record, "system_prompt")}:
        found["system_prompt"] = sha256("\0".join(sorted(systems)).encode()).hexdigest()[:8]
    return found


def _texts(record: Mapping[str, Any], name: str) -> list[str]:
    """Returns the texts that samples have under a name, without empty ones."""
    return [str(sample[name]) for sample in record["samples"] if sample.get(name)]


def _made(record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns how prompts were made, as far as `config` says: all of it where this package wrote the file.

    Raises `InputError` with the path for numbers that are none.
    """
    config: Any = record.get("config")
    match config:
        case {"profile": str(), "n": n, "shots": int()}:
            if n is not None and (type(n) is not int or n < 1):
                raise InputError(f"'config' has n={n!r:.60}: expected null or 1 or more", path=path)
            return {name: config.get(name) for name in _STATED}
        case {"output_length_delta": delta}:
            return {"output_length_delta": delta}
    return {}


def _values(
    config: Mapping[str, Any], names: tuple[str, ...], depth: int = _DEEPEST
) -> Iterator[Any]:
    """Yield the values that names have anywhere in a configuration, if they may be shown on a line."""
    for key, value in config.items():
        if isinstance(value, dict) and depth and key not in _OTHERS:
            yield from _values(value, names, depth - 1)
        elif isinstance(value, int | float) and not abs(value) < 2**64:
            pass  # NaN, too
        elif key in names and str(value).isprintable() and "|" not in str(value):
            yield value
