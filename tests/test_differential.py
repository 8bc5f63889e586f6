"""The native scorer against the oracle: same values, bit for bit, and errors in the same places."""

import json
from typing import Any

import pytest
from hypothesis import assume, example, given, settings as examples, strategies as st

import oracle
import small
from pfgen_rs import Benchmark, BenchmarkError, PfgenError, Settings, SettingsError
from pfgen_rs.metrics.settings import Variant
from places import CASE_TABLE

CASES = json.loads(CASE_TABLE.read_text(encoding="utf-8"))
VARIANTS: list[Variant] = ["pfgen-bench", "paper"]
ERRORS: dict[str, type[PfgenError]] = {
    "settings": SettingsError,
    "no-answers": BenchmarkError,
    "zero-baseline": BenchmarkError,
}


def exact(value: object) -> str:
    """Text that tells any two float64 values and any two orders of keys apart."""
    return json.dumps(value, ensure_ascii=False)


def both(
    data: dict[str, Any], variant: Variant, chosen: dict[str, Any]
) -> tuple[oracle.Question, Benchmark]:
    """Oracle and native scorer of the same question; ValueError where one of them cannot be built."""
    ours = small.benchmark(data, settings=Settings(variant=variant, **chosen)).prepare()
    skipped = {"skipped": frozenset(chosen["skipped"])} if "skipped" in chosen else {}
    theirs = oracle.Question(data, oracle.Settings(variant, **{**chosen, **skipped}))
    return theirs, ours


def check_baselines(theirs: oracle.Question, ours: Benchmark) -> None:
    assert exact(ours._baselines(ours["Q1"])) == exact(theirs.baselines)


def best_cut(theirs: oracle.Question, source: str, text: str) -> int:
    """The first cut with the best Fluency; 0 where nothing scores."""
    reference = theirs.reference(source)
    raw = oracle.raw_counts(text, reference.df, theirs.settings)
    discount = theirs.settings.discount
    values = [0.0, *(r * discount(k) / reference.baseline for k, r in enumerate(raw, 1))]
    return values.index(max(values))


def check_published(theirs: oracle.Question, ours: Benchmark, text: str) -> None:
    """One response in the variant `pfgen-bench`: every intermediate value."""
    score = ours.score("Q1", text)
    details = score.details
    assert exact(score.to_dict()) == exact(theirs.score(text))
    for source in theirs.sources:
        value, _ = theirs.fluency(source, text)
        assert exact(details.fluency[source]) == exact(value)
        assert details.fluency_cut[source] == best_cut(theirs, source, text)
        assert exact(details.truthfulness[source]) == exact(theirs.truthfulness(source, text))
    helpfulness = (details.helpfulness, details.helpfulness_cut, score.helpfulness_results)
    assert exact(helpfulness) == exact(theirs.helpfulness(text))


def check_paper(theirs: oracle.Question, ours: Benchmark, text: str) -> None:
    """One response in the variant `paper`: every value, none rounded."""
    score = ours.score("Q1", text)
    got = {
        "fluency": score.details.fluency,
        "truthfulness": score.details.truthfulness,
        "helpfulness": score.helpfulness,
        "total": score.average,
    }
    assert exact(got) == exact(theirs.paper(text))
    sources = len(theirs.sources)
    assert score.fluency == {s: v / sources for s, v in score.details.fluency.items()}
    assert score.truthfulness == {s: v / sources for s, v in score.details.truthfulness.items()}


CHECKS = {"pfgen-bench": check_published, "paper": check_paper}


# The table of cases.


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any], variant: Variant) -> None:
    data = {"answers": case["sources"], "keywords": case.get("keywords", [])}
    chosen = case.get("settings", {})
    kind = case.get("error", {}).get(variant)
    if kind is not None:
        refused_by_both(data, variant, chosen, ERRORS[kind])
        return
    theirs, ours = both(data, variant, chosen)
    check_baselines(theirs, ours)
    for text in case["texts"]:
        CHECKS[variant](theirs, ours, text)


def refused_by_both(
    data: dict[str, Any], variant: Variant, chosen: dict[str, Any], kind: type[PfgenError]
) -> None:
    with pytest.raises(kind):
        small.benchmark(data, settings=Settings(variant=variant, **chosen)).prepare()
    with pytest.raises(ValueError):  # noqa: PT012 - either line may raise it
        question = oracle.Question(data, oracle.Settings(variant, **chosen))
        assert question.baselines


# Random text.

ALPHABETS = ["ab", "あい。", "^$a", "a\0\n𠮷", "猫犬「」、\u2028\u0301"]


@st.composite
def setting_values(draw: st.DrawFn) -> dict[str, Any]:
    """Valid settings with limits so low that short texts reach them."""
    min_n, target = draw(st.integers(1, 4)), draw(st.integers(0, 20))
    max_n, truthfulness_n = draw(st.integers(min_n, 12)), draw(st.integers(1, 5))
    zero = draw(st.integers(target + 1, target + 25))
    return {
        "min_n": min_n,
        "max_n": max_n,
        "truthfulness_n": truthfulness_n,
        "threshold": draw(st.sampled_from([0.005, 0.1, 1 / 3, 0.5, 0.7, 1.0])),
        "target_length": target,
        "zero_length": zero,
        "max_length": max(zero, max_n, truthfulness_n) + draw(st.integers(0, 15)),
        "skipped": draw(st.sampled_from(["^$、。「」", "", "a", "い猫"])),
    }


