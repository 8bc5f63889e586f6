"""Why an engine's output has no answer in it, and what may help."""

from __future__ import annotations

from pfgen_rs.ask.engines import cure_for_thinking
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.io.cleaning import cleaned

__all__ = ["why_blank"]

_SHOWN = 40  # characters


def why_blank(text: str, config: RunConfig) -> tuple[str, str]:
    """Returns the reason why nothing of `text` is left after cleaning, and advice."""
    stop = config.parameters.stop
    if not text.strip():
        return (
            "the model generated no text",
            f"try another --mode; {cure_for_thinking(config.engine)}",
        )
    if config.think == "strip" and cleaned(text, config.mode, stop):
        return "the model generated nothing but thinking", cure_for_thinking(config.engine)
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    ends = ", ".join(map(repr, stop)) or "none"
    reason = f"nothing is left of {shown!r} after cleaning (stop strings: {ends})"
    return reason, "try other stop strings (--stop) or another --mode"
