"""Metrics beyond those of 1.3.0: values by hand and by their packages, bounds, and what is not computed."""

import json
import math
import sys
import time
from pathlib import Path

import pytest

from jpeval_data import write_data, write_file
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.llm_jp_eval import measures, metric
from pfgen_rs.llm_jp_eval.contributed import classes, translation
from pfgen_rs.llm_jp_eval.evaluation_files import read_tasks
from pfgen_rs.llm_jp_eval.scoring import evaluate, standard_errors
from pfgen_rs.metrics import equality

WEATHER = "今日は良い天気です。", "今日はとても良い天気です。"
"""Six and seven words: 今日 は (とても) 良い 天気 です 。"""


@pytest.mark.parametrize(
    ("prediction", "gold", "value"),
    [
        ("18", "18.0", 1.0),
        (" 1_8\n", "1.8e1", 1.0),
        ("１８", "18", 1.0),
        ("18個", "18", 0.0),
        ("1,800", "1800", 0.0),
        ("nan", "nan", 0.0),
        ("", "", 0.0),
    ],
)
def test_figures_are_compared_as_doubles(prediction: str, gold: str, value: float) -> None:
    assert metric("exact_match_figure", [prediction], [gold]) == [value]


@pytest.mark.parametrize("name", ["exact_match_figure", "balanced_accuracy"])
def test_values_of_the_boards(jpeval_dir: Path, name: str) -> None:
    lines = (jpeval_dir / "profiles" / "vectors.jsonl").read_text("utf-8").split("\n")
    chosen = [row for row in map(json.loads, filter(None, lines)) if row["metric"] == name]
    assert chosen
    for row in chosen:
        if name == "balanced_accuracy":
            assert classes.balanced_accuracy(row["prediction"], row["gold"]) == row["value"]
        else:
            assert metric(name, [row["prediction"]], [row["gold"]]) == [row["value"]]


def test_balanced_accuracy_is_the_mean_recall() -> None:
    golds = ["yes"] * 3 + ["no"]
    assert measures.task_figure("balanced_accuracy", ["yes", "yes", "no", "?"], golds) == 1 / 3
    assert (
        measures.task_figure("balanced_accuracy", ["ﾔ", "x"], ["ヤ", "x"]) == 0.5
    )  # golds in NFKC
    with pytest.raises(InputError, match="at least one"):
        measures.task_figure("balanced_accuracy", [], [])


