"""Formats of other tools: each is read, refused with its place, written and read again."""

import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers import pfgen
from pfgen_rs.errors import InputError, OutputError, SettingsError
from pfgen_rs.judge import VerdictFolder, sample_path
from pfgen_rs.judge.formats import format_names, get_format, read_format, write_format
from pfgen_rs.judge.imported import Imported, read_folder, write_folder

Record = dict[str, Any]
Read = Callable[..., Imported]
CAREFUL = sample_path() / "verdicts" / "careful"
EXAMPLES = {name: dict(get_format(name).example) for name in format_names()}
ALPACA, ARENA, FASTCHAT, PLAIN = (
    EXAMPLES[name] for name in ("alpaca-eval", "arena-hard", "fastchat", "json-lines")
)
every_format = pytest.mark.parametrize("name", EXAMPLES)


def written(folder: Path, name: str, records: list[Record]) -> Path:
    path = folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return lambda name, *records: read_format([written(tmp_path, name, [*records])], name)


def letters(imported: Imported) -> list[tuple[str, int, str | None]]:
    return [(each["pair"], each["order"], each["shown"]) for each in imported.judgments]


def same(imported: Imported, again: Imported) -> bool:
    return (imported.pairs, imported.judgments) == (again.pairs, again.judgments)


# Every format.


@every_format
def test_examples_are_recognised_and_round_trips_change_nothing(name: str, tmp_path: Path) -> None:
    imported = read_format([written(tmp_path, name, [EXAMPLES[name]])])
    assert (imported.source, len(imported.pairs)) == (name, 1)
    again = tmp_path / "again.json"
    if get_format(name).write:
        assert write_format(again, imported, name) == 1
        assert same(imported, read_format([again]))
    else:
        with pytest.raises(SettingsError, match=f"'{name}' can be imported only: expected one"):
            write_format(again, imported, name)


OPTIONAL = {"g1_judgment", "g2_judgment", "tstamp", "turn", "annotator", "results"}


@every_format
def test_every_key_of_a_record_that_is_missing_or_wrong_is_refused_with_its_place(
    name: str, read: Read
) -> None:
    good = EXAMPLES[name]
    for key in good:
        if key not in ("g1_judgment", "g2_judgment", "tstamp"):
            with pytest.raises(InputError, match=f"{name}.json, line 1: "):
                read(name, {**good, key: {"a": []}})
        if key not in OPTIONAL:
            with pytest.raises(InputError):
                read(name, {each: value for each, value in good.items() if each != key})
    if name != "llmbar":  # whose records are told apart by their places
        with pytest.raises(InputError, match=r"line 2: second (judgment|verdict|record) of"):
            read(name, good, good)


@every_format
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[", "is not JSON"),
        ('[{"a": 1}, 1]', "element (1|2): "),
        ("[1]", "line 1: expected an object"),
        ("[]", "contains no judgments"),
        ("", "contains no judgments"),
        ('{"a": ', "line 1: is not JSON"),
        ('[{"idx": "\\ud800"}]', "element 1: .*surrogate"),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_damaged_files_are_refused(name: str, content: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_format([path], name)


def test_unknown_formats_and_files_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "file", [{"a": 1}])
    (tmp_path / "empty").mkdir()
    mixed = [written(tmp_path, name, [EXAMPLES[name]]) for name in ("fastchat", "json-lines")]
    for paths, problem in (
        ([path], f"unknown format: expected one of {', '.join(EXAMPLES)}"),
        ([tmp_path / "missing"], "cannot be read"),
        ([tmp_path / "empty"], r"contains no \.json"),
        (mixed, "several formats fit: fastchat, json-lines"),
    ):
        with pytest.raises(InputError, match=problem):
            read_format(paths)
    with pytest.raises(SettingsError, match="unknown format 'x': expected one of alpaca-eval, "):
        read_format([path], "x")


def test_a_format_of_another_package_is_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "theirs-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: theirs\nVersion: 1\n")
    points = ["theirs = their_format:read", "broken = their_format:missing", "fastchat = x:y"]
    (about / "entry_points.txt").write_text("\n".join(["[pfgen_rs.judge_formats]", *points]))
    (tmp_path / "their_format.py").write_text(
        "from pfgen_rs.judge.formats import judge_format\n"
        "from pfgen_rs.judge.imported import Imported\n"
        "@judge_format('theirs', files='', verdicts='', pair_id='', example={'mine': 1},\n"
        "    recognises=lambda record: 'mine' in record)\n"
        "def read(paths):\n"
        "    return Imported('theirs')\n"
    )
    code = (
        "from pfgen_rs.judge.formats import detect_format, format_names, get_format\n"
        "print(*format_names(), get_format('theirs').example, get_format('fastchat').pair_id[:9])\n"
        f"print(detect_format([{str(written(tmp_path, 'plain', [PLAIN]))!r}]))\n"
        "get_format('broken')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    names = [*EXAMPLES, "theirs", "broken"]
    assert done.stdout == f"{' '.join(names)} {{'mine': 1}} `QUESTION\njson-lines\n"
    assert "SettingsError: format 'broken' of their_format:missing: " in done.stderr


def test_compressed_files_in_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(json.dumps(PLAIN).encode() + b"\n"))
    assert len(read_format([tmp_path]).judgments) == 2


