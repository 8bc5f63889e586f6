"""Static, self-contained pages in Japanese and English."""

from typing import TYPE_CHECKING

__all__ = ["build", "write_comparison", "write_run"]

if TYPE_CHECKING:
    from pfgen_rs.report.site.builder import build
    from pfgen_rs.report.site.compare_page import write_comparison
    from pfgen_rs.report.site.run_page import write_run
else:  # whether a site is up to date is seen without what makes pages
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "builder": ("build",),
            "compare_page": ("write_comparison",),
            "run_page": ("write_run",),
        },
    )
