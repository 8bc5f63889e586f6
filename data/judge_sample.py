"""Makes data/judge-sample: pairs, raters, two recorded judges and dialogues, to try judges without a key.

    python data/judge_sample.py [FOLDER]

The texts are those of `judge_texts/`. Verdicts, scores and probabilities are drawn by rule from the quality
that the texts declare, so no statistic of the sample says anything about raters, judges or models.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import made
from pfgen_rs import score_runs
from pfgen_rs.ask.request import Request
from pfgen_rs.io.run_files import named_results
from pfgen_rs.judge.compare import comparison_config
from pfgen_rs.judge.grading import answers_of_run, grading_config, grading_requests
from pfgen_rs.judge.pairs import Pair, pair_of, pair_record, pairs_of_runs, references_of
from pfgen_rs.judge.requests import Judge, comparison_requests, find_prompt

__all__ = ["FOLDER", "SOURCES", "files"]

HERE = Path(__file__).parent
FOLDER = HERE / "judge-sample"
SOURCES = HERE / "judge_texts"
RUNS = HERE / "mini" / "runs"
MODELS = ("kaede-7b", "nagi-13b", "shiori-1b")
LETTERS = "ABC"
SWAPPED = {"A": "B", "B": "A", "C": "C"}
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rater:
    """A made-up rater: how far the verdict strays from the declared quality, and what counts as a tie."""

    name: str
    noise: float
    tie: float


@dataclass(frozen=True, slots=True)
class Invented:
    """A made-up judge.

    `towards_first`: what the answer that is shown first gains. `sharpness`: how far differences in quality
    move the probabilities apart. `cut`, `silent`, `blunt`: positions in the journal of judgments that were
    cut off, that have no letter, and that came without probabilities.
    """

    name: str
    prompt: str
    noise: float
    towards_first: float
    sharpness: float
    tie: float
    cut: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()
    blunt: tuple[int, ...] = ()

    @property
    def identity(self) -> Judge:
        """What its records say of it."""
        return Judge("made-up", f"demo/{self.name}-judge")


RATERS = (Rater("r1", 0.12, 0.09), Rater("r2", 0.15, 0.08), Rater("r3", 0.21, 0.13))
JUDGES = (
    Invented("careful", "criteria-reason", 0.07, 0.02, 14.0, 0.10, cut=(41,)),
    Invented("hasty", "result", 0.20, 0.16, 7.0, 0.10, silent=(6, 33), blunt=(20,)),
)
RUN_JUDGE = Invented("runs", "result", 0.10, 0.05, 9.0, 0.10)
"""What judges and rates the answers of the runs of data/mini."""
RUN_QUALITY = {"mini/faithful": 0.75, "mini/careless": 0.55, "mini/babbling": 0.2}
HUMAN_QUALITY = {"human": 0.85, "calm": 0.55, "llm-jp": 0.2}


def files(sources: Path = SOURCES) -> dict[str, bytes]:
    """Returns the contents of the sample's files by their paths in it, README excepted."""
    questions = tomllib.loads((sources / "pairs.toml").read_text("utf-8"))["questions"]
    scenes = tomllib.loads((sources / "dialogues.toml").read_text("utf-8"))["scenes"]
    pairs = [
        pair for number, question in enumerate(questions) for pair in pairs_of(number, question)
    ]
    shown = [pair for pair, _ in pairs]
    made_files = {
        "pairs.jsonl": lines(shown),
        "humans.jsonl": lines(
            {"id": pair["id"], "rater": rater.name, "verdict": human_verdict(rater, pair, margin)}
            for pair, margin in pairs
            for rater in RATERS
        ),
        "dialogues.jsonl": lines(dialogues(scenes)),
    }
    for judge in JUDGES:
        folder = f"verdicts/{judge.name}"
        made_files[f"{folder}/pairs.jsonl"] = lines(shown)
        asked, prompt = judge.identity, find_prompt(judge.prompt, "pairwise")
        made_files[f"{folder}/config.json"] = document(comparison_config(asked, prompt))
        made_files[f"{folder}/judgments.jsonl"] = lines(judgments(judge, pairs))
    return made_files | run_files()


