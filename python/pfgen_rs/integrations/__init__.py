"""Integrations with evaluation harnesses and training libraries; each is imported only when used."""
