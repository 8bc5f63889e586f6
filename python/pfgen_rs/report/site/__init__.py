"""Pages of a site: static, self-contained, in Japanese and English."""

from pfgen_rs.report.site.builder import build

__all__ = ["build"]
