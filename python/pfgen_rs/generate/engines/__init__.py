"""What generates answers, behind one protocol. Heavy packages are imported where an engine is made."""

from pfgen_rs.generate.engines.protocol import Answered, Engine, Failed, Outcome, Parameters

__all__ = ["Answered", "Engine", "Failed", "Outcome", "Parameters"]
