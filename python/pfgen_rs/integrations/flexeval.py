"""pfgen-bench in flexeval: a metric, and a setup that asks the questions and scores the answers.

Use `flexeval_lm --eval_setup pfgen_rs.integrations.flexeval.Pfgen …` for models, and `flexeval_file` with the
metric for existing outputs. Written for flexeval 0.18.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs import Benchmark, InputError, PfgenError, UnknownQuestionError, extras
from pfgen_rs.generate import Mode, config
from pfgen_rs.io.cleaning import Think, cleaned, default_stop
from pfgen_rs.questions.folder import loaded

try:
    import flexeval
except ImportError as error:
    raise extras.missing("flexeval", "flexeval", error, PfgenError) from error

_SCORES = {
    "average": "pfgen",
    "fluency": "pfgen_fluency",
    "truthfulness": "pfgen_truthfulness",
    "helpfulness": "pfgen_helpfulness",
}


class PfgenMetric(flexeval.Metric):
    """Scores outputs as `score_file` does.

    `benchmark`: any argument of `load_benchmark`. `mode`: how to clean outputs before scoring (see
    `pfgen_rs.io.cleaning.cleaned`); without it, they are scored unchanged. The question (text or id) is
    `question` in `extra_info`; if that is missing, the first reference is the question.

    Empty outputs score 0, as in a file.
    """

    def __init__(
        self, benchmark: str | None = None, mode: Mode | None = None, think: Think = "keep"
    ) -> None:
        self.benchmark = loaded(Benchmark, benchmark).prepare()
        self.mode, self.think = mode, think

    def evaluate(
        self,
        lm_outputs: list[str | flexeval.LMOutput],
        references_list: list[list[str]],
        extra_info_list: list[dict[str, Any]] | None = None,
    ) -> flexeval.MetricResult:
        """Returns the run's scores as published, with their signature, and those of every output.

        Raises `InputError`, or `UnknownQuestionError` naming the row.
        """
        infos = extra_info_list or [{}] * len(references_list)
        if not len(lm_outputs) == len(references_list) == len(infos):
            raise InputError("outputs, references and extra_info must have the same length")
        questions = [
            self._question(row, info, references)
            for row, (info, references) in enumerate(zip(infos, references_list, strict=True))
        ]
        result = self.benchmark.evaluate(questions, [self._answer(output) for output in lm_outputs])
        details = result.frame.select(*_SCORES).rename(_SCORES)
        summary = {
            "pfgen": result.score,
            **{f"pfgen_{name}": getattr(result, name) for name in [*_SCORES][1:]},
            "pfgen_length": result.length,
            "pfgen_trials": result.num_trials,
            "pfgen_signature": result.signature,
        }
        return flexeval.MetricResult(summary, details.to_dicts())

    def _question(self, row: int, info: Mapping[str, Any], references: Sequence[str]) -> str:
        question = info.get("question") or next(iter(references), "")
        try:
            return self.benchmark.find(str(question)).id
        except UnknownQuestionError as error:
            raise UnknownQuestionError(
                f"row {row}: {error.problem} (from extra_info['question'] or the first reference)",
                question=error.question,
            ) from None

    def _answer(self, output: str | flexeval.LMOutput) -> str:
        text = output if isinstance(output, str) else output.text or ""
        if self.mode is None:
            return text
        return cleaned(text, self.mode, default_stop(self.mode), think=self.think)


class _Instances:
    """A data set that is a list."""

    def __init__(self, instances: list[Any]) -> None:
        self._instances = instances

    def __len__(self) -> int:
        return len(self._instances)

    def __getitem__(self, i: int) -> Any:
        return self._instances[i]


class _Chats(_Instances, flexeval.ChatDataset): ...


class _Prompts(_Instances, flexeval.GenerationDataset): ...


@dataclass
class Pfgen(flexeval.EvalSetup):
    """The complete benchmark: prompts, sampling as published, cleaning, and scores.

    All questions of each trial are asked, trial by trial. `extra_info` has the question and the trial; the
    reference is the question's example answer.

    `gen_kwargs` override the published sampling parameters (at most 300 new tokens, more for sets of longer
    answers, temperature 1.0, top-p 0.98, the stop strings of the mode). flexeval seeds a model once per run,
    with `random_seed`, not once per trial.
    """

    benchmark: str | None = None
    mode: Mode = "chat"
    trials: int = 10
    num_examples: int = 20
    seed: str = ""
    prefix: str = ""
    think: Think = "keep"
    gen_kwargs: dict[str, Any] = field(default_factory=dict)
    batch_size: int = 4
    max_instances: int | None = None
    random_seed: int = 42

    def evaluate_lm(
        self, language_model: flexeval.LanguageModel, **kwargs: Any
    ) -> tuple[dict[str, float], list[dict[str, Any]] | None]:
        """Returns the summary and one object per answer, like flexeval's own setups."""
        prompts = (self.trials, self.num_examples, self.seed, self.prefix)
        sampling = {
            "max_new_tokens": loaded(Benchmark, self.benchmark).settings.answer_tokens,
            "temperature": 1.0,
            "top_p": 0.98,
            "stop_sequences": list(default_stop(self.mode)),
        }
        common = {
            "gen_kwargs": {**sampling, **self.gen_kwargs},
            "metrics": PfgenMetric(self.benchmark, self.mode, self.think),
            "batch_size": self.batch_size,
            "max_instances": self.max_instances,
            "random_seed": self.random_seed,
        }
        instances: list[Any] = []
        for task, answer in config.asked(self.benchmark, self.mode, *prompts):
            info = {"question": task.question, "trial": task.trial}
            if self.mode == "completion":
                inputs = {"prompt": task.prompt, **info}
                instances.append(flexeval.GenerationInstance(inputs=inputs, references=[answer]))
            else:
                chat = {"messages": task.messages, "references": [answer], "extra_info": info}
                instances.append(flexeval.ChatInstance(**chat))
        setup: flexeval.EvalSetup
        if self.mode == "completion":
            setup = flexeval.Generation(_Prompts(instances), "{{ prompt }}", **common)
        else:
            setup = flexeval.ChatResponse(_Chats(instances), **common)
        return setup.evaluate_lm(language_model, **kwargs)  # type: ignore[no-any-return]
