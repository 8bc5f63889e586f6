"""What `make release-check` runs: checks of wheels and sdist before they are published."""
