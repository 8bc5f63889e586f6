"""Metrics that files name and that are not computed here, with the reasons."""

from pfgen_rs.llm_jp_eval.measures import not_computed

_CODE = "runs code that a model wrote, which this program never does"
_MODEL = "needs a model (BERTScore)"
_UNDOCUMENTED = "its formula is not documented"

for _name, _reason in {
    "code_exec": _CODE,
    "code_exec_sandbox": _CODE,
    "mbpp_code_exec": _CODE,
    "pylint_check": "needs a linter over code that a model wrote",
    "bert_score_ja_f1": _MODEL,
    "bert_score_en_f1": _MODEL,
    "entity_labeling_acc": _UNDOCUMENTED,
    "drop_f1": f"{_UNDOCUMENTED} for golds of several spans",
}.items():
    not_computed(_name, _reason)
