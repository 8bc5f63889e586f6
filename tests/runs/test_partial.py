"""Figures from parts of rows: equal to those of one table, however rows are split, ordered and merged."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import pfgen_rs
from helpers import write_benchmark
from pfgen_rs import Benchmark, InputError, Settings, _native, scan
from pfgen_rs.distributed import Evaluation, Partial, RunFigures, evaluate, merged
from pfgen_rs.integrations.arrow import scorer
from pfgen_rs.runs.summary_row import summary_row

FORMAT = b"pfgen-rs partial result 1\n"
FLOAT = st.floats(allow_nan=False, allow_infinity=False, width=64)


@pytest.fixture(scope="module")
def answers(mini: Benchmark) -> pl.DataFrame:
    """The answers of the bundled runs, and some that tie."""
    runs = sorted(pfgen_rs.sample_runs().values())
    frames = [pfgen_rs.score_file(run, mini).frame.select("question", "answer") for run in runs]
    few = pl.DataFrame(
        {"question": ["Q02", "Q14"] * 4, "answer": ["光合成です。", "布", "", "布"] * 2}
    )
    return pl.concat([*frames, few])


def table_of(rows: pl.DataFrame, mini: Benchmark, **names: Any) -> pl.DataFrame:
    """Rows with scores, their places, and more columns."""
    named = rows.with_columns(**{name: pl.Series(values) for name, values in names.items()})
    return scan(named, mini).collect().with_columns(pl.int_range(pl.len()).alias("row"))


def split(frame: pl.DataFrame, cuts: list[int]) -> list[pl.DataFrame]:
    places = [0, *sorted(cut % (frame.height + 1) for cut in cuts), frame.height]
    return [frame[a:b] for a, b in itertools.pairwise(places)]


def together(parts: list[pl.DataFrame], bench: Benchmark, seed: int, **how: Any) -> Partial:
    """Parts made apart, and merged as bytes in some order, by twos."""
    made = []
    for part in parts:
        made.append(Partial(bench, **how))
        made[-1].update(part)
    random.Random(seed).shuffle(made)
    while len(made) > 1:
        made.append(merged([made.pop(0).to_bytes(), made.pop(0).to_bytes()], bench))
    return made[0]


def published(result: pfgen_rs.Result) -> dict[str, Any]:
    """Everything in `result.json` but samples, and what is shown of runs."""
    entry = result.to_dict(allow_partial=True)
    questions = {
        id_: {key: value for key, value in one.items() if key not in ("question", "samples")}
        for id_, one in entry["questions"].items()
    }
    return {
        "row": values_of(summary_row(result)),
        "scores": entry["scores"],
        "questions": questions,
        "counts": dict(zip(*result.by_question[["question_id", "answers"]], strict=True)),
    }


def figures(run: RunFigures) -> dict[str, Any]:
    """The same of a run from parts."""
    return {
        "row": values_of(run.row),
        "scores": run.scores,
        "questions": {
            one["id"]: {key: value for key, value in one.items() if key not in ("id", "answers")}
            for one in run.questions
        },
        "counts": {one["id"]: one["answers"] for one in run.questions},
    }


def values_of(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("name", "file")}


@st.composite
def drawn_rows(draw: st.DrawFn, height: int) -> tuple[list[int], list[str]]:
    """Rows with repeats, and the models that they belong to."""
    chosen = draw(st.lists(st.integers(0, height - 1), min_size=1, max_size=120))
    models = draw(st.lists(st.sampled_from("abc"), min_size=len(chosen), max_size=len(chosen)))
    return chosen, models


@examples(max_examples=40)
@given(data=st.data())
def test_with_an_order_all_figures_are_those_of_evaluate(
    data: st.DataObject, mini: Benchmark, answers: pl.DataFrame
) -> None:
    bench = mini.with_settings(
        Settings(summation=data.draw(st.sampled_from(["plain", "compensated"])))
    )
    chosen, models = data.draw(drawn_rows(answers.height))
    rows = answers[chosen].with_columns(model=pl.Series(models))
    scored = table_of(rows, bench)
    mixed = scored.sample(fraction=1, shuffle=True, seed=data.draw(st.integers(0, 99)))
    parts = split(mixed, data.draw(st.lists(st.integers(0, 200), max_size=5)))
    seed = data.draw(st.integers(0, 99))
    partial = together(parts, bench, seed, by="model", order="row")
    found = partial.results()
    assert list(found) == sorted(set(models))
    for model, run in found.items():
        whole = bench.evaluate(rows.filter(pl.col("model") == model))
        assert figures(run) == published(whole)
        assert run.signature == whole.signature
        assert run.near_ties == []
    again = Partial(bench, by="model", order="row")
    again.update(scored)
    assert again.to_bytes() == partial.to_bytes()


def test_runs_that_rows_do_not_name(mini: Benchmark, answers: pl.DataFrame) -> None:
    unnamed = evaluate([table_of(answers, mini)], mini)
    named = evaluate([table_of(answers, mini, model=["m"] * len(answers))], mini, by="model")
    assert [run.name for run in (*unnamed.values(), *named.values())] == ["all rows", "m"]


@examples(max_examples=60)
@given(data=st.data())
def test_without_an_order_figures_are_those_of_exact_sums(
    data: st.DataObject, mini: Benchmark, answers: pl.DataFrame
) -> None:
    chosen, models = data.draw(drawn_rows(answers.height))
    scored = table_of(answers[chosen].with_columns(model=pl.Series(models)), mini)
    mixed = scored.sample(fraction=1, shuffle=True, seed=data.draw(st.integers(0, 99)))
    parts = split(mixed, data.draw(st.lists(st.integers(0, 200), max_size=5)))
    partial = together(parts, mini, data.draw(st.integers(0, 99)), by="model")
    again = Partial(mini, by="model")
    again.update(scored)
    assert again.to_bytes() == partial.to_bytes()
    for model, run in partial.results().items():
        own = scored.filter(pl.col("model") == model)
        check_exactly(run, own, mini)
        check_near_ties(run, mini.evaluate(own.select("question", "answer")))


def check_exactly(run: RunFigures, rows: pl.DataFrame, bench: Benchmark) -> None:
    """Everything once more, with fractions."""
    of_questions = []
    for one in run.questions:
        own = rows.filter(pl.col("question_id") == one["id"])
        columns = {name: own[name].to_list() for name in own.columns}
        for name, metric in (("score", "average"), ("length", "length")):
            digits = 4 if name == "score" else 1
            values = [Fraction(value) for value in columns[metric]]
            mean = sum(values) / len(values)
            variance = sum((value - mean) ** 2 for value in values) / len(values)
            assert one[name] == round(math.fsum(columns[metric]) / len(values), digits)
            assert one[f"{name}_std"] == round(math.sqrt(float(variance)), digits)
        for metric in ("fluency", "truthfulness"):
            for source, value in one["scores"][metric].items():
                assert value == round(math.fsum(columns[f"{metric}_{source}"]) / own.height, 5)
        for metric in ("helpfulness", "average"):
            assert one["scores"][metric] == round(math.fsum(columns[metric]) / own.height, 5)
        of_questions.append(sum(map(Fraction, columns["average"])) / own.height)
    assert run.score == round(float(sum(of_questions) / len(of_questions)), 4)
    assert math.isnan(run.score_std)
    assert run.row["score_std"] is None
    assert "|order:none|" in run.signature


def check_near_ties(run: RunFigures, result: pfgen_rs.Result) -> None:
    """Published figures are the same but for near ties, which differ by one digit at most."""
    mine, theirs = flat(figures(run)), flat(published(result))
    assert mine.keys() == theirs.keys()
    for key in mine:
        if mine[key] != theirs[key] and not set(run.near_ties) >= {key}:
            raise AssertionError((key, mine[key], theirs[key], run.near_ties))
        assert abs(mine[key] - theirs[key]) < 1.01 * (0.1 if "length" in key else 10**-4)
    equal = len(set(published(result)["counts"].values())) == 1
    if equal and "score" not in run.near_ties:
        assert run.score == result.score


def flat(found: dict[str, Any]) -> dict[str, float]:
    """Figures that follow from all answers, by the names of near ties."""
    values = {name: found["row"][name] for name in ("length", "length_std")}
    for id_, one in found["questions"].items():
        values |= {f"{id_} {key}": value for key, value in one.items() if key != "scores"}
        for key, value in one["scores"].items():
            each = value if isinstance(value, dict) else {"": value}
            values |= {f"{id_} {key}_{source}".rstrip("_"): v for source, v in each.items()}
    return values


def test_a_near_tie_is_named_and_others_are_not(mini: Benchmark, answers: pl.DataFrame) -> None:
    rows = answers.filter(pl.col("question") == mini["Q02"].text)[:4]
    scored = table_of(rows, mini)
    exact = scored.with_columns(average=pl.Series([0.1, 0.1, 0.1, 0.10002]))
    [run] = evaluate([exact], mini).values()
    assert "Q02 average" in run.near_ties  # 0.100005
    even = scored.with_columns(average=pl.Series([0.1, 0.1, 0.1, 0.10004]))
    [run] = evaluate([even], mini).values()
    assert "Q02 average" not in run.near_ties


@given(values=st.lists(FLOAT, min_size=1, max_size=40))
def test_sums_of_any_numbers_are_exact(values: list[float]) -> None:
    [(words, data)] = _native.exact_sums(
        np.zeros(len(values), np.uint32), 1, np.array(values), False
    )
    unit = Fraction(1, 1 << _native.SUM_UNIT)
    assert int.from_bytes(data, "little", signed=True) * 2 ** (32 * words) * unit == sum(
        map(Fraction, values)
    )
    small = np.array([value for value in values if 1e-100 < abs(value) < 1e100])
    [(words, data)] = _native.exact_sums(np.zeros(len(small), np.uint32), 1, small, True)
    squares = sum(Fraction(value) ** 2 for value in small.tolist())
    assert int.from_bytes(data, "little", signed=True) * 2 ** (32 * words) * unit == squares


def test_sums_refuse_what_cannot_be_added() -> None:
    one = np.zeros(1, np.uint32)
    for value, squared in ((math.inf, False), (1e200, True)):
        with pytest.raises(InputError, match="cannot be added"):
            _native.exact_sums(one, 1, np.array([value]), squared)
    with pytest.raises(InputError, match="out of range"):
        _native.exact_sums(one + 1, 1, np.zeros(1), False)


@pytest.mark.parametrize("order", [None, "row"])
def test_rows_without_scores_are_counted(order: str | None) -> None:
    data = pa.table(
        {
            "question": ["Q02", "Q02", "Q99", "Q14", "Q02", "Q02"],
            "answer": ["光合成です。", None, "?", "布", "草", "葉"],
            "model": ["a", "a", "b", "b", None, "a"],
            "row": [1, 2, 3, 4, 5, 6 if order is None else None],
        }
    )
    score = scorer("mini")
    found = evaluate(
        score(data).to_batches(max_chunksize=2), score.benchmark, by="model", order=order
    )
    assert found.left_out[None] == {"'model' is null": 1}
    assert found.left_out["b"] == {"unknown question": 1}
    last = {} if order is None else {"'row' is null": 1}
    assert found.left_out["a"] == {"the answer is null": 1} | last
    assert {run: one.height for run, one in found.items()} == {"a": 2 - len(last), "b": 1}
    assert found["b"].left_out.total() == found["b"].row["left_out"] == 1
    assert found.frame["name"].to_list() == ["a", "b"]


def test_left_out_rows_are_logged(mini: Benchmark, caplog: pytest.LogCaptureFixture) -> None:
    data = pa.table({"question": ["Q02"] * 3, "answer": ["草", None, None]})
    evaluate([scorer(mini)(data)], mini)
    assert "2 rows that cannot be scored were left out: the answer is null (2)" in caplog.text


@pytest.mark.parametrize("kind", ["scan", "arrow", "lazy", "batch"])
def test_scores_of_every_kind(kind: str, mini: Benchmark, answers: pl.DataFrame) -> None:
    whole = mini.evaluate(answers)
    tables: dict[str, Any] = {
        "scan": lambda: scan(answers, mini).collect(),
        "lazy": lambda: scan(answers, mini),
        "arrow": lambda: scorer(mini)(answers.to_arrow()),
        "batch": lambda: mini.score_batch(answers).with_columns(signature=pl.lit(mini.signature)),
    }
    [run] = evaluate([tables[kind]()], mini).values()
    check_near_ties(run, whole)


def test_rows_of_something_else_are_refused(mini: Benchmark, answers: pl.DataFrame) -> None:
    other = mini.with_settings(Settings(max_n=9))
    scored = table_of(answers, other)
    partial = Partial(mini)
    before = partial.to_bytes()
    with pytest.raises(InputError, match=r"rows were scored as .*n:1-9.*, not as .*n:1-10"):
        partial.update(scored)
    good = table_of(answers, mini)
    wrong = {
        "missing column 'signature': found": good.drop("signature"),
        "question_id 'Q99' is none of the benchmark's": good.with_columns(
            question_id=pl.lit("Q99")
        ),
        "no number in 'average'": good.with_columns(average=pl.lit(None, pl.Float64)),
        "no number in 'helpfulness'": good.with_columns(helpfulness=pl.lit(math.inf)),
        "column 'length' must have numbers, not String": good.with_columns(
            pl.col("length").cast(pl.String)
        ),
    }
    for message, frame in wrong.items():
        with pytest.raises(InputError, match=re.escape(message)):
            partial.update(frame)
    assert partial.to_bytes() == before


def test_orders_that_are_none(mini: Benchmark, answers: pl.DataFrame) -> None:
    scored = table_of(answers, mini)
    twice = Partial(mini, order="row")
    twice.update(scored)
    twice.update(scored[:1])
    with pytest.raises(InputError, match="'row' is 0 in more than one row"):
        twice.results()
    with pytest.raises(InputError, match="column 'answer' must have integers, not String"):
        Partial(mini, order="answer").update(scored)
    with pytest.raises(InputError, match="'row' has integers of more than 63 bits"):
        Partial(mini, order="row").update(scored[:1].with_columns(row=pl.lit(2**64 - 1, pl.UInt64)))


def test_what_cannot_be_merged(mini: Benchmark) -> None:
    other = mini.with_settings(Settings(max_n=9))
    partial = Partial(mini, by="model")
    for made, name in ((Partial(mini), "by"), (Partial(mini, by="model", order="row"), "order")):
        with pytest.raises(InputError, match=f"cannot be merged: {name} is"):
            partial.merge(made)
    with pytest.raises(InputError, match="cannot be merged: signature is"):
        Partial.from_bytes(Partial(other).to_bytes(), mini)
    with pytest.raises(InputError, match="no partial results"):
        merged([], mini)


@pytest.mark.parametrize("order", [None, "row"])
def test_damaged_bytes_are_refused(
    order: str | None, mini: Benchmark, answers: pl.DataFrame
) -> None:
    partial = Partial(mini, order=order)
    partial.update(table_of(answers[:20], mini))
    data = partial.to_bytes()
    assert Partial.from_bytes(data, mini).to_bytes() == data
    for place in range(0, len(data), max(len(data) // 97, 1)):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(InputError, match=r"damaged|no partial result"):
            Partial.from_bytes(bytes(changed), mini)
        with pytest.raises(InputError, match=r"damaged|no partial result"):
            Partial.from_bytes(data[:place], mini)


def parts_of(data: bytes) -> tuple[Any, bytes]:
    """The JSON text of a partial result, and its arrays."""
    content = data[len(FORMAT) + 16 :]
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def whole_of(text: bytes, arrays: bytes, size: int | None = None) -> bytes:
    """The same as bytes, with the right checksum."""
    content = (len(text) if size is None else size).to_bytes(8, "little") + text + arrays
    return FORMAT + hashlib.blake2b(content, digest_size=16).digest() + content


def text_of(header: Any) -> bytes:
    return json.dumps(header, ensure_ascii=False).encode()


def assert_damaged(data: bytes, bench: Benchmark) -> None:
    with pytest.raises(InputError, match="a partial result is damaged: "):
        Partial.from_bytes(data, bench)


CELLS: dict[str, Callable[[Any], Any]] = {
    "number": lambda cells: cells[0].__setitem__(0, 14),
    "negative number": lambda cells: cells[0].__setitem__(0, -1),
    "text as number": lambda cells: cells[0].__setitem__(0, "a"),
    "true as number": lambda cells: cells[0].__setitem__(0, True),
    "doubled": lambda cells: cells.append(cells[-1]),
    "no rows": lambda cells: cells[0].__setitem__(1, 0),
    "part of a row": lambda cells: cells[0].__setitem__(1, 1.5),
    "few sums": lambda cells: cells[0].pop(),
    "many sums": lambda cells: cells[0].append("1.0"),
    "no number": lambda cells: cells[0].__setitem__(3, "zz.0"),
    "negative shift": lambda cells: cells[0].__setitem__(3, "1.-4"),
    "long shift": lambda cells: cells[0].__setitem__(3, "1.99999999999"),
    "other digits": lambda cells: cells[0].__setitem__(3, "10.1000"),
    "large sum": lambda cells: cells[0].__setitem__(2, "1.2000"),
    "negative length": lambda cells: cells[0].__setitem__(-3, "-1.1074"),
    "squares": lambda cells: cells[0].__setitem__(-1, "0.0"),
    "none": lambda cells: cells.clear(),
}
HEADERS: dict[str, dict[str, Any]] = {
    "left out text": {"left_out": [[None, [["x", "y"]]]]},
    "left out below": {"left_out": [[None, [["x", -5]]]]},
    "left out twice": {"left_out": [[None, [["x", 1]]], [None, [["x", 1]]]]},
    "left out number": {"left_out": 3},
    "a run's name": {"left_out": [["a", [["x", 1]]]]},
    "no about": {"about": None},
    "more": {"more": 1},
    "rows of nothing": {"rows": [[None, 1]]},
    "negative rows": {"rows": [[None, -1]]},
    "rows without end": {"rows": [[None, 10**30]]},
}


@pytest.mark.parametrize("order", [None, "row"])
@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_are_wrong(
    name: str, order: str | None, mini: Benchmark, answers: pl.DataFrame
) -> None:
    partial = Partial(mini, order=order)
    partial.update(table_of(answers[:20], mini))
    header, arrays = parts_of(partial.to_bytes())
    assert whole_of(text_of(header), arrays) == partial.to_bytes()
    assert_damaged(whole_of(text_of(header | HEADERS[name]), arrays), mini)
    for about in ({"by": 7}, {"clean": "?"}, {"clean": 1}, {"more": 1}):
        text = text_of(header | {"about": header["about"] | about})
        assert_damaged(whole_of(text, arrays), mini)


@pytest.mark.parametrize("name", CELLS)
def test_sums_that_are_wrong(name: str, mini: Benchmark, answers: pl.DataFrame) -> None:
    partial = Partial(mini)
    partial.update(table_of(answers[:20], mini))
    header, _ = parts_of(partial.to_bytes())
    CELLS[name](header["cells"][0][1])
    assert_damaged(whole_of(text_of(header), b""), mini)


def test_rows_that_are_wrong(mini: Benchmark, answers: pl.DataFrame) -> None:
    partial = Partial(mini, order="row")
    partial.update(table_of(answers[:20], mini))
    header, arrays = parts_of(partial.to_bytes())
    text = text_of(header)
    for wrong in (arrays[:-8], b"", arrays + b"more"):
        assert_damaged(whole_of(text, wrong), mini)
    for value in (4_000_000_000, 14):
        number = np.array([value], np.uint32).tobytes()
        assert_damaged(whole_of(text, arrays[:160] + number + arrays[164:]), mini)
    for score in (math.nan, -1e300, math.inf, 0.5):  # the last is a length
        last = np.array([score]).tobytes()
        assert_damaged(whole_of(text, arrays[:-8] + last), mini)
    assert_damaged(whole_of(text, arrays[8:16] + arrays[:8] + arrays[16:]), mini)
    fewer = text_of(header | {"rows": [[None, 19]]})
    assert_damaged(whole_of(fewer, arrays), mini)


def test_bytes_without_a_header(mini: Benchmark) -> None:
    texts = [b"", b"{x", b"[]", b"\xff\xfe", b"[" * 200_000, b"9" * 5000, b'{"about": "\\ud800"}']
    for text in texts:
        assert_damaged(whole_of(text, b""), mini)
    assert_damaged(whole_of(b"{}", b"", 1 << 63), mini)
    for short in (b"", b"abc"):
        assert_damaged(FORMAT + hashlib.blake2b(short, digest_size=16).digest() + short, mini)


@pytest.mark.parametrize("order", [None, "row"])
def test_scores_that_cannot_be(order: str | None, mini: Benchmark, answers: pl.DataFrame) -> None:
    good = table_of(answers[:20], mini)
    partial = Partial(mini, order=order)
    for name, value in (
        ("length", -3),
        ("length", 2**40),
        ("length", 8.3),
        ("fluency_A", 1e308),
        ("average", -1e300),
    ):
        with pytest.raises(
            InputError, match=rf"has {value:.15g} in '{name}': expected ".replace("+", r"\+")
        ):
            partial.update(good.with_columns(pl.lit(value).alias(name)))
    partial.update(good.with_columns(length=pl.lit(2**32 - 1)))
    [run] = partial.results().values()
    assert run.length == 2**32 - 1


def test_columns_that_cannot_be(mini: Benchmark, answers: pl.DataFrame) -> None:
    good = table_of(answers[:20], mini)
    for value in ([1], b"a", {"a": 1}):
        named = good.with_columns(model=pl.Series([value] * 20))
        with pytest.raises(InputError, match="column 'model' must have texts, not"):
            Partial(mini, by="model").update(named)
        with pytest.raises(InputError, match="column 'problem' must have texts, not"):
            Partial(mini).update(named.drop("problem", strict=False).rename({"model": "problem"}))
    hows: list[dict[str, Any]] = [{"by": "pfgen_rs reason"}, {"order": "pfgen_rs reason"}]
    for how in hows:
        with pytest.raises(InputError, match="name the column otherwise"):
            Partial(mini, **how)


def test_nothing_is_a_partial_result_too(mini: Benchmark) -> None:
    empty = merged([Partial(mini).to_bytes()] * 2, mini).results()
    assert isinstance(empty, Evaluation)
    assert dict(empty) == {}
    assert empty.left_out == {}


def test_the_variant_of_the_papers_has_no_decimals(mini: Benchmark, answers: pl.DataFrame) -> None:
    paper = mini.with_settings(Settings(variant="paper"))
    scored = table_of(answers, paper)
    [exact] = evaluate([scored], paper).values()
    check_near_ties(exact, paper.evaluate(answers))
    [ordered] = evaluate([scored.reverse()], paper, order="row").values()
    assert figures(ordered) == published(paper.evaluate(answers))


def test_questions_of_several_sources(tmp_path: Any) -> None:
    folder = write_benchmark(tmp_path / "set")
    bench = pfgen_rs.load_benchmark(folder)
    rows = pl.DataFrame(
        {"question": bench.ids * 3, "answer": ["猫", "猫は眠ります。", ""] * len(bench)}
    )
    scored = table_of(rows, bench)
    assert Counter(scored["question_id"]) == dict.fromkeys(bench.ids, 3)
    [ordered] = evaluate([scored], bench, order="row").values()
    assert figures(ordered) == published(bench.evaluate(rows))
    [exact] = evaluate([scored], bench).values()
    check_near_ties(exact, bench.evaluate(rows))


@pytest.mark.parametrize("order", [None, "row"])
def test_two_million_rows_of_unequal_counts(
    order: str | None, mini: Benchmark, answers: pl.DataFrame
) -> None:
    """Shuffled, in parts of very unequal sizes."""
    count, made = 2_000_000, np.random.default_rng(3)
    weights = made.uniform(0.1, 1, answers.height)
    chosen = made.choice(answers.height, count, p=weights / weights.sum())
    rows = answers[chosen].with_columns(
        model=pl.Series(made.choice(list("abcd"), count, p=[0.4, 0.3, 0.2, 0.1])),
        row=pl.Series(made.permutation(count)),
    )
    scored = scan(rows, mini).collect()
    parts = split(scored, [1, 2, 3000, 900_000, 1_900_000])
    found = together(parts, mini, 1, by="model", order=order).results()
    for model, run in found.items():
        whole = mini.evaluate(rows.filter(pl.col("model") == model).sort("row"))
        assert len(set(published(whole)["counts"].values())) > 1
        if order is None:
            check_near_ties(run, whole)
        else:
            assert figures(run) == published(whole)
