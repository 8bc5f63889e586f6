"""BLEU of single samples as sacrebleu computes it: `bleu_ja` and `bleu_en`."""

from functools import cache, partial
from typing import Any

from pfgen_rs.extras import needed
from pfgen_rs.llm_jp_eval.measures import absent_packages, sample_metric


@cache
def _scorer(language: str) -> Any:
    return needed("sacrebleu", "metrics").BLEU(effective_order=True, trg_lang=language)


def bleu(prediction: str, gold: str, *, language: str) -> float:
    """Returns BLEU / 100 of a sample, with the effective order of n-grams; both texts are stripped.

    `language`: `ja` has words as MeCab with the IPA dictionary finds them, `en` those of mteval-v13a. An
    empty prediction has 0.0.
    """
    found = prediction.strip()
    return _scorer(language).corpus_score([found], [[gold.strip()]]).score / 100 if found else 0.0


for _language, _modules in {"ja": ("sacrebleu", "MeCab", "ipadic"), "en": ("sacrebleu",)}.items():
    _lacks = partial(absent_packages, *_modules, extra="metrics")
    sample_metric(f"bleu_{_language}", lacks=_lacks)(partial(bleu, language=_language))
