"""Reports on runs of llm-jp-eval: tables with intervals, paired comparisons, figures and pages."""

from typing import TYPE_CHECKING

__all__ = ["Report", "ReportRun", "report_of"]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.report.report import Report, report_of
    from pfgen_rs.llm_jp_eval.report.runs import ReportRun
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__, {"report": ("Report", "report_of"), "runs": ("ReportRun",)}
    )
