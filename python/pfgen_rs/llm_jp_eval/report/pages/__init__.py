"""The page of a report, with the looks, rules and payloads of `pfgen_rs.report.site`."""

from pfgen_rs.llm_jp_eval.report.pages.write import write_report_page

__all__ = ["write_report_page"]
