"""Diagnosing a reference set: its coverage, its duplicates, and how reliable its scores are.

`check` runs all diagnostics; its tables come from `answers` and `scores`.
"""

from pfgen_rs.references.check.diagnosis import Check, check

__all__ = ["Check", "check"]
