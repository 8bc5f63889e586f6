"""What answers lose to their form rather than to knowledge; beside the scores, never in them.

An answer that is wrong is read in other ways (`FORMS`). What becomes right in one of them is lost to form;
signs (`SIGNS`) say what the rest has in common.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unicodedata import normalize

from pfgen_rs.io import cleaning
from pfgen_rs.lazy import pl
from pfgen_rs.llm_jp_eval import measures, metric

FORMS = (
    *("stripped", "first_line", "without_thoughts", "without_prefix", "unquoted"),
    *("lower_cased", "normalised", "all"),
)
"""Ways to read an answer, each of which strips it as well; the last is any of them, or all together."""
SIGNS = ("empty", "cut", "other_language", "no_label")
"""What is said of wrong answers that no form makes right."""
PARTS = ("right", *FORMS, "wrong")
"""What all answers consist of."""
NAMES = ("right", *FORMS, "form", "wrong", *SIGNS)
"""Shares that a diagnosis has: `form` is the sum of the forms."""

_EXAMPLES = 3
_SHOWN = 80  # characters of a text in examples
_MOST, _TIMES = (
    1_000,
    10,
)  # characters of a reading that can be right, and times those of the gold answer
_ROOM = 4  # times as many are read: normalising leaves more than a third
_QUOTES = (
    *('""', "''", "``", "「」", "『』", "“”", "‘’", "«»", "()", "（）", "[]", "【】"),
    *("****",),
)
_BEFORE = re.compile(
    r"#{0,6} ?(?:(?:最終的な|正しい)?(?:答え|答|回答|解答|正解|応答|出力)[ 　]?(?:は[、:：]?|[:：])"
    r"|(?:the )?(?:final |correct )?(?:answer|output|response) ?(?:is:?|[:：])|[aａ][:：])",
    re.IGNORECASE,
)
_AFTER = ("。", ".", "です", "である", "になります", "となります")
_JAPANESE = re.compile("[\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff々〆〇]")
_KANA = re.compile("[\u3041-\u30fa]")
_LETTERS = 3  # fewest that tell a language
_CHINESE = frozenset("的是了我你他们們这這吗嗎")  # of which sentences have several

Read = Callable[[str, Sequence[str]], Sequence[str]]
Pair = tuple[str, str]
Example = tuple[int, str, str]


@dataclass(frozen=True)
class Diagnosis:
    """What the answers to a task lost to form.

    `samples`; `right`: how many have the value 1 (the number expected, where the task has correlations; where
    values are not known, the text expected). `counts`: by form, how many others become right; by sign, how
    many of those that remain wrong have it (a sign that cannot be known is left out). `first`: the counts of
    forms without those that an earlier form makes right; their sum is `counts["all"]`. `examples`: up to
    three of `first` and of each sign, with index, output and gold answer, shortened.
    """

    samples: int
    right: int
    counts: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, Sequence[Example]] = field(default_factory=dict, repr=False)

    def shown(self) -> dict[str, float]:
        """Returns the shares of samples, by the names of `NAMES`.

        They are right, right but for form by `first` (together `form`), or wrong; signs are among the wrong.
        """
        form = self.counts["all"]
        signs = {name: self.counts[name] for name in SIGNS if name in self.counts}
        wrong = self.samples - self.right - form
        parts = {"right": self.right, **self.first, "form": form, "wrong": wrong, **signs}
        return {name: count / self.samples for name, count in parts.items()}


def diagnosed(
    frame: pl.DataFrame,
    metrics: Mapping[str, str],
    read: Read,
    labels: Mapping[str, Sequence[str]] | None = None,
    searched: Container[str] = (),
) -> dict[str, Diagnosis]:
    """Returns a diagnosis of each task, in the order of the samples.

    `frame`: as `scoring.Evaluation` has it; where outputs are not known, predictions stand for them.
    `metrics`: the main one of each task. `read`: returns the predictions in outputs of a task. `labels`: the
    answers that there are, by task. `searched`: tasks whose answers may stand anywhere in an output; of
    others only the beginning is read again. Time linear in the texts.
    """
    return {
        task: _of_task(
            rows,
            metrics.get(task, ""),
            partial(read, task),
            frozenset(map(_folded, (labels or {}).get(task, ()))),
            whole=task in searched,
        )
        for (task,), rows in frame.group_by("task", maintain_order=True)
        if isinstance(task, str)
    }


def of_record(record: Mapping[str, Mapping[str, Any]]) -> dict[str, Diagnosis]:
    """Returns the diagnoses that a record of them has, such as that in `scores.json`."""
    return {task: Diagnosis(**own) for task, own in record.items()}


def mean_shares(found: Iterable[Diagnosis]) -> dict[str, float]:
    """Returns the means of what is shown of each (a sign: of those that can have it), without zeros."""
    shown = [own.shown() for own in found]
    known = {name: [own[name] for own in shown if name in own] for name in NAMES}
    return {name: sum(own) / len(own) for name, own in known.items() if any(own)}


def _folded(text: str) -> str:
    return normalize("NFKC", text).strip().lower()


def _of_task(
    rows: pl.DataFrame,
    name: str,
    read: Callable[[Sequence[str]], Sequence[str]],
    labels: frozenset[str],
    *,
    whole: bool,
) -> Diagnosis:
    preds, golds = rows["pred"].to_list(), rows["gold"].to_list()
    known = [name for name in ("output", "pred") if name in rows.columns]
    outputs = rows.select(pl.coalesce(known)).to_series().to_list()
    is_right = rows["value"].eq(1).to_list()
    if rows["value"].null_count():
        is_right = _right(name, preds, golds)
    wrong = [row for row, right in enumerate(is_right) if not right]
    texts = {row: _texts(outputs[row], None if whole else golds[row]) for row in wrong}
    every = list({text for own in texts.values() for text in own})
    plain = {text: found.strip() for text, found in zip(every, read(every), strict=True)}
    made = {
        row: _readings([plain[text] for text in own], preds[row], golds[row])
        for row, own in texts.items()
    }
    pairs = list(
        dict.fromkeys(pair for own in made.values() for each in own.values() for pair in each)
    )
    hits = _right(name, [pred for pred, _ in pairs], [gold for _, gold in pairs])
    good = {pair for pair, is_hit in zip(pairs, hits, strict=True) if is_hit}
    found = {f: {row for row, own in made.items() if not good.isdisjoint(own[f])} for f in FORMS}
    found["all"] = set().union(*found.values())
    new, seen = {}, set[int]()
    for form in FORMS:
        new[form] = found[form] - seen
        seen |= found[form]
    rest = [row for row in wrong if row not in seen]
    reasons = rows["finish_reason"].to_list() if "finish_reason" in rows.columns else []
    signs = _signs(rest, outputs, preds, golds, reasons, labels)
    index = rows["index"].to_list()
    return Diagnosis(
        len(rows),
        len(rows) - len(wrong),
        {name: len(own) for name, own in {**found, **signs}.items()},
        {form: len(own) for form, own in new.items()},
        {
            name: [
                (index[i], _short(outputs[i]), _short(golds[i])) for i in sorted(own)[:_EXAMPLES]
            ]
            for name, own in {**new, **signs}.items()
            if own
        },
    )


def _right(name: str, preds: Sequence[str], golds: Sequence[str]) -> list[bool]:
    """Returns which predictions are right by a metric; equal to gold if it needs a model or all samples."""
    if name in measures.CORRELATIONS:
        return [
            measures.parse_float(pred) == _number(gold)
            for pred, gold in zip(preds, golds, strict=True)
        ]
    known = measures.sample_metrics().get(name)
    if known is None or known.with_inputs or measures.unavailable(name):
        return [pred == gold for pred, gold in zip(preds, golds, strict=True)]
    return [value == 1 for value in metric(name, preds, golds)]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# The readings of an output.


def _most(gold: str) -> int:
    return _MOST + _TIMES * len(gold)


def _texts(output: str, gold: str | None) -> list[str]:
    """Returns an output stripped, its first line, and both without thoughts; if `gold` is given, cut."""
    whole = output.strip(), cleaning.without_thoughts(output).strip()
    texts = [part for text in whole for part in (text, text.partition("\n")[0].rstrip())]
    if gold is None:
        return texts
    room = _ROOM * _most(gold)  # with an end that is no white space, which would be stripped
    return [text if len(text) <= room else f"{text[:room]}…" for text in texts]


def _readings(found: Sequence[str], pred: str, gold: str) -> dict[str, list[Pair]]:
    """Returns what could be right by form: predictions with the gold answers to compare, other than now.

    `found`: the predictions in `_texts`.
    """
    most, low, normal = _most(gold), gold.lower(), normalize("NFKC", gold)
    now, line, whole, begin = ([text] if len(text) < most else [] for text in found)
    every = [_unquoted(_without_prefix(_unquoted(t, gold)), gold) for t in whole + begin]
    pairs = {
        "stripped": [(text, gold) for text in now],
        "first_line": [(text, gold) for text in line],
        "without_thoughts": [(text, gold) for text in whole],
        "without_prefix": [(_without_prefix(text), gold) for text in now],
        "unquoted": [(_unquoted(text, gold), gold) for text in now],
        "lower_cased": [(text.lower(), low) for text in now],
        "normalised": [(normalize("NFKC", text).strip(), normal) for text in now],
        "all": [(_folded(text), normal.lower()) for text in every],
    }
    return {form: [each for each in own if each != (pred, gold)] for form, own in pairs.items()}


def _without_prefix(text: str) -> str:
    """Remove what introduces an answer, and what closes the sentence."""
    found = _BEFORE.match(text)
    rest = (text[found.end() :] if found else text).strip()
    for end in _AFTER:
        rest = rest.removesuffix(end).rstrip()
    return rest


def _unquoted(pred: str, gold: str) -> str:
    """Remove the quotation marks around a prediction, unless the answer is expected in some."""
    for marks in _QUOTES:
        half = len(marks) // 2
        first, last = marks[:half], marks[half:]
        if len(pred) >= len(marks) and pred.startswith(first) and pred.endswith(last):
            expected = gold.startswith(first) and gold.endswith(last)
            return pred if expected else pred[half:-half].strip()
    return pred


# Signs of wrong answers.


def _signs(
    rows: Sequence[int],
    outputs: Sequence[str],
    preds: Sequence[str],
    golds: Sequence[str],
    reasons: Sequence[str | None],
    labels: frozenset[str],
) -> dict[str, list[int]]:
    heads = {row: cleaning.without_thoughts(outputs[row]).strip()[:_MOST] for row in rows}
    found = {"empty": [row for row in rows if not heads[row]]}
    if any(reason is not None for reason in reasons):
        found["cut"] = [
            row for row in rows if reasons[row] == "length" and "\n\n" not in outputs[row].strip()
        ]
    if labels:
        found["no_label"] = [
            row for row in rows if heads[row] and _folded(preds[row][:_MOST]) not in labels
        ]
    elif any(_is_japanese(gold) for gold in golds):
        found["other_language"] = [
            row for row in rows if _is_japanese(golds[row]) and _is_foreign(heads[row])
        ]
    return {sign: found[sign] for sign in SIGNS if sign in found}


def _is_japanese(gold: str) -> bool:
    """Whether at least half of the letters of an expected answer are kana and kanji."""
    letters = _count_letters(gold)
    return letters > 0 and 2 * len(_JAPANESE.findall(gold)) >= letters


def _is_foreign(text: str) -> bool:
    """Whether under a tenth of three or more letters are Japanese, or there are Chinese words and no kana."""
    letters = _count_letters(text)
    if letters < _LETTERS:
        return False
    few = 10 * len(_JAPANESE.findall(text)) < letters
    return few or (len(_CHINESE.intersection(text)) > 1 and _KANA.search(text) is None)


def _count_letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _short(text: str) -> str:
    """Returns a text, or its beginning and its end."""
    half = _SHOWN // 2
    return text if len(text) <= _SHOWN else f"{text[:half]} … {text[-half:]}"
