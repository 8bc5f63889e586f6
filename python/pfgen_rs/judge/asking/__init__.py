"""Asking judges: requests, the journal of their records, and the loop that passes them to an engine."""

from pfgen_rs.judge.asking.ask import Asked, UnreadError, ask
from pfgen_rs.judge.asking.costs import Estimate, Prices, estimated, read_prices
from pfgen_rs.judge.asking.journal import Journal
from pfgen_rs.judge.asking.request import Judge, Request

__all__ = [
    "Asked",
    "Estimate",
    "Journal",
    "Judge",
    "Prices",
    "Request",
    "UnreadError",
    "ask",
    "estimated",
    "read_prices",
]
