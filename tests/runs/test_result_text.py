"""A result as text: its score with what belongs to it."""

from __future__ import annotations

from pfgen_rs import Benchmark


def test_a_single_trial_has_no_deviation(mini: Benchmark) -> None:
    one = mini.evaluate([{"question": "Q02", "answer": "光合成です。"}])
    two = mini.evaluate([{"question": "Q02", "answer": text} for text in ("光合成です。", "光。")])
    assert str(one) == f"{one.score:.4f} ({one.signature})"
    assert str(two) == f"{two.score:.4f} ±{two.score_std:.4f}/√2 ({two.signature})"
    assert two.score_std > 0
