"""Records a learning curve from transformers' `Trainer` and trainers derived from it, such as TRL's."""

import gc
from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any

from pfgen_rs import SettingsError, extras
from pfgen_rs.integrations import callbacks

extras.needed("transformers", "transformers")
extras.needed("torch", "transformers")

from transformers import TrainerCallback  # noqa: E402
from transformers.trainer_callback import CallbackHandler  # noqa: E402

from pfgen_rs.integrations.torch_generation import ModelGenerate  # noqa: E402
from pfgen_rs.integrations.torch_sharding import enclosing  # noqa: E402

# Not the name of a callback class: the trainer would create a new callback from the saved state.
_KEY = "pfgen_rs:pfgen/"


class PfgenCallback(callbacks.Evaluating, TrainerCallback):  # type: ignore[misc]
    """Evaluates every N steps: `Trainer(model, …, callbacks=[PfgenCallback("mini", every=500)])`.

    `settings`: `batch_size` (16), `max_new_tokens` (300), `temperature` (1.0) and `top_p` (0.98), and
    arguments of `StepEvaluator` (`every`, `trials`, `questions`, `mode`, `folder`, `loggers`, …).
    `tokenizer`: default is the trainer's. With `engine`, neither tokenizer nor sampling settings are used.

    All ranks generate, so that sharded models work; the main process scores, logs and writes. Scores are
    logged like all metrics of the trainer as they become available: in `log_history`, and wherever
    `report_to` says (TensorBoard and W&B show them as `train/pfgen/score`). The curve is saved in checkpoints
    (`trainer_state.json`), and a resumed run continues it. Training is not affected: random number generators
    and modes of modules are restored, and a step that cannot be evaluated is skipped with a warning in the
    log `pfgen_rs`, unless `on_error="raise"`. Raises `SettingsError` for unknown settings, and at the start
    of training for invalid ones, if there is no tokenizer, or if a prompt is too long for the model.
    """

    def __init__(self, benchmark: Any = None, *, tokenizer: Any = None, **settings: Any) -> None:
        super().__init__(benchmark, tokenizer, settings)
        self._others: list[Any] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the baseline, or resume from a checkpoint."""
        generate = None
        if self.settings.get("engine") is None:
            model, tokenizer = kwargs["model"], self._tokenizer(kwargs)
            how = {**self.sampling, "wrapper": enclosing(model)}
            generate = ModelGenerate(model, tokenizer, self._stop, **how)
        self.evaluator = self._new_evaluator(
            generate, every=500, is_main=state.is_world_process_zero
        )
        self._others = list(_callbacks_beside(self))
        saved = state.stateful_callbacks.get(_KEY)
        if saved is not None and state.global_step:
            self.evaluator.load_state_dict(saved)
        elif state.global_step:
            self.evaluator.rewind(state.global_step)
        self._step(args, state, control, kwargs)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate if an evaluation is due."""
        self._step(args, state, control, kwargs)
        if control.should_training_stop and self.evaluator is not None:
            self.evaluator.wait()  # the others end before this callback does
        self._before_saving(args, state, control, kwargs)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Update the state before the checkpoint of an epoch."""
        self._before_saving(args, state, control, kwargs)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Wait for the last scores."""
        if self.evaluator is not None:
            self.evaluator.close()
            self._publish(args, state, control, kwargs)

    def _tokenizer(self, kwargs: dict[str, Any]) -> Any:
        for tokenizer in (self.tokenizer, kwargs.get("processing_class"), kwargs.get("tokenizer")):
            if tokenizer is not None:
                return tokenizer
        raise SettingsError(
            "no tokenizer: pass PfgenCallback(tokenizer=…) or Trainer(processing_class=…)"
        )

    def _step(self, args: Any, state: Any, control: Any, kwargs: dict[str, Any]) -> None:
        if self.evaluator is not None:
            self.evaluator(state.global_step, state.num_input_tokens_seen or None)
            self._publish(args, state, control, kwargs)

    def _publish(self, args: Any, state: Any, control: Any, kwargs: dict[str, Any]) -> None:
        """Do what `Trainer.log` does, at the step that was evaluated."""
        for step, metrics in self._finished.take():
            state.log_history.append({**metrics, "step": step})
            at = copy(state)
            at.global_step = step
            for other in self._others:
                log = partial(other.on_log, args, at, copy(control), logs=dict(metrics), **kwargs)
                self._hand_over(log, other, step)

    def _before_saving(self, args: Any, state: Any, control: Any, kwargs: dict[str, Any]) -> None:
        if control.should_save and self.evaluator is not None:
            state.stateful_callbacks[_KEY] = self.evaluator.state_dict()
        self._publish(args, state, control, kwargs)


def _callbacks_beside(callback: TrainerCallback) -> Iterator[Any]:
    """Yield the trainer's other callbacks, to which callbacks have no reference."""
    for found in gc.get_objects():
        if issubclass(type(found), CallbackHandler) and callback in found.callbacks:
            yield from (other for other in found.callbacks if other is not callback)
