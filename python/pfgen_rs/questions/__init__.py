"""Question files, questions, and question sets with their cached scorers."""
