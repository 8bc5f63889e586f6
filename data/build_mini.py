"""Rebuild the bundled sets from their grammars by `pfgen-rs build`: same seed and version, same contents.

    python data/build_mini.py                    write every file beside the grammars of both sets

For each source of each grammar file 20,000 candidates are drawn; those of `mini` are spoilt in part and in
known ways (`made.py`), and `set.toml` says how they are filtered and chosen. Chance in them comes from
`random.Random.random()`, so the contents are the same on every Python. The bytes of the `.xz` files may
differ with the version of liblzma: contents are compared unpacked.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import bundle
import made
import quality
from grammar import QuestionGrammar, load
from made import generator, shuffled
from pfgen_rs.errors import BenchmarkError, PfgenError
from pfgen_rs.install.store import PROVENANCE
from pfgen_rs.references.config import Outline, read_config
from pfgen_rs.references.pipeline import build
from sample_runs import RUNS, Material

DATA = Path(__file__).resolve().parent
SETS = ("mini", "mini-en")
CANDIDATES = 20_000
MIN_LENGTH, MAX_LENGTH = 90, 110  # of answers in sample runs
WRONG: Mapping[str, tuple[str, str]] = {
    "Q01": ("最大公約数", "最小公約数"),
    "Q02": ("酸素が", "窒素が"),
    "Q03": ("二酸化炭素", "一酸化炭素"),
    "Q04": ("アルキメデス", "ニュートン"),
    "Q05": ("石灰岩", "花こう岩"),
    "Q06": ("IPアドレス", "MACアドレス"),
    "Q07": ("都市", "漁村"),
    "Q08": ("俳句", "漢詩"),
    "Q09": ("大名", "商人"),
    "Q10": ("河口", "火口"),
    "Q11": ("国民", "外国人"),
    "Q12": ("塩分", "糖分"),
    "Q13": ("江戸時代", "平安時代"),
    "Q14": ("布", "紙"),
}
"""A fact of each question, and what many candidates of `mini` mistake it for."""

Candidate = dict[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 1 after an error."""
    parser = argparse.ArgumentParser(description="Rebuild the bundled sets from their grammars.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"{' or '.join(SETS)}; both without")
    options = parser.parse_args(arguments)
    for name in options.sets or SETS:
        try:
            contents = contents_of(DATA / name)
            for path, content in contents.items():
                bundle.write(DATA / name / path, content)
        except (PfgenError, OSError) as error:
            print(f"build_mini: {error}", file=sys.stderr)
            return 1
        print(f"wrote {len(contents)} files to {DATA / name}")
    return 0


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return the unpacked contents of a set by path; a path ending in `.xz` is to be compressed."""
    grammars = [load(path) for path in sorted((folder / "grammar").glob("Q*.toml"))]
    if not grammars:
        raise BenchmarkError("no grammar file Q*.toml here", path=folder)
    drawn = {grammar.question_id: list(drawn_from(folder.name, grammar)) for grammar in grammars}
    contents = built(folder, grammars, drawn)
    contents["questions.jsonl"] = json_lines(
        {"question": grammar.question, "answer": grammar.note} for grammar in grammars
    )
    if folder.name == "mini":
        contents |= sample_runs(grammars, drawn, contents)
        contents["README.md"] = with_table(folder / "README.md", contents[PROVENANCE])
    return contents


def with_table(page: Path, provenance: bytes) -> bytes:
    """Return the page with the figures of a build in their place."""
    begin, end = "<!-- begin quality -->\n", "\n<!-- end quality -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{quality.table(provenance)}{end}{after}".encode()


def drawn_from(name: str, grammar: QuestionGrammar) -> Iterator[Candidate]:
    """Draw the candidates of one question, those of each source in a random order."""
    for source, rules in grammar.sources.items():
        rng = generator(name, grammar.question_id, source)
        if name == "mini":
            drawn = list(made.candidates(rules, WRONG[grammar.question_id], CANDIDATES, rng))
        else:
            drawn = [(rules.sample(rng), "") for _ in range(CANDIDATES)]
        for answer, kind in shuffled(drawn, rng):
            found = {"question": grammar.question, "answer": answer, "source": source}
            yield {**found, "model": kind} if kind else found


def built(
    folder: Path, grammars: Sequence[QuestionGrammar], drawn: Mapping[str, Sequence[Candidate]]
) -> dict[str, bytes]:
    """Build the set from its candidates; return its question files and where they come from."""
    with tempfile.TemporaryDirectory() as temporary:
        path, out = Path(temporary, "candidates.jsonl"), Path(temporary, "set")
        path.write_bytes(json_lines(each for found in drawn.values() for each in found))
        config = read_config(folder / "set.toml")
        config = config.with_changes(candidates=(str(path),), out=str(out))
        build(config, outlines=[outline(grammar) for grammar in grammars])
        files = sorted(out.glob("Q*.json"))
        contents = {f"{file.name}.xz": file.read_bytes() for file in files}
        contents[PROVENANCE] = (out / PROVENANCE).read_bytes()
    return contents


def outline(grammar: QuestionGrammar) -> Outline:
    """Return what a question file says besides its answers."""
    return Outline(
        grammar.question_id, grammar.question, grammar.category, grammar.note, grammar.keywords
    )


def sample_runs(
    grammars: Sequence[QuestionGrammar],
    drawn: Mapping[str, Sequence[Candidate]],
    contents: Mapping[str, bytes],
) -> dict[str, bytes]:
    """Make the sample runs, of answers that are no reference."""
    materials = [
        material(grammar, drawn[grammar.question_id], contents[f"{grammar.question_id}.json.xz"])
        for grammar in grammars
    ]
    files = {}
    for name, write_answers in RUNS.items():
        config = {"engine": "grammar", "mode": "completion", "model": f"mini/{name}"}
        files[f"runs/{name}/config.json"] = json_lines([dict(sorted(config.items()))])
        files[f"runs/{name}/trials.jsonl.xz"] = trials_file(materials, write_answers(materials))
    return files


def material(
    grammar: QuestionGrammar, drawn: Sequence[Candidate], question_file: bytes
) -> Material:
    """Collect the references of a question, and clean candidates that are none."""
    answers = json.loads(question_file)["answers"]
    references = [answer for column in answers.values() for answer in column]
    clean = dict.fromkeys(
        each["answer"]
        for each in drawn
        if each["model"] == "clean" and MIN_LENGTH <= len(each["answer"]) <= MAX_LENGTH
    )
    taken = set(references)
    spare = [answer for answer in clean if answer not in taken]
    rng = generator("pfgen-mini", "spare", grammar.question_id)
    return Material(grammar.question_id, grammar.question, references, shuffled(spare, rng))


def trials_file(questions: Sequence[Material], answers: Sequence[Sequence[str]]) -> bytes:
    """Write all trials as JSON lines, sorted bytewise; trial j is stamped with minute j of 2026."""
    lines = [
        json_lines(
            [
                {
                    "question": question.question,
                    "answer": answer,
                    "timestamp": f"2026-01-01T00:{trial:02d}:00",
                }
            ]
        )
        for question, given in zip(questions, answers, strict=True)
        for trial, answer in enumerate(given)
    ]
    return b"".join(sorted(lines))


def json_lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write one JSON object a line, non-ASCII characters as they are."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
