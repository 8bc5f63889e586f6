"""Asking models: requests, the journal of their records, and the loop that passes them to an engine."""

from pfgen_rs.generate.asking.ask import Asked, UnreadError, ask
from pfgen_rs.generate.asking.costs import Estimate, Prices, estimated, read_prices
from pfgen_rs.generate.asking.journal import Journal
from pfgen_rs.generate.asking.request import Request, Respondent, Retry

__all__ = [
    "Asked",
    "Estimate",
    "Journal",
    "Prices",
    "Request",
    "Respondent",
    "Retry",
    "UnreadError",
    "ask",
    "estimated",
    "read_prices",
]
