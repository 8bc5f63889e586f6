"""The obvious scorer: plain Python, one response at a time, written from docs/specification/scoring.md.

The tests hold the native scorer equal to this module, value for value. It is meant to be
difficult to get wrong rather than fast, and needs nothing but the standard library.
Sections named below are those of that document.

Text is a sequence of code points. Lengths, positions and cuts count code points. A sequence of words
(`words.Words`) may stand for a text: all of them count words then.
"""

import hashlib
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from words import Words

Answers = dict[str, list[str]]
Text = str | Words
Gram = Sequence[str]
Sum = Callable[[Iterable[float]], float]
BEGIN, END = "<begin>", "<end>"  # longer than one character, so no character equals them
NOT_FOUND = sys.maxsize  # acts as the 9999 of scoring 4.2, at any length
Q_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


def left_sum(values: Iterable[float]) -> float:
    """Plain left-to-right float64 sum; the built-in is compensated from CPython 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def compensated_sum(values: Iterable[float]) -> float:
    """What the built-in `sum` gives for floats from CPython 3.12 on (Neumaier), step by step.

    As its C code: the rounding error of each addition, computed from the operand of larger magnitude, goes
    into a sum of its own, which is added at the end unless it is zero or not finite.
    """
    total = lost = 0.0
    for value in values:
        new = total + value
        if abs(total) >= abs(value):
            lost += (total - new) + value
        else:
            lost += (value - new) + total
        total = new
    return total + lost if lost and math.isfinite(lost) else total


@dataclass(frozen=True)
class Settings:
    """What sections 2, 3, 4 and 10 fix, as parameters; the defaults are the published ones."""

    variant: str = "pfgen-bench"
    min_n: int = 1
    max_n: int = 10
    truthfulness_n: int = 3
    threshold: float = 0.005
    target_length: int = 100
    zero_length: int = 150
    max_length: int = 200
    skipped: frozenset[str] = frozenset("^$、。・「」『』（）【】［］〈〉《》")

    def __post_init__(self) -> None:
        if self.variant not in ("pfgen-bench", "paper"):
            raise ValueError(f"unknown variant {self.variant!r}")
        if not 1 <= self.min_n <= self.max_n <= self.max_length:
            raise ValueError("needed: 1 <= min_n <= max_n <= max_length")
        if not 1 <= self.truthfulness_n <= self.max_length or not 1e-9 <= self.threshold <= 1.0:
            raise ValueError("needed: 1 <= truthfulness_n <= max_length and 1e-9 <= threshold <= 1")
        if not 0 <= self.target_length < self.zero_length <= self.max_length:
            raise ValueError("needed: 0 <= target_length < zero_length <= max_length")

    def discount(self, length: int) -> float:
        """d(k) of 2.2: 1 up to the target, falling in a line, negative past zero_length."""
        excess = max(length - self.target_length, 0)
        return 1.0 - excess / (self.zero_length - self.target_length)

    def ngram_lengths(self) -> list[int]:
        """The lengths whose document frequencies are needed."""
        return sorted({*range(self.min_n, self.max_n + 1), self.truthfulness_n})


class Reference:
    """One source of a question, as the published figures see it (sections 2 and 3)."""

    def __init__(self, answers: Sequence[Text], settings: Settings) -> None:
        self.size = len(answers)
        self.settings = settings
        self.df: dict[Gram, int] = Counter()
        for answer in answers:
            self.df.update(substrings(answer, settings.ngram_lengths()))
        self.baseline = own_mean([self.fluency(answer, 1.0)[0] for answer in answers])

    def fluency(self, response: Text, baseline: float) -> tuple[float, float]:
        """Value and discount of the first best cut (2.3); (0.0, 1.0) if none is positive."""
        best = (0.0, 1.0)
        for k, raw in enumerate(raw_counts(response, self.df, self.settings), start=1):
            discount = self.settings.discount(k)
            value = raw * discount / baseline
            if value > best[0]:
                best = (value, discount)
        return best

    def truthfulness(self, response: Text) -> float:
        """Section 3, with `^`, the response and `$` as plain characters of one text."""
        settings = self.settings
        text = whole(response)[: settings.max_length + 2]
        best = score = total = 0.0
        count = 0
        for i, character in enumerate(text):
            if character in settings.skipped:
                continue
            known = covering_frequency(text, i, self.df, settings.truthfulness_n)
            total += min(1.0, known / self.size * (1.0 / settings.threshold))
            count += 1
            score = total / count * settings.discount(i)
            if i >= settings.target_length:
                best = max(best, score)
        return max(best, score)


def reference_without(answers: list[str], number: int, settings: Settings) -> Reference:
    """The source as if one of its answers had never been there; without a baseline of its own."""
    others = answers[:number] + answers[number + 1 :]
    reference = object.__new__(Reference)
    reference.settings, reference.size = settings, len(others)
    lengths = settings.ngram_lengths()
    reference.df = Counter(gram for text in others for gram in substrings(text, lengths))
    return reference


def own_mean(totals: list[float]) -> float:
    """The baseline of 2.4; ValueError where it would be 0 and divide nothing."""
    baseline = left_sum(totals) / len(totals)
    if not baseline > 0.0:
        raise ValueError("the answers of a source score nothing against themselves")
    return baseline


def whole(response: Text) -> Gram:
    """`^response$`."""
    return "^" + response + "$" if isinstance(response, str) else ("^", *response, "$")


def substrings(text: Gram, lengths: Iterable[int]) -> set[Any]:
    """The distinct n-grams of a text for each n in `lengths`."""
    return {text[i : i + n] for n in lengths for i in range(len(text) - n + 1)}


def raw_counts(text: Gram, df: dict[Gram, int], settings: Settings) -> Iterator[int]:
    """raw(k) of 2.3 for k = 1, 2 … min(L, max_length): the set of n-grams grows with k."""
    seen: set[Gram] = set()
    raw = 0
    for k in range(1, min(len(text), settings.max_length) + 1):
        for n in range(settings.min_n, min(settings.max_n, k) + 1):
            gram = text[k - n : k]
            if gram not in seen:
                seen.add(gram)
                raw += df.get(gram, 0)
        yield raw


def covering_frequency(text: Gram, i: int, df: dict[Gram, int], n: int) -> int:
    """a_i of 3.1: the largest df of the n-character windows that cover index i."""
    starts = range(max(i - n + 1, 0), min(i, len(text) - n) + 1)
    return max((df.get(text[start : start + n], 0) for start in starts), default=0)


class PaperReference:
    """One source of a question, as the papers' equations read (section 10)."""

    def __init__(self, answers: Sequence[Text], settings: Settings) -> None:
        self.size = len(answers)
        self.settings = settings
        self.df: dict[tuple[str, ...], int] = Counter()
        for answer in answers:
            symbols = with_markers(answer)
            grams = {g for n in settings.ngram_lengths() for g in windows(symbols, n)}
            self.df.update(grams)
        self.baseline = own_mean([self.total(answer) for answer in answers])

    def total(self, response: Text) -> float:
        """F of equations 1 to 3: every occurrence counts; df summed first, divided by N once."""
        lengths = range(self.settings.min_n, self.settings.max_n + 1)
        symbols = with_markers(response)
        frequency = sum(self.df.get(g, 0) for n in lengths for g in windows(symbols, n))
        return paper_discount(self.settings, len(response)) * (frequency / self.size)

    def fluency(self, response: Text) -> float:
        """F relative to the source's own answers."""
        return self.total(response) / self.baseline

    def truthfulness(self, response: Text) -> float:
        """Equations 6 to 9: the mean up to L, or the best discounted mean from target_length on."""
        settings = self.settings
        means = self.running_means(response)
        if len(response) <= settings.target_length:
            return means[len(response)]
        cuts = range(settings.target_length, len(response) + 1)
        return max(paper_discount(settings, cut) * means[cut] for cut in cuts)

    def running_means(self, response: Text) -> list[float]:
        """T*_I of equation 8 for I = 0 … L; 0.0 while every character so far was skipped."""
        threshold = self.settings.threshold
        n = self.settings.truthfulness_n
        grams = [self.df.get(g, 0) for g in windows(with_markers(response), n)]
        means = [0.0]
        total = 0.0
        count = 0
        for i, character in enumerate(response, start=1):
            if character not in self.settings.skipped:
                known = max(grams[i - 1 : i + 2], default=0)  # equation 7
                total += min(known / self.size, threshold) / threshold
                count += 1
            means.append(total / count if count else 0.0)
        return means


