"""Metrics that files name and that are not computed here, with the reasons."""

from functools import partial

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.measures import sample_metric

_CODE = "runs code that a model wrote, which this program never does"
_MODEL = "needs a model (BERTScore)"
_UNDOCUMENTED = "its formula is not documented"


def _never(*_: str, name: str, reason: str) -> float:
    raise SettingsError(f"{name} is not computed here: {reason}")


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
    sample_metric(_name, lacks=partial(str, _reason))(partial(_never, name=_name, reason=_reason))