def test_bleu_follows_from_its_formula() -> None:
    """Of 6 words, 5 bigrams, 4 trigrams and 3 4-grams, 6, 4, 2 and 1 are in the gold answer of 7 words."""
    precision = (6 / 6 * 4 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    [value] = metric("bleu_ja", [f" {WEATHER[0]}\n"], [WEATHER[1]])
    assert value == pytest.approx(precision * math.exp(1 - 7 / 6), abs=1e-12)
    assert metric("bleu_ja", [" "], [WEATHER[1]]) == [0.0]
    # "the cat": one bigram and no longer ones, so the effective order is 2; shorter than the gold's 4 words
    [value] = metric("bleu_en", ["the cat"], ["the cat sat ."])
    assert value == pytest.approx(math.exp(1 - 4 / 2), abs=1e-12)


def test_bleu_is_that_of_sacrebleu() -> None:
    from sacrebleu import sentence_bleu

    texts = ["The dog bit the man.", "It was not unexpected.", "The man bit him first."]
    golds = ["The dog bit the man.", "No one was surprised.", "The man had bitten the dog."]
    expected = [
        sentence_bleu(one, [other], use_effective_order=True).score / 100
        for one, other in zip(texts, golds, strict=True)
    ]
    assert metric("bleu_en", texts, golds) == expected
    assert expected[0] == pytest.approx(1)
    assert 0 < expected[2] < 1


def test_rouge_follows_from_its_formula() -> None:
    """5 of 6 bigrams of the gold answer, less those around とても: 4 of 5 and 4 of 6."""
    for name, hits, found, expected in (
        ("rouge1", 6, 6, 7),
        ("rouge2", 4, 5, 6),
        ("rougeL", 6, 6, 7),
    ):
        [value] = metric(name, [WEATHER[0]], [WEATHER[1]])
        assert value == pytest.approx(2 * hits / (found + expected), abs=1e-12)
        assert metric(name, ["", "猫"], [WEATHER[1], WEATHER[1]]) == [0.0, 0.0]
    assert metric("rougeL", ["天気は今日"], ["今日は天気"]) == [pytest.approx(1 / 3)]


EQUAL = [
    (r"\frac{1}{2}", "0.5"),
    (r"答えは $\boxed{\frac{\sqrt{3}}{2}}$ です。", r"\sqrt3/2"),
    (r"\boxed{4} か \boxed{5}", "5"),
    ("x = 5", "5"),
    ("18個", "18"),
    ("1,234円", "1234"),
    (r"18\text{ cm}", "18 cm"),
    (r"50\%", "50"),
    (r"90^\circ", "90"),
    (r"-1\frac{1}{2}", "-1.5"),
    ("(x+1)^2", "x^2+2x+1"),
    (r"2x(x+1)", "2x^2+2x"),
    (r"\frac{\pi}{2}", "π/2"),
    (r"\sin^2 x+\cos^2 x", "1"),
    (r"e^{i\pi}", "-1"),
    (r"2\sqrt{8}", r"4\sqrt{2}"),
    ("10^{-3}", "0.001"),
    ("(1, 2)", "(1,2)"),
    (r"\text{はい}", "はい"),
]
DIFFERENT = [
    ("1/3", "0.33"),
    ("3", "3ab"),
    ("18 cm", "18 kg"),
    ("5個", "5人"),
    ("x=2", "y=2"),
    ("1,2", "12"),
    ("1 2", "12"),
    ("約5", "5"),
    ("", "0"),
    ("1/0", "2/0"),
    ("(1,2)", "(2,1)"),
    (r"\boxed{}", "1"),
    ("(" * 900, "1"),
    ("x" * 3000, "y"),
    ("__import__('os').abort()", "1"),
    ("\ud800", "1"),
    ("\\", "\n"),
]


def test_mathematical_answers_are_compared_by_value() -> None:
    pairs = [*EQUAL, *DIFFERENT]
    expected = [1.0] * len(EQUAL) + [0.0] * len(DIFFERENT)
    one, other = ([pair[side] for pair in pairs] for side in (0, 1))
    for texts in ((one, other), (other, one)):
        found = equality.equivalences(*texts)
        wrong = [
            pair for pair, *values in zip(pairs, found, expected, strict=True) if len({*values}) > 1
        ]
        assert wrong == []
    assert metric("mathematical_equivalence", ["0.5", "\ud800"], ["1/2", "\ud800"]) == [1.0, 1.0]


@pytest.mark.parametrize("hostile", ["9^{9^{9^{9}}}", "(x+y+z+w)^{500}"])
def test_hostile_mathematics_take_a_bounded_time(
    hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(equality, "SECONDS", 0.5)
    started = time.monotonic()
    assert equality.equivalences(["1/2", hostile, "3"], ["0.5", "1", "3.0"]) == [1.0, 0.0, 1.0]
    assert time.monotonic() - started < 20


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux alone")
def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equality, "BYTES", 400 << 20)
    answers = equality.equivalences(["2^{10^{10}}-1", "3"], ["2", "3.0"])
    assert answers == [0.0, 1.0]


def test_a_process_that_does_not_start_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sympy.py").write_text("raise ImportError('broken')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(PfgenError, match="does not start"):
        equality.equivalences(["1"], ["2"])
    assert equality.equivalences(["1"], [" 1"]) == [1.0]


# What is not computed here


REASONS = {
    "code_exec_sandbox": "runs code",
    "pylint_check": "linter",
    "bert_score_ja_f1": "model",
    "entity_labeling_acc": "not documented",
    "comet_wmt22": "PFGEN_RS_COMET",
}


@pytest.mark.parametrize("name", REASONS)
def test_known_names_say_why_they_are_not_computed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(translation.ENVIRONMENT, raising=False)
    assert REASONS[name] in measures.find_metric(name).lacks()
    with pytest.raises(PfgenError):
        metric(name, ["a"], ["b"])


NEEDED = {"bleu_en": "sacrebleu", "bleu_ja": "MeCab", "rouge1": "rouge_score"}


@pytest.mark.parametrize("name", [*NEEDED, "mathematical_equivalence"])
def test_absent_packages_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measures.unavailable(name) == ""
    package = NEEDED.get(name, "sympy")
    monkeypatch.setattr(measures, "find_spec", lambda each: None if each == package else each)
    expected = f"needs {package}: pip install 'pfgen_rs[metrics]'"
    assert measures.unavailable(name) == expected


def exam(folder: Path, metrics: list[str]) -> Path:
    """The task jamp with other metrics."""
    write_data(folder)
    path = folder / "evaluation" / "test" / "jamp.json"
    write_file(path, {**json.loads(path.read_text("utf-8")), "metrics": metrics})
    return folder


def test_what_is_not_computed_is_missing_not_zero(tmp_path: Path) -> None:
    [data] = read_tasks(exam(tmp_path, ["exact_match", "code_exec", "balanced_accuracy"]), ["jamp"])
    found = evaluate([data], {"jamp": ["entailment", "neutral"]})
    assert found.scores == {"jamp_exact_match": 0.5, "jamp_balanced_accuracy": 0.5}
    assert found.not_computed.keys() == {"jamp_code_exec"}
    assert standard_errors(found) == {"jamp_exact_match": 0.5, "jamp_balanced_accuracy": None}
    [data] = read_tasks(exam(tmp_path, ["code_exec"]), ["jamp"])
    found = evaluate([data], {"jamp": ["entailment", "neutral"]})
    assert (found.scores, found.frame["value"].null_count()) == ({}, 2)


COMET = """
class Model:
    def predict(self, rows, batch_size, gpus):
        print("a line of progress")
        values = [len(r["src"]) + len(r["mt"]) / 10 + len(r["ref"]) / 100 for r in rows]
        return type("Found", (), {"scores": values})


def download_model(name):
    return name


def load_from_checkpoint(name):
    assert name == "Unbabel/wmt22-comet-da"
    return Model()
"""


def test_comet_runs_in_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "comet.py").write_text(COMET)
    (tmp_path / "torch.py").write_text(
        "class cuda:\n    is_available = staticmethod(lambda: False)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(translation.ENVIRONMENT, sys.executable)
    [data] = read_tasks(exam(tmp_path / "data", ["comet_wmt22"]), ["jamp"])
    found = evaluate([data], {"jamp": ["", "三文字\n\nここは違う"]})
    texts = [(s.input, p, s.output) for s, p in zip(data.samples, ("", "三文字"), strict=True)]
    values = [len(a) + len(b) / 10 + len(c) / 100 for a, b, c in texts]
    assert found.frame["value"].to_list() == values
    assert found.scores == {"jamp_comet_wmt22": pytest.approx(sum(values) / 2)}
    (tmp_path / "comet.py").write_text("raise RuntimeError('no weights')")
    with pytest.raises(PfgenError, match="no weights"):
        evaluate([data], {"jamp": ["", ""]})
