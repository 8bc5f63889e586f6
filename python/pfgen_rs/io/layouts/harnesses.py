"""Samples of evaluation harnesses: lm-evaluation-harness (`samples_*.jsonl`) and inspect_ai (logs)."""

from collections.abc import Mapping

from pfgen_rs.io.layouts import LAYOUTS, QUESTIONS, Layout, Record, has, only

_PROMPTS = ("arguments.gen_args_0.arg_0", "arguments.0.0")
_OUTPUTS = ("output.choices.0.message.content", "output.completion")


def _lm_eval(record: Record) -> tuple[str, str] | None:
    answer = next((key for key in ("filtered_resps", "resps") if record.get(key)), None)
    document = record.get("doc")
    if answer is None or not isinstance(document, Mapping):
        return None
    asked = [key for key in QUESTIONS if isinstance(document.get(key), str) and document[key]]
    if asked[:1] == ["question"]:
        return "doc.question", answer
    named = only("question", [f"doc.{key}" for key in asked])
    prompt = next((path for path in _PROMPTS if has(record, path)), None)
    found = named or prompt
    return None if found is None else (found, answer)


def _inspect(record: Record) -> tuple[str, str] | None:
    if "input" not in record or not isinstance(record.get("output"), Mapping):
        return None
    question = "metadata.question" if has(record, "metadata.question") else "input"
    return question, next((path for path in _OUTPUTS if has(record, path)), _OUTPUTS[0])


def _failed(record: Record) -> str | None:
    error = record.get("error")
    return (
        f"the sample {record.get('id')!r:.80} failed: --skip-bad-lines leaves it out"
        if error
        else None
    )


LAYOUTS.add("lm-eval", Layout("lm-evaluation-harness samples", _lm_eval, same="filter"))
LAYOUTS.add("inspect", Layout("a log of inspect_ai", _inspect, _failed))