def with_markers(text: Text) -> tuple[str, ...]:
    """C_0 … C_{L+1} of 10.1."""
    return (BEGIN, *text, END)


def windows(symbols: tuple[str, ...], n: int) -> list[tuple[str, ...]]:
    """Every window of n symbols, repeats included."""
    return [symbols[i : i + n] for i in range(len(symbols) - n + 1)]


def paper_discount(settings: Settings, length: int) -> float:
    """d(L) of 10.1, which does not fall below zero."""
    return max(0.0, settings.discount(length))


def locate_rule(rule: dict[str, Any], text: str) -> tuple[int, str]:
    """Position and label of one rule (4.2); ValueError names a rule that is none."""
    kinds = [kind for kind in ("t", "and", "or") if kind in rule]
    if len(kinds) != 1 or not rule[kinds[0]]:
        raise ValueError(f"not a keyword rule: {rule!r}")
    if kinds == ["t"]:
        match = re.search(rule["t"], text)
        return match.end() if match else NOT_FOUND, rule.get("name", rule["t"])
    parts = [locate_rule(part, text) for part in rule[kinds[0]]]
    choose = max if kinds == ["and"] else min
    position, label = choose(parts, key=lambda part: part[0])  # the first one on a tie
    return position, rule.get("name", label)


def locate_rules(
    rules: list[dict[str, Any]], response: Text, limit: int | None = None
) -> list[tuple[int, str]]:
    """`locate_rule` of each rule in the first `limit` characters, or the text of as many words."""
    if isinstance(response, str):
        return [locate_rule(rule, response[:limit]) for rule in rules]
    found = [locate_rule(rule, response.read(limit)) for rule in rules]
    return [(at if at == NOT_FOUND else response.words_to(at), label) for at, label in found]


