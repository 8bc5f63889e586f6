"""The published runs, the paper's table and edge cases: every figure, bit for bit."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import oracle
from pfgen_rs import Benchmark, Result, Score, score_file

pytestmark = pytest.mark.published


@pytest.fixture(scope="module")
def reference_run(
    published_dir: Path, published_benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory
) -> Result:
    """The run whose responses are the reference answers, sources in the order P, R, S, T."""
    folder = tmp_path_factory.mktemp("final")
    shutil.copy(published_dir / "data" / "final" / "config.json", folder)
    with (folder / "trials.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for question in published_benchmark:
            for source in "PRST":
                for answer in question.answers.get(source, ()):
                    record = {"question": question.text, "answer": answer}
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return score_file(folder, published_benchmark)


def assert_same_bytes(got: bytes, expected: bytes) -> None:
    """Equal bytes; where they differ, say which entry does rather than print megabytes."""
    if got == expected:
        return
    ours, theirs = json.loads(got), json.loads(expected)
    for one, other in ((ours, theirs), (ours["questions"], theirs["questions"])):
        assert list(one) == list(other)
        assert {k for k in one if json.dumps(one[k]) != json.dumps(other[k])} <= {"questions"}
    pytest.fail("the values are equal, but not how they are written")


def rescored(benchmark: Benchmark, responses: Path, folder: Path) -> bytes:
    """The bytes of the result that is written into `folder` for a run."""
    target = folder / "result.json"
    score_file(responses, benchmark).to_json(target)
    return target.read_bytes()


def test_a_run_is_byte_identical(
    published_run: str, published_dir: Path, published_benchmark: Benchmark, tmp_path: Path
) -> None:
    run = published_dir / published_run
    got = rescored(published_benchmark, run, tmp_path)
    assert_same_bytes(got, (run / "result.json").read_bytes())


def test_all_runs_are_there(published_dir: Path) -> None:
    runs = {path.parent for path in (published_dir / "result").glob("**/trials.jsonl*")}
    assert len(runs) == 24
    assert all((run / "result.json").is_file() for run in runs)


def test_the_sample_answers_are_byte_identical(
    published_dir: Path, published_benchmark: Benchmark, tmp_path: Path
) -> None:
    data = published_dir / "data"
    got = rescored(published_benchmark, data / "questions.jsonl", tmp_path)
    assert_same_bytes(got, (data / "result.json").read_bytes())


# The published run of the reference answers has further responses to these questions (samples of it
# stand in no question file), so their figures and the sums over them need more than the files.
MORE_RESPONSES = {"Q01", "Q10", "Q16", "Q20", "Q21", "Q33"}
SUMS = {"length", "length_std", "scores", "questions"}


@pytest.fixture(scope="module")
def final(published_dir: Path) -> dict[str, Any]:
    """The published result of the reference answers as responses."""
    path = published_dir / "data" / "final" / "result.json"
    result: dict[str, Any] = json.loads(path.read_bytes())
    return result


def test_reference_answers_as_responses(reference_run: Result, final: dict[str, Any]) -> None:
    got = reference_run.to_dict()
    assert list(got) == list(final)
    for key in got.keys() - SUMS - {"input_hash"}:  # the hash is of a file that is not published
        assert json.dumps(got[key]) == json.dumps(final[key]), key
    ours, theirs = got["questions"], final["questions"]
    assert list(ours) == list(theirs)
    assert {q for q in ours if json.dumps(ours[q]) != json.dumps(theirs[q])} == MORE_RESPONSES


def test_reference_answers_summed_up(reference_run: Result, final: dict[str, Any]) -> None:
    """The run's `scores`, once the six questions have the published values."""
    ours, theirs = reference_run.to_dict()["questions"], final["questions"]
    entries = [(theirs if q in MORE_RESPONSES else ours)[q]["scores"] for q in ours]
    assert json.dumps(oracle.running_scores(entries)) == json.dumps(final["scores"])


