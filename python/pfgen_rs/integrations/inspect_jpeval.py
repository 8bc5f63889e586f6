"""llm-jp-eval in inspect_ai: `inspect eval pfgen_rs/llm_jp_eval --model …`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import inspect_ai as ai
from inspect_ai import scorer as scoring
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, solver

from pfgen_rs.errors import PfgenError
from pfgen_rs.integrations.common import TaskOutput, evaluated_outputs
from pfgen_rs.io.cleaning import unicode_text
from pfgen_rs.llm_jp_eval.catalog import ALL, AVERAGES, chosen_tasks, find_task
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, read_tasks, used
from pfgen_rs.llm_jp_eval.metrics import CORRELATIONS, metric, parse_float
from pfgen_rs.llm_jp_eval.metrics.samples import check_variant, prediction
from pfgen_rs.llm_jp_eval.prompts import SHOTS, filled, template
from pfgen_rs.llm_jp_eval.results import PromptSettings, ScoreSettings, signature
from pfgen_rs.llm_jp_eval.scoring import standard_errors
from pfgen_rs.training.checks import count, whole

_IN_AVERAGE = list(AVERAGES["AVR"])


@contextmanager
def inspect_ai_errors() -> Iterator[None]:
    """Convert errors to a type that inspect_ai shows without tracebacks."""
    try:
        yield
    except PfgenError as error:
        raise PrerequisiteError(str(error)) from None


@ai.task
def llm_jp_eval(
    tasks: str | list[str] = ALL,
    data: str | None = None,
    split: str = "test",
    n: int | None = None,
    shots: int = SHOTS,
    variant: str = "upstream",
) -> ai.Task:
    """Ask tasks of llm-jp-eval, each sample in a user message with the published prompt.

    `tasks`: names or categories, separated by commas (default: all 17). `data`: a folder of converted files
    (default: the installed ones). `n`: number of samples a task (default: all). `shots`: number of examples
    in prompts. `variant`: how outputs become predictions. Decoding is greedy, with at most `output_length`
    new tokens.
    """
    with inspect_ai_errors():
        n, shots = None if n is None else count(n, "n"), whole(shots, "the number of shots")
        names = [
            name
            for text in ([tasks] if isinstance(tasks, str) else tasks)
            for name in text.split(",")
        ]
        chosen = [task.name for task in chosen_tasks(name.strip() for name in names)]
        datas = read_tasks(data, chosen, split)
        settings = ScoreSettings(variant, n=n, prompts=PromptSettings(shots, chat=True))
        first = [replace(data, samples=data.samples[: used(data, n)]) for data in datas]
        return ai.Task(
            dataset=MemoryDataset(
                [sample for each in first for sample in _samples(each, shots)],
                name="llm_jp_eval",
            ),
            solver=llm_jp_eval_solver(),
            scorer=llm_jp_eval_scorer(variant),
            metrics=[llm_jp_eval_figures(variant)],
            config=GenerateConfig(temperature=0.0),
            metadata={"signature": signature(datas, settings)},
        )


def _samples(data: TaskData, shots: int) -> Iterator[Sample]:
    own = template(data, shots)
    for index, sample in enumerate(data.samples):
        yield Sample(
            input=filled(own, sample.input),
            target=sample.output,
            id=item_id(data.task, data.split, index),
            metadata={
                "task": data.task,
                "index": index,
                "metrics": list(data.metrics),
                "max_tokens": data.output_length,
            },
        )


@solver
def llm_jp_eval_solver() -> Solver:
    """Generate with the maximum number of tokens of each sample's task."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state, tool_calls="none", max_tokens=state.metadata["max_tokens"])

    return solve


@scoring.metric(name="figures")
def llm_jp_eval_figures(variant: str = "upstream") -> scoring.Metric:
    """Returns the figures of tasks (`jamp_exact_match`), each with its standard error (`…_stderr`).

    Then those of the categories of which tasks were run, and AVR if these are all seven. `variant`: as for
    `llm_jp_eval_scorer`.
    """

    def figures(scores: list[scoring.SampleScore]) -> scoring.Value:
        kept = [score.score.metadata or {} for score in scores]
        kept.sort(key=lambda one: one["index"])
        found = evaluated_outputs(
            [
                TaskOutput(one["task"], tuple(one["metrics"]), one["gold"], one["output"])
                for one in kept
            ],
            variant,
        )
        categories = {find_task(task).category for task in found.frame["task"].unique()}
        names = [name for name in _IN_AVERAGE if name in categories]
        names += ["AVR"] if names == _IN_AVERAGE else []
        errors = {
            f"{name}_stderr": error
            for name, error in standard_errors(found).items()
            if error is not None
        }
        return {**found.scores, **errors, **{name: found.averages[name] for name in names}}

    return figures


@scoring.scorer(metrics=[llm_jp_eval_figures()])
def llm_jp_eval_scorer(variant: str = "upstream") -> scoring.Scorer:
    """Score an output by its task's main metric; for correlations (jsts) it is the number predicted.

    An empty output counts, as a wrong answer. Raises `SettingsError` for unknown variants.
    """
    check_variant(variant)

    async def scored(state: TaskState, target: scoring.Target) -> scoring.Score:
        output = unicode_text(state.output.completion)
        found, main = prediction(output, variant), state.metadata["metrics"][0]
        correlated = main in CORRELATIONS
        value = parse_float(found) if correlated else metric(main, [found], [target.text])[0]
        kept = {name: state.metadata[name] for name in ("task", "index", "metrics")}
        metadata = {**kept, "gold": target.text, "output": output}
        return scoring.Score(value=value, answer=found, metadata=metadata)

    return scored
