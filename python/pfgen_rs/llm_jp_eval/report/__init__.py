"""Reports on runs of llm-jp-eval: tables with intervals, paired comparisons, figures and pages."""
