"""`compare` and `plan-trials` as people run them."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from helpers import CATS, GOOD, SEAS, pfgen, write_benchmark, write_run
from payload_texts import file_payloads, page_payloads
from pfgen_rs import Benchmark, load_benchmark, score_file, score_runs, stats
from pfgen_rs.comparisons import compare_runs, distinct
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.report.site import write_comparison
from pfgen_rs.stats.sentences import verdict

QUESTIONS = 8


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Eight questions, every other one without a category."""
    return write_questions(tmp_path / "tiny", QUESTIONS)


def write_questions(folder: Path, questions: int) -> Path:
    write_benchmark(folder)
    base = json.loads((folder / "Q02.json").read_text(encoding="utf-8"))
    for i in range(3, questions + 1):
        changed = {
            "question_id": f"Q{i:02}",
            "question": question(i),
            "category": "physics" if i % 2 else "",
        }
        text = json.dumps({**base, **changed}, ensure_ascii=False)
        (folder / f"Q{i:02}.json").write_text(text, encoding="utf-8")
    return folder


def question(i: int) -> str:
    return {1: CATS, 2: SEAS}.get(i, f"海はなぜ青いのですか、その{i}？")


def answers(
    seed: int, quality: int, trials: int = 4, questions: int = QUESTIONS
) -> list[tuple[str, str]]:
    """Answers that keep more of a good one, the higher the quality."""
    chance = random.Random(seed)
    good = {1: GOOD[0][1]}
    found = []
    for i in range(1, questions + 1):
        for _ in range(trials):
            whole = good.get(i, "海の水は赤い光を吸い取るので青く見えます。")
            found.append((question(i), whole[: quality + chance.randrange(6)]))
    return found


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    qualities = {"able": 15, "weak": 3, "poor": 3}
    return [
        write_run(tmp_path / "runs" / name, answers(seed, quality), model=f"lab/{name}")
        for seed, (name, quality) in enumerate(qualities.items())
    ]


