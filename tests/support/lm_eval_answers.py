"""`lm_eval` with a model that gives the answers of a file and notes what it was asked.

Run as a program it takes the arguments of `lm_eval`; or, with `calls`, a list of them for `simple_evaluate`
as JSON from standard input, and it prints what became of each.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.tasks import TaskManager

from pfgen_rs import PfgenError
from pfgen_rs.integrations import harness_path


@register_model("recorded")
class Recorded(LM):  # type: ignore[misc]
    """The j-th answer to a question in the file is its answer in trial j; documents may have ids instead."""

    tokenizer_name = "recorded"

    def __init__(self, answers: str, asked: str, **_: Any) -> None:
        super().__init__()
        self._answers: dict[str, list[str]] = {}
        for line in Path(answers).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            self._answers.setdefault(record["question"], []).append(record["answer"])
        self._asked = Path(asked)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """The recorded answers."""
        del disable_tqdm
        asked = [{"doc": r.doc, "context": r.args[0], "arguments": r.args[1]} for r in requests]
        self._asked.write_text(json.dumps(asked), encoding="utf-8")
        keys = [(r.doc.get("question") or r.doc["id"], r.doc.get("trial", 1)) for r in requests]
        return [self._answers[question][trial - 1] for question, trial in keys]

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """The messages as JSON."""
        return json.dumps([chat_history, add_generation_prompt])

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[Any]:
        """Nobody asks for it."""
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[Any]:
        """Nobody asks for it."""
        raise NotImplementedError


def outcome(call: dict[str, Any]) -> dict[str, Any]:
    """What a call of `simple_evaluate` gives, or the error of ours that it ends with."""
    manager = TaskManager(
        include_path=[str(harness_path("lm_eval")), "tasks"],
        include_defaults=False,
        metadata=call.pop("metadata", None),
    )
    try:
        found = lm_eval.simple_evaluate(model="recorded", task_manager=manager, **call)
    except PfgenError as error:
        return {"error": str(error)}
    asked = call["model_args"]["asked"]
    # Processes that share the work send these to each other.
    sent = [
        pickle.loads(pickle.dumps(sample["score"]))
        for samples in found["samples"].values()
        for sample in samples
        if "score" in sample
    ]
    return {
        "results": found["results"],
        "groups": found.get("groups", {}),
        "signatures": {n: c["metadata"].get("signature") for n, c in found["configs"].items()},
        "asked": json.loads(Path(asked).read_text(encoding="utf-8")),
        "sent": [[float(score), *score.response] for score in sent],
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["calls"]:
        print(json.dumps([outcome(call) for call in json.load(sys.stdin)]))
    else:
        cli_evaluate()
