"""Engines, which generate answers. Their dependencies are imported when an engine is created."""

from pfgen_rs.generate.engines.protocol import (
    Answered,
    Details,
    Engine,
    Failed,
    Outcome,
    Parameters,
    abilities,
)
from pfgen_rs.generate.engines.usage import Usage

__all__ = ["Answered", "Details", "Engine", "Failed", "Outcome", "Parameters", "Usage", "abilities"]
