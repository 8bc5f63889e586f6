"""Plots and tables of what was measured, into `benches/README.md` and `benches/figures/`.

    python benches/report.py

Reads `bench.json` (of `run.py --json`) and `growth.json` (of `growth.py`) beside this file, where they are,
and replaces what stands between the markers of the README.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import plots
from measures import shown

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
BLOCK = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
Content = dict[str, Any]


def main() -> None:
    """Draw, and write the blocks."""
    writers: dict[str, tuple[str, Callable[[Any], Iterator[str]]]] = {
        "asked": ("bench.json", asked),
        "growth": ("growth.json", growth),
        "left": ("growth.json", left),
        "building": ("building.json", building),
        "home": ("home_made.json", home_made),
        "reporting": ("reporting.json", asked),
        "training": ("training.json", asked),
        "pretraining": ("pretraining.json", asked),
        "generation": ("generation.json", generation),
    }

    def block(match: re.Match[str]) -> str:
        name, writer = writers[match[2]]
        path = HERE / name
        if not path.exists():
            return match[0]
        content = json.loads(path.read_text(encoding="utf-8"))
        return match[1] + "\n".join(writer(content)) + "\n" + match[3]

    README.write_text(BLOCK.sub(block, README.read_text(encoding="utf-8")), encoding="utf-8")


def setting(content: Content) -> Iterator[str]:
    """What was measured with."""
    machine = content["machine"]
    yield (
        f"Measured on {machine['cores']} cores ({machine['cpu']}), {machine['system']}, Python "
        f"{machine['python']}, pfgen_rs {machine['pfgen_rs']}; {content['data']}."
    )
    yield ""


def asked(content: Content) -> Iterator[str]:
    """The measures that are asked for."""
    yield from setting(content)
    yield from _bounds(content)


def _bounds(content: Content) -> Iterator[str]:
    """Figures with their bounds, and what stands behind each."""
    yield "| measure | value | at least | aim | holds |"
    yield "| --- | --- | --- | --- | --- |"
    rows = content["measures"].values()
    for row in rows:
        values = (shown(row[key], row["unit"]) for key in ("value", "at_least", "aim"))
        yield f"| {row['what']} | {' | '.join(values)} | {row['holds']} |"
    yield ""
    for row in rows:
        yield f"- {row['what']}: {row['note']}"


def growth(content: Content) -> Iterator[str]:
    """The plots, and their points as tables."""
    yield from setting(content)
    for name, draw in plots.DRAWINGS.items():
        draw(content, HERE / "figures" / f"{name}.svg")
        yield f"![{plots.TITLES[name]}](figures/{name}.svg)"
        yield ""
    yield "| responses in one file | seconds | peak memory |"
    yield "| --- | --- | --- |"
    for point in content["responses"]:
        yield f"| {point['responses']:,} | {point['seconds']:.2f} | {shown(point['peak'] / 1e6, 'MB')} |"
    yield ""
    yield "| reference answers | build | tables | layout | a response, one thread | peak memory |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for point in content["references"]:
        cells = (
            f"{point['references']:,}",
            shown(point["build_s"] * 1e3, "ms"),
            shown(point["tables"] / 1e6, "MB"),
            point["layout"],
            shown(point["seconds_a_response"] * 1e6, "us"),
            shown(point["peak"] / 1e6, "MB"),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "| threads | responses a second | over one thread |"
    yield "| --- | --- | --- |"
    one = content["threads"][0]["per_second"]
    for point in content["threads"]:
        rate = point["per_second"]
        yield f"| {point['threads']} | {rate:,.0f} | {rate / one:.2f} |"


def left(content: Content) -> Iterator[str]:
    """Where the time of a whole run goes."""
    stages = content["stages"]
    yield (
        f"`pfgen-rs score` on {stages['responses']:,} responses takes {stages['whole_s']:.2f} s, "
        f"and {stages['cpu_s']:.2f} s of CPU time:"
    )
    yield ""
    yield "| part | CPU seconds | share |"
    yield "| --- | --- | --- |"
    for part, seconds in stages["parts_s"].items():
        yield f"| {part} | {seconds:.2f} | {seconds / stages['cpu_s']:.0%} |"


def building(content: Content) -> Iterator[str]:
    """The measures of building sets, a table a pool."""
    yield from setting({**next(iter(content.values())), "data": "made and real candidates"})
    for what, table in content.items():
        yield f"**{what}**"
        yield ""
        yield from _bounds(table)
        yield ""


def generation(content: Content) -> Iterator[str]:
    """The measures of asking servers, a table a server, each measured by itself."""
    for what, table in content.items():
        yield f"**{what}**"
        yield ""
        yield from asked(table)
        yield ""


def home_made(content: list[dict[str, Any]]) -> Iterator[str]:
    """How well home-made sets agree with the published ranking, beside fresh published sources."""
    yield (
        "| split | runs scored | set | answers | ± length | all runs | one source, three, ∞ | "
        "above 0.5 | one source, three, ∞ |"
    )
    yield "| --- " * 9 + "|"
    for row in content:
        cells = [f"{row['data']} {row['split']}", row["all"]["runs"], row["set"]]
        cells += [f"{row['answers']:,.0f}", row["length_std"]]
        for found in (row["all"], row["good"]):
            cells.append(f"{found['pearson']:.5f} ({found['low']:.4f} to {found['high']:.4f})")
            fresh = (found[name] for name in ("one_source", "three_sources", "infinitely_many"))
            cells.append(", ".join(f"{value:.4f}" for value in fresh))
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
