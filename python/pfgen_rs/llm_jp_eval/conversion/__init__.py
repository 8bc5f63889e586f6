"""Converting raw files: samples of each data set, shuffling, splitting, and writing the published files."""
