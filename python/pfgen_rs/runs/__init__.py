"""Scores whole runs incrementally, resumes interrupted scoring, and aggregates and writes results."""
