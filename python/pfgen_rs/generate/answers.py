"""Turning generated text into answers; see `pfgen_rs.io.cleaning`."""

from pfgen_rs.io.cleaning import THINK, Think, cleaned, default_stop

__all__ = ["THINK", "Think", "cleaned", "default_stop"]
