"""Win rates without the part that answers owe to their length, after AlpacaEval 2.

AlpacaEval fits a logistic regression of preferences on the model, on tanh of the standardised difference of
lengths, and on how hard an instruction is, and predicts with the difference set to 0 (Y. Dubois,
B. Galambosi, P. Liang, T. B. Hashimoto, "Length-controlled AlpacaEval: a simple way to debias automatic
evaluators", 2024). Here the regression has strengths of models and one effect of length for all of them; the
difficulty of instructions, which AlpacaEval takes from results of many models, is left out, and so is its
penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pfgen_rs.judge.agreement.codes import Floats
from pfgen_rs.judge.agreement.games import Games, signed_sums
from pfgen_rs.judge.agreement.resampling import resampled_values

__all__ = ["LengthControl", "length_control"]

_STEPS = 100
_CONVERGED = 1e-10
_LARGEST = 30.0  # log-odds beyond which wins are certain: the data are separated


@dataclass(frozen=True)
class LengthControl:
    """Length-controlled win rates, in the order of the models, and the effect of length.

    `rates`: mean probability, over a model's games, to beat the opponent with an answer of the same length;
    `resampled`: the same in each resample. `effect`: log-odds per tanh of the difference of lengths over
    its root mean square; above 0 if longer answers win.
    """

    rates: Floats
    resampled: Floats
    effect: float


def length_control(games: Games, resamples: int, seed: int) -> LengthControl | None:
    """Returns the fit to preferences where probabilities are known, and to decisions otherwise.

    Resampled parameters follow from one Newton step from the fit, with the resample's gradient; how many
    games a model plays against whom stays as it is. `None` if lengths are unknown, or if there is no single
    finite solution.
    """
    if games.longer is None:
        return None
    # Not the standard deviation, which would depend on which of two models is named first.
    spread = float(np.sqrt((games.longer**2).mean()))
    lengths = np.tanh(games.longer / spread) if spread else np.zeros(len(games.longer))
    decided = np.array([1.0, 0.0, 0.5])[games.outcomes]
    wanted = np.where(np.isnan(games.preferences), decided, games.preferences)
    models = len(games.models)
    parameters = np.zeros(models + 1)
    for _ in range(_STEPS):
        gradients, information = _derivatives(games, lengths, wanted, parameters)
        try:
            step = np.linalg.solve(information, gradients.sum(axis=0))
        except np.linalg.LinAlgError:  # models that are not connected by games
            return None
        parameters += step
        if np.abs(parameters).max() > _LARGEST:
            return None
        if np.abs(step).max() < _CONVERGED:
            break
    else:
        return None
    gradients, information = _derivatives(games, lengths, wanted, parameters)
    drawn = resampled_values(gradients, resamples, seed)
    moved = parameters + np.linalg.solve(information, drawn.T).T
    return LengthControl(
        rates=_rates_without_length(games, parameters[None])[0],
        resampled=_rates_without_length(games, moved),
        effect=float(parameters[-1]) if spread else 0.0,
    )


def _derivatives(
    games: Games, lengths: Floats, wanted: Floats, parameters: Floats
) -> tuple[Floats, Floats]:
    """Returns gradients of the log-likelihood (questions, models + 1), and minus its second derivatives.

    Strengths are only known up to a constant, whose direction is made regular.
    """
    models = len(games.models)
    odds = parameters[games.first] - parameters[games.second] + parameters[-1] * lengths
    fitted = 1 / (1 + np.exp(-odds))
    gradients = np.empty((int(games.questions.max()) + 1, models + 1))
    gradients[:, :models] = signed_sums(games, wanted - fitted)
    gradients[:, -1] = np.bincount(games.questions, weights=(wanted - fitted) * lengths)
    weights = fitted * (1 - fitted)
    met = np.bincount(games.first * models + games.second, weights, models * models)
    both = met.reshape(models, models) + met.reshape(models, models).T
    information = np.empty((models + 1, models + 1))
    information[:models, :models] = 1.0 - both + np.diag(both.sum(axis=0))
    along = signed_sums(games, weights * lengths).sum(axis=0)
    information[-1, :models] = information[:models, -1] = along
    information[-1, -1] = (weights * lengths**2).sum() if lengths.any() else 1.0
    return gradients, information


def _rates_without_length(games: Games, parameters: Floats) -> Floats:
    """Returns rates of shape (fits, models) for parameters of shape (fits, models + 1)."""
    models = len(games.models)
    flat = np.bincount(games.first * models + games.second, minlength=models * models)
    played = flat.reshape(models, models)
    played = played + played.T
    strength = parameters[:, :models]
    beats = 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None]))
    return np.asarray((beats * played).sum(axis=-1) / played.sum(axis=-1))
