"""Diagnosing a reference set: its coverage, its duplicates, and how reliable its scores are.

`check` runs all diagnostics; each of its tables comes from a function in the module of the same name.
"""

from pfgen_rs.references.check.diagnosis import check
from pfgen_rs.references.check.report import Check

__all__ = ["Check", "check"]
