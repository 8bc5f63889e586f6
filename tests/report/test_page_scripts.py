"""What scripts of pages compute, against Python: statistics of comparisons, ends of regular expressions."""

import json
import random
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import HealthCheck, example, given, settings as examples, strategies as st

from browser import Browser, Page
from expressions import EXPRESSIONS, LINES, OTHER, SAME, TEXTS
from pfgen_rs import Benchmark, load_benchmark, score_file, stats
from pfgen_rs.report.site.benchmark_page import script_expression
from pfgen_rs.report.site.compare_page import compared_run, comparison_data, listed_run
from pfgen_rs.report.site.payload import payload_file
from pfgen_rs.stats.checks import two_sided_quantile
from pfgen_rs.stats.permutation import flips

SCRIPTS = ("flips", "statistics", "compared", "ranking")
FOUR_DIGITS = 5e-5
Data = Mapping[str, Any]


@cache
def script(name: str) -> str:
    return (resources.files("pfgen_rs.report.site") / "assets" / f"{name}.js").read_text("utf-8")


@pytest.fixture(scope="module")
def calculator(browser: Browser) -> Page:
    """A page with nothing but the statistics."""
    page = browser.new_page()
    page.add_script_tag(content="const pfgen = {};" + "\n".join(map(script, SCRIPTS)))
    return page


def ids_of(benchmark: Benchmark) -> list[str]:
    return sorted(question.id for question in benchmark)


def made_sample(
    number: int, categories: Mapping[str, str | None], chance: np.random.Generator
) -> stats.Sample:
    """A run of some size, with scores of as many decimals as real ones have."""
    trials = int(chance.choice([1, 2, 10, 37]))
    skill = chance.uniform(0.3, 0.8)
    values = {}
    for metric in stats.METRICS:
        level = np.clip(skill + chance.normal(0, 0.1, len(categories)), 0, 1)
        scores = [np.clip(chance.normal(mean, 0.2, trials), 0, 1.4) for mean in level]
        decimals = 5 if metric == "average" else 6
        steps = 0.25 if metric == "helpfulness" else 10.0**-decimals  # many ties
        values[metric] = [np.round(np.round(each / steps) * steps, decimals) for each in scores]
    system = number in (7, 8)
    return stats.Sample(f"run {number}", tuple(categories), dict(categories), values, system=system)


def made_samples(benchmark: Benchmark) -> list[stats.Sample]:
    """Forty runs: among them two that are the same, two with a constant difference, and parts of sets."""
    chance = np.random.default_rng(17)
    categories = {key: benchmark[key].category or None for key in ids_of(benchmark)}
    ids = list(categories)
    found = [made_sample(number, categories, chance) for number in range(40)]
    found[5] = replace(found[4], name="run 5")
    higher = {m: [np.round(v + 0.1, 6) for v in each] for m, each in found[2].values.items()}
    found[3] = replace(found[2], name="run 3", values=higher)
    found[10], found[11] = found[10].only(ids[2:]), found[11].only(ids[:5])
    values = {
        m: [v + chance.random(len(v)) * 1e-3 for v in each] for m, each in found[12].values.items()
    }
    found[12] = replace(found[12], values=values)  # scores that were not rounded
    return found


def data_of(benchmark: Benchmark, samples: Sequence[stats.Sample], **settings: Any) -> Data:
    runs = [
        listed_run(each.name, f"runs/{i}", compared_run(benchmark, each), is_system=each.system)
        for i, each in enumerate(samples)
    ]
    return comparison_data(benchmark, runs, **settings)


COMPARE = """([data, chosen]) => {
  const found = pfgen.compared(data, chosen);
  const pairs = pfgen.pairsOf(chosen.length);
  const byCategory = (metric) => pairs.map(([a, b]) => pfgen.byCategory(data, found, metric, a, b));
  return {
    ...found,
    byQuestion: pairs.flatMap(([a, b]) => pfgen.byQuestion(data, found, "average", a, b)),
    byCategory: data.metrics.flatMap(byCategory).flat(),
  };
}"""
BOUNDS = ("difference", "low", "high")


