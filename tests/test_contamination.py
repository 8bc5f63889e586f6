"""`pfgen_rs.contamination`: documents that contain questions and reference answers."""

import gzip
import json
import random
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

from helpers import pfgen
from pfgen_rs import (
    Benchmark,
    InputError,
    OutputError,
    PfgenError,
    Settings,
    SettingsError,
    contamination,
)
from small import benchmark

ANSWER = "光合成とは、植物が光のエネルギーを使って、水と二酸化炭素から糖をつくる働きのことです。"
OTHER = "風呂敷とは、物を包んで運ぶための四角い布のことで、結び方を変えれば様々な形の物を包めます。"
SMALL = benchmark(
    {
        "question_id": "Q1",
        "question": "光合成とは何ですか？",
        "answers": {"A": [ANSWER], "B": ["短い。"]},
    },
    {"question_id": "Q2", "question": "風呂敷？", "answers": {"A": [OTHER, OTHER[:-9]]}},
)
N_REFUSED = (0, -1, 101, 2**70, 2.5, "8", True)
WIDE = str.maketrans({"、": " , ", "。": "\n", "光": "光", "カ": "ｶ"})


def folded(text: str) -> list[tuple[str, int]]:
    """The letters and digits of a text, each with its place."""
    parts = ((part, at) for at, c in enumerate(text) for part in unicodedata.normalize("NFKD", c))
    return [(lower, at) for part, at in parts for lower in part.lower() if lower.isalnum()]


def naive(text: str, document: str, n: int) -> tuple[float, int, int] | None:
    """The best share of the n-grams of a text in a stretch of a document, and the stretch, by trying all."""
    own, whole = folded(text), folded(document)

    def gram(of: list[tuple[str, int]], at: int) -> str:
        return "".join(c for c, _ in of[at : at + n])

    grams = {gram(own, at) for at in range(len(own) - n + 1)}
    places = [at for at in range(len(whole) - n + 1) if gram(whole, at) in grams]
    tried = [
        (len({gram(whole, at) for at in places if first <= at <= last}), -last, first)
        for last in places
        for first in places
        if first <= last and last + n - first <= 2 * len(own)
    ]
    if not tried:
        return None
    most, last, first = max(tried)
    return most / len(grams), whole[first][1], whole[-last + n - 1][1] + 1


def write(path: Path, texts: Sequence[str], **more: Any) -> Path:
    """Documents as JSON lines."""
    rows = [{"id": f"d{at}", "text": text, **more} for at, text in enumerate(texts)]
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")
    return path


PIECES = st.lists(
    st.sampled_from(["あい", "かきく", "ｶﾞＡ", "a、1", "い。", "㌔", "𠮷", " "]), max_size=9
)


@given(
    texts=st.lists(PIECES, min_size=1, max_size=3),
    documents=st.lists(PIECES, max_size=4),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_leaks_are_those_of_a_search_of_everything(
    tmp_path_factory: pytest.TempPathFactory, texts: Any, documents: Any, data: st.DataObject
) -> None:
    answers = ["".join(each) for each in texts]
    corpus = ["".join(each) for each in documents]
    if answers:  # a document with most of an answer
        corpus.append(f"う{data.draw(st.sampled_from(answers))[data.draw(st.integers(0, 3)) :]}か")
    n, share = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.1, 0.5, 0.8, 1.0]))
    tried = benchmark({"question": "？", "answers": {"A": [*answers, "あ"]}})
    path = write(tmp_path_factory.mktemp("corpus") / "c.jsonl", corpus)
    found = contamination(path, tried, n=n, coverage=share)
    columns = ("line", "number", "coverage", "begin", "end")
    expected = [
        (line, number, *best)
        for line, document in enumerate(corpus, 1)
        for number, answer in enumerate([*answers, "あ"])
        if (best := naive(answer, document, n)) is not None and best[0] >= share
    ]
    assert found.hits.select(columns).rows() == expected
    assert found.contaminated == len({row[0] for row in expected})
    assert found.questions["found"].to_list() == [len({row[1] for row in expected})]


