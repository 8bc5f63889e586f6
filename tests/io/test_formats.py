"""Files of other formats and encodings are named; CSV; outputs of OpenAI's batch API are read."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import CATS, GOOD, SEAS, lines, pfgen
from pfgen_rs import InputError, PfgenError, load_benchmark, score_file
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.formats import other_encoding
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source
from pfgen_rs.llm_jp_eval.prompts import read_outputs

CSV = "question,answer\n" + "".join(f"{question},{answer}\n" for question, answer in GOOD)


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 100)
    return buffer.getvalue()


def table(kind: str) -> bytes:
    buffer = io.BytesIO()
    frame = pl.DataFrame(GOOD, schema=["question", "answer"], orient="row")
    getattr(frame, f"write_{kind}")(buffer)
    return buffer.getvalue()


FILES: dict[str, tuple[str, bytes, str]] = {
    "xlsx": ("a.xlsx", zipped("[Content_Types].xml", "xl/workbook.xml"), "Excel workbook"),
    "xlsx of openpyxl": ("a.xlsx", zipped("docProps/app.xml"), "save it as CSV (UTF-8)"),
    "xlsx called CSV": ("a.csv", zipped("xl/workbook.xml"), "Excel workbook"),
    "xls": ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Excel workbook (.xls)"),
    "zip": ("a.jsonl", zipped("run/trials.jsonl"), "is a ZIP archive: unpack it"),
    "Parquet": ("a.dat", table("parquet"), "must end in .parquet"),
    "Arrow": ("a.jsonl", table("ipc"), "must end in .arrow"),
    "UTF-16": ("a.jsonl", lines().decode().encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    "UTF-16, no mark": ("a.jsonl", lines().decode().encode("utf-16-be"), "UTF-16"),
    "UTF-16 CSV": ("a.csv", CSV.encode("utf-16"), "UTF-16"),
    "UTF-16 CSV, no mark": ("a.csv", CSV.encode("utf-16-le"), "UTF-16"),
    "Shift-JIS": ("a.jsonl", lines().decode().encode("cp932"), "iconv -f SHIFT_JIS -t UTF-8"),
    "Shift-JIS CSV": ("a.csv", CSV.encode("cp932"), "looks like Shift-JIS"),
    "header": ("a.csv", ("質問" + CSV).encode("cp932"), "header is not UTF-8; it looks like Shift"),
    "EUC-JP": ("a.jsonl", lines().decode().encode("euc_jp"), "iconv -f EUC-JP -t UTF-8"),
    "EUC-JP TSV": ("a.tsv", CSV.replace(",", "\t").encode("euc_jp"), "EUC-JP"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_formats(name: str, bench: Path, tmp_path: Path) -> None:
    file, content, problem = FILES[name]
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        score_file(path, bench)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    assert "not JSON" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xe9t\xe9 \xe0 la plage", "naïve café".encode("latin-1"), b"\x80\x81\x82"]
)
def test_other_bytes_are_not_called_japanese(text: bytes) -> None:
    assert other_encoding(text) == ""


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_byte_order_mark_is_passed_over(suffix: str, bench: Path, tmp_path: Path) -> None:
    text = CSV if suffix == ".csv" else CSV.replace(",", "\t")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(text.encode("utf-8-sig"))
    assert score_file(path, bench).frame["answer"].to_list() == [answer for _, answer in GOOD]


TEXTS = {CATS: "猫は狩りのために体力を残して眠ります。", SEAS: "海は空の色を映します。"}


def response(name: str, text: Any, status: int = 200, *, chat: bool = True) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    body = {"model": "m", "choices": [{"index": 0, **choice, "finish_reason": "stop"}]}
    reply = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": name, "response": reply, "error": None}


def write(path: Path, *records: dict[str, Any]) -> Path:
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("names", [("1/{0}", "1/{1}"), ("{0}", "{1}"), ("1/Q01", "Q02")])
def test_a_batch_output_scores_like_its_answers(
    bench: Path, tmp_path: Path, names: tuple[str, str], chat: bool
) -> None:
    plain = write(tmp_path / "a.jsonl", *({"question": q, "answer": a} for q, a in TEXTS.items()))
    named = (name.format(CATS, SEAS) for name in names)
    made = [response(n, a, chat=chat) for n, a in zip(named, TEXTS.values(), strict=True)]
    batch = write(tmp_path / "b.jsonl", *made)
    expected, found = score_file(plain, bench), score_file(batch, bench)
    columns = ["question_id", "answer", "average", "fluency"]
    assert found.frame.select(columns).equals(expected.frame.select(columns))


def test_a_failed_request_is_no_empty_answer(bench: Path, tmp_path: Path) -> None:
    made = [response(q, a) for q, a in TEXTS.items()]
    gone = {"custom_id": CATS, "response": None, "error": {"message": "expired"}}
    path = write(tmp_path / "b.jsonl", *made, response("2/x", "", 500), gone)
    with pytest.raises(InputError, match=r"line 3: the request '2/x' failed: --skip-bad-lines"):
        score_file(path, bench)
    done = pfgen("score", path, f"--benchmark={bench}", "--skip-bad-lines")
    assert done.returncode == 0
    assert "skipped 2 lines in total" in done.stderr


def test_what_is_exported_is_answered_by_a_batch_and_imported(tmp_path: Path) -> None:
    samples = write(tmp_path / "s.jsonl", *({"question": q, "answer": a} for q, a in TEXTS.items()))
    start = ("generate", "m/m", "--engine=manual", "--mode=qa", "--trials=2")
    command = (*start, f"--out={tmp_path}", f"--benchmark={samples}")
    tasks = tmp_path / "tasks.jsonl"
    assert pfgen(*command, f"--export={tasks}").returncode == 0
    asked = [json.loads(line) for line in tasks.read_text(encoding="utf-8").splitlines()]
    made = [response(task["custom_id"], f"{task['trial']}: 答え") for task in asked]
    made[2] = response(asked[2]["custom_id"], None, 429)
    path = write(tmp_path / "b.jsonl", *made)
    engine = AnswersFile("m", path)
    assert (engine.blank, len(engine.unused)) == (1, 3)
    done = pfgen(*command, f"--import={path}")
    assert done.returncode == 1  # a trial is unfinished
    assert "1 of 2 trials, 3 new answers" in done.stdout
    assert "1 of the imported answers are empty or failed: their tasks stay open" in done.stderr
    assert "the model that answers is 'm': 'm/m' was asked for" in done.stderr
    [kept] = tmp_path.rglob("journal.jsonl")
    told = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert [(each["served"], each["finish_reason"]) for each in told] == [("m", "stop")] * 3
    other = write(tmp_path / "c.jsonl", response("mine", "x"))
    refused = pfgen(*command, f"--import={other}")
    assert refused.returncode == 2
    assert "line 1: 'trial' must be an integer, not None: expected the keys" in refused.stderr


def test_llm_jp_eval_reads_the_same(tmp_path: Path) -> None:
    made = response("jamp/test/0", "x"), response("jamp/test/1", "", 500)
    found = read_outputs(write(tmp_path / "b.jsonl", *made))
    told = {name: each.text for name, [each] in found.by_task["jamp"].items()}
    assert told == {"jamp/test/0": "x", "jamp/test/1": None}


# CSV: empty lines are passed over, and stray quotation marks are named.


HEADER = "question,answer\n"


def read(path: Path, text: str, **options: int) -> list[tuple[int, str, str]]:
    path.write_text(text, "utf-8", newline="")
    return [
        row
        for chunk in Reading(Source(path), Options(**options)).chunks()  # type: ignore[arg-type]
        for row in zip(chunk.lines.tolist(), chunk.questions, chunk.answers, strict=True)
    ]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ("猫,a\n\n", [(1, "猫", "a")]),
        ("\n猫,a\n", [(2, "猫", "a")]),
        ("猫,a\n\n\n海,b", [(1, "猫", "a"), (4, "海", "b")]),
        ("猫,a\r\n\r\n海,b\r\n", [(1, "猫", "a"), (3, "海", "b")]),
        ('猫,"a\n\nb"\n\n海,b\n', [(1, "猫", "a\n\nb"), (3, "海", "b")]),
        ("猫,\n\n", [(1, "猫", "")]),
        (",b\n\n", [(1, "", "b")]),
        (",\n海,b\n", [(1, "", ""), (2, "海", "b")]),
    ],
)
def test_empty_lines_are_passed_over_but_counted(
    tmp_path: Path, records: str, expected: list[tuple[int, str, str]]
) -> None:
    for size in (8 << 20, 30, 1):
        for rows in (1, 2, 1 << 16):
            found = read(tmp_path / "a.csv", HEADER + records, text_size=size, rows=rows)
            assert found == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADER}Q01,a,b\n", "a row has more fields than the header: quote values that contain"),
        ("question;answer\nQ01;a\n", "found 'question;answer'; is the file separated by ';'"),
        ("x,y\nQ01,a\n", "missing 'question' and 'answer': found 'x', 'y'; choose others"),
        ("question,y\nQ01,a\n", "missing column 'answer': found 'question', 'y'; choose another"),
        ('question,"ans"wer\nQ01,a\n', "quotation mark"),
        (HEADER, "no responses"),
        (HEADER[:-1], "no responses"),
        (f"{HEADER},\n", "row 1, question '': the question is empty"),
    ],
)
def test_faults_of_a_csv_in_plain_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(PfgenError) as error:
        score_file(path, load_benchmark("mini"))
    assert words in str(error.value)


def answers(path: Path, text: str, size: int = 8 << 20) -> list[str]:
    return [answer for _, _, answer in read(path, text, text_size=size)]


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ('猫,a"b\n海,c\n空,"d"\n', 2),
        ('猫,a\n海,b"\n空,c"\n', 3),
        ('猫,"a\nb"\n海,c"d\n空,"e"\n', 4),
        ('猫,"a "b" c"\n', 2),
        ('猫,"a"b\n海,c\n', 2),
        ('猫"猫",a",b\n', 2),
        ('猫,"a\n say "b" c\nd"\n', 3),
    ],
)
def test_marks_that_hide_where_records_begin(tmp_path: Path, records: str, line: int) -> None:
    for text in (HEADER + records, "\ufeff" + HEADER + records):
        for size in (8 << 20, 30):
            with pytest.raises(InputError, match="quotation mark") as error:
                answers(tmp_path / "a.csv", text, size)
            assert (error.value.line, error.value.item) == (line, "line")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ('猫,a 5" x 7" b\n海,c\n', ['a 5" x 7" b', "c"]),
        ('猫,"a ""b"" c"\n海,""\n', ['a "b" c', ""]),
        ('猫,"""a"""\r\n海,"b\r\nc"\r\n', ['"a"', "b\r\nc"]),
    ],
)
def test_marks_all_readers_understand(tmp_path: Path, records: str, expected: list[str]) -> None:
    for size in (8 << 20, 30):
        assert answers(tmp_path / "a.csv", HEADER + records, size) == expected
        tabs = (HEADER + records).replace(",", "\t")
        assert answers(tmp_path / "a.tsv", tabs, size) == expected
