"""What all figures share: fonts, words, looks, and files that are the same each time."""
