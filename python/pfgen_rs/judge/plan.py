"""How many samples of a judge are enough, estimated from a pilot (judging 9.6)."""

import math
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from pfgen_rs.ask.costs import Prices
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted, plural
from pfgen_rs.judge import sampling
from pfgen_rs.judge.decisions import Codes, Indices, codes_of_texts, other_order, question_codes
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.judge.verdicts import LETTERS
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats import checks

SIZES = (1, 3, 5, 9, 15, 27)
"""Numbers of samples that are compared."""
_ROWS = 20_000  # simulated pairs
_DRAWS = 200  # of each pair of the pilot, at most
_NEAR = 0.01
_LEVEL = 0.95
_COLUMNS: dict[str, Any] = {
    "samples": int,
    **dict.fromkeys(("agreement", "pilot_half_width", "half_width"), float),
    **dict.fromkeys(("requests", "requests_stopped"), int),
    **dict.fromkeys(("cost", "cost_stopped"), float),
}
_VALUES = (1.0, 0.0, 0.5)  # of A, B and C for the first model


@dataclass(frozen=True, eq=False)
class SamplePlan:
    """What numbers of samples would give for `pairs` pairs, from a pilot of `pilot` pairs.

    `table`: one row for each number of `samples`: `agreement`, the expected share of pairs that are decided
    as with infinitely many samples; `pilot_half_width` and `half_width`, half of the 95 % interval of a
    model's win rate with as many pairs as the pilot, and with `pairs`; `requests`, and `requests_stopped` if
    asking stops at the error `stop_at`; what they cost, `cost` and `cost_stopped` (null without prices).
    `enough`: the smallest number of samples whose agreement is within a point of that of the largest.
    """

    judge: str
    pilot: int
    pairs: int
    stop_at: float
    currency: str
    enough: int
    table: pl.DataFrame = field(repr=False)

    @property
    def advice(self) -> str:
        """How many samples to take, as a sentence."""
        most, share = self.table.select("samples", "agreement").row(-1)
        if self.enough == most:
            return (
                f"even with {most} samples {100 * (1 - share):.1f} % of the decisions differ from those with "
                "infinitely many; fewer samples lose more than a point"
            )
        return (
            f"{counted(self.enough, 'sample')} {plural(self.enough, 'is', 'are')} enough: within a point of "
            f"the {100 * share:.1f} % of pairs that {most} samples decide as infinitely many would"
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types."""
        return {**asdict(self), "table": self.table.to_dicts()}


def plan_samples(
    path: str | os.PathLike[str],
    *,
    pairs: int | None = None,
    stop_at: float = 0.05,
    prices: Prices | None = None,
    seed: int = 0,
) -> SamplePlan:
    """Estimate what numbers of samples would give, from a folder of verdicts with two samples or more.

    Probabilities of each pair and order are drawn from their posterior under the uniform prior, answers from
    these, and pairs decided by them. Few samples in the pilot make its pairs look harder than they are.
    `pairs`: how many are planned (default: as many as the pilot has). `prices`: of the judge's tokens; a
    request takes as many as the pilot's did on average. Raises `InputError` and `SettingsError`.
    """
    checks.check_seed(seed)
    checks.whole_number(1 if pairs is None else pairs, "number of pairs", 1)
    if not 0 < stop_at < 1:
        raise SettingsError(f"the error must be between 0 and 1, not {stop_at}")
    folder = VerdictFolder(path)
    decisions, votes = folder.decisions(), folder.votes()
    counts = np.stack([votes[0].letters, other_order(votes[1].letters)])
    used = np.flatnonzero((counts.sum(axis=2) > 0).all(axis=0))
    if not len(used) or max(each.judged.max() for each in votes) < 2:
        raise InputError(
            "a plan needs a pilot with two samples or more in both orders: judge compare --samples 9",
            path=folder.path,
        )
    games = _games(decisions[used])
    number, random = pairs or len(used), np.random.default_rng(seed)
    draws = max(1, min(_DRAWS, _ROWS // len(used)))
    p, answers = _drawn(counts[:, used], draws, random)
    truth = sampling.leaders(p.sum(axis=0))
    cost = math.nan if prices is None else _mean_cost(folder, prices)
    rows = []
    for samples in SIZES:
        decided = sampling.leaders(_said(answers, samples).sum(axis=0))
        width = float(np.mean([_half_width(each, *games) for each in decided.reshape(draws, -1)]))
        requests = 2 * samples * number
        stopped = round(requests * _share_asked(answers, samples, stop_at))
        widths = (width, width * (len(used) / number) ** 0.5)
        taken = (requests, stopped, requests * cost, stopped * cost)
        rows.append((samples, float((decided == truth).mean()), *widths, *taken))
    table = pl.DataFrame(rows, schema=_COLUMNS, orient="row").fill_nan(None)
    near = table.filter(pl.col("agreement") >= pl.col("agreement").last() - _NEAR)
    currency = "" if prices is None else prices.currency
    return SamplePlan(
        folder.judge_name, len(used), number, stop_at, currency, near["samples"].item(0), table
    )


def _drawn(counts: Indices, draws: int, random: np.random.Generator) -> tuple[Floats, Codes]:
    """Returns probabilities, shape (2, draws · pairs, 3), and answers, (2, draws · pairs, most samples)."""
    shape = np.repeat(counts[:, None], draws, axis=1).reshape(2, -1, len(LETTERS)) + 1.0
    p = random.standard_gamma(shape)
    p /= p.sum(axis=2, keepdims=True)
    at = random.random((*p.shape[:2], SIZES[-1]))
    steps = p.cumsum(axis=2)
    return p, ((at > steps[..., :1]).astype(np.int8) + (at > steps[..., 1:2])).astype(np.int8)


def _said(answers: Codes, samples: int) -> Indices:
    """Returns how often each letter was said in the first samples: shape (2, pairs, 3)."""
    some = answers[..., :samples]
    return np.stack(
        [np.count_nonzero(some == code, axis=2) for code in range(len(LETTERS))], axis=2
    )


def _share_asked(answers: Codes, samples: int, stop_at: float) -> float:
    """Returns the share of requests that are sent if asking stops."""
    going, sent = np.arange(answers.shape[1]), 0
    for done in range(1, samples + 1):
        sent += len(going)
        counts = _said(answers[:, going], done)
        left = np.full((len(going), 2), samples - done)
        going = going[~sampling.settled(counts[0], counts[1], left, stop_at)]
    return float(sent / (answers.shape[1] * samples))


def _games(decisions: pl.DataFrame) -> tuple[Indices, Indices]:
    """Returns codes of models and of questions of each pair's two games: first those of `model_a`."""
    _, models = codes_of_texts(pl.concat([decisions["model_a"], decisions["model_b"]]))
    return models, np.tile(question_codes(decisions["question_id"]), 2)


def _half_width(decided: Codes, models: Indices, questions: Indices) -> float:
    """Returns half of the interval of a win rate, on average over the models; by sums over questions."""
    won = np.array(_VALUES)[decided]
    values, number = np.concatenate([won, 1 - won]), np.bincount(models)
    apart = values - (np.bincount(models, weights=values) / number)[models]
    shape = len(number), int(questions.max()) + 1
    key = models * shape[1] + questions
    sums = np.bincount(key, weights=apart, minlength=math.prod(shape)).reshape(shape)
    errors = np.sqrt((sums**2).sum(axis=1)) / number
    return checks.normal_quantile(_LEVEL) * float(errors.mean())


def _mean_cost(folder: VerdictFolder, prices: Prices) -> float:
    """Returns what a request of the pilot would have cost on average. Raises `InputError`."""
    used = [each for each in folder.present_judgments() if each.get("usage")]
    if not used:
        raise InputError("no judgment says how many tokens it took", path=folder.path)
    return prices.spent(used) / len(used)
