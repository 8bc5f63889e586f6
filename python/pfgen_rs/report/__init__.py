"""What people look at: results as published, leaderboards, plots and pages."""
