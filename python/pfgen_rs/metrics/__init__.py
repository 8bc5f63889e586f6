"""What a score depends on: settings, units, n-grams, keyword rules, and the signature that names them."""
