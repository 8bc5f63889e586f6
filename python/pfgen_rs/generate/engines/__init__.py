"""Engines, which generate answers. Their dependencies are imported when an engine is created."""

from pfgen_rs.generate.engines.protocol import Answered, Engine, Failed, Outcome, Parameters
from pfgen_rs.generate.engines.usage import Usage

__all__ = ["Answered", "Engine", "Failed", "Outcome", "Parameters", "Usage"]
