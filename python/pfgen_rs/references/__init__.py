"""Building reference sets: candidate answers in, question files out."""
