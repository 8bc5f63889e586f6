"""The five tasks of the Wikipedia Annotated Corpus: annotated documents to inputs and outputs."""

from pfgen_rs.llm_jp_eval.wikipedia.tasks import WIKI_TASKS, samples

__all__ = ["WIKI_TASKS", "samples"]
