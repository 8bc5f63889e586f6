"""Tasks as JSON lines, for external programs and for answering them elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pfgen_rs.generate.engines.protocol import Parameters
from pfgen_rs.generate.prompts import Task
from pfgen_rs.io.batch_outputs import custom_id

__all__ = ["task_line", "task_lines"]


def task_line(number: int, task: Task, parameters: Parameters) -> str:
    """Returns a task as one line of JSON, with everything needed to answer it, without the newline.

    Keys: `id` (the number), `question`, `trial`, `mode`, `messages` in mode `chat` (or if there are earlier
    turns) and `prompt` otherwise, `seed`, and `max_tokens`, `temperature`, `top_p` and `stop` if they are
    set.
    """
    is_chat = task.mode == "chat" or bool(task.history)
    record: dict[str, Any] = {
        "id": number,
        "question": task.question,
        "trial": task.trial,
        "mode": task.mode,
        **({"messages": task.messages} if is_chat else {"prompt": task.prompt}),
        "seed": task.seed,
    }
    sampling = {
        "max_tokens": parameters.max_tokens,
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "stop": list(parameters.stop) or None,
    }
    record.update((key, value) for key, value in sampling.items() if value is not None)
    return json.dumps(record, ensure_ascii=False)


def task_lines(tasks: Iterable[Task], parameters: Parameters) -> str:
    """Returns tasks as JSON lines, numbered from 1.

    `custom_id` is that of requests of batch APIs, whose outputs are imported by it.
    """
    lines = []
    for number, task in enumerate(tasks, 1):
        name = json.dumps(custom_id(task.trial, task.question), ensure_ascii=False)
        lines.append(f'{task_line(number, task, parameters)[:-1]}, "custom_id": {name}}}\n')
    return "".join(lines)