def test_judges_are_told_apart_and_texts_of_one_pair_are_the_same(
    read: Read, tmp_path: Path
) -> None:
    records = [{**PLAIN, "id": n, "judge": judge} for n in range(3) for judge in ("x", "y")]
    imported, out = read("json-lines", *records), tmp_path / "v"
    assert imported.judges == ["x", "y"]
    for judge, problem in ((None, "several judges"), ("z", "unknown judge 'z'")):
        with pytest.raises(InputError, match=f"{problem}: choose one of x, y"):
            imported.of_judge(judge)
    done = pfgen("judge", "import", tmp_path / "json-lines.json", "--judge", "y", "--out", out)
    assert done.stdout == f"wrote 3 pairs and 6 judgments to {out}\n"
    assert VerdictFolder(out).judge_name == "y"
    assert same(read_folder(out), imported.of_judge("y"))
    with pytest.raises(InputError, match="line 2: pair '1:m1:m2' occurs twice with different"):
        read("alpaca-eval", ALPACA, {**ALPACA, "output_1": "丙", "annotator": "x"})


# FastChat.


def test_the_second_game_shows_the_second_model_first(read: Read) -> None:
    imported = read("fastchat", {**FASTCHAT, "g1_winner": "model_2", "g2_winner": "model_2"})
    assert letters(imported) == [("11:m1:m2", 1, "B"), ("11:m1:m2", 2, "A")]
    assert imported.pairs["11:m1:m2"].question_id == "11"
    assert imported.judgments[0]["timestamp"] == "2023-12-18T08:14:46.500000+00:00"


def test_ties_failures_and_missing_games_survive(read: Read) -> None:
    imported = read(
        "fastchat",
        {**FASTCHAT, "question_id": "x", "g1_winner": "tie", "g2_winner": "error"},
        {**FASTCHAT, "question_id": "y", "g2_winner": "error", "g2_judgment": None},
    )
    assert [each[1:] for each in letters(imported)] == [(1, "C"), (2, None), (1, "A")]
    assert imported.judgments[1]["problem"] == "the winner is 'error'"


def test_fastchat_takes_texts_of_both_turns_from_their_files(tmp_path: Path) -> None:
    def answer(model: str, question_id: object, *turns: str) -> Record:
        choices = [{"index": 0, "turns": turns}]
        return {"question_id": question_id, "model_id": model, "choices": choices}

    files = {
        "question": {"question_id": 11, "category": "math", "turns": ["一", "二"]},
        "model_answer/m1": answer("m1", "11", "甲一", "甲二"),
        "model_answer/m2": answer("m2", 11, "乙一", "乙二"),
        "reference_answer/gpt-4": answer("gpt-4", 11, "正一", "正二"),
    }
    for name, record in files.items():
        written(tmp_path, name, [record])
    written(tmp_path, "fastchat", [FASTCHAT, {**FASTCHAT, "turn": 2}])
    names = ("fastchat.json", "question.json", "model_answer", "reference_answer")
    imported = read_format([tmp_path / name for name in names])
    first, second = imported.pairs.values()
    assert (first.question, first.answers, first.reference) == ("一", ("甲一", "乙一"), "正一")
    assert (second.id, second.question_id, second.task) == ("11:m1:m2:turn-2", "11", "math")
    assert second.answers == ("甲一\n\n甲二", "乙一\n\n乙二")
    assert imported.notes == []


