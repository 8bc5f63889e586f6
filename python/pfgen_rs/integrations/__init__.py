"""Scoring inside the harnesses and libraries people already use; each is imported only where it is used."""
