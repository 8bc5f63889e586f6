"""Question files, the questions in them, and sets of questions with their cached scorers."""
