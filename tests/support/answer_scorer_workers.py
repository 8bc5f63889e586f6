"""Scores in workers what the parent scored with threads before: `START_METHOD FOLDER`."""

import multiprocessing
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import pfgen_rs


def work(task):  # type: ignore[no-untyped-def]
    """One batch."""
    scorer, questions, answers = task
    return scorer(questions, answers).tolist()


def main(start: str, folder: str) -> None:
    """Compare."""
    bench = pfgen_rs.load_benchmark(folder)
    questions = ["Q01", "Q02"] * 1000
    answers = [f"猫は{i}回、海で眠ります。" for i in range(2000)]
    expected = bench.score_batch(questions, answers, threads=2)["average"].to_list()
    scorer = bench.scorer(threads=2)
    with multiprocessing.get_context(start).Pool(2) as pool:
        results = pool.map(work, [(scorer, questions, answers)] * 4)
    print("the same" if all(result == expected for result in results) else "different")


if __name__ == "__main__":
    main(*sys.argv[1:])
