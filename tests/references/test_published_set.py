"""A built set's card, its archive, and that others install it: in real processes, and with hostile input."""

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builds import ROWS, files, prepare, write_lines
from helpers import pfgen
from pfgen_rs import Benchmark, BenchmarkError, load_benchmark, score_file
from pfgen_rs.errors import BenchmarkNotFoundError, ConfigError, InstallError
from pfgen_rs.install import installed_path, installer, store
from pfgen_rs.questions import card, publishing
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.rules import Style

install = partial(installer.install, check=publishing.check_loads)
HOSTILE = "</h1><script>|`[x](y)*_#\n\u202e"
MORE = """
name = "phase.changes"
language = "ja"
licence = "CC-BY-4.0"
made_by = "Example Lab"
[models.m0]
licence = "Apache-2.0"
source = "https://example.org/m0"
generation = { temperature = 1.0, prompt = "examples" }
[models.m1]
licence = "MIT"
family = "m"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a built set."""
    folder = tmp_path_factory.mktemp("made")
    prepare(folder)
    lines = (folder / "set.toml").read_text(encoding="utf-8").split("\n[select]")
    (folder / "set.toml").write_text(
        f"{MORE.split('[models.m0]')[0]}{lines[0]}\n[select]{lines[1]}"
        f"[models.m0]{MORE.split('[models.m0]')[1]}",
        encoding="utf-8",
    )
    done = pfgen("build", folder / "set.toml", env={"PFGEN_RS_CACHE": str(folder / "cache")})
    assert done.returncode == 0, done.stderr
    return folder / "set"


