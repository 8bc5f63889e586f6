"""`pfgen-rs build suggest-rules` and `accept-rules`: rules from contradictions between candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.errors import OutputError
from pfgen_rs.io.counted import counted

__all__ = ["accept_rules", "suggest_rules"]


def suggest_rules(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Configuration file that lists the candidates.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Review file to write (TOML), with a page of evidence (HTML) beside it (default: only the "
            "review file, to standard output).",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of suggestions per question.")
    ] = 20,
    only: Annotated[
        list[str] | None,
        typer.Option("--question", metavar="ID", help="Only this question; repeatable."),
    ] = None,
) -> None:
    """Suggest rules where candidates contradict each other in numbers and names, for review.

    Look through the page of evidence, set the decision of each suggestion in the review file to accept or
    reject, and make rules of what was accepted with build accept-rules.

    Example: `pfgen-rs build suggest-rules my-set.toml --out review.toml`
    """
    from pfgen_rs.io import write_atomic
    from pfgen_rs.references.config import read_config
    from pfgen_rs.references.evidence import evidence_page
    from pfgen_rs.references.mining import mine_rules
    from pfgen_rs.references.review import review_toml

    page = None if out is None else _evidence_path(out)
    changed = read_config(config).with_changes(only=tuple(only) if only else None)
    with output.building() as progress:
        mined = mine_rules(
            changed,
            top=top,
            progress=lambda source, read: progress(source.path, "reading", read, source.size or 0),
        )
    text = review_toml({each.outline.question_id: each.suggestions for each in mined})
    if out is None or page is None:
        output.emit(text)
        return
    write_atomic(page, evidence_page(mined, out.name))
    write_atomic(out, text.encode())
    count = sum(len(each.suggestions) for each in mined)
    output.emit(f"wrote {counted(count, 'suggestion')} to {out}, and the evidence to {page}\n")


def _evidence_path(out: Path) -> Path:
    """Returns the path of the page beside a review file; neither may exist."""
    page = out.with_suffix(".html")
    if page == out:
        raise typer.BadParameter(
            f"invalid name {out.name!r}: expected a TOML file, such as review.toml",
            param_hint="--out",
        )
    for path in (out, page):
        if path.exists():
            raise OutputError(
                f"{path}: already exists and may have been edited: choose another file"
            )
    return page


def accept_rules(
    review: Annotated[
        Path, typer.Argument(metavar="REVIEW", help="Review file with decisions (TOML).")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of rules to write (TOML; default: standard output)."
        ),
    ] = None,
) -> None:
    """Make rules of the accepted suggestions of a review file.

    Name the file of rules in the configuration: [rules] file = "rules.toml".

    Example: `pfgen-rs build accept-rules review.toml --out rules.toml`
    """
    from pfgen_rs.references.review import accepted_rules_toml, read_review, write_accepted_rules

    reviewed = read_review(review)
    decisions = [each.decision for found in reviewed.values() for each in found]
    if out is None:
        output.emit(accepted_rules_toml(reviewed))
    else:
        write_accepted_rules(out, reviewed)
        output.emit(f"wrote {counted(decisions.count('accept'), 'rule')} to {out}\n")
    if undecided := decisions.count(""):
        output.warn(f"{counted(undecided, 'suggestion')} without a decision")