def test_a_report_says_what_is_in_doubt(tmp_path: Path) -> None:
    texts = [
        f"FAQ：{ANSWER} 以上。",  # whole
        f"光合成とは何ですか？ {ANSWER.translate(WIDE)}",  # question and answer, punctuation changed
        ANSWER.replace("糖", "塩"),  # one letter changed
        ANSWER[: len(ANSWER) // 2],  # half
        "光合成とは 何ですか",  # the question alone
        OTHER[:24],
        "",
    ]
    path = write(tmp_path / "c.jsonl", texts)
    found = contamination(path, SMALL, id_field="id", out=tmp_path / "hits.parquet")
    rows = found.hits.select("id", "question_id", "kind", "source", "number", "excerpt").rows()
    assert [row[:5] for row in rows] == [
        ("d0", "Q1", "reference", "A", 0),
        ("d1", "Q1", "question", None, None),
        ("d1", "Q1", "reference", "A", 0),
        ("d4", "Q1", "question", None, None),
    ]
    assert rows[0][5] == ANSWER[:-1]
    assert found.in_doubt == ["Q1"]
    assert found.questions.row(0, named=True) == {
        "question_id": "Q1",
        "question": "光合成とは何ですか？",
        "asked": 2,
        "documents": 2,
        "references": 1,
        "found": 1,
        "share": 1.0,
    }
    assert (found.documents, found.contaminated, found.too_short, found.hit_count) == (7, 2, 2, 4)
    assert "1 of 2 questions are in doubt: Q1." in str(found)
    assert json.loads(json.dumps(found.to_dict()))["in_doubt"] == ["Q1"]
    assert "| Q1 光合成とは何ですか？ | 2 | 1 of 1 | 1.0000 |" in found.to_markdown()
    assert found.to_markdown().startswith(found.sentence)  # nothing in it needs escapes
    assert_frame_equal(pl.read_parquet(tmp_path / "hits.parquet"), found.hits)
    assert contamination(path, SMALL, coverage=0.7).contaminated == 3
    assert contamination(path, SMALL, coverage=0.35).in_doubt == ["Q1", "Q2"]
    clean = contamination(write(tmp_path / "d.jsonl", ["別の文です。"]), SMALL)
    assert clean.in_doubt == []
    assert clean.sentence.startswith("No score is in doubt")


def test_formats_folders_and_threads_make_no_difference(tmp_path: Path) -> None:
    texts = [
        f"{at}番。{ANSWER if at % 7 == 3 else OTHER if at % 11 == 5 else '普通の文。'}"
        for at in range(300)
    ]
    plain = write(tmp_path / "c.jsonl", texts)
    frame = pl.read_ndjson(plain)
    expected = contamination(plain, SMALL, id_field="id", threads=1)
    assert expected.contaminated == sum(at % 7 == 3 or at % 11 == 5 for at in range(300))
    made = [
        tmp_path / "c.parquet",
        tmp_path / "c.csv",
        tmp_path / "c.jsonl.gz",
        tmp_path / "folder",
    ]
    frame.write_parquet(made[0])
    frame.write_csv(made[1])
    made[2].write_bytes(gzip.compress(plain.read_bytes()))
    (made[3] / ".hidden").mkdir(parents=True)
    (made[3] / "notes.md").write_text("no corpus")
    for at in (0, 100, 200):
        frame[at : at + 100].write_ndjson(made[3] / f"{at:03}.jsonl")
    nested = tmp_path / "nested.jsonl"
    nested.write_text(
        "".join(json.dumps({"id": r[0], "doc": {"text": r[1]}}) + "\n" for r in frame.rows())
    )
    for path, field in [*((each, "text") for each in made), (nested, "doc.text")]:
        found = contamination(path, SMALL, text_field=field, id_field="id", threads=2)
        different = ["file", "line"]
        assert_frame_equal(found.hits.drop(different), expected.hits.drop(different))
        unread = {"sentence": f"{expected} Not read: 1 file.", "skipped_files": 1}
        others = unread if path.name == "folder" else {}
        assert found.to_dict() == expected.to_dict() | others


@pytest.mark.parametrize(
    ("content", "how", "error", "message"),
    [
        (b'{"body": "x"}\n', {}, InputError, r"line 1: missing key 'text'.*--text-field"),
        (b'{"text": "\\ud800"}\n', {}, InputError, "line 1: .*surrogate"),
        (b'{"text": null}\n', {}, InputError, "line 1: 'text': expected a string"),
        (b'{"text": "x"\n', {}, InputError, "line 1: is not JSON"),
        *((b"", {"n": n}, SettingsError, f"n must be a whole.* not {n!r}") for n in N_REFUSED),
        (b"", {"coverage": 1.5}, SettingsError, "coverage"),
        (b"", {"out": "c.jsonl"}, OutputError, "one of the inputs"),
        (b"", {"out": "hits.doc"}, OutputError, "unknown format"),
    ],
)
def test_what_cannot_be_done_is_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    how: Any,
    error: type,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.jsonl").write_bytes(content)
    with pytest.raises(error, match=message) as raised:
        contamination("c.jsonl", SMALL, **how)
    assert isinstance(raised.value, PfgenError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl"]


def test_lines_that_cannot_be_read_are_skipped_or_replaced(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", [ANSWER])
    path.write_bytes(b'{"text": "\\ud800"}\n{"text": 1}\n' + path.read_bytes())
    found = contamination(path, SMALL, skip_bad_lines=True)
    assert (found.documents, found.skipped, found.hits["line"].to_list()) == (1, 2, [3])
    read = contamination(path, SMALL, skip_bad_lines=True, replace_invalid=True)
    assert (read.documents, read.skipped) == (2, 1)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="null"):
        contamination("a\0b", SMALL)
    with pytest.raises(InputError, match="it has no files"):
        contamination(empty, SMALL)
    tokens = benchmark({"answers": {"A": [[1, 2], [3]]}}, settings=Settings(unit="token"))
    with pytest.raises(InputError, match="token ids"):
        contamination(path, tokens)


def test_a_folder_is_all_its_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder, linked = tmp_path / "folder", tmp_path / "linked"
    for each in (folder / ".hidden", folder / "inner", linked):
        each.mkdir(parents=True)
    for name in ("trials.jsonl", "shard.jsonl", "journal.JSONL", ".hidden/a.jsonl", ".b.jsonl"):
        write(folder / name, [ANSWER])
    write(linked / "c.jsonl", [OTHER])
    for link, to in (("l", linked), ("again", linked), ("loop", folder), ("inner/up", folder)):
        (folder / link).symlink_to(to)
    for name in ("config.json", "x.arrow.xz", "part-00000", "notes.txt.bz2"):
        (folder / name).write_text("[1, 2]")
    found = contamination([folder, f"{folder}/inner/../shard.jsonl"], SMALL, id_field="nope")
    assert (found.documents, found.skipped_files, found.in_doubt) == (4, 4, ["Q1", "Q2"])
    assert found.sentence.endswith(" Not read: 4 files.")
    assert [record.getMessage() for record in caplog.records] == [
        f"not read: 4 files, such as {folder}/config.json",
        "no hit has an id: choose another key than 'nope' with --id-field",
    ]
    assert contamination(folder / "shard.jsonl", SMALL).in_doubt == ["Q1"]


@pytest.mark.parametrize("ids", [[b"\xff"], [{"a": 1}], [[1]]])
def test_ids_in_tables_are_texts_or_numbers(tmp_path: Path, ids: Any) -> None:
    pl.DataFrame({"text": [ANSWER], "id": ids}).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match="'id' must be text or numbers"):
        contamination(tmp_path / "c.parquet", SMALL, id_field="id")


def test_the_command(tmp_path: Path, mini: Benchmark) -> None:
    question = mini["Q02"]
    answer = question.answers["A"][0]
    path = write(tmp_path / "c.jsonl", ["普通の文。", f"{question.text}{answer}"])
    done = pfgen(
        "contamination", path, "-b", "mini", "--id-field", "id", "--out", tmp_path / "hits.csv"
    )
    assert done.returncode == 1, done.stderr
    assert re.search(r"Q02 +光合成とは何ですか？ +1 +1 +1000 +[1-9]", done.stdout), done.stdout
    assert pl.read_csv(tmp_path / "hits.csv")["id"].unique().to_list() == ["d1"]


# Slow ones.


def ordinary(mini: Benchmark, count: int) -> list[str]:
    """Documents that are near the subject, but contain no answer: halves of answers among other text."""
    make = random.Random(0)
    answers = [list(q.answers[q.sources[0]]) for q in mini]
    tail = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 2000))
    texts = []
    for at in range(count):
        begin = make.randrange(1900)
        one = make.choice(make.choice(answers))
        half = one[: len(one) // 2] if at % 30 == 0 else ""
        texts.append(f"{half}{tail[begin : begin + 80]}。")
    return texts


def test_a_leak_in_a_hundred_thousand_documents_is_found_and_none_falsely(
    tmp_path: Path, mini: Benchmark
) -> None:
    texts = ordinary(mini, 100_000)
    question, answer = mini["Q05"], mini["Q05"].answers["A"][7]
    changes = {ord("、"): "，", ord("。"): " ", **{n + 48: n + 0xFF10 for n in range(10)}}
    place = 31_234
    texts[place] = f"前置き。{question.text}\n{answer.translate(changes)}後書き。"
    path = write(tmp_path / "planted.jsonl", texts)
    found = contamination(path, mini, threads=1)
    assert found.documents == 100_000
    assert found.hits["line"].unique().to_list() == [place + 1]
    assert found.in_doubt == ["Q05"]
    row = found.hits.filter(kind="reference", number=7).row(0, named=True)
    assert row["coverage"] == 1.0
    assert texts[place][row["begin"] : row["end"]] == answer.translate(changes)[:-1]
    pl.DataFrame({"text": texts}).write_parquet(tmp_path / "planted.parquet")
    table = contamination(tmp_path / "planted.parquet", mini, threads=2)
    assert_frame_equal(table.hits.drop("file"), found.hits.drop("file"))


def test_a_document_of_any_size(tmp_path: Path) -> None:
    before = "あ" * 10_000_000
    path = write(tmp_path / "c.jsonl", ["", before + ANSWER, before])
    found = contamination(path, SMALL)
    assert found.hits.select("line", "begin", "end").rows() == [
        (2, len(before), len(before) + len(ANSWER) - 1)
    ]
    pl.DataFrame({"text": [before * 2 + ANSWER]}).write_parquet(tmp_path / "c.parquet")
    assert contamination(tmp_path / "c.parquet", SMALL).hits["begin"].to_list() == [2 * len(before)]
    longer = write(tmp_path / "longer.jsonl", [before * 3])
    with pytest.raises(InputError, match="longer than 64 MiB"):
        contamination(longer, SMALL)
