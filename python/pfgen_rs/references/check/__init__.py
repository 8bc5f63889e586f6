"""Diagnosing a reference set: what it knows, what it repeats, and how far its scores can be trusted.

`check` tells all at once; each of its tables is made by a plain function of the module of its name.
"""

from pfgen_rs.references.check.diagnosis import Check, check

__all__ = ["Check", "check"]
