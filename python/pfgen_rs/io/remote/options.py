"""Checks options of storage, and its settings in the environment, that obstore does not report clearly."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pfgen_rs.errors import SettingsError

__all__ = ["check_environment", "checked_options"]

_AWS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")  # fmt: skip
_AZURE = ("AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_STORAGE_ACCOUNT_NAME",
          "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN")  # fmt: skip
_NAMES = {"s3": _AWS, "s3a": _AWS, **dict.fromkeys(("az", "azure", "abfs", "abfss"), _AZURE)}
_ENDPOINT = re.compile(r"(?:.*_)?endpoint(?:_url)?(?:_s3)?", re.IGNORECASE)
_ADDRESS = re.compile(
    r"https?://(?:[!-~]*@)?(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d+)?(?:/[!-~]*)?",
    re.ASCII | re.IGNORECASE,
)
_SWITCH = re.compile(r".*use_fabric_endpoint", re.IGNORECASE)
_OF_LINES = re.compile(r".*(?:certificate|service_account|credentials)", re.IGNORECASE)
"""Options whose values may have several lines."""


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options. Raises `SettingsError` without showing values that obstore fails with."""
    for name, value in options.items():
        if not isinstance(name, str):
            raise SettingsError(f"invalid storage option: {name!r} is not a string")
        if isinstance(value, str):
            _check_text(f"storage option {name!r}", name, value)
        elif not (
            isinstance(value, bool)
            or (isinstance(value, timedelta) and name.lower().endswith("timeout"))
        ):
            kind = type(value).__name__
            raise SettingsError(f"invalid storage option {name!r}: expected a string, not {kind}")
    return dict(options)


def check_environment(scheme: str) -> None:
    """Raise `SettingsError` for settings in the environment that obstore fails with."""
    for name in _NAMES.get(scheme, ()):
        value = os.environ.get(name)
        if value:
            _check_text(name, name, value)


def _check_text(shown: str, name: str, value: str) -> None:
    if not (value.isprintable() or _OF_LINES.match(name)):
        raise SettingsError(f"invalid {shown}: it has line breaks or other control characters")
    is_address = _ENDPOINT.fullmatch(name) and not _SWITCH.fullmatch(name)
    if is_address and _ADDRESS.fullmatch(value) is None:
        raise SettingsError(
            f"invalid {shown}: expected an address that begins with https:// or http://"
        )
    if name.lower().endswith("region") and not value.isascii():
        raise SettingsError(f"invalid {shown}: regions are named in ASCII")
