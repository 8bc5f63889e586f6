"""Words as units: the oracle on sequences of words, in every way to score and to look things up."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings as examples, strategies as st
from polars.testing import assert_frame_equal

import oracle
import pfgen_rs
import small
from helpers import lines, pfgen, write_benchmark
from pfgen_rs import Benchmark, InputError, NgramIndex, Settings, _native, load_benchmark
from pfgen_rs.metrics.settings import Variant
from words import Words, spans

PIECES = ["The", "cat", "sat", "on", "the", "mat", "don't", "3.5", "a", "I"]
PIECES += ["猫", "カタ", "は", "é"]
MARKS = [".", ",", "'", "。", "、", "「", "^", "$", "_", "\u0301", "\ue000", "\ue001"]
TEXTS = st.lists(
    st.tuples(st.sampled_from(PIECES + MARKS), st.sampled_from(["", " ", " ", "\n", "\u3000"])),
    max_size=25,
).map(lambda pairs: "".join(part for pair in pairs for part in pair))
# An accent of its own takes the space before it into its word.
WHOLE = TEXTS.filter(lambda text: not re.search(r"(^|\s)\u0301", text))
CHARACTERS = "aéБ1あ猫々カー。・:;,.'’·_^$ \u3000\u2003\t\r\n\u2028\u0301\u3099\u200d\ue000"
RULES: list[dict[str, Any]] = [
    {"t": "cat sat"},
    {"t": "ca", "importance": 0.5},
    {"or": [{"t": "mat."}, {"t": "猫", "name": "cat"}], "importance": 0.3},
    {"t": "(?i)THE c?", "importance": 0.25},
    {"and": [{"t": "on "}, {"t": r"\.$"}], "importance": 0.1},
]
LOW = {"max_n": 3, "target_length": 6, "zero_length": 12, "max_length": 15, "threshold": 0.3}
VARIANTS = ("pfgen-bench", "paper")


def exact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# Where words are.


@examples(max_examples=400)
@given(st.text(CHARACTERS, max_size=12) | TEXTS)
@example("It's 3.5 km, isn’t it?\r\n「東京タワー」へ　行きます。 a_b 1,000.5")
@example("a'\u0301b .5 \u0301\n\u0301 x")
def test_words_are_those_of_the_rules(text: str) -> None:
    assert _native.word_spans(text) == spans(text)
    assert _native.word_spans(text, 3) == spans(text)[:3]


# Words.


def both(
    answers: dict[str, list[str]], variant: Variant, **chosen: Any
) -> tuple[oracle.Question, Benchmark]:
    data = {"answers": answers, "keywords": RULES}
    ours = small.benchmark(data, settings=Settings(variant, unit="word", **chosen))
    words = {source: list(map(Words, texts)) for source, texts in answers.items()}
    theirs = oracle.Question({**data, "answers": words}, oracle.Settings(variant, **chosen))
    return theirs, ours


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("chosen", [LOW, {}], ids=["low", "published"])
@examples(max_examples=150)
@given(
    answers=st.dictionaries(
        st.sampled_from("PS"), st.lists(TEXTS, min_size=1, max_size=5), min_size=1
    ),
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    times=st.integers(1, 12),
)
def test_scores_are_the_oracle_s(
    variant: Variant,
    chosen: dict[str, Any],
    answers: dict[str, list[str]],
    texts: list[str],
    times: int,
) -> None:
    theirs, ours = both(answers, variant, **chosen)
    try:
        ours.prepare()
    except pfgen_rs.BenchmarkError:
        with pytest.raises(ValueError, match="score nothing"):
            assert theirs.baselines
        return
    assert exact(ours._baselines(ours["Q1"])) == exact(theirs.baselines)
    texts += [" ".join(texts) * times]
    averages = ours.score_batch(["Q1"] * len(texts), texts)["average"].to_list()
    assert ours.scorer()("Q1", texts).tolist() == averages
    for text, average in zip(texts, averages, strict=True):
        score = ours.score("Q1", text)
        assert score.average == average
        if variant == "paper":
            expected = theirs.paper(Words(text))
            named = {name: getattr(score.details, name) for name in expected if name != "total"}
            assert exact({**named, "total": average}) == exact(expected)
            continue
        assert exact(score.to_dict()) == exact(theirs.score(Words(text)))
        assert score.details.helpfulness_cut == theirs.helpfulness(Words(text))[1]


ENGLISH = {
    "Q1": ["The cat sat on the mat. It slept.", "A cat slept on the mat, as cats do."],
    "Q2": ["Rain falls from clouds.", "Clouds let the rain fall on the cat."],
}
QUESTIONS = [
    {"question_id": key, "question": f"{key}?", "answers": {"A": texts}}
    for key, texts in ENGLISH.items()
]
ANSWERS = ["The cat slept on the mat.", "Dogs sat on the  mat, too.", "", " \n", "The rain."]


@pytest.fixture
def english() -> Benchmark:
    return small.benchmark(*QUESTIONS, settings=Settings(unit="word"))


def test_other_questions_words_do_not_matter(english: Benchmark) -> None:
    alone = small.benchmark(QUESTIONS[0], settings=Settings(unit="word"))
    asked = ["Q1"] * len(ANSWERS)
    frame = english.score_batch(asked, ANSWERS, threads=1)
    assert_frame_equal(frame, alone.score_batch(asked, ANSWERS), check_exact=True)
    assert frame["length"].to_list() == [7, 8, 0, 0, 3]
    many = english.score_batch(asked * 200, ANSWERS * 200, threads=2, chunk_size=300)
    assert_frame_equal(many[-5:], frame, check_exact=True)


def test_units_stand_in_the_signature(english: Benchmark) -> None:
    assert "|t:3|unit:word|helpfulness:none|v:" in english.signature
    result = english.evaluate(["Q1", "Q2"], ANSWERS[:2])
    assert "unit:word" in result.signature
    assert result.to_dict()["signature"] == result.signature
    assert result.length == 7.5
    characters = english.with_settings(Settings())
    assert "unit" not in characters.signature
    assert characters.score("Q1", "The cat").average != english.score("Q1", "The cat").average
    again = pickle.loads(pickle.dumps(english))
    assert again.score("Q1", "The cat") == english.score("Q1", "The cat")
    with pytest.raises(pfgen_rs.SettingsError, match="unknown unit 'line': expected one of "):
        Settings(unit="line")  # type: ignore[arg-type]


def test_regular_expressions_end_where_literals_do() -> None:
    literals = ["cat", "at s", "at", " on", "mat", "mat. ", "", "x"]
    texts = ["The cat sat on the mat. ", "mat", "", " the mat on mats"]
    for limit in (3, 5, 6, 7, 100):
        chosen = {"max_n": 1, "truthfulness_n": 1, "target_length": 1, "zero_length": 2}
        settings = Settings(unit="word", max_length=limit, **chosen)  # type: ignore[arg-type]
        rules = [[{"t": t} for t in literals], [{"t": f"(?:{re.escape(t)})"} for t in literals]]
        benchmarks = [
            small.benchmark({"answers": {"A": ["a"]}, "keywords": keywords}, settings=settings)
            for keywords in rules
        ]
        for text in texts:
            one, other = (b._helpfulness(b["Q1"]).ends(text) for b in benchmarks)
            assert {f"(?:{re.escape(t)})": end for t, end in one.items()} == other


def test_an_explanation_is_by_words(english: Benchmark) -> None:
    found = english.explain("Q1", "  The cat's mat.  The 猫は\n")
    assert found.pieces == ["  The ", "cat's ", "mat", ".  ", "The ", "猫", "は\n"]
    frame = found.characters
    assert frame["character"].to_list() == found.pieces
    assert frame["gain_A"].to_list()[:3] == [1, 0, 2]
    assert frame["skipped"].to_list() == [False] * 7
    assert english.explain("Q1", "").pieces == []


def test_rules_of_expressions_alone() -> None:
    data = {"answers": {"A": ["The cat"]}, "keywords": [{"t": "c.t", "importance": 0.5}]}
    scorer = small.benchmark(data, settings=Settings(unit="word")).scorer("helpfulness")
    assert scorer("Q1", ["a cot", "dog"]).tolist() == [1.0, 0.5]
    assert scorer("Q1", []).tolist() == []


# The index.


@examples(max_examples=100)
@given(st.lists(WHOLE, min_size=1, max_size=4), WHOLE)
def test_an_index_of_words(texts: list[str], pattern: str) -> None:
    index, wanted = NgramIndex({"A": texts}, "word"), tuple(Words(pattern))
    if not wanted:
        with pytest.raises(InputError):
            index.count(pattern)
        return
    n = len(wanted)
    cut = list(map(Words, texts))
    places = [
        ("A", answer, at)
        for answer, words in enumerate(cut)
        for at in range(len(words))
        if words[at : at + n] == wanted
    ]
    assert index.locate(pattern) == places
    assert index.count(pattern) == len(places) == index.count_batch([pattern])[0]
    assert index.document_frequency(pattern).total == len({place[1] for place in places})
    assert index.document_frequency_batch([pattern]).tolist() == [[len({p[1] for p in places})]]
    after = [(cut[a][at + n] if at + n < len(cut[a]) else "") for _, a, at in places]
    assert index.next_characters(pattern) == {w: after.count(w) for w in set(after)}
    for line, (_, answer, at) in zip(index.concordance(pattern, 2), places, strict=True):
        own = cut[answer]
        assert tuple(Words(line.left)) == own[max(at - 2, 0) : at]
        assert tuple(Words(line.match)) == wanted
        assert tuple(Words(line.right)) == own[at + n : at + n + 2]
    for gram in index.ngrams(n):
        assert index.count(gram.text) == gram.occurrences


def test_words_are_joined_as_their_script_does() -> None:
    index = NgramIndex(
        {"A": ["The cat's  mat.", "東京 タワーは「高い」です。", "a カタ カナ"]}, "word"
    )
    assert "The cat's mat ." in [gram.text for gram in index.ngrams(4)]
    assert index.concordance("タワー")[0].right == "は「高い」です。"
    assert index.concordance("a")[0].right == "カタ カナ"
    assert repr(index).endswith("18 words)")


def test_words_in_files_and_cached_indexes(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "set")
    words = load_benchmark(folder, settings=Settings(unit="word")).prepare()
    assert words.index_path is not None
    assert words.index_path.is_file()
    assert words.index_path != load_benchmark(folder).index_path
    path = tmp_path / "run.jsonl"
    texts = ["猫は 体力を残して眠ります。", "The cat"]
    path.write_bytes(lines([("Q01", text) for text in texts]))
    again = load_benchmark(folder, settings=Settings(unit="word"))
    expected = words.score_batch(["Q01"] * 2, texts)
    for frame in (pfgen_rs.score_file(path, again).frame, pfgen_rs.scan(path, again).collect()):
        assert_frame_equal(frame.select(expected.columns), expected, check_exact=True)
    assert expected["length"].to_list() == [13, 2]


def test_commands_with_words(tmp_path: Path) -> None:
    scoring = {"scoring": {"unit": "word"}}
    folder = write_benchmark(tmp_path / "set", {"Q01": scoring, "Q02": scoring})
    found = json.loads(pfgen("index", "df", "Q01", "猫は", "-b", folder, "--format", "json").stdout)
    assert found[0]["document_frequency"] == 3
    unit = ("-b", folder, "--unit", "word", "--format", "json")
    explained = json.loads(pfgen("explain", "Q01", "猫 は狩り", *unit).stdout)
    assert explained["length"] == 4
    assert "unit:word" in explained["signature"]
