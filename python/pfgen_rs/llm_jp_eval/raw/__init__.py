"""Raw files of llm-jp-eval's data sets: what is published, finding and reading them."""
