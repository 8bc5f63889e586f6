"""What a run's `config.json` tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["is_system"]


def is_system(config: Mapping[str, Any]) -> bool:
    """Whether the run is no model's but one to compare with, which takes no rank."""
    return "system" in (config.get("engine"), config.get("mode"))
