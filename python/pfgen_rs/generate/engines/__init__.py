"""Engines, which generate answers. Their dependencies are imported when an engine is created."""

from pfgen_rs.generate.engines.protocol import Answered, Engine, Failed, Outcome, Parameters

__all__ = ["Answered", "Engine", "Failed", "Outcome", "Parameters"]
