"""The files that llm-jp-eval's inference repository takes and gives: prompts, and what was generated.

{task}.eval-prompt.json       `target_dataset`, `config`, `output_length`, `samples`: prompt, input, gold
{task}.eval-generated.json    the same, with `generated` in every sample
_config.json                  beside those: model, sampling, parser of thoughts

Samples are found by the `id` and `digest` that files of this package have, else by prompt, input and gold.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io import atomic
from pfgen_rs.llm_jp_eval import registry
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, files_of, read_object, used
from pfgen_rs.llm_jp_eval.measures import normalized_gold
from pfgen_rs.llm_jp_eval.prompts import Item, Matched, PromptSettings, items
from pfgen_rs.llm_jp_eval.registry import plain_name
from pfgen_rs.llm_jp_eval.running import check_chosen_prompts
from pfgen_rs.llm_jp_eval.scoring import SAMPLING, Plan, ScoreSettings

PROMPTS, GENERATED, CONFIG = ".eval-prompt.json", ".eval-generated.json", "_config.json"
_CHOOSE = "choose --shots 0, or another profile"
_LARGEST = 4 << 30  # bytes of a file
_SHOWN = 20  # characters of a prompt
_DEEPEST = 6  # levels of `_config.json`
_KNOWN: Mapping[str, tuple[tuple[type, ...], tuple[str, ...]]] = {
    **{name: ((int, float), (name,)) for name in SAMPLING},
    "model": ((str,), ("model", "pretrained_model_name_or_path")),
    "reasoning_parser": ((str,), ("reasoning_parser",)),
    "apply_chat_template": ((bool,), ("apply_chat_template",)),
}
"""What is looked for in `_config.json`: types, and names there."""
_MADE = ("profile", "split", "n", "shots", "prompt", "fewshots", "max_tokens")
"""What `config` says if this package made the prompts."""
_OTHERS = ("dump_prompts_config", "dataset_profiles", "benchmark", "time_profile", "tokenizer")
"""Parts of it that do not say how outputs were generated."""


def write_exchange(folder: Path, plans: Sequence[Plan]) -> int:
    """Write a file of prompts a task; returns the number of prompts.

    Raises `SettingsError` unless each sample has a single prompt without earlier turns, and `OutputError`.
    """
    (datas, settings), *others = plans
    if others:
        raise SettingsError("files of prompts are those of a single profile: choose one")
    asked = {plain_name(data.task): _asked(data, settings, settings.n) for data in datas}
    if len(asked) < len(datas):
        raise SettingsError(f"{settings.profile} asks with several numbers of examples: {_CHOOSE}")
    digests = [item.digest() for own in asked.values() for item in own]
    config = {
        "program": f"pfgen_rs {_native.__version__}",
        "profile": settings.profile,
        "split": datas[0].split,
        "n": settings.n,
        **asdict(settings.prompts),
        "data": {name: digest for data in datas for name, digest in files_of(data).items()},
        "prompts_sha256": sha256("".join(digests).encode()).hexdigest(),
        "output_length_delta": 0,
    }
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


def _asked(data: TaskData, settings: ScoreSettings, n: int | None = None) -> list[Item]:
    if settings.prompts.turns(data):
        raise SettingsError(f"prompts of {data.task} are chats with several turns: {_CHOOSE}")
    return list(items([data], n, settings.prompts))


def exchange_files(place: Path) -> list[Path]:
    """Returns the files of generated texts in a folder, or that are `place`; none if it has other outputs."""
    found = sorted(place.glob(f"*{GENERATED}")) if place.is_dir() else [place]
    return [path for path in found if path.name.endswith(GENERATED)]


@dataclass(frozen=True)
class Exchanged:
    """What was generated elsewhere: the files and their objects by task, and what is known of how."""

    files: Mapping[str, Path]
    records: Mapping[str, Mapping[str, Any]]
    inference: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """The first file."""
        return next(iter(self.files.values()))

    @property
    def made(self) -> Mapping[str, Any]:
        """How the prompts of the first file were made, as far as it says."""
        return _made(next(iter(self.records.values())))

    def settings(self, chosen: ScoreSettings) -> ScoreSettings:
        """Returns settings with what the files say. Raises `SettingsError` for choices that contradict it."""
        if "shots" not in (made := self.made):
            return chosen
        prompts = PromptSettings(
            made["shots"], made["prompt"], made["fewshots"], False, made["max_tokens"]
        )
        check_chosen_prompts(self.path, replace(chosen.prompts, chat=False), prompts)
        prompts = replace(prompts, chat=chosen.prompts.chat)
        return replace(chosen, n=chosen.n or made["n"], prompts=prompts, profile=made["profile"])

    def shots(self, chosen: int | None) -> int | None:
        """Returns the number of examples that was chosen or that files have, `None` for the profile's."""
        if chosen is not None or "shots" not in (made := self.made):
            return chosen
        usual = registry.find_profile(made["profile"]).shots
        return None if usual == (made["shots"],) else int(made["shots"])

    def matched(self, plans: Sequence[Plan]) -> list[tuple[Plan, Matched]]:
        """Returns plans with what is known of how outputs were made, and these outputs.

        Raises `InputError` with file and sample for those that occur twice, answer other prompts than those
        of the plan, or are of no sample of the data.
        """
        found = []
        known = {name: self.inference[name] for name in SAMPLING if name in self.inference}
        for datas, settings in plans:
            prompts = settings.prompts
            chat = prompts.chat or self.inference.get("apply_chat_template", False)
            usual = registry.find_profile(settings.profile).shots[0]
            shots = usual if prompts.shots is None else prompts.shots
            prompts = replace(prompts, shots=shots, chat=chat)
            own = replace(settings, prompts=prompts, sampling=known, inference=self.inference)
            texts = {data.task: self._of_task(data, own) for data in datas}
            found.append((Plan(datas, own), Matched(texts)))
        return found

    def _of_task(self, data: TaskData, settings: ScoreSettings) -> list[str | None]:
        task, found = plain_name(data.task), dict[int, str | None]()
        record = self.records.get(task, {"samples": ()})
        if (split := _made(record).get("split", data.split)) != data.split:
            raise InputError(
                f"is of the split {split}: choose --split {split}", path=self.files[task]
            )
        asked = _asked(data, settings)
        places: dict[tuple[str, ...], list[Item]] = defaultdict(list)
        for item, own in zip(asked, data.samples, strict=True):
            places[item.id,].append(item)
            places[_key(item.prompt, own.input, own.output)].append(item)
        for number, sample in enumerate(record["samples"]):
            try:
                prompt, given, gold = (_text(sample, name) for name in ("prompt", "input", "gold"))
                ours = "id" in sample and "digest" in sample
                key = (_text(sample, "id"),) if ours else _key(prompt, given, gold)
                free = [item for item in places.get(key, ()) if item.index not in found]
                if key in places and not free:
                    raise InputError("is there twice")
                meant = free or [asked[n] for n, s in enumerate(data.samples) if s.input == given]
                if not meant:
                    raise InputError(f"is foreign: no sample has the input {given!r:.60}")
                _check_prompt(prompt, meant[0], sample, record, data)
                if not free:
                    raise InputError(f"is foreign: its gold or id is not that of {meant[0].id}")
                found[meant[0].index] = _output(sample)
            except InputError as error:
                problem = f"sample {number} {error.problem}"
                raise InputError(problem, path=self.files[task]) from None
        return [found.get(index) for index in range(used(data, settings.n))]


