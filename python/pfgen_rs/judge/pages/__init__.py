"""The page of verdicts, with the looks, rules and payloads of `pfgen_rs.report.site`."""

from pfgen_rs.judge.pages.write import write_verdict_page

__all__ = ["write_verdict_page"]
