"""The tasks of llm-jp-eval in inspect_ai: `inspect eval pfgen_rs/llm_jp_eval -T task=jamp --model …`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pfgen_rs import PfgenError, extras
from pfgen_rs.integrations.task_outputs import (
    TaskOutput,
    computed,
    document,
    figure,
    standard_error,
)
from pfgen_rs.lazy import np
from pfgen_rs.llm_jp_eval import evaluation_files, prompts, registry, scoring

try:
    import inspect_ai as ai
    from anyio import to_thread
    from inspect_ai import scorer
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig
    from inspect_ai.solver import TaskState, generate
except ImportError as error:
    raise extras.missing("inspect_ai", "inspect", error, PfgenError) from error

_OUTPUT = "llm_jp_eval"  # metadata of a score: its `TaskOutput`


@contextmanager
def shown_errors() -> Iterator[None]:
    """Convert errors to a type that inspect_ai shows without tracebacks."""
    try:
        yield
    except PfgenError as error:
        raise PrerequisiteError(str(error)) from None


@ai.task
def llm_jp_eval(
    task: str,
    data: str | None = None,
    split: str = "test",
    shots: int | None = None,
    profile: str = registry.DEFAULT,
    task_folder: str | None = None,
) -> ai.Task:
    """Ask about the samples of a task, and score the outputs as `pfgen-rs llm-jp-eval` does.

    `task`: the name of any task, your own included. `data`: a folder of converted files (default: the
    installed ones). `shots`: number of examples in prompts (default: that of the task, or 4). `profile`: how
    outputs become predictions. `task_folder`: a folder of files that describe tasks of your own. Prompts are
    the user's turns; temperature 0 and the task's limit of new tokens, unless overridden on the command line.
    """
    with shown_errors():
        if task_folder is not None:
            registry.add_folder(task_folder)
        found = evaluation_files.read_task(data, registry.find_task(task).name, split, shots)
        asked = prompts.PromptSettings(prompts.SHOTS if shots is None else shots, chat=True)
        settings = scoring.ScoreSettings(profile, prompts=asked)
        template = asked.template(found)
        samples = [
            Sample(
                input=prompts.filled(template, sample.input),
                target=sample.output,
                id=evaluation_files.item_id(task, split, index),
                metadata=document(found, index, profile),
            )
            for index, sample in enumerate(found.samples)
        ]
        return ai.Task(
            dataset=MemoryDataset(samples, name=task),
            solver=generate(tool_calls="none"),
            scorer=llm_jp_eval_scorer(),
            metrics={
                name: [task_figure(name), task_figure_error(name)] for name in computed(found)
            },
            config=GenerateConfig(max_tokens=found.output_length, temperature=0.0),
            metadata={"signature": scoring.signature([found], settings)},
        )


@scorer.scorer(metrics={})
def llm_jp_eval_scorer() -> scorer.Scorer:
    """Score an output by the metrics of its task; samples are those of the task `llm_jp_eval`."""

    async def scored(state: TaskState, target: scorer.Target) -> scorer.Score:  # noqa: ARG001
        output = TaskOutput.of(state.metadata, state.output.completion)
        return await to_thread.run_sync(_score, output)

    return scored


def _score(output: TaskOutput) -> scorer.Score:
    predicted = output.prediction()
    values: dict[str, Any] = {name: output.value(name, predicted) for name in output.metrics}
    return scorer.Score(value=values, answer=predicted, metadata={_OUTPUT: output._asdict()})


@scorer.metric(name="figure")
def task_figure(metric: str) -> scorer.Metric:
    """Returns the figure of a task, number for number as `pfgen-rs llm-jp-eval score` has it."""

    def own(scores: list[scorer.SampleScore]) -> float:
        return figure(metric, _outputs(scores))

    return own


@scorer.metric(name="stderr")
def task_figure_error(metric: str) -> scorer.Metric:
    """Returns the standard error of `task_figure`, NaN where there is none."""

    def error(scores: list[scorer.SampleScore]) -> float:
        found = standard_error(metric, _outputs(scores))
        return np.nan if found is None else found

    return error


def _outputs(scores: list[scorer.SampleScore]) -> list[TaskOutput]:
    """Returns the outputs of scores. Raises `PfgenError` for those of several epochs."""
    found = [(one.score.metadata or {}).get(_OUTPUT) for one in scores]
    if not all(found):
        raise PfgenError("several epochs are not supported: tasks are asked once, at temperature 0")
    return [TaskOutput.of(one, one["output"]) for one in found if one]
