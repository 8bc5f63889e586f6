"""`pfgen-rs site`: one site of everything that a lab measures; its subcommands."""

from pathlib import Path
from typing import Any

from pfgen_rs.cli.app import Deferred, deferring, group
from pfgen_rs.errors import meant

COMMANDS = {
    "build": Deferred(
        "site_build", "build", "Write one site of all results (the default command)."
    ),
    "init": Deferred("site_kit", "init", "Write a folder to publish a site from."),
    "check": Deferred("site_kit", "check", "Check submitted runs before they are published."),
}
_DEFAULT = "build"


class _Site(deferring(COMMANDS)):  # type: ignore[misc]
    """A group that builds a site where no subcommand is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_named = not args or args[0] in COMMANDS or args[0] in ("--help", "-h")
        is_named = is_named or bool(meant(args[0], COMMANDS) and not Path(args[0]).exists())
        found: list[str] = super().parse_args(ctx, args if is_named else [_DEFAULT, *args])
        return found


app = group("Write one site of everything that a lab measures, and publish it.", _Site)