def importance(rule: dict[str, Any]) -> float:
    """A rule's weight (section 4)."""
    return float(rule.get("importance", 1.0))


class Question:
    """A question file and its scores. Sources are prepared when first used.

    `ruled`: whether any question of its set has keyword rules; by default, whether this one has.
    """

    def __init__(
        self, data: dict[str, Any], settings: Settings | None = None, *, ruled: bool | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.answers: dict[str, Sequence[Text]] = data["answers"]
        self.keywords: list[dict[str, Any]] = data.get("keywords", [])
        self.ruled = bool(self.keywords) if ruled is None else ruled
        self.sources = list(self.answers)
        self._references: dict[str, Reference] = {}
        self._papers: dict[str, PaperReference] = {}
        if not self.sources or not all(self.answers.values()):
            raise ValueError("a question needs a source, and every source an answer")

    @cached_property
    def baselines(self) -> dict[str, float]:
        """Per source, the mean unscaled fluency of its answers in the variant of the settings."""
        if self.settings.variant == "paper":
            return {source: self.paper_reference(source).baseline for source in self.sources}
        return {source: self.reference(source).baseline for source in self.sources}

    def reference(self, source: str) -> Reference:
        """The tables of one source, built once."""
        if source not in self._references:
            self._references[source] = Reference(self.answers[source], self.settings)
        return self._references[source]

    def paper_reference(self, source: str) -> PaperReference:
        """The tables of one source for section 10, built once."""
        if source not in self._papers:
            self._papers[source] = PaperReference(self.answers[source], self.settings)
        return self._papers[source]

    def fluency(self, source: str, response: Text) -> tuple[float, float]:
        """Unrounded value and the discount of its cut (section 2)."""
        reference = self.reference(source)
        return reference.fluency(response, reference.baseline)

    def truthfulness(self, source: str, response: Text) -> float:
        """Unrounded value (section 3)."""
        return self.reference(source).truthfulness(response)

    def helpfulness(self, response: Text) -> tuple[float, int, list[list[Any]]]:
        """Unrounded value, the last best cut n and `helpfulness_results` (4.3, 4.4)."""
        limit = self.settings.max_length
        found = locate_rules(self.keywords, response, limit)
        factors = [1.0 - importance(rule) for rule in self.keywords]
        rules = [(*place, factor) for place, factor in zip(found, factors, strict=True)]
        best, n = -math.inf, 0
        for k in range(min(len(response), limit) + 1):
            value = self.settings.discount(k)
            if value < 0.0:
                break
            for position, _, factor in rules:
                if k < position:
                    value *= factor
            if value >= best:
                best, n = value, k
        results: list[list[Any]] = [[label, factor] for at, label, factor in rules if n < at]
        if n > self.settings.target_length and best > 0.0:
            excess = n - self.settings.target_length
            name = "字" if isinstance(response, str) else "語"
            results.append([f"{excess}{name}超過", self.settings.discount(n)])
        return best, n, results

    def score(self, response: Text, add: Sum = left_sum) -> dict[str, Any]:
        """The published `scores` object of one answer (5.1), in the variant pfgen-bench."""
        sources = self.sources
        fluency = {s: round(self.fluency(s, response)[0] / len(sources), 6) for s in sources}
        truth = {s: round(self.truthfulness(s, response) / len(sources), 6) for s in sources}
        value, _, results = self.helpfulness(response)
        helpfulness = round(value, 5)
        both = add(fluency.values()) + add(truth.values())
        return {
            "fluency": fluency,
            "fluency_discount": 1.0,
            "truthfulness": truth,
            "helpfulness": helpfulness,
            "helpfulness_results": results,
            "average": round((both + helpfulness) / 3 if self.ruled else both / 2, 5),
        }

    def paper(self, response: Text) -> dict[str, Any]:
        """Section 10, unrounded: `fluency` and `truthfulness` by source, `helpfulness`, `total`."""
        fluency = {s: self.paper_reference(s).fluency(response) for s in self.sources}
        truth = {s: self.paper_reference(s).truthfulness(response) for s in self.sources}
        helpfulness = self.paper_helpfulness(response)
        means = [left_sum(part.values()) / len(self.sources) for part in (fluency, truth)]
        total = left_sum([*means, helpfulness]) / 3 if self.ruled else left_sum(means) / 2
        parts = {"fluency": fluency, "truthfulness": truth, "helpfulness": helpfulness}
        return {**parts, "total": total}

    def paper_helpfulness(self, response: Text) -> float:
        """Section 10: the share of the importance met, 1.0 where the rules weigh nothing."""
        found = [position for position, _ in locate_rules(self.keywords, response)]
        rules = list(zip(found, map(importance, self.keywords), strict=True))
        whole = left_sum(weight for _, weight in rules)
        if whole == 0.0:
            return 1.0
        target, length = self.settings.target_length, len(response)
        best = -math.inf
        for k in range(min(target, length), length + 1):  # a single cut up to the target length
            met = left_sum(weight for position, weight in rules if position <= k)
            best = max(best, paper_discount(self.settings, k) * (met / whole))
        return best


# ---- section 6: a run ----------------------------------------------------------------------


def run_result(
    question_data: list[dict[str, Any]],
    file_bytes: list[bytes],
    trials_bytes: bytes,
    trials_lines: list[dict[str, Any]],
    config: dict[str, Any] | None,
    add: Sum = left_sum,
) -> dict[str, Any]:
    """The whole `result.json` (6.2); `file_bytes` in the order of the file names.

    `add` stands for the built-in `sum`, wherever the published scorer uses it.

    Raises ValueError for an unknown question or one without any answer.
    """
    ruled = any(data.get("keywords") for data in question_data)
    trials = group_trials(question_data, trials_lines)
    summaries: dict[str, dict[str, Any]] = {}
    averages: list[list[float]] = []
    for data in sorted(question_data, key=lambda data: str(data["question_id"])):
        mine = trials[data["question"]]
        question = Question(data, ruled=ruled)  # one at a time: the tables of a set need gigabytes
        scores = [question.score(trial["answer"], add) for trial in mine]
        averages.append([score["average"] for score in scores])
        summaries[data["question_id"]] = summarise(data["question"], mine, scores, add)
    num_trials = min(map(len, averages))
    trial_scores = [
        add(of_one[j] for of_one in averages) / len(averages) for j in range(num_trials)
    ]
    lengths = [len(trial["answer"]) for of_one in trials.values() for trial in of_one]
    return {
        "input_hash": sha1(trials_bytes),
        "metadata_hash": sha1("".join(map(sha1, file_bytes)).encode()),
        **({} if config is None else {"config": config}),
        "num_trials": num_trials,
        **mean_and_std("score", trial_scores, 4, add),
        **mean_and_std("length", lengths, 1, add),
        "scores": running_scores([summary["scores"] for summary in summaries.values()]),
        "questions": summaries,
    }


def sha1(data: bytes) -> str:
    """The SHA-1 hex digest."""
    return hashlib.sha1(data).hexdigest()


def group_trials(
    question_data: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """The lines of each question, by its text, in the order of the file."""
    trials: dict[str, list[dict[str, Any]]] = {data["question"]: [] for data in question_data}
    for line in lines:
        if line["question"] not in trials:
            raise ValueError(f"unknown question {line['question']!r}")
        trials[line["question"]].append(line)
    for question, mine in trials.items():
        if not mine:
            raise ValueError(f"no answer to {question!r}")
    return trials


def mean_and_std(
    name: str, values: Sequence[float], digits: int, add: Sum = left_sum
) -> dict[str, float]:
    """Mean and population standard deviation, rounded, under `name` and `name_std`."""
    mean = add(values) / len(values)
    variance = add((value - mean) * (value - mean) for value in values) / len(values)
    return {name: round(mean, digits), f"{name}_std": round(math.sqrt(variance), digits)}


def summarise(
    question: str, trials: list[dict[str, Any]], scores: list[dict[str, Any]], add: Sum = left_sum
) -> dict[str, Any]:
    """One entry of `questions`."""
    ranked = sorted(range(len(scores)), key=lambda i: -scores[i]["average"])  # stable
    picked = dict.fromkeys(round(x * (len(ranked) - 1)) for x in Q_FRACTIONS)
    samples = []
    for i in (ranked[place] for place in picked):
        sample = {key: value for key, value in trials[i].items() if key != "question"}
        samples.append({**sample, "scores": scores[i]})
    return {  # every sum here runs in the order of falling `average`
        "question": question,
        **mean_and_std("score", [scores[i]["average"] for i in ranked], 4, add),
        **mean_and_std("length", [len(trials[i]["answer"]) for i in ranked], 1, add),
        "scores": mean_scores([scores[i] for i in ranked], add),
        "samples": samples,
    }


def mean_scores(scores: list[dict[str, Any]], add: Sum = left_sum) -> dict[str, Any]:
    """Means over the answers, summed in the given order and rounded to 5."""

    def mean(values: Iterable[float]) -> float:
        return round(add(values) / len(scores), 5)

    means: dict[str, Any] = {}
    for part in ("fluency", "truthfulness"):
        sources = scores[0][part]
        means[part] = {s: mean(score[part][s] for score in scores) for s in sources}
    for part in ("helpfulness", "average"):
        means[part] = mean(score[part] for score in scores)
    return means


def running_scores(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """The run's `scores`: rounded to 5 after each question; sources in order of appearance."""
    running: dict[str, Any] = {"fluency": {}, "truthfulness": {}}
    for scores in questions:
        for part in ("fluency", "truthfulness"):
            for source, value in scores[part].items():
                before = running[part].get(source, 0.0)
                running[part][source] = round(before + value / len(questions), 5)
        for part in ("helpfulness", "average"):
            running[part] = round(running.get(part, 0.0) + scores[part] / len(questions), 5)
    return running


# ---- index queries: {source: [answers]}, overlapping occurrences count ---------------------


def occurrences(text: str, pattern: str) -> list[int]:
    """Every start of the pattern; ValueError if the pattern is empty."""
    if not pattern:
        raise ValueError("an empty pattern occurs everywhere")
    return [i for i in range(len(text) - len(pattern) + 1) if text.startswith(pattern, i)]


def count(answers: Answers, pattern: str) -> int:
    """Occurrences in all answers of all sources."""
    return len(locate(answers, pattern))


def document_frequency(answers: Answers, pattern: str) -> dict[str, int]:
    """Per source, the number of answers with at least one occurrence."""
    return {s: sum(bool(occurrences(t, pattern)) for t in texts) for s, texts in answers.items()}


def locate(answers: Answers, pattern: str) -> list[tuple[str, int, int]]:
    """(source, index of the answer within its source, start), in that order."""
    return [
        (source, index, start)
        for source, texts in answers.items()
        for index, text in enumerate(texts)
        for start in occurrences(text, pattern)
    ]


def concordance(
    answers: Answers, pattern: str, width: int = 10
) -> list[tuple[str, int, int, str, str]]:
    """`locate`, each place with up to `width` characters before and after it."""
    lines = []
    for source, index, start in locate(answers, pattern):
        text, end = answers[source][index], start + len(pattern)
        around = text[max(start - width, 0) : start], text[end : end + width]
        lines.append((source, index, start, *around))
    return lines


def next_characters(answers: Answers, pattern: str) -> list[tuple[str | None, int]]:
    """What follows, by falling count, then code point; None, the first, is an answer's end."""
    follow = Counter(line[-1] for line in concordance(answers, pattern, 1))
    ranked = sorted(follow.items(), key=lambda item: (-item[1], item[0]))
    return [(after or None, number) for after, number in ranked]


def ngrams(
    answers: Answers, n: int, min_df: int = 1, top: int | None = None
) -> list[tuple[str, int, dict[str, int]]]:
    """(n-gram, count, df by source) of those in at least `min_df` answers of all sources.

    By falling df of all sources, then falling count, then code points; none for n = 0.
    """
    grams = {g for texts in answers.values() for t in texts for g in substrings(t, [n]) if g}
    found = [(g, count(answers, g), document_frequency(answers, g)) for g in grams]
    kept = [entry for entry in found if sum(entry[2].values()) >= min_df]
    return sorted(kept, key=lambda entry: (-sum(entry[2].values()), -entry[1], entry[0]))[:top]
