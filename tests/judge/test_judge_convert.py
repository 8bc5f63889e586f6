"""`pfgen-rs judge import` and `export`, and imported judgments as verdict folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pfgen_rs.judge.formats.imported import read_folder, write_folder

from helpers import pfgen
from pfgen_rs.cli.judge_convert import ExportName, ImportName
from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.judge.formats import FORMATS, Imported, read_format, write_format
from pfgen_rs.judge.sample import sample_path
from pfgen_rs.judge.tokens import Letter
from pfgen_rs.judge.verdict_folder import VerdictFolder

CAREFUL = sample_path() / "verdicts" / "careful"


def test_the_command_offers_every_format() -> None:
    assert [each.value for each in ExportName] == list(FORMATS)
    assert [each.value for each in ImportName] == [n for n, each in FORMATS.items() if each.read]


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "pandalm-results"])
def test_the_sample_goes_to_every_format_and_comes_back(name: str, tmp_path: Path) -> None:
    given = read_folder(CAREFUL)
    humans: list[tuple[str, str, Letter]] = [("q01-kaede-nagi", "annotator1", "A")]
    path = tmp_path / "file.json"
    write_format(path, Imported(given.pairs, given.judgments, humans), name)
    write_folder(tmp_path / "back", read_format([path], name))
    back = VerdictFolder(tmp_path / "back")
    if name == "pandalm":
        assert back.pairs()[0].id == "q01-kaede-nagi"
        assert read_folder(tmp_path / "back").humans == humans
        return
    # One verdict a pair; soft preferences have no ties, and Prometheus has none at all.
    rule = {"alpaca-eval": "probability", "prometheus": "first"}.get(name, "tie")
    there = "probability" if name == "alpaca-eval" else "tie"
    wanted = VerdictFolder(CAREFUL).decisions()[there].to_list()
    found = back.decisions()[rule].to_list()
    if name == "prometheus":
        wanted = [each for each in wanted if each in ("A", "B")]
    elif name == "alpaca-eval":
        found = [None if wish == "C" else each for each, wish in zip(found, wanted, strict=True)]
        wanted = [each if each != "C" else None for each in wanted]
    assert found == wanted
    assert len(found) == (24 if name == "prometheus" else 30)


def test_a_folder_is_exported_and_imported(tmp_path: Path) -> None:
    path, out = tmp_path / "file.jsonl", tmp_path / "back"
    done = pfgen("judge", "export", CAREFUL, "--to", "vicuna-qa", "--out", path)
    assert (done.returncode, done.stdout) == (0, f"wrote 30 pairs to {path}\n")
    done = pfgen("judge", "import", path, "--from", "vicuna-qa", "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote 30 pairs and 60 judgments to {out}\n"


def test_pairs_that_a_format_cannot_express_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    done = pfgen("judge", "export", CAREFUL, "--to", "prometheus", "--out", path)
    assert (done.returncode, done.stdout) == (0, f"wrote 24 pairs to {path}\n")
    assert done.stderr == (
        "warning: 6 pairs left out: no judgment, or none that prometheus can express\n"
    )


def test_an_imported_folder_is_a_verdict_folder(judging_dir: Path, tmp_path: Path) -> None:
    data = judging_dir / "data" / "ja-vicuna-qa"
    files = [data / "pairwise-gpt-4", data / "question.jsonl"]
    out = tmp_path / "verdicts"
    done = pfgen("judge", "import", *files, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote 480 pairs and 960 judgments to {out}\n"
    folder = VerdictFolder(out)
    decisions = folder.decisions()
    assert decisions["consistent"].sum() == 432
    assert dict(decisions["tie"].value_counts().rows()) == {"A": 245, "B": 181, "C": 54}
    assert folder.judge_name == "gpt-4 · pair"
    assert read_folder(out).judgments == read_format(files).judgments


def test_raters_and_one_of_several_judges_are_imported(judging_dir: Path, tmp_path: Path) -> None:
    data, out = judging_dir / "data" / "pandalm", tmp_path / "verdicts"
    done = pfgen("judge", "import", data, "--out", out)
    assert done.returncode == 2
    assert "several judges: choose one of gpt-3.5-turbo, pandalm-7b" in done.stderr
    assert not out.exists()
    done = pfgen("judge", "import", data, "--judge", "pandalm-7b", "--out", out)
    assert done.stdout.splitlines() == [
        f"wrote 999 pairs and 999 judgments to {out}",
        f"wrote 2,997 verdicts of 3 raters to {out / 'humans.jsonl'}",
    ]
    done = pfgen("judge", "export", out, "--to", "pandalm", "--out", tmp_path / "again.json")
    assert done.stdout == f"wrote 999 pairs to {tmp_path / 'again.json'}\n"
    assert read_format([tmp_path / "again.json"]).humans == read_folder(out).humans


def test_missing_texts_are_told(tmp_path: Path) -> None:
    path = tmp_path / "pair.jsonl"
    given = read_folder(CAREFUL)
    FORMATS["fastchat"].write(path, given)
    done = pfgen("judge", "import", path, "--out", tmp_path / "out")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: the files have no questions and answers")


def test_a_folder_with_something_in_it_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    given = read_folder(CAREFUL)
    with pytest.raises(OutputError, match="already exists: choose another folder"):
        write_folder(tmp_path, given)
    with pytest.raises(OutputError, match="already exists: choose another folder"):
        write_folder(tmp_path / "note.txt", given)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_the_last_judgment_counts_and_samples_are_left_out(tmp_path: Path) -> None:
    given = read_folder(CAREFUL)
    first = given.judgments[0]
    later = [{**first, "shown": "C"}, {**first, "shown": "B", "sample": 1}]
    write_folder(tmp_path / "out", Imported(given.pairs, [*given.judgments, *later]))
    found = read_folder(tmp_path / "out")
    assert found.judgments == [later[0], *given.judgments[1:]]
    assert found.notes == ("1 judgment of further samples was left out",)


def test_judgments_of_unknown_pairs_are_refused(tmp_path: Path) -> None:
    given = read_folder(CAREFUL)
    write_folder(tmp_path / "out", Imported(given.pairs[1:], given.judgments))
    with pytest.raises(InputError, match="judgment of an unknown pair 'q01-kaede-nagi'"):
        read_folder(tmp_path / "out")


def test_pairs_alone_have_no_journal(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", Imported(read_folder(CAREFUL).pairs))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["pairs.jsonl"]
    assert json.loads((tmp_path / "out" / "pairs.jsonl").read_text("utf-8").splitlines()[0])
