"""One site for everything that a lab measures: its sources and configuration, and a kit to publish it."""