def test_fastchat_without_texts_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "fastchat", [FASTCHAT])
    imported = read_format([path])
    assert imported.pairs["11:m1:m2"].answers == ("", "")
    assert "no questions and answers: these texts are empty" in imported.notes[0]
    done = pfgen("judge", "import", path, "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, f"warning: {imported.notes[0]}\n")


def test_ratings_of_one_answer_are_refused(read: Read) -> None:
    rating = {"question_id": 1, "model": "m", "judge": ["gpt-4", "single-v1"], "score": 5}
    with pytest.raises(InputError, match="line 1: is a rating of one answer"):
        read("fastchat", rating)


# AlpacaEval.


def test_hard_preferences_are_letters(read: Read) -> None:
    for preference, letter in ((1, "A"), (2.0, "B"), (1.5, "C"), (None, None), (math.nan, None)):
        imported = read("alpaca-eval", {**ALPACA, "preference": preference})
        assert letters(imported) == [("1:m1:m2", 1, letter)]
        assert imported.judgments[0]["probabilities"] is None
    for invalid in (0, 0.99, 2.01, True, "1", math.inf):
        with pytest.raises(InputError, match="line 1: invalid 'preference'"):
            read("alpaca-eval", {**ALPACA, "preference": invalid})


def test_soft_preferences_are_probabilities_of_the_whole_annotator(
    read: Read, tmp_path: Path
) -> None:
    records = [
        {**ALPACA, "instruction": str(place), "preference": preference}
        for place, preference in enumerate((1.25, 2, None, 1.5, 1.9))
    ]
    hard = {**ALPACA, "instruction": "0", "preference": 2, "annotator": "hard"}
    imported = read("alpaca-eval", *records, hard)
    soft = imported.of_judge("gpt4").judgments
    assert [each["shown"] for each in soft] == ["A", "B", None, "C", "B"]
    assert [each["probabilities"] for each in soft[:4]] == [
        {"A": 0.75, "B": 0.25, "C": 0.0},
        {"A": 0.0, "B": 1.0, "C": 0.0},
        None,
        {"A": 0.5, "B": 0.5, "C": 0.0},
    ]
    assert imported.of_judge("hard").judgments[0]["probabilities"] is None
    write_format(tmp_path / "again", imported.of_judge("gpt4"), "alpaca-eval")
    again = json.loads((tmp_path / "again").read_text("utf-8"))
    assert [each["preference"] for each in again] == pytest.approx([1.25, 2, None, 1.5, 1.9])


def test_a_preference_of_both_orders_is_normalised_and_ties_are_half(
    read: Read, tmp_path: Path
) -> None:
    imported = read("json-lines", PLAIN)
    imported.judgments[0]["probabilities"] = {"A": 0.7, "B": 0.1, "C": 0.06}
    imported.judgments[1]["probabilities"] = {"A": 0.6, "B": 0.4, "C": 0.1}
    write_format(tmp_path / "out", imported, "alpaca-eval")
    [found] = json.loads((tmp_path / "out").read_text("utf-8"))
    assert found["preference"] == pytest.approx(1 + (0.35 + 0.04) / 0.98)


# Arena-Hard.


def test_levels_are_kept_with_their_letters(read: Read) -> None:
    imported = read("arena-hard", ARENA)
    assert imported.pairs["q:baseline:m"].models == ("baseline", "m")
    assert letters(imported) == [("q:baseline:m", 1, "B"), ("q:baseline:m", 2, "A")]
    assert [each["level"] for each in imported.judgments] == ["B>>A", "A>B"]


def test_the_newer_form_of_arena_hard_is_read(read: Read) -> None:
    games = [{"score": "A=B", "judgment": {"answer": "[[A=B]]"}}, {"score": None}]
    about = {"category": "hard", "judge": "j", "model": "m", "baseline": "b"}
    question = {"uid": "u", "category": "hard", "prompt": "問い"}
    user, said = {"role": "user", "content": "問い"}, {"b": "甲", "m": "乙"}
    turns = {m: [user, {"role": "assistant", "content": {"answer": t}}] for m, t in said.items()}
    answers = [{"uid": "u", "model": model, "messages": turns[model]} for model in turns]
    imported = read("arena-hard", question, *answers, {"uid": "u", **about, "games": games})
    [pair] = imported.pairs.values()
    assert (pair.question, pair.answers, pair.task) == ("問い", ("甲", "乙"), "hard")
    shown = [(each["shown"], each["output"]) for each in imported.judgments]
    assert shown == [("C", "[[A=B]]"), (None, "")]
    assert not imported.notes


# Plain JSON lines.


def test_plain_lines_have_one_or_two_letters_of_the_pair(read: Read) -> None:
    other = {**PLAIN, "judge": "other", "verdicts": [None]}
    imported = read("json-lines", {**PLAIN, "verdicts": ["A", "B"]}, other)
    assert imported.judges == ["gpt-4", "other"]
    assert [each[1:] for each in letters(imported)] == [(1, "A"), (2, "A"), (1, None)]
    for verdicts in ([], ["A"] * 3, ["D"], "A", [["A"]]):
        with pytest.raises(InputError, match="line 1: 'verdicts' must be a list of one or two"):
            read("json-lines", {**PLAIN, "verdicts": verdicts})


# Folders.


def test_the_sample_goes_to_other_formats_and_comes_back(tmp_path: Path) -> None:
    wanted = VerdictFolder(CAREFUL).decisions()
    # One verdict a pair; soft preferences have no ties.
    for name, rule, count in (("alpaca-eval", "probability", 30), ("json-lines", "tie", 60)):
        path, out = tmp_path / f"{name}.json", tmp_path / name
        done = pfgen("judge", "export", CAREFUL, "--to", name, "--out", path)
        assert (done.returncode, done.stdout) == (0, f"wrote 30 pairs to {path}\n")
        done = pfgen("judge", "import", path, "--out", out)
        assert done.stdout == f"wrote 30 pairs and {count} judgments to {out}\n"
        found = zip(VerdictFolder(out).decisions()[rule], wanted[rule], strict=True)
        assert all(one == other or (other == "C" and rule != "tie") for one, other in found)


def test_a_folder_with_something_in_it_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "note.txt"):
        with pytest.raises(OutputError, match="already exists: choose another folder"):
            write_folder(path, read_folder(CAREFUL))
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_published_judgments_of_japanese_vicuna_qa_as_plain_lines(
    judging_dir: Path, tmp_path: Path
) -> None:
    """A few lines of Python turn a format that is not here into one that is."""
    winners = {"model_1": "A", "model_2": "B", "tie": "C", "error": None}
    data = judging_dir / "data" / "ja-vicuna-qa" / "pairwise-gpt-4"
    records = [
        {
            "id": f"{row['question_id']}:{row['model_1']}:{row['model_2']}",
            "question_id": str(row["question_id"]),
            "question": row["question"],
            "models": [row["model_1"], row["model_2"]],
            "answers": [row["answer_1"], row["answer_2"]],
            "judge": row["judge_model"],
            "verdicts": [winners[row[f"g{order}_winner"]] for order in (1, 2)],
        }
        for path in sorted(data.glob("*.jsonl"))
        for row in map(json.loads, path.read_bytes().splitlines())
    ]
    path, out = written(tmp_path, "json-lines", records), tmp_path / "verdicts"
    done = pfgen("judge", "import", path, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote 480 pairs and 960 judgments to {out}\n"
    table = VerdictFolder(out).decisions()
    assert table["consistent"].sum() == 432
    assert dict(table["tie"].value_counts().rows()) == {"A": 245, "B": 181, "C": 54}