def read_exchange(files: Sequence[Path]) -> Exchanged:
    """Read files of generated texts, and `_config.json` beside them.

    Raises `InputError` for files that are not of the task that their names say, of tasks that are not known,
    and whose prompts were made with other settings than those of the first.
    """
    paths = {path.name.removesuffix(GENERATED): path for path in files}
    records = {task: _record(task, path) for task, path in paths.items()}
    first = _made(records[next(iter(paths))])
    for task, record in records.items():
        for name, value in _made(record).items():
            if value != first.get(name):
                problem = (
                    f"was made with {name}={value}, but {files[0].name} with {first.get(name)}"
                )
                raise InputError(problem, path=paths[task])
    beside = files[0].with_name(CONFIG)
    config = read_object(beside)[0] if beside.exists() else {}
    return Exchanged(paths, records, _inference(config, records, first["output_length_delta"]))


def _inference(
    config: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]], delta: int
) -> dict[str, Any]:
    """Returns what is known of how outputs were generated, and how many had thoughts, of what length."""
    found: dict[str, Any] = {"output_length_delta": delta} if delta else {}
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


def _record(task: str, path: Path) -> dict[str, Any]:
    """Returns the object in a file of generated texts."""
    if path.is_file() and path.stat().st_size > _LARGEST:
        raise InputError(f"is larger than {_LARGEST >> 30} GiB", path=path)
    record, _ = read_object(path)
    if record.get("target_dataset") != task or not isinstance(record.get("samples"), list):
        raise InputError(f"must have 'samples', and {task!r} as its 'target_dataset'", path=path)
    if task not in registry.tasks():
        problem = f"{task!r} is not a known task: see 'pfgen-rs llm-jp-eval tasks'"
        raise InputError(problem, path=path)
    return record