def same(found: Data, wanted: Any, names: Mapping[str, str]) -> None:
    """Figures have the same four digits; `names`: those of `wanted` by those of `found`."""
    for name, other in names.items():
        value = wanted[other] if isinstance(wanted, dict) else getattr(wanted, other)
        assert (found[name] is None) == (value is None)
        assert value is None or abs(found[name] - value) < FOUR_DIGITS, (name, found, wanted)


def same_tests(found: Data, pair: stats.Pair) -> None:
    assert found["p"] == pytest.approx(pair.p, abs=1e-12), pair
    assert found["holm"] == pytest.approx(pair.p_holm, abs=1e-12)
    assert found["family"] == pair.family
    names = {name: name for name in (*BOUNDS, "se")} | {"detectable": "minimum_detectable"}
    same(found, pair, names)


def same_tables(found: Data, wanted: stats.Comparison, ids: Sequence[str]) -> None:
    rows = wanted.questions.filter(wanted.questions["metric"] == "average").to_dicts()
    for mine, row in zip(found["byQuestion"], rows, strict=True):
        assert ids[mine["question"]] == row["question_id"]
        same(mine, row, {"a": "mean_a", "b": "mean_b"} | {name: name for name in BOUNDS})
    rows = wanted.categories.to_dicts()
    for mine, row in zip(found["byCategory"], rows, strict=True):
        assert (mine["name"], mine["questions"]) == (row["category"], row["questions"])
        same(mine, row, {name: name for name in BOUNDS})


def check(
    page: Page, data: Data, samples: Sequence[stats.Sample], chosen: Sequence[int], **settings: Any
) -> None:
    """What the page makes of a choice is what Python makes of it."""
    found = page.evaluate(COMPARE, [data, list(chosen)])
    wanted = stats.compare([samples[i] for i in chosen], interval="student", **settings)
    ids = [question["name"] for question in data["questions"]]
    assert [ids[i] for i in found["questions"]] == list(wanted.compared)
    assert [ids[i] for i in found["leftOut"]] == list(wanted.left_out)
    assert found["smallest"] == pytest.approx(wanted.smallest_p)
    for metric, own in found["metrics"].items():
        assert [r and tuple(r) for r in own["ranks"]] == wanted.ranks[metric]
        for mine, estimate in zip(own["estimates"], wanted.estimates[metric], strict=True):
            same(mine, estimate, {name: name for name in ("mean", "low", "high")})
        pairs = [pair for pair in wanted.pairs if pair.metric == metric]
        for mine, pair in zip(own["pairs"], pairs, strict=True):
            same_tests(mine, pair)
    same_tables(found, wanted, ids)


@pytest.mark.parametrize("settings", [{}, {"level": 0.8, "permutations": 333, "seed": 2**70 + 5}])
def test_made_runs_have_pythons_figures(
    calculator: Page, mini: Benchmark, settings: dict[str, Any]
) -> None:
    samples = made_samples(mini)
    data, chance = data_of(mini, samples, **settings), random.Random(3)
    choices = [chance.sample(range(40), count) for count in (2, 3, 10) for _ in range(3)]
    for chosen in (
        [[0, 1, 9]] if settings else [*choices, [4, 5], [2, 3], [7, 8], [10, 11], [12, 9]]
    ):
        check(calculator, data, samples, chosen, **settings)


def test_what_is_kept_of_a_run_is_small_and_json(mini: Benchmark) -> None:
    """Of 517 runs with 50 questions, it takes less than a megabyte."""
    chance = np.random.default_rng(1)
    categories = {key: mini[key].category or None for key in ids_of(mini)}
    samples = [made_sample(number, categories, chance) for number in range(100)]
    parts = [compared_run(mini, sample) for sample in samples]
    assert json.loads(json.dumps(parts)) == parts
    size = len(payload_file("x", data_of(mini, samples)))
    assert size / (len(samples) * len(categories)) < 1e6 / (517 * 50)


