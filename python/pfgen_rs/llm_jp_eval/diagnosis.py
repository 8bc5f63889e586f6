"""What answers lose to their form rather than to knowledge; beside the scores, never in them.

An answer that is wrong is read in other ways (`FORMS`). What becomes right in one of them is lost to form;
signs (`SIGNS`) say what the rest has in common.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import eq
from typing import Any
from unicodedata import normalize

from pfgen_rs.io import cleaning
from pfgen_rs.lazy import pl
from pfgen_rs.llm_jp_eval import measures, metric

_EXAMPLES = 3
_SHOWN = 80  # characters of a text in examples
_MOST, _TIMES = 1_000, 10  # characters of what can be right: as many, and times those of gold
_nfkc = partial(normalize, "NFKC")
_ROOM = 4  # times as many are read: normalising leaves more than a third
_QUOTES = ['""', "''", "``", "「」", "『』", "“”", "‘’", "«»", "()", "（）", "[]", "【】", "****"]
_BEFORE = re.compile(
    r"\A#{0,6} ?(?:(?:最終的な|正しい)?(?:答え|答|回答|解答|正解|応答|出力)[ 　]?(?:は[、:：]?|[:：])"
    r"|(?:the )?(?:final |correct )?(?:answer|output|response) ?(?:is:?|[:：])|[aａ][:：])",
    re.IGNORECASE,
)
_AFTER = ("。", ".", "です", "である", "になります", "となります")
_JAPANESE = re.compile("[\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff々〆〇]")
_KANA = re.compile("[\u3041-\u30fa]")
_LETTERS = 3  # fewest that tell a language
_CHINESE = frozenset("的是了我你他们們这這吗嗎")  # of which sentences have several

Texts = Sequence[str]
Read = Callable[[str, Texts], Texts]
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
    outputs = pl.coalesce(each for each in ("output", "pred") if each in frame.columns)
    frame = frame.with_columns(output=outputs)
    return {
        task: _of_task(
            rows,
            metrics.get(task, ""),
            partial(read, task),
            [_folded(label) for label in (labels or {}).get(task, ())],
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


def _of_task(
    rows: pl.DataFrame, name: str, read: Callable[[Texts], Texts], labels: Texts, *, whole: bool
) -> Diagnosis:
    outputs, preds, golds = (rows[name].to_list() for name in ("output", "pred", "gold"))
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
    pairs = list({pair for own in made.values() for each in own.values() for pair in each})
    hits = _right(name, [pred for pred, _ in pairs], [gold for _, gold in pairs])
    good = {pair for pair, is_hit in zip(pairs, hits, strict=True) if is_hit}
    found = {f: {row for row, own in made.items() if not good.isdisjoint(own[f])} for f in FORMS}
    found["all"] = set().union(*found.values())
    new = {}
    for form in FORMS:
        new[form] = [row for row in wrong if row in found[form]]
        wrong = [row for row in wrong if row not in found[form]]
    reasons = (
        rows["finish_reason"].fill_null("").to_list() if "finish_reason" in rows.columns else []
    )
    signs = _signs(wrong, outputs, preds, golds, reasons, labels)
    index = rows["index"].to_list()
    return Diagnosis(
        len(rows),
        sum(is_right),
        {name: len(own) for name, own in (*found.items(), *signs.items())},
        {form: len(own) for form, own in new.items()},
        {
            name: [(index[i], _short(outputs[i]), _short(golds[i])) for i in own[:_EXAMPLES]]
            for name, own in {**new, **signs}.items()
            if own
        },
    )


def _right(name: str, preds: Texts, golds: Texts) -> list[bool]:
    """Returns which predictions are right by a metric; equal to gold if it needs a model or all samples."""
    if name in measures.CORRELATIONS:
        return [
            measures.parse_float(p) == float(gold) for p, gold in zip(preds, golds, strict=True)
        ]
    known = measures.sample_metrics().get(name)
    if known is None or known.with_inputs or known.lacks():
        return list(map(eq, preds, golds))
    return [value == 1 for value in metric(name, preds, golds)]


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


def _without_prefix(text: str) -> str:
    """Remove what introduces an answer, and what closes the sentence."""
    rest = _BEFORE.sub("", text).strip()
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


def _folded(text: str) -> str:
    return _nfkc(text).strip().lower()


def _every_form(text: str, gold: str) -> Pair:
    plain = _unquoted(_without_prefix(_unquoted(text, gold)), gold)
    return _folded(plain), _nfkc(gold).lower()


_NOW, _LINE, _ANSWER, _BEGIN = range(4)  # places in `_texts`
_READINGS: Mapping[str, tuple[tuple[int, ...], Callable[[str, str], Pair]]] = {
    "stripped": ((_NOW,), lambda text, gold: (text, gold)),
    "first_line": ((_LINE,), lambda text, gold: (text, gold)),
    "without_thoughts": ((_ANSWER,), lambda text, gold: (text, gold)),
    "without_prefix": ((_NOW,), lambda text, gold: (_without_prefix(text), gold)),
    "unquoted": ((_NOW,), lambda text, gold: (_unquoted(text, gold), gold)),
    "lower_cased": ((_NOW,), lambda text, gold: (text.lower(), gold.lower())),
    "normalised": ((_NOW,), lambda text, gold: (_nfkc(text).strip(), _nfkc(gold))),
    "all": ((_ANSWER, _BEGIN), _every_form),
}
FORMS = tuple(_READINGS)
"""Ways to read an answer, each of which strips it as well; the last is any of them, or all together."""


def _readings(found: Sequence[str], pred: str, gold: str) -> dict[str, list[Pair]]:
    """Returns what could be right by form: predictions with the gold answers to compare, other than now.

    `found`: the predictions in `_texts`.
    """
    short = [text if len(text) < _most(gold) else None for text in found]
    made = {
        form: [read(text, gold) for place in places if (text := short[place]) is not None]
        for form, (places, read) in _READINGS.items()
    }
    return {form: [each for each in own if each != (pred, gold)] for form, own in made.items()}


# Signs of wrong answers.


SIGNS = ("empty", "cut", "other_language", "no_label")
"""What is said of wrong answers that no form makes right."""
PARTS = ("right", *FORMS, "wrong")
"""What all answers consist of."""
NAMES = ("right", *FORMS, "form", "wrong", *SIGNS)
"""Shares that a diagnosis has: `form` is the sum of the forms."""


def _signs(
    rows: Sequence[int], outputs: Texts, preds: Texts, golds: Texts, reasons: Texts, labels: Texts
) -> dict[str, list[int]]:
    """Returns the rows that have each sign that can be known."""
    heads = {row: cleaning.without_thoughts(outputs[row]).strip()[:_MOST] for row in rows}
    signs: list[tuple[str, bool, Callable[[int], object]]] = [
        ("empty", True, lambda i: not heads[i]),
        (
            "cut",
            any(reasons),
            lambda i: reasons[i] == "length" and "\n\n" not in outputs[i].strip(),
        ),
        (
            "other_language",
            not labels and any(map(_is_japanese, golds)),
            lambda i: _is_japanese(golds[i]) and _is_foreign(heads[i]),
        ),
        ("no_label", bool(labels), lambda i: heads[i] and _folded(preds[i][:_MOST]) not in labels),
    ]
    return {sign: [i for i in rows if has(i)] for sign, is_known, has in signs if is_known}


def _is_japanese(gold: str) -> bool:
    """Whether at least half of the letters of an expected answer are kana and kanji."""
    return 0 < _count_letters(gold) <= 2 * len(_JAPANESE.findall(gold))


def _is_foreign(text: str) -> bool:
    """Whether under a tenth of three or more letters are Japanese, or there are Chinese words and no kana."""
    letters = _count_letters(text)
    is_chinese = len(_CHINESE.intersection(text)) > 1 and _KANA.search(text) is None
    return letters >= _LETTERS and (10 * len(_JAPANESE.findall(text)) < letters or is_chinese)


def _count_letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _short(text: str) -> str:
    """Returns a text, or its beginning and its end."""
    half = _SHOWN // 2
    return text if len(text) <= _SHOWN else f"{text[:half]} … {text[-half:]}"
