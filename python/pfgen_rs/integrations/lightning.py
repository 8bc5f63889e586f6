"""Records a learning curve from Lightning's `Trainer`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pfgen_rs import SettingsError, extras
from pfgen_rs.ask.protocol import Task
from pfgen_rs.integrations.callbacks import Evaluating
from pfgen_rs.training.checks import check_who_answers, count

extras.needed("lightning.pytorch", "lightning")

from lightning.pytorch import Callback  # noqa: E402

from pfgen_rs.integrations import (  # noqa: E402
    torch_generation as generation,
    torch_ranks,
    torch_sharding,
)


class PfgenCallback(Evaluating, Callback):  # type: ignore[misc]
    """Evaluates every N steps, or after every validation: `Trainer(callbacks=[PfgenCallback(…)])`.

    `generate(module, tasks) -> texts` generates answers, on the calling thread, without gradients, in
    evaluation mode; ranks wait for each other for a minute beyond `limit` (3600 seconds), then raise a
    `CollectiveError`. With a `tokenizer` instead, transformers' `generate` of `module.model` (or of the
    module) is called with `batch_size`, `max_new_tokens`, `temperature`, `top_p` and `device`, and given up
    after `limit` seconds. With `engine`, neither is used.

    `every`: number of optimiser steps between evaluations; without it, evaluates after each validation, and
    measures the baseline when training starts. `settings`: arguments of `StepEvaluator`.

    All ranks generate, or rank zero with a copy of a sharded model; rank zero scores, writes, and logs to the
    trainer's loggers. The curve is saved in checkpoints. Training is not affected: random number generators
    and modes of modules are restored, and a step that cannot be evaluated is skipped with a warning in the
    log `pfgen_rs`, unless `on_error="raise"`.
    Raises `SettingsError` for unknown settings, if there is no `generate`, tokenizer or engine, and at the
    start of training for invalid settings, or if a prompt is too long for the model.
    """

    def __init__(
        self,
        benchmark: Any = None,
        generate: Callable[[Any, Sequence[Task]], Sequence[str]] | None = None,
        *,
        tokenizer: Any = None,
        every: int | None = None,
        **settings: Any,
    ) -> None:
        if generate is None and tokenizer is None and settings.get("engine") is None:
            raise SettingsError(
                "cannot generate answers: pass a function `generate`, a tokenizer or an engine"
            )
        super().__init__(benchmark, tokenizer, settings)
        self.every = None if every is None else count(every, "every")
        self.generate = generate
        if generate is not None:
            wanted = (self.settings.get(name) for name in ("engine", "parameters", "budget"))
            check_who_answers(generate, *wanted)
            self._limit = self.sampling.pop("limit", torch_ranks.LIMIT)
            self.check_no_sampling("generate")
        self._restored: dict[str, Any] | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Measure the baseline, or resume from a checkpoint."""
        generate: Callable[..., Any] | None = None
        if self.generate is not None:
            generate = partial(self._ours, self.generate, pl_module, trainer.model)
        elif self.settings.get("engine") is None:
            model, how = getattr(pl_module, "model", pl_module), {"wrapper": trainer.model}
            generate = generation.ModelGenerate(
                model, self.tokenizer, self._stop, **self.sampling, **how
            )
        self.evaluator = self._new_evaluator(
            generate, every=self.every or 1, is_main=trainer.is_global_zero
        )
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

    def _publish(self, trainer: Any) -> None:
        for step, metrics in self._finished.take():
            for logger in trainer.loggers:
                log = partial(logger.log_metrics, metrics, step)
                self._hand_over(log, logger, step)

    def _ours(
        self,
        generate: Callable[[Any, Sequence[Task]], Sequence[str]],
        module: Any,
        wrapper: Any,
        tasks: Sequence[Task],
    ) -> Sequence[str]:
        with generation.undisturbed(wrapper), torch_sharding.usable(wrapper):
            ours = partial(generate, module, tasks)
            return torch_ranks.Ranks(self._limit).together(ours, here=True)
