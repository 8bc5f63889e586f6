"""The command line `pfgen-rs`: one file a command; arguments in, library calls, text out."""

from __future__ import annotations

from pfgen_rs.cli.process import leave

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 fine, 1 a check failed, 2 bad usage or input.

    Ctrl-C exits with 130, a termination signal with 143, and a reader that went away with 141;
    unfinished files vanish on the way out.
    """
    try:
        from pfgen_rs.cli import app, process, streams

        process.end_tidily()
        with streams.errors_reported():
            app.app(prog_name="pfgen-rs")
    except KeyboardInterrupt:
        leave(130)
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code:
            leave(ended.code)
        raise
