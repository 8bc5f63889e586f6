"""pfgen-bench in inspect_ai: a task, its solver, and a scorer for any task.

inspect_ai finds them through this package's entry point: `inspect eval pfgen_rs/pfgen --model …`. Written for
inspect_ai 0.3.285.
"""

from collections.abc import Sequence
from typing import Any

from pfgen_rs import Benchmark, PfgenError, extras
from pfgen_rs.generate import Mode, Prompter, read_examples
from pfgen_rs.integrations.inspect_jpeval import llm_jp_eval, llm_jp_eval_scorer, shown_errors
from pfgen_rs.io.cleaning import MODES, THINK, Think, cleaned, default_stop
from pfgen_rs.lazy import np
from pfgen_rs.metrics import settings, sums
from pfgen_rs.questions.folder import loaded
from pfgen_rs.runs.summary import question_scores, run_scores
from pfgen_rs.training.checks import check_choice, count, whole

try:
    import inspect_ai as ai
    from anyio import to_thread
    from inspect_ai import scorer as scoring
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ImportError as error:
    raise extras.missing("inspect_ai", "inspect", error, PfgenError) from error

__all__ = [
    "llm_jp_eval",
    "llm_jp_eval_scorer",
    "pfgen",
    "pfgen_metrics",
    "pfgen_scorer",
    "pfgen_solver",
    "published_epochs",
    "published_mean",
]

_QUESTION_ID = "question_id"
_SHARES = "shares"  # metadata of an answer: the sources' shares of its score
_PUBLISHED = "published"  # metadata of a question: its scores as in `result.json`
_ROUNDS = 10  # times that an empty answer is asked for
_CHATS: tuple[Mode, ...] = ("chat", "qa")
_ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser}


@ai.task
def pfgen(
    benchmark: str | None = None,
    mode: Mode = "chat",
    trials: int = 10,
    num_examples: int = 20,
    seed: str = "",
    prefix: str = "",
    think: Think = "keep",
) -> ai.Task:
    """Ask all questions of a benchmark once per epoch: epoch j is trial j (`--epochs` sets their number).

    `benchmark`: any argument of `load_benchmark`. `mode`: `chat` or `qa`, because inspect_ai only supports
    chat models. The other parameters are those of `Prompter` and `cleaned`. Sampling is as published (at most
    300 tokens, more for sets of longer answers, temperature 1.0, top-p 0.98, stop at `Q:`) unless overridden
    on the command line.
    """
    with shown_errors():
        count(trials, "trials")
        bench = loaded(Benchmark, benchmark).prepare()
        samples = [
            Sample(input=text, target=answer, id=id_, metadata={_QUESTION_ID: id_})
            for text, answer in read_examples(benchmark)
            for id_ in [bench.find(text).id]
        ]
        return ai.Task(
            dataset=MemoryDataset(samples, name="pfgen"),
            solver=pfgen_solver(benchmark, mode, num_examples, seed, prefix, think),
            scorer=pfgen_scorer(benchmark, mode, think),
            metrics={
                name: [published_mean(name), scoring.stderr(cluster=_QUESTION_ID)]
                for name in settings.METRICS
            },
            config=GenerateConfig(
                max_tokens=bench.settings.answer_tokens,
                temperature=1.0,
                top_p=0.98,
                stop_seqs=list(default_stop(mode)),
            ),
            epochs=ai.Epochs(trials, published_epochs()),
            metadata={"signature": bench.signature},
        )


@solver
def pfgen_solver(
    benchmark: str | None = None,
    mode: Mode = "chat",
    num_examples: int = 20,
    seed: str = "",
    prefix: str = "",
    think: Think = "keep",
) -> Solver:
    """Ask a sample's question with the prompt and sampling seed of the trial that corresponds to its epoch.

    Asks again for empty answers, at most ten times in all. Raises `SettingsError`.
    """
    check_choice(think, "think", THINK)
    whole(num_examples, "the number of examples")
    check_choice(mode, "mode", _CHATS)
    # The command line converts text that looks like a number to one.
    prompter = Prompter(
        read_examples(benchmark),
        mode,
        num_examples=num_examples,
        seed=str(seed),
        prefix=str(prefix),
    )

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        [task] = prompter.tasks(state.epoch, [state.input_text])
        for _ in range(_ROUNDS):
            state.messages = [_ROLES[one["role"]](content=one["content"]) for one in task.messages]
            state = await generate(state, tool_calls="none", seed=task.seed)
            if cleaned(state.output.completion, mode, default_stop(mode), think=think):
                break
        return state

    return solve


