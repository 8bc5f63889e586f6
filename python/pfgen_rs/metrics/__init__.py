"""Everything that defines a score: settings, units, n-grams, keyword rules, and the signature."""