def compared(*args: str | Path) -> dict[str, Any]:
    done = pfgen("compare", *args, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# compare


def test_two_runs_are_told_apart_in_words(benchmark: Path, runs: list[Path]) -> None:
    done = pfgen("compare", *runs[:2], "-b", benchmark)
    assert (done.returncode, done.stderr) == (0, "")
    results = score_runs([str(run) for run in runs[:2]], benchmark)
    samples = [result.sample() for result in results]
    [pair, *_] = compare_runs(results).statistics.pairs
    assert (
        f"lab/able scores {pair.difference:.4f} more than lab/weak "
        f"(95 % bootstrap interval {pair.low:+.4f} to {pair.high:+.4f}, p = {pair.p:.3f})"
        in done.stdout
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    shown = [row[1] for row in rows if row and row[0] in stats.METRICS and len(row) > 4]
    means = [found.means(metric) for metric in stats.METRICS for found in samples]
    differences = [a.mean() - b.mean() for a, b in zip(means[::2], means[1::2], strict=True)]
    assert shown == [f"{difference:+.4f}" for difference in differences]
    assert done.stdout.rstrip().endswith(load_benchmark(benchmark).signature)
    back = pfgen("compare", runs[1], runs[0], "-b", benchmark).stdout
    assert next(line for line in done.stdout.splitlines() if " more than " in line) in back


def test_a_system_run_has_no_rank_and_a_legend_says_so(benchmark: Path, runs: list[Path]) -> None:
    legend = "–: a system run, not ranked"
    assert legend not in pfgen("compare", *runs[:2], "-b", benchmark).stdout
    config = {"engine": "system", "mode": "completion", "model": "lab/able"}
    (runs[0] / "config.json").write_text(json.dumps(config), encoding="utf-8")
    shown = pfgen("compare", *runs[:2], "-b", benchmark).stdout
    assert legend in shown.splitlines()
    assert "–  lab/able" in shown


def test_runs_that_are_alike_cannot_be_told_apart(benchmark: Path, runs: list[Path]) -> None:
    done = pfgen("compare", *runs[1:], "-b", benchmark)
    assert " do not differ significantly (difference +" in done.stdout
    assert "    1–2  lab/" in done.stdout


def test_json_has_everything(benchmark: Path, runs: list[Path]) -> None:
    found = compared(*runs, "-b", benchmark, "--level", "0.9")
    results = score_runs([str(run) for run in runs], benchmark)
    expected = compare_runs(results, metrics=["average"], level=0.9)
    statistics = json.loads(json.dumps(expected.statistics.to_dict()))
    assert {key: found[key] for key in statistics} == statistics
    assert found["files"] == {f"lab/{run.name}": str(run / "trials.jsonl") for run in runs}
    assert len(found["verdicts"]) == 3
    assert {pair["metric"] for pair in found["pairs"]} == {"average"}


def test_answers_stand_side_by_side(benchmark: Path, runs: list[Path]) -> None:
    found = compared(*runs[:2], "-b", benchmark, "--limit", "2")
    rows = [row for row in found["questions"] if row["metric"] == "average"]
    widest = sorted(rows, key=lambda row: (-abs(row["difference"]), row["question_id"]))[:2]
    shown = found["most_different"]
    assert [each["question_id"] for each in shown] == [row["question_id"] for row in widest]
    for each, row in zip(shown, widest, strict=True):
        for answer, run, key in zip(each["answers"], runs, ("mean_a", "mean_b"), strict=False):
            frame = score_file(run, benchmark).frame
            [line] = frame.filter(frame["line"] == answer["line"]).to_dicts()
            assert (line["answer"], line["average"]) == (answer["answer"], answer["score"])
            assert answer["mean"] == pytest.approx(row[key])
            mine = frame.filter(frame["question_id"] == each["question_id"])["average"]
            assert abs(answer["score"] - answer["mean"]) == (mine - answer["mean"]).abs().min()
    text = pfgen("compare", *runs[:2], "-b", benchmark, "--limit", "1").stdout
    assert f"{shown[0]['question_id']} " in text
    assert f"  {shown[0]['answers'][1]['answer']}" in text


def test_many_runs_are_shown_beside_their_neighbours(benchmark: Path, tmp_path: Path) -> None:
    for i in range(8):
        write_run(tmp_path / "many" / f"run{i}", answers(i, 2 * i + 1))
    arguments = ["compare", str(tmp_path / "many" / "*"), "-b", str(benchmark), "--limit", "0"]
    done = pfgen(*arguments)
    assert done.returncode == 0
    assert "use --format json for all pairs" in done.stdout
    assert "p (Holm): corrected for 28 pairs" in done.stdout
    assert not [line for line in done.stdout.splitlines() if "scores" in line or "told" in line]
    rows = [line.split() for line in done.stdout.splitlines() if " – " in line]
    assert [row[0] + row[2] for row in rows] == [f"{i}{i + 1}" for i in range(1, 8)]
    assert all(row[3].startswith("+") for row in rows)


@pytest.mark.parametrize(("count", "width"), [(2, 60), (2, 80), (9, 60)])
def test_comparisons_fit_a_window(benchmark: Path, tmp_path: Path, width: int, count: int) -> None:
    """Tables stay tables: categories are rows, runs are columns, and what is left out is the least."""
    for i in range(count):
        name = f"an-organisation/a-model-of-a-long-name-{i}"
        write_run(tmp_path / "runs" / str(i), answers(i, 2 * i + 1), model=name)
    place = str(tmp_path / "runs" / "*")
    arguments = ["compare", place, "-b", str(benchmark), "--limit", "0"]
    done = pfgen(*arguments, env={"COLUMNS": str(width)})
    tables = [line for line in done.stdout.splitlines() if line.startswith(" ")]
    assert max(map(cell_len, tables)) <= width
    assert sum("─" in line for line in tables) >= 3
    assert {line.split()[0] for line in tables if " physics " in line} == {"physics"}
    headings = " ".join(tables)
    assert "95 % interval" in headings
    assert ("detectable" in headings) == (width >= 80)
    left_out = "not shown: SE (questions), SE (trials), detectable (use a wider window or"
    assert (left_out in done.stdout) == (width < 80)


def test_both_verdicts_are_told_where_they_differ(benchmark: Path, runs: list[Path]) -> None:
    """A pair that differs if looked at alone, but not among many."""
    a, b = (replace(score_file(run, benchmark).sample(), name=run.name) for run in runs[:2])
    found = stats.compare([a, b])
    pair = replace(found.pairs[0], p=0.01, p_holm=0.2, family=300)
    told = verdict(pair, replace(found, smallest_p=0.0))
    assert told.startswith(f"able scores {pair.difference:.4f} more than weak (")
    assert f"of this pair alone {pair.low:+.4f} to {pair.high:+.4f}, p = 0.010" in told
    assert told.endswith("not significantly among all pairs (p = 0.200 corrected for 300 pairs)")
    sure = verdict(replace(pair.turned(), p=1e-5, p_holm=0.003), replace(found, smallest_p=1e-5))
    assert sure.startswith("able scores")
    assert sure.endswith("p < 0.001, 99,999 permutations; p ≤ 0.003 corrected for 300 pairs)")
    alike = verdict(replace(pair, p=0.5, p_holm=1.0), found)
    assert "do not differ significantly" in alike
    assert "corrected for 300 pairs; 80 % power to detect" in alike


def test_a_p_value_near_zero_says_how_many_permutations_it_is_from(tmp_path: Path) -> None:
    """With 14 questions there are more choices of signs than are tried."""
    questions = write_questions(tmp_path / "set", 14)
    runs = [
        write_run(tmp_path / name, answers(seed, quality, questions=14), model=name)
        for seed, (name, quality) in enumerate({"able": 15, "poor": 3, "worse": 2}.items())
    ]
    two = pfgen("compare", *runs[:2], "-b", questions).stdout
    assert ", p < 0.001, 10,000 permutations)" in two
    assert "\np: from 10,000 permutations, so not below 0.0001\n" in two
    assert "\np: from 10,000 permutations, so not below 0.0001\n" in (
        pfgen("compare", *runs, "-b", questions).stdout
    )


def test_two_runs_of_one_model_are_told_by_their_files(benchmark: Path, tmp_path: Path) -> None:
    paths = [write_run(tmp_path / name, answers(i, 9), model="m") for i, name in enumerate("xy")]
    found = compared(*paths, "-b", benchmark)
    assert found["runs"] == ["m (x)", "m (y)"]


def test_hostile_answers_and_names_do_not_act(benchmark: Path, tmp_path: Path) -> None:
    evil = "\x1b[2J[red]赤\u202e"
    bad = write_run(tmp_path / "bad", [(q, evil) for q, _ in answers(0, 1)], model=f"m{evil}")
    good = write_run(tmp_path / "good", answers(1, 15), model="good")
    done = pfgen("compare", bad, good, "-b", benchmark)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "\u202e" not in done.stdout + done.stderr
    assert "[red]赤" in done.stdout


def test_partial_questions_are_left_out(benchmark: Path, runs: list[Path], tmp_path: Path) -> None:
    part = write_run(tmp_path / "part", [a for a in answers(5, 9) if a[0] != CATS])
    done = pfgen("compare", runs[0], part, "-b", benchmark)
    assert done.returncode == 0
    assert "left out 1 question not answered by all runs: Q01" in done.stderr


@pytest.mark.parametrize(
    ("command", "count", "arguments", "words"),
    [
        ("compare", 2, ["--level", "2"], "invalid confidence level 2.0"),
        ("compare", 2, ["--metric", "beauty"], "beauty"),
        ("compare", 2, ["no-such-file"], "no-such-file"),
        ("compare", 2, ["--format", "josn"], "'--format' / '-f': 'josn' is not one of"),
        ("compare", 1, [], "expected 2 runs to compare"),
        ("plan-trials", 1, ["--precision", "0"], "invalid precision 0.0"),
        ("plan-trials", 1, ["--difference", "0.1"], "--difference needs a second run"),
    ],
)
def test_bad_usage(
    benchmark: Path, runs: list[Path], command: str, count: int, arguments: list[str], words: str
) -> None:
    done = pfgen(command, *runs[:count], "-b", benchmark, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize("command", ["compare", "plan-trials"])
def test_the_same_run_twice_is_refused(command: str, benchmark: Path, runs: list[Path]) -> None:
    for again in (runs[0], runs[0] / "trials.jsonl"):
        done = pfgen(command, runs[0], again, "-b", benchmark)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: {again}: given twice: name another run\n"


def test_what_a_glob_finds_again_counts_once(runs: list[Path]) -> None:
    everything = str(runs[0].parent / "*")
    assert distinct([str(runs[1]), everything]) == [str(runs[i]) for i in (1, 0, 2)]


# Pages


def test_a_comparison_as_a_page(benchmark: Path, runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    settings = ("--level", "0.9", "--metric", "fluency", "--html", page)
    found = compared(*runs[:2], "-b", benchmark, *settings)
    assert list(found["estimates"]) == ["fluency"]
    written = page.read_bytes()
    assert "lab/able" in str(page_payloads(written)["compare/data"])
    write_comparison(
        score_runs([str(run) for run in runs[:2]], benchmark), tmp_path / "expected.html", level=0.9
    )
    assert written == (tmp_path / "expected.html").read_bytes()


def test_a_comparison_as_a_folder(benchmark: Path, runs: list[Path], tmp_path: Path) -> None:
    done = pfgen("compare", *runs[:2], "-b", benchmark, "--html", tmp_path / "page")
    assert (done.returncode, done.stderr) == (0, "")
    assert " scores " in done.stdout
    data = (tmp_path / "page" / "compare" / "data.js").read_bytes()
    assert (tmp_path / "page" / "index.html").is_file()
    assert "lab/weak" in str(file_payloads(data))


def test_pages_that_cannot_be_written(benchmark: Path, runs: list[Path], tmp_path: Path) -> None:
    missing = tmp_path / "none" / "page.html"
    foreign = runs[0]  # a folder of something else
    for page, problem in ((missing, "not a directory"), (foreign, str(foreign))):
        arguments: list[str | Path] = ["compare", *runs[:2], "-b", benchmark, "--html", page]
        done = pfgen(*arguments, env={"COLUMNS": "500"})
        assert (done.returncode, done.stdout) == (2, "")
        assert problem in done.stderr
    assert not missing.parent.exists()
    assert sorted(path.name for path in foreign.iterdir()) == ["config.json", "trials.jsonl"]


# plan-trials


def test_a_plan_for_one_run(benchmark: Path, runs: list[Path]) -> None:
    done = pfgen("plan-trials", runs[0], "-b", benchmark, "--precision", "0.002")
    assert (done.returncode, done.stderr) == (0, "")
    plan = stats.plan_trials(score_file(runs[0], benchmark).sample(), precision=0.002)
    assert f"needs {plan.trials_needed} trials for the same questions" in done.stdout
    assert "no number of trials is enough" in done.stdout
    as_json = pfgen("plan-trials", runs[0], "-b", benchmark, "--precision", "0.002", "-f", "json")
    found = json.loads(as_json.stdout)
    assert found.pop("signature") == load_benchmark(benchmark).signature
    assert found == json.loads(json.dumps(plan.to_dict()))


def test_a_plan_for_two_runs(benchmark: Path, runs: list[Path]) -> None:
    done = pfgen("plan-trials", *runs[:2], "-b", benchmark, "--difference", "0.05")
    samples = [score_file(run, benchmark).sample() for run in runs[:2]]
    plan = stats.plan_trials(samples, difference=0.05)
    assert f"needs {plan.trials_to_tell} trials per run for the same questions" in done.stdout
    assert "lab/able minus lab/weak: score +" in done.stdout


# score


NAMED = "over questions (Student's t)"


@pytest.fixture(scope="module")
def two_runs() -> list[Path]:
    return [bundled_path() / "runs" / name for name in ("faithful", "careless")]


def test_score_compare_and_page_show_the_same_interval(
    two_runs: list[Path], mini: Benchmark, tmp_path: Path
) -> None:
    result = score_file(two_runs[0], mini)
    found = stats.estimate(result.sample())
    assert found.low is not None
    assert found.high is not None
    low, high = f"{found.low:.3f}", f"{found.high:.3f}"
    table = pfgen("score", two_runs[0])
    assert f"[{low}, {high}]" in table.stdout
    assert NAMED in table.stdout
    [row] = json.loads(pfgen("score", two_runs[0], "--format", "json").stdout)
    # Published figures have five decimals.
    assert (row["score_low"], row["score_high"]) == pytest.approx((found.low, found.high), abs=1e-5)
    compared = pfgen("compare", *two_runs, "--metric", "average", "--limit", "0").stdout
    [line] = [line for line in compared.splitlines() if "mini/faithful  0." in line]
    assert f" {low} to {high} " in line
    assert f"intervals: of means, {NAMED}; of differences, from a bootstrap" in compared
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(f"{low}–{high}") == 2  # of the score, and in the table of metrics
    assert "over questions (Student's t" in page.replace("&#39;", "'")
    assert "bootstrap" not in page