@st.composite
def worlds(draw: st.DrawFn, longest: int) -> tuple[dict[str, list[str]], list[str]]:
    """Reference answers by source, and responses, over one small alphabet and a stranger."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    answers = st.lists(st.text(alphabet, max_size=30), min_size=1, max_size=6)
    sources = draw(st.dictionaries(st.sampled_from("PSTR"), answers, min_size=1, max_size=3))
    texts = st.lists(st.text(alphabet + "☃", max_size=longest), min_size=1, max_size=4)
    return sources, draw(texts)


def compare(
    variant: Variant, sources: dict[str, list[str]], texts: list[str], chosen: dict[str, Any]
) -> None:
    data = {"answers": sources}
    try:
        theirs, ours = both(data, variant, chosen)
    except BenchmarkError:
        refused_by_both(data, variant, chosen, BenchmarkError)
        return
    check_baselines(theirs, ours)
    for text in texts:
        CHECKS[variant](theirs, ours, text)


@pytest.mark.parametrize("variant", VARIANTS)
@examples(max_examples=300)
@given(world=worlds(60), chosen=setting_values())
@example(
    # Two cuts with one quotient of different products.
    ({"P": ["^$$^a^", "^^^a^$$^", "$$$^$^^a$a"]}, ["$$$$$a☃^☃^☃^☃☃^^^$"]),
    {"max_n": 4, "truthfulness_n": 1, "target_length": 15, "zero_length": 26, "max_length": 26},
)
def test_random_settings(
    variant: Variant, world: tuple[dict[str, list[str]], list[str]], chosen: dict[str, Any]
) -> None:
    compare(variant, *world, chosen)


@pytest.mark.parametrize("variant", VARIANTS)
@examples(max_examples=100)
@given(world=worlds(20), times=st.integers(1, 16))
def test_published_settings(
    variant: Variant, world: tuple[dict[str, list[str]], list[str]], times: int
) -> None:
    sources, texts = world
    compare(variant, sources, [*texts, *(text * times for text in texts), "".join(texts) * 9], {})


# Helpfulness.

LITERALS = ["a", "ab", "ba", "い", "𠮷", "aa ", "#"]
EXPRESSIONS = ["b+", "^a", "b$", "a|𠮷い", "a(?=b)", "[^a]", "(?s)a.b", r"\bい", "(?i)AB"]
EXPRESSIONS += ["a.*?b", "a.*b", "x?"]
IMPORTANCE = st.sampled_from([0, 1, 0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9999999999999999, 1.0])


def rule_trees(patterns: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Rules of `t`, `and` and `or`, some with names and importance, also inside others."""
    extras = {"name": st.sampled_from(["名", "", "a"]), "importance": IMPORTANCE}

    def group(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        several = st.lists(parts, min_size=1, max_size=3)
        kinds = [st.fixed_dictionaries({k: several}, optional=extras) for k in ("and", "or")]
        return st.one_of(kinds)

    leaf = st.fixed_dictionaries({"t": st.sampled_from(patterns)}, optional=extras)
    return st.recursive(leaf, group, max_leaves=6)


def helps(variant: Variant, rules: list[dict[str, Any]], texts: list[str], **lengths: int) -> None:
    data = {"answers": {"A": ["ab", "い𠮷"]}, "keywords": rules}
    theirs, ours = both(data, variant, lengths)
    for text in texts:
        CHECKS[variant](theirs, ours, text)
    batch = ours.score_batch(["Q1"] * len(texts), texts)["helpfulness"].to_list()
    assert batch == [ours.score("Q1", text).helpfulness for text in texts]


PARTS = st.sampled_from([*LITERALS, "b", "x", "\n", "A"])
TEXTS = st.lists(st.lists(PARTS, max_size=25).map("".join), min_size=1, max_size=5)
PADDED = st.builds(lambda text, at: "〇" * at + text, TEXTS.map("".join), st.integers(60, 210))


@pytest.mark.parametrize("variant", VARIANTS)
@examples(max_examples=150)
@given(rules=st.lists(rule_trees(LITERALS + EXPRESSIONS), max_size=4), texts=TEXTS)
def test_rules(variant: Variant, rules: list[dict[str, Any]], texts: list[str]) -> None:
    # With max_length above every text: scoring 10 searches all of it, 4.1 as much as is read.
    helps(variant, rules, texts, target_length=6, zero_length=20, max_length=400)


@examples(max_examples=150)
@given(
    rules=st.lists(rule_trees(LITERALS + EXPRESSIONS), max_size=4),
    texts=TEXTS,
    limit=st.integers(6, 9),
)
@example([{"t": "a.*b"}, {"t": "b$", "importance": 0.5}], ["xabxxb", "abxxxxxxxb", "axxxxbxb"], 6)
def test_rules_see_what_is_read(rules: list[dict[str, Any]], texts: list[str], limit: int) -> None:
    lengths = {"max_n": 3, "target_length": 2, "zero_length": 6, "max_length": limit}
    helps("pfgen-bench", rules, texts, **lengths)


@pytest.mark.parametrize("variant", VARIANTS)
@examples(max_examples=100)
@given(rules=st.lists(rule_trees(LITERALS), max_size=4), texts=st.lists(PADDED, min_size=1))
def test_rules_at_the_published_lengths(
    variant: Variant, rules: list[dict[str, Any]], texts: list[str]
) -> None:
    # Literals only: where a literal ends does not depend on the text behind it, and past the zero
    # length nothing counts, so what is read makes no difference to either variant.
    assume(rules)
    helps(variant, rules, texts)


@pytest.mark.parametrize(
    "rule",
    [{}, {"x": "a"}, {"and": []}, {"or": []}, {"t": "a", "or": [{"t": "b"}]}, {"and": [{"x": 1}]}],
)
def test_what_is_no_rule(rule: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a keyword rule"):
        oracle.locate_rule(rule, "a")
    with pytest.raises(BenchmarkError, match=r"keywords\[0\]"):
        small.question({"answers": {"A": ["a"]}, "keywords": [rule]})
