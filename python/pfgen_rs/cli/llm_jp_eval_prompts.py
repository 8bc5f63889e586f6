"""`pfgen-rs llm-jp-eval prompts`: prompts for inference made elsewhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import llm_jp_eval_options as shared
from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted

__all__ = ["PromptFormat", "write_prompts"]


class PromptFormat(StrEnum):
    """Format of prompts."""

    JSONL = "jsonl"
    OPENAI_COMPLETIONS = "openai-completions"
    OPENAI_CHAT = "openai-chat"


def write_prompts(
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE|-", help="File to write, or - for stdout."),
    ],
    prompt_format: Annotated[
        PromptFormat,
        typer.Option(
            "--format",
            "-f",
            help="jsonl: id, task, split, index, prompt, max_tokens and digest; others: requests for "
            "OpenAI's batch API and vLLM's run-batch.",
        ),
    ] = PromptFormat.JSONL,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Model named in openai formats."),
    ] = None,
    data: shared.Data = None,
    tasks: shared.TaskNames = None,
    split: shared.Split = shared.SplitName.TEST,
    num: shared.Num = None,
    shots: shared.Shots = 4,
    template: shared.PromptTemplate = None,
    fewshots_template: shared.Fewshots = None,
    max_tokens: shared.MaxNewTokens = None,
    strict: shared.Strict = False,
) -> None:
    """Write the prompts of all samples, for inference made elsewhere; 'score' reads the outputs.

    Generate greedily (temperature 0), at most max_tokens new tokens, without stop strings. Outputs are JSON
    lines with the prompt's id and 'output', or what the batch APIs return. Keep the digest in them: 'score'
    then tells outputs to other prompts.

    Example: `pfgen-rs llm-jp-eval prompts --num 100 --out prompts.jsonl`
    """
    from pfgen_rs.io import write_atomic
    from pfgen_rs.io.json_lines import as_line
    from pfgen_rs.llm_jp_eval.outputs import batch_line, check_format, items

    check_format(prompt_format.value, model)
    chat = prompt_format is PromptFormat.OPENAI_CHAT
    prompts = shared.prompt_settings(shots, template, fewshots_template, max_tokens=max_tokens)
    datas = shared.read_datas(data, tasks, split, strict=strict)
    lines = [
        as_line(
            item.record()
            if prompt_format is PromptFormat.JSONL
            else batch_line(item, model or "", chat=chat)
        )
        for item in items(datas, shared.number(num), prompts)
    ]
    if out == "-":
        output.emit(b"".join(lines).decode())
        return
    write_atomic(Path(out), b"".join(lines))
    written = f"{counted(len(lines), 'prompt')} of {counted(len(datas), 'task')}"
    output.emit(f"wrote {written} to {out}\n")