def pfgen_metrics(cluster: str | None = None) -> dict[str, list[scoring.Metric]]:
    """Returns the mean and standard error of each score of `pfgen_scorer`.

    `cluster`: metadata key by which to group samples that are not independent, such as several samples with
    the same question (not needed for epochs of a sample, which are averaged first).
    """
    return {name: [scoring.mean(), scoring.stderr(cluster=cluster)] for name in settings.METRICS}


@scoring.score_reducer
def published_epochs() -> scoring.ScoreReducer:
    """Returns a reducer to the mean over epochs, which keeps what `published_mean` needs."""
    mean = scoring.mean_score()

    def reduce(scores: list[scoring.Score]) -> scoring.Score:
        reduced = mean(scores)
        scored = [score for score in scores if isinstance(score.value, dict)]
        if scored and all(_SHARES in (score.metadata or {}) for score in scored):
            question = {_PUBLISHED: _question_scores(scored)}
            reduced.metadata = {**(reduced.metadata or {}), **question}
        return reduced

    return reduce


@scoring.metric(name="mean")
def published_mean(metric: str) -> scoring.Metric:
    """Returns the mean over questions of a score of `pfgen_scorer`, number for number as `score_file` has it.

    Published means are rounded question by question, so that they differ from others in the fifth decimal.
    With another reducer of epochs than `published_epochs`, it is the plain mean.
    """

    def mean(scores: list[scoring.SampleScore]) -> float:
        questions = [(sample.score.metadata or {}).get(_PUBLISHED) for sample in scores]
        known = [question for question in questions if question is not None]
        if not known or len(known) < len(questions):
            return float(np.mean([sample.score.as_float() for sample in scores]))
        found = run_scores(known)[metric]
        return float(sums.left_sum(found.values()) if metric in settings.BY_SOURCE else found)

    return mean


def _question_scores(scores: Sequence[scoring.Score]) -> dict[str, Any]:
    """Returns the `scores` of a question in `result.json`, from those of its answers."""
    shares: list[Any] = [(score.metadata or {})[_SHARES] for score in scores]
    values: list[Any] = [score.value for score in scores]
    columns = {
        settings.share_name(metric, source): [share[metric][source] for share in shares]
        for metric in settings.BY_SOURCE
        for source in shares[0][metric]
    }
    for name in ("helpfulness", "average"):
        columns[name] = [value[name] for value in values]
    ranked = sorted(range(len(values)), key=lambda place: -columns["average"][place])
    by_rank = {name: [column[place] for place in ranked] for name, column in columns.items()}
    return question_scores(list(shares[0][settings.BY_SOURCE[0]]), by_rank)


@scoring.scorer(metrics=pfgen_metrics())
def pfgen_scorer(
    benchmark: str | None = None, mode: Mode | None = None, think: Think = "keep"
) -> scoring.Scorer:
    """Score answers to a benchmark's questions: `average` and the three metrics, as in `score_file`.

    For any task whose samples name a question (text or id): in their metadata (`question_id` or `question`),
    or as their input. `mode`: how to clean the output before scoring (see `cleaned`); without it, it is
    scored unchanged.

    An output without an answer is unscored, and so excluded from all means; the reason is `refusal` if the
    provider filtered it, else `no_response`. An unknown question is an error of its sample. Raises
    `SettingsError`.
    """
    check_choice(think, "think", THINK)
    if mode is not None:
        check_choice(mode, "mode", MODES)
    bench = loaded(Benchmark, benchmark).prepare()

    async def scored(state: TaskState, target: scoring.Target) -> scoring.Score:  # noqa: ARG001
        named = (state.metadata.get(key) for key in (_QUESTION_ID, "question"))
        question = bench.find(str(next(filter(None, named), state.input_text))).id
        text = state.output.completion
        answer = text if mode is None else cleaned(text, mode, default_stop(mode), think=think)
        if answer:
            return await to_thread.run_sync(_score, bench, question, answer)
        was_filtered = state.output.stop_reason == "content_filter"
        return scoring.Score.unscored(
            reason="refusal" if was_filtered else "no_response",
            answer="",
            explanation="the model gave no answer",
            metadata={_QUESTION_ID: question},
        )

    return scored


def _score(benchmark: Benchmark, question: str, answer: str) -> scoring.Score:
    found = benchmark.score(question, answer)
    return scoring.Score(
        value={
            "average": found.average,
            "fluency": sums.left_sum(found.fluency.values()),
            "truthfulness": sums.left_sum(found.truthfulness.values()),
            "helpfulness": found.helpfulness,
        },
        answer=answer,
        metadata={
            _QUESTION_ID: question,
            "helpfulness_results": found.helpfulness_results,
            _SHARES: {"fluency": found.fluency, "truthfulness": found.truthfulness},
        },
    )
