"""Files that describe the tasks of this package to lm-evaluation-harness, made from the registry."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pfgen_rs.io.atomic import staged_folder
from pfgen_rs.io.known_files import cache_folder
from pfgen_rs.llm_jp_eval import registry

_STATIC = Path(__file__).with_name("tasks")
_FOLDER = _TASK = "llm_jp_eval"
_DIGEST = 16  # hex digits


def task_folder() -> Path:
    """Returns the folder for `--include_path`: the tasks of pfgen-bench, and all tasks of the registry.

    It lies in the user's cache folder under a name that follows from its content, and stays there.
    """
    texts = {name: json.dumps(content, indent=1) for name, content in _described()}
    every = json.dumps(texts) + "".join(path.read_text("utf-8") for path in _static_files())
    digest = hashlib.sha256(every.encode()).hexdigest()[:_DIGEST]
    place = cache_folder() / "lm-eval-tasks" / digest
    if not place.is_dir():
        with staged_folder(place, "tasks") as content:
            for path in _static_files():
                copy = content / path.relative_to(_STATIC)
                copy.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, copy)
            for name, text in texts.items():
                (content / _FOLDER / f"{name}.yaml").write_text(text, encoding="utf-8")
    return place


def _static_files() -> list[Path]:
    return sorted(path for path in _STATIC.rglob("*") if path.is_file() and path.suffix != ".pyc")


def _described() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield names of files, and what they say: JSON is YAML."""
    taken = {_TASK, *(_name(task) for task in registry.tasks())}
    for info in registry.tasks().values():
        own = {"jpeval_folder": str(info.path.parent.resolve())} if info.is_own else {}
        yield (
            info.name,
            {
                "include": "_common_yaml",
                "task": _name(info.name),
                "task_alias": info.name,
                "dataset_kwargs": {"jpeval_task": info.name, **own},
            },
        )
    default = registry.find_profile(registry.DEFAULT)
    published = [registry.find_task(name) for name in default.tasks]
    groups: dict[str, list[str]] = {}
    for info in [*published, *registry.tasks().values()]:
        known = groups.setdefault(info.category, [])
        if info in published or info.category not in {each.category for each in published}:
            known += [] if _name(info.name) in known else [_name(info.name)]
    averaged = default.averages[default.average]
    for category, names in groups.items():
        if _name(category.lower()) not in taken and category != "STS":
            yield f"_{category.lower()}", _group(_name(category.lower()), category, names)
    whole = [_name(category.lower()) for category in averaged]
    whole += [_name(each.name) for each in published if each.category not in averaged]
    yield f"_{_TASK}", _group(_TASK, f"llm-jp-eval ({default.average})", whole)


def _name(name: str) -> str:
    return f"{_TASK}_{name}"


def _group(name: str, alias: str, members: Iterable[str]) -> dict[str, Any]:
    mean = {"metric": "score", "aggregation": "mean", "weight_by_size": False}
    return {
        "group": name,
        "group_alias": alias,
        "task": list(members),
        "aggregate_metric_list": [{**mean, "filter_list": _TASK}],
        "metadata": {"version": 1},
    }
