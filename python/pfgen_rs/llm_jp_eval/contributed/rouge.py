"""ROUGE F1 as rouge_score computes it, over the words that MeCab finds: `rouge1`, `rouge2`, `rougeL`.

The package's own tokenizer keeps ASCII letters and digits alone, so that Japanese texts would have no words.
"""

from functools import cache, partial
from typing import Any

from pfgen_rs.extras import needed
from pfgen_rs.llm_jp_eval.measures import absent_packages, sample_metric

_LACKS = partial(absent_packages, "rouge_score", "sacrebleu", "MeCab", "ipadic", extra="metrics")


class _Words:
    """Finds words as `bleu_ja` has them: MeCab's, with the IPA dictionary."""

    def __init__(self) -> None:
        tokenizers = needed("sacrebleu.tokenizers.tokenizer_ja_mecab", "metrics")
        self._tokenizer = tokenizers.TokenizerJaMecab()

    def tokenize(self, text: str) -> list[str]:
        return str(self._tokenizer(text)).split()


@cache
def _scorer(name: str) -> Any:
    return needed("rouge_score.rouge_scorer", "metrics").RougeScorer([name], tokenizer=_Words())


def rouge(prediction: str, gold: str, *, name: str) -> float:
    """Returns F1 of single words (`rouge1`), pairs of words, or the longest common subsequence of words."""
    return float(_scorer(name).score(gold, prediction)[name].fmeasure)


for _name in ("rouge1", "rouge2", "rougeL"):
    sample_metric(_name, lacks=_LACKS)(partial(rouge, name=_name))
