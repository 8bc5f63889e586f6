"""The page of verdicts: its data, its figures, and what it refuses."""

import base64
import gzip
import json
import random
import re
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from pfgen_rs.cli.app import app
from pfgen_rs.errors import OutputError
from pfgen_rs.judge import Pair, VerdictFolder, agree, pages, read_humans, sample_path
from pfgen_rs.judge.imported import Imported, write_folder
from pfgen_rs.judge.pages import VerdictView, index_payload, verdict_view, write_verdict_page
from site_samples import Elements
from verdict_pages import (
    made_verdict_pairs,
    write_hostile_verdicts,
    write_human_verdicts,
    write_sampled_folder,
    write_verdict_folder,
)

COUNT = 70


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    pairs = made_verdict_pairs(COUNT)
    return [
        write_verdict_folder(tmp_path / "one", pairs),
        write_verdict_folder(tmp_path / "two", pairs[10:], model="other", shift=3),
    ]


@pytest.fixture
def humans(tmp_path: Path) -> Path:
    return write_human_verdicts(tmp_path / "humans.jsonl", made_verdict_pairs(COUNT))


def payload_of(content: bytes) -> Any:
    found = re.search(rb"'([A-Za-z0-9+/=]+)'\);", content)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])).decode("utf-16-le"))


def test_the_index_has_what_the_decisions_say(folders: list[Path], humans: Path) -> None:
    view = verdict_view(folders, humans)
    index = index_payload(view, [0])
    assert index["ids"] == [pair.id for pair in made_verdict_pairs(COUNT)]
    for judge, folder, start in zip(index["judges"], folders, (0, 10), strict=True):
        table = VerdictFolder(folder).decisions()
        needed = {"v1": ["judged_1"], "first": ["judged_1"], "v2": ["judged_2"]}
        for name in ("v1", "v2", "probability", "strict", "tie", "first"):
            seen = table.select(pl.all_horizontal(needed.get(name, ["judged_1", "judged_2"])))
            letters = " " * start + "".join(
                letter or ("-" if known else ".")
                for letter, known in zip(table[name], seen.to_series(), strict=True)
            )
            assert judge[name] == letters
        for name in ("p1_a", "p2_b", "p_c", "margin"):
            units = [None if p is None else round(p * 10_000) for p in table[name]]
            assert judge[name] == [None] * start + units
    assert index["letters"][1][:5] == "ABB-B"
    assert index["majority"][:7] == "AA--BCB"
    pairs = made_verdict_pairs(COUNT)
    tasks = [*index["tasks"], None]
    assert [tasks[task] for task in index["task"]] == [pair.task for pair in pairs]
    models = [[index["models"][place] for place in index[side]] for side in "ab"]
    assert list(zip(*models, strict=True)) == [pair.models for pair in pairs]


def test_chunks_have_all_texts_once(folders: list[Path]) -> None:
    view = verdict_view(folders)
    starts = pages.chunk_starts(view)
    assert starts == [0, 64]
    for (_, value), start in zip(pages.chunk_payloads(view, starts), starts, strict=True):
        texts = [*value["texts"], None]
        assert len(set(texts)) == len(texts)
        for i, (question, reference, a, b) in enumerate(value["pairs"]):
            pair = view.pairs[start + i]
            assert texts[question] == pair.question
            assert texts[reference] == pair.reference
            assert (texts[a], texts[b]) == pair.answers
            for judge, places in zip(view.judges, value["judges"], strict=True):
                criteria, *said = places[i]
                assert texts[criteria] == (pair.criteria if pair.id in judge.criteria else None)
                found = [
                    [tuple(texts[place] for place in each) for each in order] for order in said
                ]
                assert found == [judge.samples(pair.id, 1), judge.samples(pair.id, 2)]


def test_a_long_text_ends_a_chunk(tmp_path: Path) -> None:
    pairs = made_verdict_pairs(6)
    pairs[2] = replace(pairs[2], answers=("長" * 1_000_000, "x"))
    pairs[4] = replace(pairs[4], answers=("x", "長" * 150_000))
    view = verdict_view([write_verdict_folder(tmp_path / "v", pairs)])
    assert pages.chunk_starts(view) == [0, 2, 3]


