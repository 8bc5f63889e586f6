"""Responses in object storage and on web servers: read piece by piece, listed by globs, written whole."""
