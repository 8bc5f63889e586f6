"""Scores without the reference answers of a run's own model, against sets made by hand (scoring 11)."""

from __future__ import annotations

import json
import logging
import pickle
import random
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

import helpers
import oracle
from pfgen_rs import (
    Benchmark,
    BenchmarkError,
    InputError,
    Settings,
    SettingsError,
    load_benchmark,
    score_file,
    score_runs,
)
from pfgen_rs.benchmark import load_for_scores
from pfgen_rs.metrics.signature import comparable, part_of
from pfgen_rs.questions.left_out import own_models
from pfgen_rs.questions.question import question_of

MODELS = ["org/one", "org/two-7b", "else/three", "else/four", "lone", "x/six"]
COUNTS = [7, 3, 5, 2, 4, 1]
Content = dict[str, Any]


def text(draw: random.Random, kind: int) -> str:
    """A text in which models differ: each prefers characters of its own."""
    own, common = "猫犬鳥魚虫花"[kind] * 2 + "森", "光合成は植物の働きです、。"
    return "".join(draw.choice(own + common) for _ in range(draw.randint(8, 30)))


def contents(seed: int = 1, sources: str = "AB") -> list[Content]:
    """Question files: who wrote the last answer of each source is not known."""
    draw, found = random.Random(seed), []
    for number in (1, 2, 3):
        makers: dict[str, list[int | None]] = {}
        for source in sources[: 1 if number == 3 else None]:
            makers[source] = [kind for kind, count in enumerate(COUNTS) for _ in range(count)]
            draw.shuffle(makers[source])
            makers[source].append(None)
        found.append(
            {
                "question_id": f"Q0{number}",
                "question": f"問い{number}",
                "keywords": [{"t": "光"}, {"t": "森", "importance": 0.5}],
                "models": MODELS,
                "makers": makers,
                "answers": {
                    source: [
                        text(draw, draw.randrange(6) if kind is None else kind) for kind in own
                    ]
                    for source, own in makers.items()
                },
            }
        )
    return found


