"""Making reference sets: from candidate answers to a question file."""
