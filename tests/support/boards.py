"""Made boards: models with runs, facts and other benchmarks, much of it unknown; and their page."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from pfgen_rs.report.site.compare_page import COMPARISON_PAGE, MOST_COMPARED
from pfgen_rs.report.site.models_page import MODELS_PARTS
from pfgen_rs.report.site.pages import Frame, render, vendored
from pfgen_rs.report.site.payload import packed, payload_file
from site_samples import HOSTILE

QUESTIONS = 20
_ORGANISATIONS = ("abeja", "pfnet", "llm-jp", "Qwen", "日本語団体", '=HYPERLINK("x")')
_CATEGORIES = 14
_TASKS = 17

Board = dict[str, Any]


def column(key: str, kind: str = "number", of: str = "model", **more: Any) -> dict[str, Any]:
    """A column of a payload."""
    group = more.pop("group", "pfgen" if of == "run" else "facts")
    label = more.pop("label", [f"{key}の値", f"The {key}"])
    return {"key": key, "group": group, "kind": kind, "label": label, "digits": 3, "of": of, **more}


COLUMNS = [
    column("score", of="run", digits=4, better=1, label=["スコア", "Score"]),
    *(column(key, of="run", better=1) for key in ("fluency", "truthfulness", "helpfulness")),
    column("length", of="run", digits=1, better=0),
    column("trials", of="run", digits=0, better=0),
    column("mode", "text", "run"),
    column("date", "date", "run"),
    *(column(f"category:{i}", of="run", group="categories", better=1) for i in range(_CATEGORIES)),
    column("organisation", "text"),
    column("family", "text"),
    column("parameters", digits=1, better=0),
    column("released", "date"),
    column("open", "flag"),
    *(column(f"jpeval:{i}", group="jpeval", better=1) for i in range(_TASKS)),
    column("judge:win", group="judges", better=1, about=["勝率の説明", "How often it wins"]),
]
"""45 columns."""


def made_board(models: int, *, seed: int = 0, hostile: bool = False, others: int = 3) -> Board:
    """The payload `board` of models with one to three runs each, and `means` as `means_of` has them.

    The last `others` models have no run. One model in forty is a system.
    """
    chance = random.Random(seed)
    names = [f"{chance.choice(_ORGANISATIONS[:5])}/model-{i}" for i in range(models)]
    if hostile:
        names[: len(HOSTILE)] = [text[:300] for text in HOSTILE]
    runs = [
        _run(i, k, chance) for i in range(models - others) for k in range(chance.choice([1, 1, 3]))
    ]
    runs.sort(key=lambda run: -run["score"])
    facts = [_facts(i, chance, hostile=hostile) for i in range(models)]
    return {
        "level": 0.95,
        "groups": [
            [key, [key, key]] for key in ("pfgen", "categories", "facts", "judges", "jpeval")
        ],
        "columns": COLUMNS,
        "benchmarks": [
            {
                "key": "pfgen",
                "label": ["総合", "pfgen"],
                "column": "score",
                "low": 0.0,
                "high": 1.0,
            },
            {
                "key": "jpeval",
                "label": ["評価", "eval"],
                "column": "jpeval:0",
                "low": 0.2,
                "high": 0.9,
            },
        ],
        "models": {
            "slug": [f"m{i}" for i in range(models)],
            "name": names,
            "label": [name.rpartition("/")[2] or name for name in names],
            "page": [f"models/m{i}/index.html" for i in range(models)],
            "values": _values([c for c in COLUMNS if c["of"] == "model"], facts),
            "intervals": {
                "judge:win": [
                    [None if f["judge:win"] is None else f["judge:win"] + by for f in facts]
                    for by in (-0.1, 0.1)
                ]
            },
        },
        "runs": {
            "model": [run["model"] for run in runs],
            "slug": [run["slug"] for run in runs],
            "name": [names[run["model"]] for run in runs],
            "label": [f"{names[run['model']]} · {run['mode']}" for run in runs],
            "page": [f"runs/{run['slug']}/index.html" for run in runs],
            "system": [run["model"] % 40 == 7 for run in runs],
            "values": _values([c for c in COLUMNS if c["of"] == "run"], runs),
            "intervals": {
                "score": [[run["score"] + by for run in runs] for by in (-0.02, 0.02)],
            },
        },
        "means": [run["means"] for run in runs],
    }


def _run(model: int, number: int, chance: random.Random) -> dict[str, Any]:
    skill = chance.uniform(0.1, 0.9)
    means = [round(min(max(chance.gauss(skill, 0.15), 0), 1), 5) for _ in range(QUESTIONS)]
    known = chance.random()
    return {
        "model": model,
        "slug": f"r{model}-{number}",
        "score": sum(means) / QUESTIONS,
        "means": None if known < 0.05 or model % 40 == 7 else means,
        **{key: chance.random() for key in ("fluency", "truthfulness", "helpfulness")},
        "length": chance.uniform(60, 300),
        "trials": chance.choice([1, 10, 100]),
        "mode": chance.choice(["completion", "qa", "chat"]),
        "date": None if known < 0.3 else _day(chance),
        **{f"category:{i}": _maybe(chance, chance.random()) for i in range(_CATEGORIES)},
    }


def _facts(number: int, chance: random.Random, *, hostile: bool) -> dict[str, Any]:
    return {
        "organisation": _maybe(
            chance, HOSTILE[number % 10] if hostile else chance.choice(_ORGANISATIONS)
        ),
        "family": _maybe(chance, f"family {number % 30}"),
        "parameters": _maybe(chance, round(10 ** chance.uniform(-0.5, 2.5), 1)),
        "released": _maybe(chance, _day(chance)),
        "open": _maybe(chance, chance.random() < 0.5),
        **{f"jpeval:{i}": _maybe(chance, chance.random()) for i in range(_TASKS)},
        "judge:win": _maybe(chance, chance.uniform(0.2, 0.8)),
    }


def _maybe(chance: random.Random, value: Any) -> Any:
    return None if chance.random() < 0.2 else value


def _day(chance: random.Random) -> str:
    return (date(2023, 1, 1) + timedelta(days=chance.randrange(1000))).isoformat()


def _values(
    columns: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    return {each["key"]: [row[each["key"]] for row in rows] for each in columns}


def write_board(folder: Path, board: Board) -> Path:
    """Write a board and the page that shows it. Returns the page."""
    means = {"means": board["means"]}
    (folder / "models").mkdir(exist_ok=True)
    payload = {key: value for key, value in board.items() if key != "means"}
    (folder / "board.js").write_bytes(payload_file("board", packed(payload)))
    (folder / "means.js").write_bytes(payload_file("means", means))
    for path, content in vendored():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    page = folder / "models" / "index.html"
    page.write_bytes(models_page(board))
    return page


def models_page(board: Board) -> bytes:
    """The page of models, with the best run of each as it is without scripts."""
    runs, models = board["runs"], board["models"]
    best: dict[int, int] = {}
    for number, model in enumerate(runs["model"]):
        best.setdefault(model, number)
    lows, highs = runs["intervals"]["score"]
    ranks = count(1)
    rows = [
        {
            "rank": None if runs["system"][number] else next(ranks),
            "name": models["name"][model],
            "page": models["page"][model],
            "low": lows[number],
            "high": highs[number],
            **{key: values[number] for key, values in runs["values"].items()},
        }
        for model, number in best.items()
    ]
    return render(
        "models",
        parts=MODELS_PARTS,
        frame=Frame("../"),
        here="models",
        signature="",
        rows=rows,
        is_complete=True,
        data={"comparison": {"page": COMPARISON_PAGE, "most": MOST_COMPARED}},
    )