def test_samples_of_references(published_benchmark: Benchmark, final: dict[str, Any]) -> None:
    for key, entry in final["questions"].items():
        for sample in entry["samples"]:
            got = published_benchmark.score(key, sample["answer"]).to_dict()
            assert json.dumps(got) == json.dumps(sample["scores"])
    strangers = {
        key
        for key in MORE_RESPONSES
        for sample in final["questions"][key]["samples"]
        if not any(sample["answer"] in a for a in published_benchmark[key].answers.values())
    }
    assert strangers == MORE_RESPONSES - {"Q16"}


Scores = tuple[float, float, float, float]


NAMES = ("Score", "Fluency", "Truthfulness", "Helpfulness")
HALF_A_DIGIT = (0.00005, 0.0005, 0.0005, 0.0005)


# Printed figures, in the order of NAMES, of the models whose answers are published.
TABLE: dict[str, Scores] = {
    "data": (1.0501, 1.155, 0.996, 1.000),
    "result/anthropic/claude-3-5-sonnet-20240620/2938dda": (0.9303, 0.949, 0.959, 0.883),
    "result/openai/gpt-4o/5e1e9f4": (0.8615, 0.919, 0.980, 0.686),
    "data/final": (0.8494, 0.936, 0.978, 0.505),
    "result/openai/gpt-4/8cad1b9": (0.7916, 0.888, 0.951, 0.536),
    "result/tokyotech-llm/Swallow-70b-NVE-instruct-hf/d1609a4": (0.7766, 0.884, 0.938, 0.507),
    "result/pfnet/plamo-100b/b181032": (0.7469, 0.861, 0.920, 0.460),
    "result/CohereForAI/c4ai-command-r-plus/d596b40": (0.7365, 0.818, 0.913, 0.478),
    "result/nvidia/nemotron-4-340b-instruct/e99a1d3": (0.7175, 0.816, 0.908, 0.429),
    "result/meta-llama/Meta-Llama-3.1-405B/d0c2319": (0.6759, 0.767, 0.892, 0.368),
    "result/tokyotech-llm/Swallow-MX-8x7b-NVE-v0.1/8d07e4a": (0.6368, 0.753, 0.870, 0.287),
    "result/stabilityai/japanese-stablelm-base-beta-70b/d3e5361": (0.6202, 0.733, 0.848, 0.280),
    "result/openai/gpt-35-turbo/eaeade4": (0.6136, 0.658, 0.944, 0.239),
    "result/stockmark/stockmark-100b/4909c43": (0.5971, 0.709, 0.842, 0.240),
    "result/meta-llama/Meta-Llama-3.1-70B/19cc458": (0.5659, 0.665, 0.822, 0.211),
    "result/Qwen/Qwen-72B-Chat/98f2f26": (0.5002, 0.614, 0.716, 0.171),
    "result/mistralai/Mixtral-8x22B-v0.1/40ef626": (0.4050, 0.517, 0.615, 0.084),
    "result/mistralai/Mixtral-8x7B-Instruct-v0.1/024664d": (0.3914, 0.488, 0.636, 0.050),
}


# The published run of this model is not the one the paper printed; only these figures differ.
KNOWN_DIFFERENCES: dict[tuple[str, str], float] = {
    ("result/tokyotech-llm/Swallow-70b-NVE-instruct-hf/d1609a4", "Score"): 0.7756,
    ("result/tokyotech-llm/Swallow-70b-NVE-instruct-hf/d1609a4", "Fluency"): 0.878,
    ("result/tokyotech-llm/Swallow-70b-NVE-instruct-hf/d1609a4", "Helpfulness"): 0.510,
}


# The published run of the reference answers has more responses than the question files hold.
NOT_REPRODUCIBLE = {("data/final", name) for name in ("Fluency", "Truthfulness", "Helpfulness")}


def published_scores(folder: Path) -> Scores:
    result = json.loads((folder / "result.json").read_bytes())
    scores = result["scores"]
    fluency, truthfulness = (sum(scores[key].values()) for key in ("fluency", "truthfulness"))
    return result["score"], fluency, truthfulness, scores["helpfulness"]