def test_the_figures_are_those_of_agree(folders: list[Path], humans: Path, tmp_path: Path) -> None:
    write_verdict_page(folders, tmp_path / "page.html", humans=humans)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    cells = [re.sub(r"<[^>]+>|\s+", " ", cell).split() for cell in re.findall(r"<td.*?</td>", page)]
    for folder in folders:
        decisions = VerdictFolder(folder).decisions()
        said = read_humans(humans, {pair.id for pair in made_verdict_pairs(COUNT)})
        said = said.filter(pl.col("pair").is_in(decisions["pair"].to_list()))
        found = agree(decisions, said)
        for row in found.concordance.filter(
            pl.col("task").is_null() & pl.col("rater").is_null()
        ).to_dicts():
            wanted = [f"{row['concordance']:.3f}", f"{row['low']:.3f}–{row['high']:.3f}"]
            assert wanted in cells
        bias = found.position
        assert [f"{bias.value:.3f}", f"{bias.interval.low:.3f}–{bias.interval.high:.3f}"] in cells


def test_pages_without_probabilities_and_without_a_kappa(
    folders: list[Path], tmp_path: Path
) -> None:
    folder = write_verdict_folder(tmp_path / "v", made_verdict_pairs(10), logprobs=False)
    assert len(write_verdict_page([folder], tmp_path / "page.html").pairs) == 10
    humans = tmp_path / "humans.jsonl"
    lines = [json.dumps({"id": "p000", "rater": rater, "verdict": "A"}) for rater in "xy"]
    humans.write_text("\n".join(lines), encoding="utf-8")
    write_verdict_page(folders[:1], tmp_path / "page.html", humans=humans)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "nan" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)


def test_a_folder_gets_files_that_are_loaded_on_demand(folders: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "site"
    write_verdict_page(folders, out)
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    chunks = [f"verdicts/{name}.js" for name in ("00000", "00001", "index")]
    assert names == [".pfgen-site.json", "index.html", *chunks]
    index = payload_of((out / "verdicts" / "index.js").read_bytes())
    assert index == index_payload(verdict_view(folders), [0, 64])
    before = {name: (out / name).read_bytes() for name in names}
    write_verdict_page(folders, out)
    assert {name: (out / name).read_bytes() for name in names} == before
    write_verdict_page([folders[1]], out)
    assert not (out / "verdicts" / "00001.js").exists(), "fewer pairs need fewer files"


def test_nothing_is_written_over_other_files(folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="not empty and not a site"):
        write_verdict_page(folders, tmp_path / "mine")
    assert (tmp_path / "mine" / "index.html").read_text(encoding="utf-8") == "mine"


def test_hostile_texts_make_no_element(tmp_path: Path) -> None:
    folder, humans = write_hostile_verdicts(tmp_path)
    write_verdict_page([folder], tmp_path / "page.html", humans=humans)
    page = (tmp_path / "page.html").read_bytes()
    found = Elements(page)
    assert not found.named("img")
    assert not found.named("b")
    assert all("onload" not in attrs for _, attrs, _ in found.found)
    names = [attrs.get("id") for attrs, _ in found.named("script")]
    payloads = [f"payload-verdicts/{name}" for name in ("index", "00000", "00001")]
    assert names == [None, "data-strings", "data-verdicts", *payloads, None]
    page.decode()


def characters_of(pair: Pair, view: VerdictView) -> int:
    said = (
        each for judge in view.judges for order in (1, 2) for each in judge.samples(pair.id, order)
    )
    texts = [pair.question, pair.reference, pair.criteria, *pair.answers]
    texts += [text for each in said for text in (each.output, each.problem)]
    return sum(len(text or "") for text in texts)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.77, 1.0])