def lines(records: Iterable[Record]) -> bytes:
    """Write JSON lines."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()


def document(record: Record) -> bytes:
    """Write one JSON document."""
    return (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode()


def noise(*names: str) -> float:
    """Draw a number with mean 0 and standard deviation 1."""
    rng = made.generator("judge-sample", *names)
    return (sum(rng.random() for _ in range(4)) - 2) * math.sqrt(3)


# --- pairs and raters ----------------------------------------------------------------------------


def pairs_of(number: int, question: Mapping[str, Any]) -> list[tuple[Record, float]]:
    """Returns the pairs of a question, each with the quality of its first answer minus the second's."""
    found = []
    for place, names in enumerate(combinations(MODELS, 2)):
        a, b = names if (number + place) % 2 == 0 else names[::-1]
        answers = question["answers"]
        record = {
            "id": f"{question['id']}-{a.split('-')[0]}-{b.split('-')[0]}",
            "question_id": question["id"],
            "task": question["task"],
            "question": question["question"],
            "reference": question["reference"],
            "criteria": "\n".join(f"・{each}" for each in question["criteria"]),
            "models": [f"demo/{a}", f"demo/{b}"],
            "answers": [answers[a]["text"], answers[b]["text"]],
        }
        found.append((record, answers[a]["quality"] - answers[b]["quality"]))
    return found


def human_verdict(rater: Rater, pair: Record, margin: float) -> str:
    """Draw what a rater says of a pair."""
    felt = margin + rater.noise * noise(rater.name, pair["id"])
    return "C" if abs(felt) <= rater.tie else "A" if felt > 0 else "B"


# --- judges --------------------------------------------------------------------------------------


def judgments(judge: Invented, pairs: Sequence[tuple[Record, float]]) -> list[Record]:
    """Returns the journal of a judge: every pair in both orders."""
    shown = [(pair, margin) for pair, margin in pairs for _ in (1, 2)]
    prompt = find_prompt(judge.prompt, "pairwise")
    requests = comparison_requests([pair_of(pair) for pair, _ in pairs], prompt)
    return [
        judgment(judge, place, request, *each)
        for place, (request, each) in enumerate(zip(requests, shown, strict=True))
    ]


