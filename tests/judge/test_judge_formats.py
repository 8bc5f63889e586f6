"""Formats of other tools: read, written, read again; errors with their places."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pfgen_rs.judge.formats.prometheus import read_rubric

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.judge import Verdict, decide
from pfgen_rs.judge.decisions import Decision
from pfgen_rs.judge.formats import (
    FORMATS,
    Imported,
    Rubric,
    detect_format,
    read_format,
    read_level,
    read_relative,
    read_result,
    write_format,
)
from pfgen_rs.judge.formats.arena_hard import wins_of_level

Records = list[dict[str, Any]]
Reader = Callable[[Records], Imported]

GAMES: dict[str, Any] = {
    "question_id": 11,
    "model_1": "m1",
    "model_2": "m2",
    "g1_winner": "model_1",
    "g2_winner": "model_1",
    "g1_judgment": "[[A]]",
    "g2_judgment": "[[B]]",
    "tstamp": 1702887286.5,
}
FASTCHAT: dict[str, Any] = {**GAMES, "judge": ["gpt-4", "pair-v2"], "turn": 1}
VICUNA: dict[str, Any] = {
    **GAMES,
    "question": "何ですか？",
    "answer_1": "甲",
    "answer_2": "乙",
    "judge_model": "gpt-4",
    "judge_prompt": "pair",
}
ALPACA: dict[str, Any] = {
    "instruction": "何ですか？",
    "output_1": "甲",
    "output_2": "乙",
    "generator_1": "m1",
    "generator_2": "m2",
    "annotator": "gpt4",
    "preference": 1,
}
PANDALM: dict[str, Any] = {
    "idx": 7,
    "motivation_app": "app",
    "cmp_key": "m1_m2",
    "instruction": "直してください。",
    "input": "文",
    "response1": "甲",
    "response2": "乙",
    "annotator1": 0,
    "annotator2": 1,
    "annotator3": 2,
}
ARENA: dict[str, Any] = {
    "question_id": "q",
    "model": "m",
    "judge": "gpt-4",
    "games": [
        {"user_prompt": "…", "judgment": "[[B>>A]]", "score": "B>>A"},
        {"user_prompt": "…", "judgment": "[[A>B]]", "score": "A>B"},
    ],
}
PROMETHEUS: dict[str, Any] = {
    "orig_instruction": "何ですか？",
    "orig_response_A": "甲",
    "orig_response_B": "乙",
    "orig_preference": "B",
    "orig_feedback": "良い。 [RESULT] B",
    "orig_criteria": "正しいか",
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "fastchat": FASTCHAT,
    "vicuna-qa": VICUNA,
    "alpaca-eval": ALPACA,
    "pandalm": PANDALM,
    "arena-hard": ARENA,
    "prometheus": PROMETHEUS,
}
LISTS = {"alpaca-eval", "pandalm", "prometheus"}


def written(folder: Path, name: str, records: Records) -> Path:
    path = folder / f"{name}.json"
    if name in LISTS:
        path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def reader(folder: Path, name: str) -> Reader:
    return lambda records: read_format([written(folder, name, records)], name)


def letters(imported: Imported) -> list[tuple[str, int, str | None]]:
    return [(each["pair"], each["order"], each["shown"]) for each in imported.judgments]


def decisions(imported: Imported) -> list[Decision]:
    def verdict(judgments: Records, order: int) -> Verdict | None:
        found = [each for each in judgments if each["order"] == order]
        return Verdict(found[0]["shown"], found[0]["probabilities"]) if found else None

    return [decide(verdict(j, 1), verdict(j, 2)) for j in imported.by_pair().values()]


def same(imported: Imported, again: Imported) -> bool:
    return (imported.pairs, imported.judgments, imported.humans) == (
        again.pairs,
        again.judgments,
        again.humans,
    )


# --- all formats ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_formats_are_recognised_and_round_trips_change_nothing(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, [EXAMPLES[name]])
    assert detect_format([path]) == name
    imported = read_format([path])
    assert len(imported.pairs) == 1
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / path.name
    write_format(again, imported, name)
    assert same(imported, read_format([again]))
    assert detect_format([again]) == name


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_key_of_a_record_that_is_missing_or_wrong_is_refused_with_its_place(
    name: str, tmp_path: Path
) -> None:
    optional = {
        *("g1_judgment", "g2_judgment", "tstamp", "turn", "annotator", "motivation_app"),
        *("annotator1", "annotator2", "annotator3", "orig_preference", "orig_feedback"),
        "orig_criteria",
    }
    good = EXAMPLES[name]
    read = reader(tmp_path, name)
    item = "element" if name in LISTS else "line"
    for key in good:
        wrong = {**good, key: {"a": []}} if key != "input" else {**good, key: 5}
        if key not in ("g1_judgment", "g2_judgment", "tstamp", "orig_feedback"):
            with pytest.raises(InputError, match=f"{name}.json, {item} 1: ") as error:
                read([wrong])
            assert error.value.line == 1
        if key not in optional | {"input"}:
            with pytest.raises(InputError):
                read([{each: value for each, value in good.items() if each != key}])


# Pairs of Prometheus are numbered, so that none can occur twice.
@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"prometheus"}))
def test_a_second_judgment_of_a_pair_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"second (judgment|verdict) of") as error:
        reader(tmp_path, name)([EXAMPLES[name], EXAMPLES[name]])
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[", "is not JSON"),
        ('[{"a": 1}, 1]', "element 2: expected an object, found '1'"),
        ("[1]", "line 1: expected an object"),
        ("[]", "contains no pairs"),
        ("", "contains no pairs"),
        ('{"a": ', "line 1: is not JSON"),
        ('[{"idx": "\\ud800"}]', "element 1: .*surrogate"),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_damaged_files_are_refused(content: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_format([path], "pandalm")


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(VICUNA).encode() + b"\n"))
    assert detect_format([tmp_path]) == "vicuna-qa"
    assert len(read_format([tmp_path]).judgments) == 2


def test_unknown_formats_and_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": 1}\n')
    with pytest.raises(InputError, match="unknown format: name one of fastchat, vicuna-qa"):
        read_format([path])
    with pytest.raises(SettingsError, match="unknown format 'x': expected one of fastchat"):
        read_format([path], "x")
    with pytest.raises(SettingsError, match="unknown format 'x'"):
        write_format(path, Imported([]), "x")
    with pytest.raises(InputError, match="cannot be read"):
        read_format([tmp_path / "missing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"contains no \.json"):
        read_format([tmp_path / "empty"])
    mixed = [written(tmp_path, name, [EXAMPLES[name]]) for name in ("pandalm", "prometheus")]
    with pytest.raises(InputError, match="several formats fit: name one of pandalm, prometheus"):
        read_format(mixed)


def test_results_can_be_written_but_not_read_by_their_own_name() -> None:
    assert [name for name, each in FORMATS.items() if each.read is None] == ["pandalm-results"]


def test_judges_are_told_apart(tmp_path: Path) -> None:
    imported = reader(tmp_path, "alpaca-eval")([ALPACA, {**ALPACA, "annotator": "x"}])
    assert imported.judges == ["gpt4", "x"]
    with pytest.raises(InputError, match="several judges: choose one of gpt4, x"):
        imported.of_judge(None)
    with pytest.raises(InputError, match="unknown judge 'y': choose one of gpt4, x"):
        imported.of_judge("y")
    assert imported.of_judge("x").judges == ["x"]


def test_different_texts_of_one_pair_are_refused(tmp_path: Path) -> None:
    other = {**ALPACA, "output_1": "丙", "annotator": "x"}
    with pytest.raises(InputError, match="element 2: pair '1:m1:m2' occurs twice with different"):
        reader(tmp_path, "alpaca-eval")([ALPACA, other])


# --- two games -----------------------------------------------------------------------------------


def test_the_second_game_shows_the_second_model_first(tmp_path: Path) -> None:
    games = {**VICUNA, "g1_winner": "model_2", "g2_winner": "model_2"}
    imported = reader(tmp_path, "vicuna-qa")([games])
    assert letters(imported) == [("11:m1:m2", 1, "B"), ("11:m1:m2", 2, "A")]
    assert decisions(imported)[0].strict == "B"
    assert imported.pairs[0].question_id == "11"
    assert imported.judgments[0]["timestamp"] == "2023-12-18T08:14:46.500000+00:00"


@pytest.mark.parametrize("name", ["fastchat", "vicuna-qa"])
def test_ties_failures_and_missing_games_survive(name: str, tmp_path: Path) -> None:
    good = EXAMPLES[name]
    records = [
        {**good, "question_id": "x", "g1_winner": "tie", "g2_winner": "error"},
        {**good, "question_id": "y", "g2_winner": "error", "g2_judgment": None},
    ]
    imported = reader(tmp_path, name)(records)
    assert [each[1:] for each in letters(imported)] == [(1, "C"), (2, None), (1, "A")]
    assert imported.judgments[1]["problem"] == "the winner is 'error'"
    write_format(tmp_path / "again", imported, name)
    assert same(imported, read_format([tmp_path / "again"], name))


def test_fastchat_takes_texts_of_both_turns_from_their_files(tmp_path: Path) -> None:
    files = {
        "question.jsonl": {"question_id": 11, "category": "math", "turns": ["一", "二"]},
        "model_answer/m1.jsonl": {
            "question_id": "11",
            "model_id": "m1",
            "choices": [{"index": 0, "turns": ["甲一", "甲二"]}],
        },
        "model_answer/m2.jsonl": {
            "question_id": 11,
            "model_id": "m2",
            "choices": [{"index": 0, "turns": ["乙一", "乙二"]}],
        },
        "reference_answer/gpt-4.jsonl": {
            "question_id": 11,
            "model_id": "gpt-4",
            "choices": [{"turns": ["正一", "正二"]}],
        },
    }
    for name, record in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record, ensure_ascii=False) + "\n", "utf-8")
    judgments = written(tmp_path, "fastchat", [FASTCHAT, {**FASTCHAT, "turn": 2}])
    imported = read_format(
        [
            judgments,
            *(tmp_path / name for name in ("question.jsonl", "model_answer", "reference_answer")),
        ]
    )
    first, second = imported.pairs
    assert (first.question, first.answers, first.reference) == ("一", ("甲一", "乙一"), "正一")
    assert (second.id, second.question_id, second.task) == ("11:m1:m2:turn-2", "11", "math")
    assert second.answers == ("甲一\n\n甲二", "乙一\n\n乙二")
    assert imported.notes == ()


def test_fastchat_without_texts_says_so(tmp_path: Path) -> None:
    imported = reader(tmp_path, "fastchat")([FASTCHAT])
    assert imported.pairs[0].answers == ("", "")
    assert "no questions and answers: these texts are empty" in imported.notes[0]


def test_ratings_of_one_answer_are_refused(tmp_path: Path) -> None:
    rating = {"question_id": 1, "model": "m", "judge": ["gpt-4", "single-v1"], "score": 5}
    with pytest.raises(InputError, match="line 1: is a rating of one answer"):
        reader(tmp_path, "fastchat")([rating])


# --- AlpacaEval ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preference", "letter"), [(1, "A"), (2.0, "B"), (1.5, "C"), (None, None), (math.nan, None)]
)
def test_hard_preferences_are_letters(
    preference: float | None, letter: str | None, tmp_path: Path
) -> None:
    imported = reader(tmp_path, "alpaca-eval")([{**ALPACA, "preference": preference}])
    assert letters(imported) == [("1:m1:m2", 1, letter)]
    assert imported.judgments[0]["probabilities"] is None


def test_soft_preferences_are_probabilities_of_the_whole_annotator(tmp_path: Path) -> None:
    records = [
        {**ALPACA, "instruction": str(place), "preference": preference}
        for place, preference in enumerate((1.25, 2, None, 1.5, 1.9))
    ]
    hard = {**ALPACA, "instruction": "0", "preference": 2, "annotator": "hard"}
    imported = reader(tmp_path, "alpaca-eval")([*records, hard])
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


@pytest.mark.parametrize("preference", [0, 0.99, 2.01, True, "1", math.inf])
def test_preferences_off_the_scale_are_refused(preference: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="element 1: invalid 'preference'"):
        reader(tmp_path, "alpaca-eval")([{**ALPACA, "preference": preference}])


def test_a_preference_of_both_orders_is_normalised_and_ties_are_half(tmp_path: Path) -> None:
    imported = reader(tmp_path, "vicuna-qa")([VICUNA])
    imported.judgments[0]["probabilities"] = {"A": 0.7, "B": 0.1, "C": 0.06}
    imported.judgments[1]["probabilities"] = {"A": 0.6, "B": 0.4, "C": 0.1}
    write_format(tmp_path / "out", imported, "alpaca-eval")
    [found] = json.loads((tmp_path / "out").read_text("utf-8"))
    assert found["preference"] == pytest.approx(1 + (0.35 + 0.04) / 0.98)


# --- PandaLM -------------------------------------------------------------------------------------


def test_raters_and_results_of_pandalm(tmp_path: Path) -> None:
    pairs = written(tmp_path, "pandalm", [{**PANDALM, "idx": n} for n in range(4)])
    results = tmp_path / "judge-testset-v1.json"
    values = ("1", 0, "Tie", "garbage")
    results.write_text(
        json.dumps([{"idx": n, "gpt_result": value} for n, value in enumerate(values)])
    )
    imported = read_format([results, pairs])
    assert imported.humans[:3] == [
        ("0", "annotator1", "C"),
        ("0", "annotator2", "A"),
        ("0", "annotator3", "B"),
    ]
    assert imported.judges == ["judge"]
    assert [each["shown"] for each in imported.judgments] == ["A", "C", "C", None]
    assert {pair.question_id for pair in imported.pairs} == {"0"}
    assert imported.pairs[0].question == "直してください。\n\n文"
    write_format(results, imported, "pandalm-results")
    write_format(pairs, imported, "pandalm")
    assert same(imported, read_format([results, pairs]))
    with pytest.raises(InputError, match="element 1: unknown idx '0': add the file"):
        read_format([results])


def test_other_raters_get_the_names_of_the_format(tmp_path: Path) -> None:
    imported = reader(tmp_path, "pandalm")([PANDALM])
    renamed = [(pair, f"r{rater[-1]}", letter) for pair, rater, letter in imported.humans]
    write_format(tmp_path / "out", Imported(imported.pairs, humans=renamed), "pandalm")
    assert read_format([tmp_path / "out"]).humans == imported.humans


def test_responses_that_look_like_json_are_text(tmp_path: Path) -> None:
    imported = reader(tmp_path, "pandalm")([{**PANDALM, "response1": True, "response2": 1.5}])
    assert imported.pairs[0].answers == ("true", "1.5")


@pytest.mark.parametrize("key", ["m1", "_m2", "m1_"])
def test_keys_without_two_models_are_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="element 1: invalid 'cmp_key'"):
        reader(tmp_path, "pandalm")([{**PANDALM, "cmp_key": key}])


def test_a_model_with_the_separator_in_its_name_is_not_written(tmp_path: Path) -> None:
    imported = reader(tmp_path, "vicuna-qa")([{**VICUNA, "model_1": "a_b"}])
    with pytest.raises(InputError, match="model 'a_b' cannot be written"):
        write_format(tmp_path / "out", imported, "pandalm")
    assert not (tmp_path / "out").exists()


# --- Arena-Hard ----------------------------------------------------------------------------------


def test_levels_are_kept_with_their_letters(tmp_path: Path) -> None:
    imported = reader(tmp_path, "arena-hard")([ARENA])
    assert imported.pairs[0].models == ("baseline", "m")
    assert letters(imported) == [("q:baseline:m", 1, "B"), ("q:baseline:m", 2, "A")]
    assert [each["level"] for each in imported.judgments] == ["B>>A", "A>B"]
    assert [wins_of_level(each["level"]) for each in imported.judgments] == [3, 1]
    assert decisions(imported)[0].strict == "B"


def test_the_newer_form_of_arena_hard_is_read(tmp_path: Path) -> None:
    record = {
        "uid": "u",
        "category": "hard",
        "judge": "j",
        "model": "m",
        "baseline": "b",
        "games": [{"score": "A=B", "judgment": {"answer": "[[A=B]]"}}, {"score": None}],
    }
    question = {"uid": "u", "category": "hard", "prompt": "問い"}
    answers = [
        {
            "uid": "u",
            "model": model,
            "messages": [
                {"role": "user", "content": "問い"},
                {"role": "assistant", "content": {"answer": text}},
            ],
        }
        for model, text in (("b", "甲"), ("m", "乙"))
    ]
    imported = reader(tmp_path, "arena-hard")([question, *answers, record])
    [pair] = imported.pairs
    assert (pair.question, pair.answers, pair.task) == ("問い", ("甲", "乙"), "hard")
    assert [(each["shown"], each["output"]) for each in imported.judgments] == [
        ("C", "[[A=B]]"),
        (None, ""),
    ]
    assert not imported.notes


def test_judgments_without_a_level_count_as_plain_wins(tmp_path: Path) -> None:
    write_format(tmp_path / "out", reader(tmp_path, "vicuna-qa")([VICUNA]), "arena-hard")
    found = json.loads((tmp_path / "out").read_text("utf-8"))
    assert [game["score"] for game in found["games"]] == ["A>B", "B>A"]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("My final verdict is: [[A>>B]]", "A>>B"),
        ("[[B>A]] so [[B>A]]", "B>A"),
        ("[[A>B]] or [[A=B]]", None),
        ("［［Ａ＝Ｂ］］", "A=B"),
        ("<think>[[A>>B]]</think>[[B>>A]]", "B>>A"),
        ("[[A]]", None),
        ("A>>B", None),
        ("", None),
    ],
)
def test_levels_are_read_from_replies(text: str, level: str | None) -> None:
    assert read_level(text) == level


# --- Prometheus ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Feedback: good. [RESULT] 4", 4.0),
        ("[RESULT] (5)", 5.0),
        ("[RESULT] 2 or rather [RESULT] 3", 3.0),
        ("［RESULT］　４", 4.0),
        ("[RESULT] 4.5", 4.5),
        ("[RESULT] 6", None),
        ("[RESULT] 0", None),
        ("[RESULT] 1.2.3", None),
        ("[RESULT] A", None),
        ("4", None),
    ],
)
def test_results_are_read_from_replies(text: str, result: float | None) -> None:
    assert read_result(text) == result


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Feedback: … [RESULT] A", "A"),
        ("[RESULT] [B]", "B"),
        ("[RESULT] A [RESULT] B", "B"),
        ("[RESULT] API", None),
        ("[RESULT] C", None),
        ("[RESULT] 3", None),
        ("A", None),
    ],
)
def test_letters_of_relative_grading_are_read_from_replies(text: str, letter: str | None) -> None:
    assert read_relative(text) == letter


def test_preferences_are_read_from_feedback_where_they_are_missing(tmp_path: Path) -> None:
    record = {key: value for key, value in PROMETHEUS.items() if key != "orig_preference"}
    imported = reader(tmp_path, "prometheus")([PROMETHEUS, record, {**record, "orig_feedback": ""}])
    assert [each["shown"] for each in imported.judgments] == ["B", "B", None]
    assert imported.judges == ["prometheus"]
    assert [pair.question_id for pair in imported.pairs] == ["1", "1", "1"]
    write_format(tmp_path / "out.json", imported, "prometheus")
    assert len(json.loads((tmp_path / "out.json").read_text("utf-8"))) == 2


def test_rubrics_are_written_as_prompts_have_them(tmp_path: Path) -> None:
    rubric = Rubric("正しいか", ("悪い", "やや悪い", "普通", "やや良い", "良い"))
    assert rubric.text.splitlines()[:2] == ["[正しいか]", "Score 1: 悪い"]
    for prefix in ("", "orig_"):
        record = {f"{prefix}criteria": rubric.criteria} | {
            f"{prefix}score{n}_description": each for n, each in enumerate(rubric.descriptions, 1)
        }
        (tmp_path / "rubric.json").write_text(json.dumps(record))
        assert read_rubric(tmp_path / "rubric.json") == rubric
    (tmp_path / "rubric.json").write_text('{"criteria": "x"}')
    with pytest.raises(InputError, match="line 1: missing key 'score1_description'"):
        read_rubric(tmp_path / "rubric.json")


# --- published data ------------------------------------------------------------------------------


def test_japanese_vicuna_qa_has_the_published_figures(judging_dir: Path, tmp_path: Path) -> None:
    data = judging_dir / "data" / "ja-vicuna-qa"
    imported = read_format([data / "pairwise-gpt-4", data / "question.jsonl"])
    assert len(imported.pairs) == 480
    assert len(imported.judgments) == 960
    assert len({pair.question_id for pair in imported.pairs}) == 80
    assert imported.pairs[0].task == "generic"
    found = decisions(imported)
    assert sum(each.consistent for each in found) == 432
    assert Counter(each.tie for each in found) == {"A": 245, "B": 181, "C": 54}
    path = tmp_path / "again.jsonl"
    write_format(path, imported, "vicuna-qa")
    again = read_format([path, data / "question.jsonl"])
    assert again.pairs == imported.pairs
    assert letters(again) == letters(imported)
    assert [each["output"] for each in again.judgments] == [
        each["output"] for each in imported.judgments
    ]


def test_pandalm_has_the_published_figures(judging_dir: Path, tmp_path: Path) -> None:
    data = judging_dir / "data" / "pandalm"
    imported = read_format([data])
    assert (len(imported.pairs), len(imported.humans)) == (999, 2997)
    assert imported.judges == ["gpt-3.5-turbo", "pandalm-7b"]
    assert len({pair.question_id for pair in imported.pairs}) == 170
    published = json.loads((judging_dir / "vectors" / "agreement.json").read_text())["pandalm"]
    for judge in imported.judges:
        verdicts = {each["pair"]: each["shown"] for each in imported.of_judge(judge).judgments}
        assert list(verdicts.values()).count(None) == published[judge]["invalid"]
        agreed = Counter(
            rater for pair, rater, letter in imported.humans if verdicts[pair] == letter
        )
        rates = [agreed[f"annotator{n}"] / 999 for n in (1, 2, 3)]
        assert rates == pytest.approx(published[judge]["concordance"], abs=1e-12)
        write_format(tmp_path / f"{judge}.json", imported.of_judge(judge), "pandalm-results")
    write_format(tmp_path / "pairs.json", imported, "pandalm")
    assert same(imported, read_format([tmp_path]))
