"""Shared words: BLEU as sacrebleu computes it (`bleu_ja`, `bleu_en`), ROUGE F1 as rouge_score does.

ROUGE (`rouge1`, `rouge2`, `rougeL`) is over the words that MeCab finds: the package's own tokenizer keeps
ASCII letters and digits alone, so that Japanese texts would have no words.
"""

from functools import cache, partial
from typing import Any

from pfgen_rs.extras import needed
from pfgen_rs.llm_jp_eval.measures import absent_packages, sample_metric

_MECAB = ("sacrebleu", "MeCab", "ipadic")


@cache
def _bleu_scorer(language: str) -> Any:
    return needed("sacrebleu", "metrics").BLEU(effective_order=True, trg_lang=language)


def bleu(prediction: str, gold: str, *, language: str) -> float:
    """Returns BLEU / 100 of a sample, with the effective order of n-grams; both texts are stripped.

    `language`: `ja` has words as MeCab with the IPA dictionary finds them, `en` those of mteval-v13a. An
    empty prediction has 0.0.
    """
    found = prediction.strip()
    scorer = _bleu_scorer(language)
    return scorer.corpus_score([found], [[gold.strip()]]).score / 100 if found else 0.0


class _Words:
    """Finds words as `bleu_ja` has them: MeCab's, with the IPA dictionary."""

    def __init__(self) -> None:
        tokenizers = needed("sacrebleu.tokenizers.tokenizer_ja_mecab", "metrics")
        self._tokenizer = tokenizers.TokenizerJaMecab()

    def tokenize(self, text: str) -> list[str]:
        return str(self._tokenizer(text)).split()


@cache
def _rouge_scorer(name: str) -> Any:
    return needed("rouge_score.rouge_scorer", "metrics").RougeScorer([name], tokenizer=_Words())


def rouge(prediction: str, gold: str, *, name: str) -> float:
    """Returns F1 of single words (`rouge1`), pairs of words, or the longest common subsequence of words."""
    return float(_rouge_scorer(name).score(gold, prediction)[name].fmeasure)


for _name, _modules, _value in (
    ("bleu_ja", _MECAB, partial(bleu, language="ja")),
    ("bleu_en", ("sacrebleu",), partial(bleu, language="en")),
    ("rouge1", ("rouge_score", *_MECAB), partial(rouge, name="rouge1")),
    ("rouge2", ("rouge_score", *_MECAB), partial(rouge, name="rouge2")),
    ("rougeL", ("rouge_score", *_MECAB), partial(rouge, name="rougeL")),
):
    sample_metric(_name, lacks=partial(absent_packages, *_modules, extra="metrics"))(_value)
