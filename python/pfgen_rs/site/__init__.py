"""What a site is made of: results of every kind, whose names of models are matched."""
