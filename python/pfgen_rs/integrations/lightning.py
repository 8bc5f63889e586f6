"""Records a learning curve from Lightning's `Trainer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pfgen_rs.ask.protocol import Task
from pfgen_rs.errors import SettingsError
from pfgen_rs.extras import needed
from pfgen_rs.integrations.callback_settings import check_no_sampling, split_settings
from pfgen_rs.io.cleaning import default_stop
from pfgen_rs.training.checks import check_who_answers, count
from pfgen_rs.training.evaluator import StepEvaluator
from pfgen_rs.training.loggers import Finished, hand_over

needed("lightning.pytorch", "lightning")

from lightning.pytorch import Callback  # noqa: E402

from pfgen_rs.integrations.torch_generation import ModelGenerate, undisturbed  # noqa: E402
from pfgen_rs.integrations.torch_ranks import Ranks, whole  # noqa: E402


class PfgenCallback(Callback):  # type: ignore[misc]
    """Evaluates every N steps, or after every validation: `Trainer(callbacks=[PfgenCallback(…)])`.

    `generate(module, tasks) -> texts` generates answers; it runs without gradients, in evaluation mode. With
    a `tokenizer` instead, transformers' `generate` of `module.model` (or of the module) is called with
    `batch_size`, `max_new_tokens`, `temperature` and `top_p`. With `engine`, neither is used.

    `every`: number of optimiser steps between evaluations; without it, evaluates after each validation, and
    measures the baseline when training starts. `settings`: arguments of `StepEvaluator`.

    All ranks generate; rank zero scores, writes, and logs to the trainer's loggers. The curve is saved in
    checkpoints. Training is not affected: random number generators and modes of modules are restored, and a
    step that cannot be evaluated is skipped with a warning in the log `pfgen_rs`, unless `on_error="raise"`.
    Raises `SettingsError` for unknown or invalid settings, if there is no `generate`, tokenizer or engine,
    and at the start of training if a prompt is too long for the model.
    """

    def __init__(
        self,
        benchmark: Any = None,
        generate: Callable[..., Sequence[str | None]] | None = None,
        *,
        tokenizer: Any = None,
        every: int | None = None,
        **settings: Any,
    ) -> None:
        if generate is None and tokenizer is None and settings.get("engine") is None:
            raise SettingsError(
                "cannot generate answers: pass a function `generate`, a tokenizer or an engine"
            )
        self.benchmark = benchmark
        self.every = None if every is None else count(every, "every")
        self.generate, self.tokenizer = generate, tokenizer
        self.sampling, self.settings = split_settings(settings)
        if generate is not None:
            wanted = (self.settings.get(name) for name in ("engine", "parameters", "budget"))
            check_who_answers(generate, *wanted)
            check_no_sampling(self.sampling, "generate")
        self.evaluator: StepEvaluator | None = None
        self._finished = Finished()
        self._restored: dict[str, Any] | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Measure the baseline, or resume from a checkpoint."""
        self.evaluator = self._evaluator(trainer, pl_module)
        if self._restored is not None:
            self.evaluator.load_state_dict(self._restored)
            self._restored = None
        elif trainer.global_step:
            self.evaluator.rewind(trainer.global_step)
        if self.every is not None or trainer.global_step == 0:
            self.evaluator(trainer.global_step)

    def on_train_batch_end(
        self, trainer: Any, _module: Any, _outputs: Any, _batch: Any, _batch_idx: int
    ) -> None:
        """Evaluate if an evaluation is due."""
        if self.evaluator is not None and self.every is not None:
            self.evaluator(trainer.global_step)
            self._publish(trainer)

    def on_validation_end(self, trainer: Any, _module: Any) -> None:
        """Evaluate after validation unless `every` is set."""
        if self.evaluator is not None and self.every is None and not trainer.sanity_checking:
            self.evaluator.evaluate(trainer.global_step)
            self._publish(trainer)

    def on_train_end(self, trainer: Any, _module: Any) -> None:
        """Wait for the last scores."""
        if self.evaluator is not None:
            self.evaluator.close()
            self._publish(trainer)

    def state_dict(self) -> dict[str, Any]:
        """Returns the curve, for a checkpoint."""
        return {} if self.evaluator is None else self.evaluator.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a curve, to be continued when training starts."""
        self._restored = state_dict or None

    def _evaluator(self, trainer: Any, module: Any) -> StepEvaluator:
        settings = {"every": self.every or 1, **self.settings, "is_main": trainer.is_global_zero}
        settings["loggers"] = (*settings["loggers"], self._finished)
        if settings.get("engine") is not None:
            return StepEvaluator(self.benchmark, **settings)
        if self.generate is not None:
            generate = partial(_undisturbed_lightning_module, self.generate, module, trainer.model)
            return StepEvaluator(self.benchmark, generate, **settings)
        ours = self._of(module, trainer.model)
        evaluator = StepEvaluator(self.benchmark, ours, **settings)
        ours.check(evaluator.tasks)  # rather than skip all steps
        return evaluator

    def _of(self, module: Any, wrapper: Any) -> ModelGenerate:
        stop = self.settings.get("stop")
        if stop is None:
            stop = default_stop(self.settings.get("mode", "completion"))
        model = getattr(module, "model", module)
        return ModelGenerate(model, self.tokenizer, stop, **self.sampling, wrapper=wrapper)

    def _publish(self, trainer: Any) -> None:
        for step, metrics in self._finished.take():
            for logger in trainer.loggers:
                log = partial(logger.log_metrics, metrics, step)
                hand_over(log, type(logger).__name__, step, self.settings["on_error"])


def _undisturbed_lightning_module(
    generate: Callable[..., Sequence[str | None]],
    module: Any,
    wrapper: Any,
    tasks: Sequence[Task],
    **budget: float,
) -> Sequence[str | None]:
    ranks = Ranks()
    with undisturbed(wrapper), whole(wrapper):
        work = partial(generate, module, tasks, **budget)
        return ranks.together(work, in_step=ranks.are_in_step(wrapper))