def test_few_questions_are_enumerated(calculator: Page, mini: Benchmark) -> None:
    ids, samples = ids_of(mini), made_samples(mini)
    for questions in (2, 3):
        few = [each.only(ids[:questions]) for each in samples[20:30]]
        check(calculator, data_of(mini, few), few, [0, 1, 2])
    samples[0], samples[1] = samples[0].only(ids[:3]), samples[1].only(ids[2:])
    found = calculator.evaluate(
        "([data, chosen]) => pfgen.compared(data, chosen)", [data_of(mini, samples), [0, 1]]
    )
    assert found["metrics"] is None
    assert found["questions"] == [2]
    assert len(found["leftOut"]) == len(ids) - 1


@pytest.mark.parametrize(
    ("questions", "permutations"), [(1, 7), (2, 3), (3, 8), (13, 100_000), (50, 21_000)]
)
@pytest.mark.parametrize("seed", [0, 2**40 + 1, 2**200 + 7])
def test_signs_are_pythons(calculator: Page, questions: int, permutations: int, seed: int) -> None:
    words = [(seed >> (32 * i)) % 2**32 for i in range(max(1, -(-seed.bit_length() // 32)))]
    drawn = "([q, n, seed]) => [...pfgen.flips(q, n, seed)].map(({ signs }) => signs.join()).join()"
    found = calculator.evaluate(drawn, [questions, permutations, words])
    wanted = np.concatenate(list(flips(questions, permutations, seed)))
    assert found == ",".join(map(str, wanted.astype(int).ravel().tolist()))


def test_quantiles_are_those_of_students_t(calculator: Page) -> None:
    for level in (0.5, 0.8, 0.95, 0.9999):
        for freedom in (1, 2, 3, 13, 49, 198, 1000):
            found = calculator.evaluate(
                "([level, n]) => pfgen.tQuantile(level, n)", [level, freedom]
            )
            assert found == pytest.approx(two_sided_quantile(level, freedom), rel=1e-9)
            assert found == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, freedom), rel=1e-7)


def test_holm_is_that_of_python(calculator: Page) -> None:
    chance = np.random.default_rng(3)
    for p in ([0.2], [0.01, 0.04, 0.03], [0.5, 0.5, 0.1, 0.1], chance.random(45).tolist()):
        assert calculator.evaluate("pfgen.holm", p) == pytest.approx(
            stats.holm(np.array(p)).tolist()
        )


def test_published_runs_have_pythons_figures(calculator: Page, published_dir: Path) -> None:
    checkout = published_dir
    benchmark = load_benchmark(checkout)
    paths = sorted(checkout.glob("result/**/trials.jsonl.xz"))
    samples = [score_file(path, benchmark).sample(str(path)) for path in paths]
    data, chance = data_of(benchmark, samples), random.Random(5)
    for chosen in (
        *chance.sample(list(combinations(range(len(paths)), 2)), 4),
        chance.sample(range(len(paths)), 10),
    ):
        check(calculator, data, samples, chosen)


RANKING = """async ([means, level, chosen]) => {
  const { own, tiers, joint } = await pfgen.ranking(means, level);
  const found = [];
  for (const numbers of chosen) found.push([own(numbers), await joint(numbers), tiers(numbers)]);
  return found;
}"""


@pytest.mark.parametrize(
    ("runs", "questions", "level", "subsets"),
    [
        *((1, 5, 0.95, 1), (2, 1, 0.95, 1), (2, 2, 0.8, 1), (6, 0, 0.9, 2), (9, 3, 0.6, 3)),
        *((9, 9, 0.95, 4), (9, 10, 0.8, 4), (12, 14, 0.99, 4), (40, 50, 0.95, 50)),
    ],
)
def test_ranks_and_tiers_are_those_of_python(
    calculator: Page, runs: int, questions: int, level: float, subsets: int
) -> None:
    chance = np.random.default_rng([runs, questions])
    shared = chance.gamma(0.5, 1, questions) + np.linspace(0.5, 0, runs)[:, None]
    means = (shared + 0.2 * chance.random((runs, questions))).round(5)
    if runs > 6:
        means[1] = means[0]  # no difference
        means[3] = means[2] + 0.25  # the same difference in all questions
        means[5] = means[4] + 0.1 * (np.arange(questions) == 0)  # a difference in one question
    sizes = [runs, 0, 1, *chance.integers(2, runs + 1, subsets if runs > 1 else 0)]
    chosen = [sorted(chance.permutation(runs)[:size].tolist()) for size in sizes]
    found = calculator.evaluate(RANKING, [means.tolist(), level, chosen])
    for numbers, (own, joint, tiers) in zip(chosen, found, strict=True):
        some = means[numbers]
        assert own == list(map(list, stats.own_rank_ranges(some, level=level)))
        assert joint == list(map(list, stats.rank_ranges(some, level=level)))
        assert tiers == stats.tiers(some, level=level)


def test_ranks_of_many_models_leave_the_page_its_turn_and_stop(calculator: Page) -> None:
    found = calculator.evaluate(
        """async () => {
          const run = (_, i) => Array.from({ length: 50 }, (_, q) => Math.sin(i + q * q));
          const means = Array.from({ length: 400 }, run);
          let turns = 0;
          const timer = setInterval(() => { turns += 1; });
          const { joint } = await pfgen.ranking(means, 0.95);
          const before = turns;
          await joint([...means.keys()]);
          clearInterval(timer);
          const stop = new AbortController();
          const stopped = joint([...means.keys()], stop.signal).catch(({ name }) => name);
          stop.abort();
          return [before > 0, turns > before, await stopped];
        }"""
    )
    assert found == [True, True, "AbortError"]


# Regular expressions of rules in a browser: they end where those of Python do.


ENDS = """cases => cases.map(([expression, texts]) => texts.map((text) => {
  const found = new RegExp(expression, "u").exec(text);
  return found && Array.from(text.slice(0, found.index + found[0].length)).length;
}))"""

OUTSIDE = """expression => {
  const matcher = new RegExp(`^(?:${expression})$`, "u");
  const edges = [];
  let before = false;
  for (let c = 0; c <= 0x110000; c += 1) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const now = c < 0x110000 && matcher.test(String.fromCodePoint(c));
    if (now !== before) edges.push(c);
    before = now;
  }
  return edges;
}"""


def python_ends(pattern: str, texts: list[str]) -> list[int | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = [re.search(pattern, text) for text in texts]
    return [None if match is None else match.end() for match in found]


def translated(pattern: str) -> str:
    expression = script_expression(pattern)
    assert expression is not None, pattern
    return expression


def test_the_table(page: Page) -> None:
    texts = [*TEXTS, "2024年12月", "a" * 20, "𠮷a", "😀b\n"]
    found = page.evaluate(ENDS, [[translated(pattern), texts] for pattern in SAME])
    for pattern, ends in zip(SAME, found, strict=True):
        assert ends == python_ends(pattern, texts), pattern


def test_outside_the_table() -> None:
    assert [pattern for pattern in OTHER[:-3] if script_expression(pattern) is not None] == []


@pytest.mark.parametrize("pattern", [".", r"\d", r"\w", r"\s", r"\D", r"[^\W_]", r"[^\S\n]"])
def test_classes_are_those_of_the_running_python(page: Page, pattern: str) -> None:
    compiled = re.compile(pattern)
    edges, before = [], False
    for c in [*range(0xD800), *range(0xE000, sys.maxunicode + 2)]:
        now = c <= sys.maxunicode and compiled.match(chr(c)) is not None
        if now != before:
            edges.append(c)
        before = now
    assert page.evaluate(OUTSIDE, translated(pattern)) == edges


@examples(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(cases=st.lists(st.tuples(EXPRESSIONS, st.lists(LINES, max_size=5)), max_size=10))
@example(cases=[("(?:a|ab)(?:c|bcd)*?$", ["abcd", "abcd\n"]), (r"(?:\s|a$)|\n$", ["a\n", "\n\n"])])
def test_the_end_is_pythons(page: Page, cases: list[tuple[str, list[str]]]) -> None:
    known = []
    for pattern, texts in cases:
        try:
            re.compile(pattern)
        except re.error:
            continue
        if (expression := script_expression(pattern)) is not None:
            known.append((pattern, expression, texts))
    found = page.evaluate(ENDS, [[expression, texts] for _, expression, texts in known])
    for (pattern, _, texts), ends in zip(known, found, strict=True):
        assert ends == python_ends(pattern, texts), pattern