@pytest.fixture
def copied(made: Path, tmp_path: Path, cache: Path) -> Path:
    """A copy of its own."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def test_a_card_says_what_the_files_say(made: Path) -> None:
    text = (made / "README.md").read_text(encoding="utf-8")
    bench = load_benchmark(made)
    counts = {
        name: sum(
            own.count(number)
            for q in bench
            for number, known in enumerate(q.models)
            if known == name
            for own in q.makers.values()
        )
        for name in bench.models
    }
    assert sum(counts.values()) == sum(len(own) for q in bench for own in q.answers.values()) == 120
    for name, count in counts.items():
        [row] = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        cells = row.strip("|").split("|")
        assert cells[1].strip() == str(count)
        assert float(cells[2].strip(" %")) == pytest.approx(100 * count / 120, abs=0.06)
        licence = {"m0": "Apache-2.0", "m1": "MIT", "m2": card.UNKNOWN}[name]
        assert cells[3].strip() == licence
    assert f"| candidates / 候補 | {len(ROWS):,} |" in text
    assert "| select | 120 |" in text
    assert f"`set:{bench.metadata_hash[:8]}`" in text
    made_by = json.loads((made / "provenance.json").read_bytes())
    assert made_by["metadata_hash"] == bench.metadata_hash
    assert made_by["makers"]["m0"] == {
        "answers": counts["m0"],
        "licence": "Apache-2.0",
        "source": "https://example.org/m0",
        "generation": {"temperature": 1.0, "prompt": "examples"},
    }
    assert "models" not in made_by["settings"]


def test_nothing_hostile_acts_in_a_card(tmp_path: Path) -> None:
    rows = [{"question": HOSTILE, "answer": "a b c", "model": HOSTILE, "source": HOSTILE}]
    said = dict.fromkeys(("name", "made_by", "licence", "citation"), HOSTILE)
    folder = Benchmark.from_references(rows, **said).save(tmp_path / "set")  # type: ignore[arg-type]
    text = (folder / "README.md").read_text(encoding="utf-8")
    for part in ("<script>", "</h1>", "\u202e", "[x]", "*_", "|`"):
        assert part not in text
    plain = Benchmark.from_references([{**rows[0], "model": "a", "source": "b"}]).save(
        tmp_path / "b"
    )
    lines = (plain / "README.md").read_text(encoding="utf-8").count("\n")
    assert text.count("\n") == lines


@pytest.mark.parametrize("change", ["", "# Mine\n", "edited"])
def test_only_cards_as_written_are_replaced(change: str, tmp_path: Path) -> None:
    config = prepare(tmp_path)
    build(config)
    path = tmp_path / "set" / "README.md"
    before = path.read_bytes()
    after = before + b"More.\n" if change == "edited" else change.encode() or before
    path.write_bytes(after)
    other = BuildConfig.from_dict({**vars_of(tmp_path), "licence": "MIT"}, tmp_path)
    build(other)
    assert (path.read_bytes() == after) is bool(change)
    assert (b"| MIT |" in path.read_bytes()) is not bool(change)


def vars_of(folder: Path) -> dict[str, Any]:
    import tomllib

    return tomllib.loads((folder / "set.toml").read_text(encoding="utf-8"))


def test_published_installed_and_scored(copied: Path, tmp_path: Path) -> None:
    first = publishing.publish(copied, tmp_path / "a.tar.xz")
    again = publishing.publish(copied, tmp_path / "b.tar.xz")
    content = first.path.read_bytes()
    assert content == again.path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == first.sha256
    assert first.warnings == [
        "the set does not state its citation: add them and build again",
        "no licence is known of m2: add [models] and build again",
    ]
    done = pfgen("data", "install", first.path, "--sha256", first.sha256.upper())
    assert done.returncode == 0, done.stderr
    assert "phase.changes is installed in" in done.stdout
    place = installed_path("phase.changes")
    assert place is not None
    assert files(place) == {
        **files(copied),
        "installed.json": (place / "installed.json").read_bytes(),
    }
    write_lines(tmp_path / "run.jsonl", ROWS[:50])
    shown = json.loads(pfgen("data", "list", "--format", "json").stdout)
    row = next(each for each in shown if each["name"] == "phase.changes")
    assert (row["state"], row["questions"]) == ("installed", 2)
    told = pfgen("score", tmp_path / "run.jsonl", "-b", "phase.changes", "--format", "json")
    assert json.loads(told.stdout)[0]["score"] == score_file(tmp_path / "run.jsonl", copied).score
    assert install(str(first.path)) == place  # nothing to do


def repacked(path: Path, change: Callable[[str, bytes], tuple[str, bytes | None]]) -> Path:
    """An archive with other members."""
    out = path.with_name("changed.tar")
    with tarfile.open(path) as tar, tarfile.open(out, "w") as other:
        for member in tar:
            stream = tar.extractfile(member)
            assert stream is not None
            name, content = change(member.name, stream.read())
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            info.size = len(content or b"")
            other.addfile(info, io.BytesIO(content or b""))
    return out


def recorded(**changes: Any) -> Callable[[str, bytes], tuple[str, bytes]]:
    def change(name: str, content: bytes) -> tuple[str, bytes]:
        if not name.endswith("installed.json"):
            return name, content
        return name, json.dumps({**json.loads(content), **changes}).encode()

    return change


GOOD = {"Q03.json": "0" * 64}
CHANGES: dict[str, tuple[Callable[[str, bytes], Any], str]] = {
    "another answer": (lambda n, c: (n, c.replace("。".encode(), b"!", 1)), "is not the published"),
    "climbs": (lambda n, c: (n.replace("/README", "/../../README"), c), "points outside"),
    "link": (lambda n, c: (n, None if "Q03" in n else c), "is a link, device or folder"),
    "no record": (lambda n, c: (n.replace("installed", "other"), c), "not an archive that"),
    "reserved": (recorded(name="mini"), "is the name of another benchmark"),
    "hidden": (recorded(name=".x"), "is no name to install by"),
    "path as name": (recorded(name="../x"), "is no name to install by"),
    "path as file": (recorded(files={"../Q03.json": "0" * 64}), "has a damaged record"),
    "record as file": (recorded(files={**GOOD, "Installed.json": "0" * 64}), "damaged record"),
    "same on some systems": (recorded(files={**GOOD, "q03.json": "0" * 64}), "damaged record"),
    "no questions": (recorded(files={"README.md": "0" * 64}), "has a damaged record"),
    "no digest": (recorded(files={"Q03.json": "0"}), "has a damaged record"),
    "numbers": (recorded(revision=3, files=[1]), "has a damaged record"),
    "more": (recorded(files={f"{i}.json": "0" * 64 for i in range(10_001)}), "damaged record"),
    "lacking": (recorded(files={**GOOD, "Q99.json": "0" * 64}), "Q03.json is not the published"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_archives_that_are_refused(kind: str, copied: Path, tmp_path: Path, cache: Path) -> None:
    change, told = CHANGES[kind]
    bad = repacked(publishing.publish(copied, tmp_path / "a.tar.xz").path, change)
    with pytest.raises(InstallError, match=told):
        install(str(bad))
    assert not list((cache / "benchmarks").glob("[!.]*"))


def test_sets_that_cannot_be_loaded_are_refused(copied: Path, tmp_path: Path, cache: Path) -> None:
    path = publishing.publish(copied, tmp_path / "a.tar.xz").path
    broken = b'{"question_id": "Q03"}'
    record = recorded(files={"Q03.json": hashlib.sha256(broken).hexdigest()})
    bad = repacked(path, lambda n, c: (n, broken) if n.endswith("Q03.json") else record(n, c))
    with pytest.raises(InstallError, match=r"cannot be used: Q03\.json: missing key 'question'"):
        install(str(bad))
    with pytest.raises(InstallError, match=r"has the set 'phase\.changes', not 'other'"):
        install("other", str(path))
    with pytest.raises(InstallError, match="invalid SHA-256 '00': expected 64 hexadecimal"):
        install(str(path), sha256="00")
    with pytest.raises(InstallError, match=r"expected SHA-256 0{64}, found"):
        install(str(path), sha256="0" * 64)
    install(str(path))
    with pytest.raises(InstallError, match="damaged, or was changed: get it again"):
        install(str(repacked(path, CHANGES["another answer"][0])))
    with pytest.raises(InstallError, match=r"^nothing\.tar\.xz: no such file$"):
        install("nothing.tar.xz")
    with pytest.raises(BenchmarkNotFoundError, match="no such folder"):
        publishing.publish(tmp_path / "nothing")
    (copied / "README.md").unlink()
    other = publishing.publish(copied, tmp_path / "b.tar.xz")
    assert "README.md is missing: one was made for the archive" in other.warnings
    (copied / "README.md").write_text("Mine.\n", encoding="utf-8")
    changed = publishing.publish(copied, tmp_path / "c.tar.xz").path
    with pytest.raises(InstallError, match="has another set of this name: remove this folder"):
        install(str(changed))
    assert "Mine." not in (store.place("phase.changes") / "README.md").read_text(encoding="utf-8")


def test_a_provenance_of_other_files_is_not_published(copied: Path, tmp_path: Path) -> None:
    text = (copied / "Q03.json").read_text(encoding="utf-8")
    (copied / "Q03.json").write_text(text.replace("例です", "例でした"), encoding="utf-8")
    with pytest.raises(BenchmarkError, match="is not that of the question files beside it"):
        publishing.publish(copied, tmp_path / "a.tar.xz")
    (copied / "provenance.json").write_text("[]", encoding="utf-8")
    with pytest.raises(BenchmarkError, match="is not that of the question"):
        publishing.publish(copied, tmp_path / "a.tar.xz")
    (copied / "provenance.json").unlink()
    done = publishing.publish(copied, tmp_path / "a.tar.xz")
    assert "provenance.json is missing: nothing says how the set was made" in done.warnings


def test_older_sets_are_published_too(tmp_path: Path, cache: Path) -> None:
    folder = Benchmark.from_references({"Why?": ["Because of it."]}).save(tmp_path / "old-set")
    done = publishing.publish(folder, tmp_path / "a.tar.xz")
    assert done.name == "old-set"
    assert "1 of 1 answers name no model" in done.warnings
    assert load_benchmark(install(str(done.path))).signature == load_benchmark(folder).signature
    assert load_benchmark("old-set").about is None
    bad = folder.rename(tmp_path / "第1")
    with pytest.raises(InstallError, match="is no name to install by"):
        publishing.publish(bad, tmp_path / "b.tar.xz")


@pytest.mark.parametrize(
    ("language", "style", "warned"),
    [
        ("zh", "", "language = 'zh'"),
        ("en", "", ""),
        ("", "", ""),
        ("", "none", ""),
        ("", "ja", "ja"),
    ],
)
def test_answers_in_another_script_are_told(
    language: str, style: str, warned: str, tmp_path: Path
) -> None:
    rows = [{"question": "Why?", "answer": f"Because {word} it is."} for word in ("of", "so")]
    write_lines(tmp_path / "a.jsonl", rows)
    keys: dict[str, Any] = {"candidates": ["a.jsonl"], "out": "set", "steps": ["duplicates"]}
    if style:
        without = [rule.name for rule in Style.standard(language=style).rules]
        keys |= {"steps": ["normalise"], "normalise": {"style": style, "without": without}}
    if language:
        keys["language"] = language
    built = build(BuildConfig.from_dict(keys, tmp_path))
    told = [warning for warning in built.warnings if "in another script than" in warning]
    assert [warned in warning for warning in told] == [True] * bool(warned)
    stated = load_benchmark(built.folder)
    assert stated.about is not None
    assert stated.about.language == language
    assert stated.settings.unit == ("word" if language == "en" else "character")


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (
            {"m": {"license": "MIT"}},
            "expected texts called licence, source, family, generation, not",
        ),
        ({"m": {"licence": 3}}, "not licence = 3"),
        ({"m": "MIT"}, "not 'MIT'"),
        (
            {"m": {"generation": {"day": date(2026, 1, 1)}}},
            "not generation = {'day': datetime.date",
        ),
        ("m", "not 'm'"),
    ],
)
def test_wrong_details_of_models(models: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        BuildConfig.from_dict({"candidates": ["a"], "out": "x", "models": models})