def test_texts_bound_what_is_listed(folders: list[Path], share: float) -> None:
    """The first pairs in an order of chance are listed, as many as fit; of others nothing is kept."""
    everything = verdict_view(folders)
    assert len(everything.pairs) == everything.total == COUNT
    sizes = {pair.id: characters_of(pair, everything) for pair in everything.pairs}
    limit = int(sum(sizes.values()) * share)
    view = verdict_view(folders, characters=limit)
    order = random.Random(0).sample([*sizes], COUNT)
    fit = sum(total <= limit for total in accumulate(sizes[each] for each in order))
    assert [pair.id for pair in view.pairs] == [
        each for each in sizes if each in order[: max(fit, 1)]
    ]
    for judge, whole in zip(view.judges, everything.judges, strict=True):
        ids = {pair.id for pair in view.pairs}
        assert judge.said == {id_: said for id_, said in whole.said.items() if id_ in ids}
        assert set(judge.criteria) <= ids
        assert judge.listed["pair"].to_list() == [pair.id for pair in view.pairs]


def test_a_single_file_holds_fewer_texts(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "FILE_CHARACTERS", 1500)
    monkeypatch.setattr(pages, "FOLDER_CHARACTERS", 3000)
    in_file = len(write_verdict_page(folders, tmp_path / "page.html").pairs)
    in_folder = len(write_verdict_page(folders, tmp_path / "page").pairs)
    assert 0 < in_file < in_folder < COUNT
    told = f"全 {COUNT} ペアから無作為に選んだ {in_file} ペア"
    assert told in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_more_than_twenty_thousand_pairs(tmp_path: Path) -> None:
    made, count = Imported("made-up"), pages.LISTED + 1
    for i in range(count):
        pair = Pair(id=f"p{i}", question="q", models=("x", "y"), answers=("a", f"{i}"))
        made.add_pair(pair)
        made.add_judgment(pair, 1, "judge", "A", prompt="reason", output="A")
    write_folder(tmp_path / "v", made)
    view = write_verdict_page([tmp_path / "v"], tmp_path / "page.html")
    assert (len(view.pairs), view.total) == (pages.LISTED, count)
    assert (tmp_path / "page.html").stat().st_size < 5_000_000


def test_all_samples_are_shown(tmp_path: Path) -> None:
    pairs = made_verdict_pairs(3)
    folder = write_sampled_folder(tmp_path / "v", pairs)
    view = verdict_view([folder])
    said = view.judges[0].samples(pairs[1].id, 2)
    assert [(each.output, each.letter) for each in said] == [
        ("p001 2 0 B", "A"),
        ("p001 2 1 A", "B"),
        ("p001 2 2 -", None),
    ]
    [judge] = index_payload(view, [0])["judges"]
    assert judge["unstable"] == [True, True, False]
    table = VerdictFolder(folder).decisions()
    assert judge["p2_a"] == [round(p * 10_000) for p in table["p2_a"]]


def test_the_command_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(out: Path, *arguments: Path | str) -> Any:
        return CliRunner().invoke(app, ["judge", "page", *map(str, arguments), "--out", str(out)])

    sample, out = sample_path(), tmp_path / "page.html"
    folders = [sample / "verdicts" / judge for judge in ("careful", "hasty")]
    done = written(out, *folders, "--humans", sample / "humans.jsonl")
    assert (done.exit_code, done.stdout) == (0, f"{out}: 30 pairs\n")
    assert "demo/careful-judge" in out.read_text(encoding="utf-8")
    assert "is not a folder of verdicts" in str(written(out, tmp_path).exception)
    # Of many pairs it lists a sample, and says so.
    monkeypatch.setattr(pages, "LISTED", 7)
    done = written(out, folders[0])
    assert done.stdout == f"{out}: 30 pairs, 7 of them listed, drawn at random\n"
    assert "全 30 ペアから無作為に選んだ 7 ペア" in out.read_text(encoding="utf-8")
    view = verdict_view(folders[:1])
    assert (len(view.pairs), view.total, len(view.judges[0].read.decisions)) == (7, 30, 30)
    assert {*view.judges[0].said} == {pair.id for pair in view.pairs}
