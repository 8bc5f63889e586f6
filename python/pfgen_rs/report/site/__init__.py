"""Static, self-contained pages in Japanese and English."""

from pfgen_rs.report.site.builder import build
from pfgen_rs.report.site.single import write_comparison, write_run

__all__ = ["build", "write_comparison", "write_run"]