def benchmark(files: list[Content], settings: Settings | None = None) -> Benchmark:
    return Benchmark([question_of(each) for each in files], "0" * 40, settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The set on disk."""
    place = tmp_path / "set"
    place.mkdir()
    for each in contents():
        (place / f"{each['question_id']}.json").write_text(json.dumps(each), encoding="utf-8")
    return place


# The specification in plain Python.


def kept(file: Content, source: str, models: Collection[str]) -> list[str]:
    makers, answers = file["makers"][source], file["answers"][source]
    gone = [None if maker is None else file["models"][maker] for maker in makers]
    return [text for text, model in zip(answers, gone, strict=True) if model not in models]


class Part:
    """A source of a question without some models' answers (11.1), and its level (11.2)."""

    def __init__(self, file: Content, source: str, models: Collection[str], variant: str) -> None:
        answers = {source: kept(file, source, models)}
        self.question = oracle.Question({"answers": answers}, oracle.Settings(variant=variant))
        self.source = source
        own = self.question.baselines[source]
        self.level = own if variant == "paper" else own / len(answers[source])

    def values(self, answer: str) -> tuple[float, float]:
        if self.question.settings.variant == "paper":
            found = self.question.paper_reference(self.source)
            return found.fluency(answer), found.truthfulness(answer)
        return (
            self.question.fluency(self.source, answer)[0],
            self.question.truthfulness(self.source, answer),
        )


def ratios(files: list[Content], source: str, out: set[str], variant: str) -> tuple[float, float]:
    """The quotients of 11.3."""
    counts = {
        name: sum(own.count(number) for file in files for own in file["makers"].values())
        for number, name in enumerate(MODELS)
        if name not in out
    }
    others = sorted(counts, key=lambda name: (-counts[name], name))[:4]
    sums = [[0.0, 0.0], [0.0, 0.0]]
    for file in files:
        if source in file["answers"]:
            level = Part(file, source, (), variant).level
            for other in others:
                own = [
                    answer
                    for answer, maker in zip(
                        file["answers"][source], file["makers"][source], strict=True
                    )
                    if maker == MODELS.index(other)
                ]
                for into, models in zip(sums, ({other}, {other, *out}), strict=True):
                    part = Part(file, source, models, variant)
                    for answer in own:
                        fluency, truthfulness = part.values(answer)
                        into[0] += fluency * part.level / level
                        into[1] += truthfulness
    return sums[0][0] / sums[1][0], sums[0][1] / sums[1][1]


def expected(
    files: list[Content], out: set[str], answer: str, variant: str = "pfgen-bench"
) -> Iterator[dict[str, float]]:
    """Shares of an answer to each question by the set without the answers of the models `out`."""
    factors = {}
    for source in "AB":
        every = [m for file in files for m in file["makers"].get(source, [])]
        share = sum(m is not None and MODELS[m] in out for m in every) / len(every)
        damped = max(0.0, (1 - 2 * share) / (1 + share))
        factors[source] = [1 + damped * (q - 1) for q in ratios(files, source, out, variant)]
    for file in files:
        count, shares = len(file["answers"]), {}
        for source in file["answers"]:
            part = Part(file, source, out, variant)
            scale = part.level / Part(file, source, (), variant).level
            fluency, truthfulness = part.values(answer)
            known = factors[source]
            shares[f"fluency_{source}"] = fluency / count * scale * known[0]
            shares[f"truthfulness_{source}"] = min(truthfulness / count * known[1], 1 / count)
        yield shares


@pytest.mark.parametrize("variant", ["pfgen-bench", "paper"])
@pytest.mark.parametrize("out", [{"org/one"}, {"else/three", "else/four"}])
def test_scores_are_those_of_the_specification(out: set[str], variant: Any) -> None:
    files, settings = contents(), Settings(variant=variant)
    found = benchmark(files, settings).without_models(out)
    draw = random.Random(5)
    known = kept(files[0], "A", set(MODELS) - {"lone"})[0]  # as truthful as can be
    for answer in (text(draw, 0), text(draw, 2), known):
        rows = found.score_batch([file["question_id"] for file in files], [answer] * 3).to_dicts()
        for row, shares in zip(rows, expected(files, out, answer, variant), strict=True):
            for name, value in shares.items():
                assert row[name] == pytest.approx(value, abs=3e-6), name
            for metric in ("fluency", "truthfulness"):
                assert row[metric] == pytest.approx(
                    sum(value for name, value in shares.items() if metric in name), abs=5e-6
                )
            parts = row["fluency"] + row["truthfulness"] + row["helpfulness"]
            assert row["average"] == pytest.approx(parts / 3, abs=6e-6)


def test_every_way_to_score_gives_the_same() -> None:
    found = benchmark(contents()).without_models(["org/one"])
    answers = [text(random.Random(n), n % 6) for n in range(30)]
    asked = [f"Q0{n % 3 + 1}" for n in range(30)]
    batch = found.score_batch(asked, answers, chunk_size=7, threads=2)
    averages = batch["average"].to_list()
    assert found.scorer()(asked, answers).tolist() == averages
    assert pickle.loads(pickle.dumps(found)).score_batch(asked, answers).equals(batch)
    assert found.with_settings({"summation": "compensated"}).score_batch(asked, answers)[
        "average"
    ].to_list() == pytest.approx(averages, abs=1e-5)
    for question, answer, row in zip(asked, answers, batch.to_dicts(), strict=True):
        one = found.score(question, answer)
        assert (one.average, one.helpfulness) == (row["average"], row["helpfulness"])
        for source, share in one.fluency.items():
            assert share == row[f"fluency_{source}"]
            details = one.details
            assert details.fluency[source] / len(one.fluency) == pytest.approx(share, abs=2e-6)
            truthful = one.truthfulness[source]
            assert details.truthfulness[source] / len(one.fluency) == pytest.approx(
                truthful, abs=2e-6
            )
    result = found.evaluate(asked, answers)
    assert result.signature == found.signature
    assert result.with_summation("compensated").benchmark.signature.count("without:") == 1


def test_an_own_answer_is_no_longer_known() -> None:
    files = contents()
    whole = benchmark(files)
    place = files[0]["makers"]["A"].index(5)
    answer = files[0]["answers"]["A"][place] + "鯨" * 3
    before, after = (each.score("Q01", answer) for each in (whole, whole.without_models(["x/six"])))
    assert after.truthfulness["A"] < before.truthfulness["A"]


def test_the_signature_says_so_and_is_never_that_of_the_whole_set() -> None:
    whole = benchmark(contents())
    one, two = whole.without_models(["org/one"]), whole.without_models(["org/two-7b"])
    signatures = {each.signature for each in (whole, one, two)}
    assert len({comparable(signature, None) for signature in signatures}) == 3
    assert (part_of(one.signature, "without") or "").endswith(f"-{COUNTS[0] * 5}")
    names = contents()
    for each in names:
        each["models"] = ["a|b:c\nd", *MODELS[1:]]
    strange = benchmark(names).without_models(["a|b:c\nd"]).signature
    assert strange.count("|") == one.signature.count("|")
    assert strange.isprintable()
    assert "signature" in one.evaluate(["Q01", "Q02", "Q03"], ["猫"] * 3).to_dict()


def test_what_cannot_be_left_out_is_an_error(mini: Benchmark) -> None:
    whole = benchmark(contents())
    with pytest.raises(BenchmarkError, match="does not say who wrote"):
        mini.without_models(["org/one"])
    with pytest.raises(BenchmarkError, match=r"'org/onn' \(did you mean 'org/one'\?\)"):
        whole.without_models(["org/onn"])
    with pytest.raises(BenchmarkError, match="left out already"):
        whole.without_models(["org/one"]).without_models(["lone"])
    with pytest.raises(SettingsError, match="choose the settings before"):
        whole.without_models(["org/one"]).with_settings({"max_n": 5})
    alone = contents()
    alone[1]["makers"]["B"] = [0] * len(alone[1]["makers"]["B"])
    with pytest.raises(
        BenchmarkError, match="Q02: all reference answers of source 'B' are by org/one"
    ):
        benchmark(alone).without_models(["org/one"])
    assert benchmark(alone).without_models(["lone"]).score("Q02", "猫").average > 0


def test_with_one_other_model_nothing_is_shown_by_others() -> None:
    files = contents()
    for each in files:
        own = each["makers"]
        each["makers"] = {
            source: [min(m or 0, 1) for m in makers] for source, makers in own.items()
        }
    found = benchmark(files).without_models(["org/one"])
    assert found.left_out is not None
    for question in found:
        for source, (_, truthfulness) in found.left_out.scales[question.id].items():
            assert truthfulness == 1.0, source


@pytest.mark.parametrize(
    ("model", "leave_out", "own"),
    [
        ("org/one", "model", ["org/one"]),
        ("ORG/One", "model", ["org/one"]),
        ("/models/two_7B", "model", ["org/two-7b"]),
        ("one", "family", ["org/one", "org/two-7b"]),
        ("else/five", "model", []),
        ("else/five", "family", ["else/three", "else/four"]),
        ("lone", "family", ["lone"]),
        ("nobody", "family", []),
        ("…", "model", []),
    ],
)
def test_own_models_are_found_however_they_are_spelt(
    model: str, leave_out: Any, own: list[str]
) -> None:
    assert list(own_models(MODELS, model, leave_out)) == own


def answers() -> list[tuple[str, str]]:
    draw = random.Random(8)
    return [(f"問い{number}", text(draw, 0)) for number in (1, 2, 3) for _ in range(2)]


def test_each_run_is_scored_without_its_own_model(folder: Path, tmp_path: Path) -> None:
    runs = {
        model: helpers.write_run(tmp_path / str(number), answers(), model)
        for number, model in enumerate(("org/one", "lone", "new/model"))
    }
    whole = load_benchmark(folder)
    results = score_runs(list(runs.values()), whole, leave_out="model")
    by_hand = [whole.without_models([model]) for model in ("org/one", "lone")] + [whole]
    asked, texts = zip(*answers(), strict=True)
    for result, bench in zip(results, by_hand, strict=True):
        assert result.score == bench.evaluate(list(asked), list(texts)).score
        assert result.signature == bench.signature
    family = score_file(runs["org/one"], whole, model="new/two-7B", leave_out="family")
    assert family.benchmark.left_out is not None
    assert family.benchmark.left_out.models == ("org/one", "org/two-7b")
    made = {"makers": {"org/one": {"family": "Cats"}, "lone": {"family": "cats"}, "x/six": {}}}
    (folder / "provenance.json").write_text(json.dumps(made), encoding="utf-8")
    family = score_file(runs["org/one"], whole, leave_out="family")
    assert family.benchmark.left_out is not None
    assert family.benchmark.left_out.models == ("lone", "org/one", "org/two-7b")
    (folder / "provenance.json").write_text("[]", encoding="utf-8")
    with pytest.raises(BenchmarkError, match=r"provenance\.json: is not the provenance of a set"):
        score_file(runs["org/one"], whole, leave_out="family")
    with pytest.raises(InputError, match="no model is known"):
        whole.evaluate(list(asked), list(texts), leave_out="model")
    with pytest.raises(InputError, match="run_field"):
        score_runs(runs["lone"], whole, leave_out="model", run_field="model")
    with pytest.raises(SettingsError, match="invalid leave_out 'all'"):
        whole.evaluate(list(asked), list(texts), model="lone", leave_out="all")  # type: ignore[arg-type]


def test_an_overlap_is_told(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = helpers.write_run(tmp_path / "run", answers(), "ORG/one")
    whole = load_benchmark(folder)
    score_file(run, whole)
    assert (
        f"ORG/one wrote {COUNTS[0] * 5} of {sum(COUNTS) * 5 + 5} reference answers" in caplog.text
    )
    caplog.clear()
    with caplog.at_level(logging.INFO):
        score_file(run, whole, leave_out="model")
        score_file(run, whole, model="unknown")
        score_file(run, whole, model="unknown", leave_out="model")
    assert "lifts" not in caplog.text
    assert f"scored without {COUNTS[0] * 5} of" in caplog.text
    assert "no reference answers are by unknown" in caplog.text


def test_the_command_leaves_out_and_warns(folder: Path, cache: Path, tmp_path: Path) -> None:
    run = helpers.write_run(tmp_path / "run", answers(), "org/one")
    env = {"PFGEN_RS_CACHE": str(cache)}
    command = ("score", run, "-b", folder, "--format", "json")
    for _ in range(2):  # built, then from the cache
        first = helpers.pfgen(*command, env=env)
        assert "org/one wrote 35 of 115 reference answers of this set" in first.stderr
        assert "score --leave-out model leaves them out" in first.stderr
    table = tmp_path / "scores.jsonl"
    out = ("--leave-out", "model", "--out", tmp_path / "out", "--per-response", table)
    second = helpers.pfgen(*command, *out, env=env)
    assert second.returncode == 0, second.stderr
    assert "wrote" not in second.stderr
    [row], [left] = json.loads(first.stdout), json.loads(second.stdout)
    by_hand = load_benchmark(folder).without_models(["org/one"])
    asked, texts = zip(*answers(), strict=True)
    assert left["score"] == by_hand.evaluate(list(asked), list(texts)).score != row["score"]
    assert left["signature"] == by_hand.signature
    assert json.loads((tmp_path / "out/result.json").read_text())["signature"] == left["signature"]
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    assert {each["signature"] for each in rows} == {left["signature"]}
    assert [each["average"] for each in rows] == by_hand.score_batch(list(asked), list(texts))[
        "average"
    ].to_list()
    again = helpers.pfgen(*command, env=env)  # the whole set's index is still that of the whole set
    assert again.stdout == first.stdout
    none = helpers.pfgen("score", run, "-b", "mini", "--leave-out", "model", env=env)
    assert none.returncode == 2
    assert "does not say who wrote its reference answers" in none.stderr


def test_remembered_questions_are_left_out_like_read_ones(
    folder: Path, cache: Path, settled: None
) -> None:
    read = load_for_scores(folder).prepare()
    known = load_for_scores(folder)
    assert known.models == read.models == sorted(MODELS)
    one, other = (
        each.without_models(["lone"]).score("Q01", "猫は光です") for each in (read, known)
    )
    assert one == other
    assert known.index_path is not None
    assert known.without_models(["lone"]).index_path is None
