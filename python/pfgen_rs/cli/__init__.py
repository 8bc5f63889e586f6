"""The command line `pfgen-rs`: one file per command, which parses arguments and prints results."""

from pfgen_rs.cli import process

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 fine, 1 a check failed, 2 bad usage or input.

    Exits with 130 after Ctrl-C, 129 when the terminal was closed, 143 after a termination signal, and 141
    if the reader of standard output has closed it. Unfinished files are removed.
    """
    try:
        process.end_tidily()
        with process.errors_reported():
            from pfgen_rs.cli import app

            app.app(prog_name="pfgen-rs")
    except KeyboardInterrupt:
        process.leave(130)
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code:
            process.leave(ended.code)
        raise