@pytest.fixture(scope="module")
def ours(
    published_dir: Path, published_benchmark: Benchmark, reference_run: Result
) -> dict[str, Scores]:
    """Every row of the table, scored now."""
    found = {}
    for row in TABLE:
        responses = published_dir / row / ("questions.jsonl" if row == "data" else "")
        scored = row == "data/final"
        result = reference_run if scored else score_file(responses, published_benchmark)
        found[row] = (result.score, result.fluency, result.truthfulness, result.helpfulness)
    return found


def test_table_1(published_dir: Path, ours: dict[str, Scores]) -> None:
    print(f"\n{'figure':12} {'paper':>7} {'published':>9} {'ours':>9}  run")
    unlike_paper, unlike_ours = {}, set()
    for row, paper in TABLE.items():
        published = published_scores(published_dir / row)
        for name, printed, kept, got, half in zip(
            NAMES, paper, published, ours[row], HALF_A_DIGIT, strict=True
        ):
            print(f"{name:12} {printed:7} {kept:9.5f} {got:9.5f}  {row}")
            if abs(printed - kept) > half + 1e-12:
                unlike_paper[row, name] = round(kept, 4 if name == "Score" else 3)
            if abs(kept - got) > 1e-12:  # both are sums of figures with five digits
                unlike_ours.add((row, name))
    assert unlike_paper == KNOWN_DIFFERENCES
    assert unlike_ours == NOT_REPRODUCIBLE


# Published edge cases: every intermediate value bit for bit, every rounded one exactly.


@pytest.fixture(scope="module")
def vectors(vectors_dir: Path) -> list[dict[str, Any]]:
    lines = (vectors_dir / "edge_cases.jsonl").read_bytes().decode().split("\n")
    return [json.loads(line) for line in lines if line]


def discount(cut: int) -> float:
    """What a cut of so many characters keeps."""
    return 1.0 - max(cut - 100, 0) / 50


def unrounded(score: Score) -> dict[str, Any]:
    """The unrounded values in the vectors' shape."""
    details = score.details
    cuts = details.fluency_cut
    return {
        "fluency": {s: [value, discount(cuts[s])] for s, value in details.fluency.items()},
        "truthfulness": details.truthfulness,
        "helpfulness": details.helpfulness,
    }


def exact(value: object) -> str:
    """Text that tells any two float64 values and any two orders of keys apart."""
    return json.dumps(value, ensure_ascii=False)


def test_edge_cases(published_benchmark: Benchmark, vectors: list[dict[str, Any]]) -> None:
    assert len(vectors) >= 300
    for number, vector in enumerate(vectors, 1):
        score = published_benchmark.score(vector["question_id"], vector["answer"])
        place = f"row {number} ({vector['kind']})"
        if "unrounded" in vector:  # not in those of golden/make.py
            assert exact(unrounded(score)) == exact(vector["unrounded"]), place
        assert exact(score.to_dict()) == exact(vector["scores"]), place


def test_edge_cases_at_once(published_benchmark: Benchmark, vectors: list[dict[str, Any]]) -> None:
    questions = [vector["question_id"] for vector in vectors]
    answers = [vector["answer"] for vector in vectors]
    frame = published_benchmark.score_batch(questions, answers)
    for row, vector in zip(frame.iter_rows(named=True), vectors, strict=True):
        for metric in ("fluency", "truthfulness"):
            got = {source: row[f"{metric}_{source}"] for source in vector["scores"][metric]}
            assert exact(got) == exact(vector["scores"][metric])
        for metric in ("helpfulness", "average"):
            assert exact(row[metric]) == exact(vector["scores"][metric])


def test_baselines(published_benchmark: Benchmark, vectors_dir: Path) -> None:
    path = vectors_dir / "baselines.json"
    if not path.exists():
        pytest.skip("baselines.json is not there: golden/make.py makes none")
    expected = json.loads(path.read_bytes())
    got = {q: published_benchmark._baselines(published_benchmark[q]) for q in expected}
    assert expected
    assert exact(got) == exact(expected)
