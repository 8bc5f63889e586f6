"""Reports: published results, leaderboards, plots and pages."""