def judgment(judge: Invented, place: int, request: Request, pair: Record, margin: float) -> Record:
    """Draw one judgment."""
    order = request.about["order"]
    felt = margin if order == 1 else -margin
    felt += judge.towards_first + judge.noise * noise(judge.name, pair["id"], str(order))
    probabilities: Mapping[str, float] | None = letter_probabilities(judge, felt, pair["id"], order)
    shown: str | None = max(LETTERS, key=lambda letter: (probabilities or {})[letter])
    output, reason, problem = reply(judge, pair, order, str(shown)), "stop", None
    if place in judge.cut:
        output, reason, problem = (
            output[: len(output) * 2 // 3],
            "length",
            "cut off by the token limit",
        )
    if place in judge.silent:
        output, problem = "どちらの回答も質問に答えており、優劣を判断できません。", "no verdict"
    if problem is not None:
        shown = probabilities = None
    if place in judge.blunt:
        probabilities = None
    return {
        **request.about,
        "sample": request.sample,
        "digest": request.digest(judge.identity),
        "output": output,
        "finish_reason": reason,
        "shown": shown,
        "probabilities": probabilities,
        "problem": problem,
        **judge.identity.fields(),
        "usage": {
            "prompt_tokens": sum(len(text) for _, text in request.messages) * 4 // 5,
            "completion_tokens": max(1, len(output) * 4 // 5),
        },
        "left_out": [],
        "timestamp": (START + timedelta(seconds=7 * place)).isoformat(timespec="milliseconds"),
    }


def letter_probabilities(judge: Invented, felt: float, *names: object) -> dict[str, float]:
    """Returns the probabilities of the letters as shown: what is felt decides, a little mass is elsewhere."""
    weights = {
        "A": math.exp(judge.sharpness * (felt - judge.tie)),
        "B": math.exp(judge.sharpness * (-felt - judge.tie)),
        "C": 1.0,
    }
    elsewhere = 0.002 + 0.02 * made.generator(judge.name, "mass", *map(str, names)).random()
    total = sum(weights.values())
    return {
        letter: round(weight / total * (1 - elsewhere), 6) for letter, weight in weights.items()
    }


def reply(judge: Invented, pair: Record, order: int, letter: str) -> str:
    """Returns the text that ends in the letter, or is the letter alone."""
    if judge.prompt == "result":
        return letter
    rng = made.generator("judge-sample", "reply", judge.name, pair["id"], str(order))
    criterion = made.pick([each[1:] for each in pair["criteria"].splitlines()], rng)
    if letter == "C":
        verdict = made.pick(
            [
                "両者の回答に大きな差はなく、同点と判断します。",
                "それぞれに良い点と不足があり、総合すると同点です。",
            ],
            rng,
        )
        return f"「{criterion}」という観点で比べます。{verdict}\n\nC"
    better, worse = ("A", "B") if letter == "A" else ("B", "A")
    first = made.pick(
        [
            f"アシスタント {better} は模範回答に近く、必要な内容を過不足なく示しています。",
            f"アシスタント {better} の回答は、この観点をよく満たしています。",
            f"アシスタント {better} は条件に沿って、具体的にまとめています。",
        ],
        rng,
    )
    second = made.pick(
        [
            f"一方、アシスタント {worse} は一部の条件を満たしていません。",
            f"アシスタント {worse} の回答には、不正確なところや余分な記述があります。",
            f"これに対して、アシスタント {worse} は説明が十分とはいえません。",
        ],
        rng,
    )
    return f"「{criterion}」という観点で比べます。{first}{second}\n\n{letter}"


# --- runs of the bundled benchmark ---------------------------------------------------------------


def run_files() -> dict[str, bytes]:
    """Returns verdicts on the runs of data/mini, and ratings of them, to be held against their scores."""
    results = named_results(score_runs(sorted(map(str, RUNS.iterdir())), "mini"))
    frames = {name: result.frame for name, result in results.items()}
    references = references_of("mini")
    found = pairs_of_runs(frames, references=references)
    pairs = [(pair_record(pair), run_margin(pair)) for pair in found]
    judge, prompt = RUN_JUDGE.identity, find_prompt(RUN_JUDGE.prompt, "pairwise")
    grading = find_prompt("single-reference", "grade")
    answers = [
        answer
        for name, frame in frames.items()
        for answer in answers_of_run(frame, name, references, trials=1)
    ]
    return {
        "verdicts/runs/pairs.jsonl": lines(pair for pair, _ in pairs),
        "verdicts/runs/config.json": document(comparison_config(judge, prompt)),
        "verdicts/runs/judgments.jsonl": lines(judgments(RUN_JUDGE, pairs)),
        "ratings/config.json": document(grading_config(judge, grading)),
        "ratings/ratings.jsonl": lines(
            rating(place, request)
            for place, request in enumerate(grading_requests(answers, grading))
        ),
    }


def run_quality(model: str, *names: str) -> float:
    """Draw the quality of a run's answer."""
    return RUN_QUALITY[model] + 0.12 * noise("runs", model, *names)


def run_margin(pair: Pair) -> float:
    """Returns the quality of a pair's first answer minus the second's."""
    one, other = (run_quality(model, pair.question_id) for model in pair.models)
    return one - other


def rating(place: int, request: Request) -> Record:
    """Draw the rating of a run's answer."""
    quality = run_quality(request.about["model"], request.about["question_id"])
    score = min(max(round(1 + 9 * quality), 1), 10)
    judge = RUN_JUDGE.identity
    output = f"模範回答と比べ、内容の正確さと分かりやすさを評価しました。Rating: [[{score}]]"
    return {
        **request.about,
        "sample": request.sample,
        "digest": request.digest(judge),
        "output": output,
        "finish_reason": "stop",
        "rating": float(score),
        "expected": None,
        "problem": None,
        **judge.fields(),
        "usage": None,
        "left_out": [],
        "timestamp": (START + timedelta(seconds=7 * place)).isoformat(timespec="milliseconds"),
    }


# --- dialogues -----------------------------------------------------------------------------------


def dialogues(scenes: Sequence[Mapping[str, Any]]) -> list[Record]:
    """Returns the dialogues: each first answer of a scene with both of its second user turns."""
    counts: dict[str, int] = {}
    found = []
    for scene in scenes:
        for author1, answer1 in scene["answers1"].items():
            for kind in ("same", "free"):
                number = counts[scene["category"]] = counts.get(scene["category"], 0) + 1
                name = f"{scene['category']}-{number:02}"
                found.append(dialogue(name, scene, author1, answer1, kind))
    order = {category: place for place, category in enumerate(counts)}
    return sorted(found, key=lambda each: (order[each["category"]], each["id"]))


def dialogue(name: str, scene: Mapping[str, Any], author1: str, answer1: str, kind: str) -> Record:
    """Returns one dialogue with second answers by all authors."""
    points: Sequence[str] = scene[kind]["points"]
    first = (scene["user1"], author1)
    return {
        "id": name,
        "category": scene["category"],
        "turn2_type": kind,
        "turns": [scene["user1"], answer1, scene[kind]["user2"]],
        "author1": author1,
        "human1": human_scores(HUMAN_QUALITY[author1], *first),
        "gpt1": gpt_score(HUMAN_QUALITY[author1], answer1, *first),
        "answers2": [second_answer(author, points, name) for author in ("calm", "llm-jp", "human")],
    }


def second_answer(author: str, points: Sequence[str], name: str) -> Record:
    """Put an answer together: all, some, or little of what there is to say, and score it."""
    rng = made.generator("judge-sample", "answer", name, author)
    text, said = {"human": by_human, "calm": by_calm, "llm-jp": by_llm_jp}[author](points, rng)
    quality = HUMAN_QUALITY[author] * 0.6 + 0.4 * said
    return {
        "author": author,
        "text": text,
        "human": human_scores(quality, name, author),
        "gpt": gpt_score(quality, text, name, author),
    }


def by_human(points: Sequence[str], rng: Random) -> tuple[str, float]:
    """Say three or four of the points."""
    left_out = made.index(5, rng)  # 0 is the first point, which the others build on
    said = [each for place, each in enumerate(points) if place != left_out or place == 0]
    return joined(said), len(said) / len(points)


def by_calm(points: Sequence[str], rng: Random) -> tuple[str, float]:
    """Say two or three of them, politely."""
    said = list(points[: 2 + made.index(2, rng)])
    opening = made.pick(
        ["承知しました。", "ご質問ありがとうございます。", "以下のとおりです。"], rng
    )
    closing = made.pick(["参考になれば幸いです。", "お役に立てましたら幸いです。", ""], rng)
    between = "\n" if is_list(points) else ""
    return opening + between + joined(said) + between + closing, len(said) / len(points)


def by_llm_jp(points: Sequence[str], rng: Random) -> tuple[str, float]:
    """Say one of them, twice, or nothing."""
    kind = made.index(4, rng)
    if kind == 0:
        return "場合によって異なるため、一概に答えることはできません。", 0.0
    point = points[made.index(len(points), rng)]
    if kind == 1:
        return joined([point, point]), 0.2
    return point, 0.25


def joined(points: Sequence[str]) -> str:
    """Join sentences, and items of a list line by line."""
    return ("\n" if is_list(points) else "").join(points)


def is_list(points: Sequence[str]) -> bool:
    """Whether the points are items of a list."""
    return points[0][0] in "・一二三四"


def human_scores(quality: float, *names: str) -> list[int]:
    """Draw the scores of three raters, 1 to 5."""
    shared = 0.08 * noise("score", *names)
    return [
        on_scale(quality + shared + 0.1 * noise("score", str(rater), *names)) for rater in range(3)
    ]


def gpt_score(quality: float, text: str, *names: str) -> int:
    """Draw the judge's score, which rises a little with the length of the text."""
    longer = 0.12 * math.log(max(len(text), 1) / 60)
    return on_scale(quality + longer + 0.05 + 0.1 * noise("gpt", *names))


def on_scale(quality: float) -> int:
    """Returns the score from 1 to 5 for a quality from 0 to 1."""
    return min(5, max(1, round(1 + 4 * quality)))


def main() -> None:
    """Write the sample."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, content in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
