"""Made leaderboards, and texts that attack the pages that show them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import small
from helpers import lines, write_benchmark
from pfgen_rs import Benchmark, Result, load_benchmark, score_file
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.stats import from_summary

RUNS = ("babbling", "careless", "faithful")
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style><b>bold</b>",
    "\"'><svg onload=alert(1)>",
    "{{7*7}} {n} ${7*7} %s",
    "a\u202eb\u2066c\u200fd",
    "nul\x00 bell\x07 newline\n tab\t",
    "\u2028\u2029\ufeff\u00ad",
    "שלום עולם",
    "\\ud800 \\u003c &lt;&amp;",
    "https://example.com/?a=1&b=2",
    "長" * 100_000,
)


def made_entries(count: int, *, seed: int = 0) -> list[Entry]:
    """A leaderboard, by falling score; the third run of more than two is a system's and has no rank."""
    chance = random.Random(seed)
    scores = sorted((round(chance.uniform(0.05, 1.02), 4) for _ in range(count)), reverse=True)
    entries = [_entry(i, score, chance) for i, score in enumerate(scores)]
    if count > 2:
        system = {"mode": "system", "engine": "system", "organisation": "system"}
        unranked = dict.fromkeys(("rank", "rank_low", "rank_high", "own_rank_low", "own_rank_high"))
        entries[2] = replace(entries[2], model="system/criteria", **system, **unranked)  # type: ignore[arg-type]
    return entries


def _entry(i: int, score: float, chance: random.Random) -> Entry:
    organisation = chance.choice(["abeja", "pfnet", "llm-jp", "Qwen", "日本語団体"])
    model = f"{organisation}/model-{i}"
    means = [score + chance.uniform(-0.05, 0.05) for _ in range(20)]
    return Entry(
        run=f"result/{model}/{i:07x}",
        model=model,
        organisation=organisation,
        mode=chance.choice(["completion", "qa", "chat"]),
        engine=chance.choice(["vllm", "hf", "openai-api"]),
        score=score,
        score_std=0.01,
        num_trials=chance.choice([1, 10, 100]),
        length=round(chance.uniform(60, 300), 1),
        length_std=10.0,
        fluency=score + chance.uniform(-0.05, 0.05),
        truthfulness=score + chance.uniform(-0.05, 0.05),
        helpfulness=chance.uniform(0, 1),
        sources={},
        estimate=from_summary(means, [0.05] * 20, 10),
        rank=i + 1,
        rank_low=max(1, i - 1),
        rank_high=i + 3,
        own_rank_low=max(1, i),
        own_rank_high=i + 2,
        icon="🟢",
        input_hash=None,
        metadata_hash="0" * 40,
        signature="",
        config={},
        questions={},
    )


def hostile_entries() -> list[Entry]:
    """A leaderboard whose names all attack."""
    entries = made_entries(len(HOSTILE) + 3)
    return [_renamed(entry, text) for entry, text in zip(entries, HOSTILE, strict=False)]


def _renamed(entry: Entry, text: str) -> Entry:
    cut = text[:500]
    return replace(entry, run=f"result/{text}", model=text, organisation=cut, mode=cut, engine=cut)


class Elements(HTMLParser):
    """Every element of a page: name, attributes, and the text up to the next tag."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.inside = False
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {tag} {attrs}"
        self.found.append((tag, dict(attrs), []))
        self.inside = True

    def handle_endtag(self, _: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1][2].append(data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Attributes and text of the elements of one kind."""
        return [(attrs, "".join(texts)) for name, attrs, texts in self.found if name == tag]


def hostile_benchmark() -> Benchmark:
    """A benchmark whose every text attacks."""
    return small.benchmark(
        *(
            {
                "question_id": f"{i} {text[:200]}",
                "question": f"{i} {text}",
                "answers": {"B": [text, f"{text[:50]}x"], text[:300]: ["ab", "ba"]},
                "keywords": [
                    {"t": f"[{i}]", "name": text[:300]},
                    {"or": [{"t": "a"}, {"t": "<b>"}]},
                ],
            }
            for i, text in enumerate(HOSTILE)
        )
    )


def hostile_run(folder: Path) -> Result:
    """A run and a benchmark whose every text attacks."""
    changes: dict[str, dict[str, Any]] = {
        "Q01": {"category": HOSTILE[0], "keywords": [{"t": "猫", "name": HOSTILE[3]}]},
        "Q02": {"category": HOSTILE[5], "question": HOSTILE[2]},
    }
    write_benchmark(folder / "set", changes)
    benchmark = load_benchmark(folder / "set")
    (folder / "run").mkdir()
    questions = [question.text for question in benchmark]
    answers = [(question, text) for text in ["", *HOSTILE] for question in questions]
    (folder / "run" / "trials.jsonl").write_bytes(lines(answers))
    config = {"model": HOSTILE[1], HOSTILE[0]: HOSTILE[4], "more": [HOSTILE[5]]}
    (folder / "run" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return score_file(folder / "run", benchmark)
