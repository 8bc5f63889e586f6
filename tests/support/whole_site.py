"""A site of everything that a lab measures: runs, verdicts, ratings, tasks, curves and another table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pfgen_rs
from helpers import lines
from jpeval_runs import result_of_1_3_0
from pfgen_rs.judge import sample_path
from pfgen_rs.report.site.about_page import About, Both
from pfgen_rs.site.build import SitePlan, build_site
from pfgen_rs.site.sources import Given
from pfgen_rs.training import StepEvaluator
from site_samples import HOSTILE
from verdict_pages import write_hostile_verdicts

TITLE = Both("みんなの表", "Our board")
KINDS = {
    "overview": "index.html",
    "models": "models/index.html",
    "model": "models/*a-7b*/index.html",
    "compare": "compare/index.html",
    "questions": "benchmark/index.html",
    "judges": "judges/index.html",
    "verdicts": "judges/demo-careful*/index.html",
    "tasks": "tasks/index.html",
    "report": "tasks/*/index.html",
    "training": "training/index.html",
    "curve": "training/*/index.html",
    "studies": "studies/index.html",
    "about": "about/index.html",
    "run": "runs/*/index.html",
}


def build_everything(place: Path, *, hostile: bool = False) -> Path:
    """The folder of a site of one of each; with `hostile`, every name and answer attacks."""
    given = [Given(path, names) for path, names in _results(place / "results", hostile=hostile)]
    title = Both(HOSTILE[0], HOSTILE[1]) if hostile else TITLE
    text = Both("\n\n".join(HOSTILE), HOSTILE[3]) if hostile else Both("説明", "What it is.")
    plan = SitePlan(given, "mini", about=About(title=title, about=text, method=text))
    build_site(plan, place / "site", jobs=1)
    return place / "site"


def pages(site: Path) -> dict[str, Path]:
    """A page of each kind: of the model and the judge that are named, where the site has them."""
    found = {}
    for kind, pattern in KINDS.items():
        others = site.glob(f"{pattern.partition('/')[0]}/*/index.html")
        path = min(site.glob(pattern), default=None) or min(others, default=None)
        if path is not None:
            found[kind] = path
    return found


def _results(place: Path, *, hostile: bool) -> Iterator[tuple[Path, str | None]]:
    names = [text[:10_000] for text in HOSTILE] if hostile else ["org/a-7b", "org/b", "c"]
    samples = list(pfgen_rs.sample_runs().values())
    for i, (name, sample) in enumerate(zip(names, samples, strict=False)):
        yield _run(place / f"run{i}", sample, name, HOSTILE if hostile else ()), None
    yield write_hostile_verdicts(place)[0] if hostile else sample_path(), None
    for i, name in enumerate(names[:3]):
        yield _result_of_tasks(place / f"tasks{i}", name, seed=i), None
    yield _curve(place / "curves" / (HOSTILE[0].replace("/", "") if hostile else "first")), None
    rows = [{"model": name, "score": i / 9, names[0][:99]: name} for i, name in enumerate(names)]
    (place / "other.json").write_text(json.dumps(rows), encoding="utf-8")
    yield place / "other.json", "model"


def _run(folder: Path, source: Path, name: str, more: Sequence[str]) -> Path:
    """A run as a sample is, with more answers to every question."""
    folder.mkdir(parents=True)
    config = {"model": name, "mode": "qa", **dict.fromkeys(more, name[:200])}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    frame = pfgen_rs.score_file(source, "mini").frame.select("question", "answer")
    asked = frame["question"].unique(maintain_order=True)
    answers = [*frame.iter_rows(), *((question, text) for text in more for question in asked)]
    (folder / "trials.jsonl").write_bytes(lines(answers))
    return folder


def _result_of_tasks(folder: Path, name: str, *, seed: int) -> Path:
    folder.mkdir()
    result_of_1_3_0(folder / "result.json", seed=seed)
    (folder / "scores.json").write_text("{}", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"model": name}), encoding="utf-8")
    return folder


def _curve(folder: Path) -> Path:
    questions = ["Q01", "Q02", "Q03"]
    with StepEvaluator(
        "mini", _answers, every=5, folder=folder, trials=1, questions=questions, num_examples=0
    ) as evaluator:
        for step in (0, 5, 10):
            evaluator(step, 1000 * step)
    return folder


def _answers(tasks: Sequence[Any]) -> list[str]:
    return [task.question[: 9 + i] for i, task in enumerate(tasks)]
