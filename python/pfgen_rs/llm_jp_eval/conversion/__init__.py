"""Raw files: published ones, finding, installing and reading them, and converting them."""
