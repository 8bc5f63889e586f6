"""Make vectors for `tests/test_published_runs.py` with the published scorer.

    python tests/golden/make.py CHECKOUT [--commit 03db7c4] [--out vectors]

CHECKOUT is a git clone of https://github.com/pfnet-research/pfgen-bench. A copy of the commit, without its
runs, gets a run of edge cases with five answers a question, so that all are samples of `result.json`, and
`make` scores it, as its README says; then the next five. `OUT/edge_cases.jsonl` has a line an answer.
"""

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

QUESTIONS = ("Q01", "Q02", "Q14", "Q16", "Q33", "Q42", "Q47", "Q48")
SAMPLES = 5
"""Answers of a question that a `result.json` shows with their scores."""
SPECIAL = [
    "",
    *"^$、。a😀\t\n\0\u200b\u3000\ufeff",
    "^$",
    "^^$$",
    "「」",
    "Ａ１",
    "e\u0301",
    "か\u3099",
    "ﾊﾝｶｸ",
]
SPECIAL += ["𠮷野家", "\U0001f468\u200d\U0001f467", "\r\n", "|*_`", "<b>&amp;</b>"]
LENGTHS = [*range(1, 12), *range(98, 103), 110, 120, *range(148, 153), *range(198, 204), 250, 1000]


def cases(question: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Kinds of edge cases and answers, made from the reference answers of a question."""
    answers = [answer for own in question["answers"].values() for answer in own]
    whole = "".join(answers[:20])
    yield from (("special", text) for text in SPECIAL)
    yield from ((f"len{length}", whole[:length]) for length in LENGTHS)
    yield from (("reference", answers[i * len(answers) // 8]) for i in range(8))
    yield from (("repeat", answers[0][:width] * (240 // width)) for width in (1, 2, 3, 7, 40))
    yield from (
        ("mutated", answers[-1][:cut] + "々" + answers[-1][cut + 1 :]) for cut in (0, 7, 50)
    )
    yield from (("keywords-late", whole[:pad] + answers[0]) for pad in (60, 90, 120))


def copied(checkout: Path, commit: str, folder: Path) -> None:
    """The files of the commit in a new folder, without the runs."""
    archive = folder.with_suffix(".tar")
    told = ["git", "-C", str(checkout), "archive", "--output", str(archive), commit]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(
            f"{checkout}: {done.stderr.strip()}: expected a git clone of pfgen-bench with {commit}"
        )
    with tarfile.open(archive) as tar:
        members = [m for m in tar.getmembers() if not m.name.startswith("result/")]
        tar.extractall(folder, members, filter="data")
    if not (folder / "Makefile").is_file():
        sys.exit(f"{checkout}: {commit} has no Makefile: expected the published scorer")


def scored(folder: Path, rows: list[dict[str, str]]) -> dict[tuple[str, str], Any]:
    """Scores by question and answer of one run, which `make` scores in the copy."""
    run = folder / "result" / "golden" / "edge-cases" / "0000000"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    (run / "config.json").write_text('{"mode": "completion", "model": "golden/edge-cases"}\n')
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (run / "trials.jsonl.xz").write_bytes(lzma.compress("".join(lines).encode()))
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"`make` in a copy of the checkout failed:\n{done.stdout}{done.stderr}")
    if not (run / "result.json").is_file():
        sys.exit("`make` in a copy of the checkout wrote no result.json")
    questions = json.loads((run / "result.json").read_bytes())["questions"].values()
    return {(q["question"], s["answer"]): s["scores"] for q in questions for s in q["samples"]}


def vectors(folder: Path) -> Iterator[dict[str, Any]]:
    """The vectors, a run of five answers a question at a time."""
    paths = sorted((folder / "data").glob("Q*.json"))
    questions = [json.loads(path.read_bytes()) for path in paths]
    made = {q["question"]: list(cases(q)) for q in questions}
    for start in range(0, min(map(len, made.values())), SAMPLES):
        part = {text: own[start : start + SAMPLES] for text, own in made.items()}
        rows = [{"question": text, "answer": a} for text, own in part.items() for _, a in own]
        scores = scored(folder, rows)
        for question in (q for q in questions if q["question_id"] in QUESTIONS):
            for kind, answer in part[question["question"]]:
                case = {"question_id": question["question_id"], "kind": kind, "answer": answer}
                yield case | {"scores": scores[question["question"], answer]}


def main() -> None:
    """Make the vectors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--commit", default="03db7c4")
    parser.add_argument("--out", type=Path, default=Path("vectors"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pfgen-golden-") as name:
        copied(options.checkout, options.commit, Path(name, "checkout"))
        lines = [json.dumps(v, ensure_ascii=False) + "\n" for v in vectors(Path(name, "checkout"))]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "edge_cases.jsonl").write_bytes("".join(lines).encode())
    print(f"{len(lines)} vectors of {options.commit} in {options.out}")


if __name__ == "__main__":
    main()