def _made(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns how prompts were made, as far as `config` says: all of it where this package wrote the file."""
    stated = record.get("config")
    config: dict[str, Any] = stated if isinstance(stated, dict) else {}
    delta = config.get("output_length_delta")
    made = {"output_length_delta": delta if type(delta) is int else 0}
    match config:
        case {
            "profile": str(),
            "split": str(),
            "n": int() | None,
            "shots": int(),
            "prompt": str() | None,
            "fewshots": str() | None,
            "max_tokens": int() | None,
        }:
            return {**made, **{name: config[name] for name in _MADE}}
    return made


def _values(
    config: Mapping[str, Any], names: tuple[str, ...], depth: int = _DEEPEST
) -> Iterator[Any]:
    """Yield the values that names have anywhere in a configuration, if they may be shown on a line."""
    for key, value in config.items():
        if isinstance(value, dict) and depth and key not in _OTHERS:
            yield from _values(value, names, depth - 1)
        elif key in names and str(value).isprintable() and "|" not in str(value):
            yield value


def _texts(record: Mapping[str, Any], name: str) -> list[str]:
    """Returns the texts that samples have under a name, without empty ones."""
    found = [sample.get(name) for sample in record["samples"] if isinstance(sample, dict)]
    return [text for text in found if isinstance(text, str) and text]


def _key(prompt: str, given: str, gold: str) -> tuple[str, ...]:
    return prompt, given, normalized_gold(gold)


def _text(sample: Any, name: str) -> str:
    value = sample.get(name) if isinstance(sample, dict) else None
    if not isinstance(value, str):
        raise InputError(f"lacks the text {name!r}")
    return value


def _output(sample: Mapping[str, Any]) -> str | None:
    """Returns what was generated, without thoughts; `None` if nothing was."""
    text = sample.get("generated")
    if text is not None and not isinstance(text, str):
        raise InputError("must have text under 'generated'")
    return "" if text is None and sample.get("reasoning_content") else text


def _check_prompt(
    prompt: str, item: Item, sample: Mapping[str, Any], record: Mapping[str, Any], data: TaskData
) -> None:
    """Raise `InputError` with what differs if a sample was not asked as this package would ask it."""
    digest, limit = item.digest(), record.get("output_length")
    if (
        prompt == item.prompt
        and limit == item.max_tokens
        and sample.get("digest", digest) == digest
    ):
        return
    config = record.get("config")
    files = config.get("data") if isinstance(config, dict) else None
    for name, own in files_of(data).items():
        if isinstance(files, dict) and files.get(name, own) != own:
            raise InputError(f"was made from another file {name} than that of --data")
    if prompt == item.prompt:
        tokens = f"had at most {limit!r:.20} new tokens, not {item.max_tokens}: choose --max-tokens"
        raise InputError("has a wrong digest" if limit == item.max_tokens else tokens)
    place = next(
        (n for n, (a, b) in enumerate(zip(prompt, item.prompt, strict=False)) if a != b), 0
    )
    one, other = (text[place : place + _SHOWN] for text in (prompt, item.prompt))
    raise InputError(
        f"answers another prompt than that of {item.id} here: at character {place} it says {one!r}, not "
        f"{other!r}: choose --data, --shots and the other options of prompts as they were"
    )
