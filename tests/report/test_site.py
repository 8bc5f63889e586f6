"""Sites without a browser: names, data, languages, escaping, policies, files."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pfgen_rs import Benchmark, Settings, load_benchmark
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.checkout.leaderboard import RunName, model_key, run_labels
from pfgen_rs.errors import OutputError
from pfgen_rs.report import site
from pfgen_rs.report.site import pages as i18n, payload
from pfgen_rs.report.site.benchmark_page import LENGTHS, TOP, benchmark_page, references_payload
from pfgen_rs.report.site.board import board_of
from pfgen_rs.report.site.charts import Axis
from pfgen_rs.report.site.folder import MARKER, SiteFolder, slug
from pfgen_rs.report.site.model_facts import ModelFacts
from pfgen_rs.report.site.models_page import models_page, overview_page
from pfgen_rs.report.site.pages import ALONE, plain, shown
from site_samples import Elements, hostile_benchmark, hostile_entries, made_entries

ASSETS = resources.files("pfgen_rs.report.site") / "assets"
TEMPLATES = resources.files("pfgen_rs.report.site") / "templates"
PARTS = sorted({file.name.rpartition(".")[0] for file in ASSETS.iterdir()})
ANY_TEXT = st.text(st.characters(), max_size=200)  # surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(ANY_TEXT, ANY_TEXT)
def test_slugs_are_names_of_files_anywhere(name: str, other: str) -> None:
    shown = slug(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", shown)
    assert len(shown) <= 70
    assert (shown.lower() == slug(other).lower()) == (name == other)


def decoded(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text, validate=True)))


@given(JSON)
def test_payloads_hold_the_value_and_nothing_that_acts(value: Any) -> None:
    file = payload.payload_file("runs/</script>", value).decode("ascii")
    call = re.fullmatch(r"pfgen\.take\((\".*?\"),'([A-Za-z0-9+/=]*)'\);\n", file)
    assert call
    assert json.loads(call[1]) == "runs/</script>"
    assert "<" not in file
    assert decoded(call[2]) == value
    element = Elements(str(payload.inline("x", value)).encode()).found
    assert [(tag, attrs["id"], decoded("".join(t))) for tag, attrs, t in element] == [
        ("script", "payload-x", value)
    ]


@given(JSON)
def test_data_blocks_hold_the_value_and_end_nowhere_else(value: Any) -> None:
    block = str(payload.data_block("x", value))
    [(attrs, text)] = Elements(block.encode()).named("script")
    assert attrs == {"type": "application/json", "id": "data-x"}
    assert json.loads(text) == value
    assert not re.search("[\u2028\u2029]|<!--", block)


@given(ANY_TEXT)
def test_shown_text_keeps_what_shows_and_boxes_what_acts(text: str) -> None:
    for made in (plain(text), str(shown(text))):
        made.encode()
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", made)
    page = Elements(str(shown(text)).encode())
    assert "".join("".join(texts) for _, _, texts in page.found).count("U+") >= text.count("\u202e")


def test_shown_texts() -> None:
    for text, code in (("\u202e", "U+202E"), ("\ud800", "U+D800"), ("\U000e0001", "U+E0001")):
        assert plain(f"a{text}b") == f"a⟨{code}⟩b"
        assert shown(f"<{text}") == f'<bdi>&lt;<span class="control">{code}</span></bdi>'
    assert plain("か\u3099 \u3000<") == "か\u3099 \u3000<"


def all_strings() -> dict[str, list[str]]:
    return {key: texts for part in PARTS for key, texts in i18n.strings((part,)).data.items()}


def test_every_string_is_there_in_both_languages_with_the_same_values() -> None:
    common = set(i18n.strings(("common",)).table)
    for part in PARTS:
        assert part == "common" or not common & set(i18n.strings((part,)).table), part
    for key, texts in all_strings().items():
        assert len(texts) == len(i18n.LANGUAGES), key
        assert all(text.strip() for text in texts), key
        places = [sorted(re.findall(r"\{\w+\}", text)) for text in texts]
        assert places[0] == places[1], key


def sources() -> str:
    """All templates and scripts, and the Python files beside them, as one text."""
    package = resources.files("pfgen_rs.report.site")
    files = [*TEMPLATES.iterdir(), *ASSETS.iterdir(), *package.iterdir()]
    kept = [file for file in files if file.name.endswith((".j2", ".js", ".py"))]
    return "\n".join(file.read_text(encoding="utf-8") for file in kept)


def test_every_string_that_is_asked_for_is_there() -> None:
    asked = re.findall(r"""(?:\bt|\btr|t\.text)\("(\w+)"[,)]""", sources())
    asked += re.findall(r"""t\.of\("[\w-]+", "(\w+)"\)""", sources())
    assert len(asked) > 50
    assert set(asked) - set(all_strings()) == set()


def front(entries: Sequence[Entry]) -> dict[str, bytes]:
    """Overview and table of a site of these entries, all of which have pages."""
    board = board_of(entries, None, ModelFacts())
    shown: dict[str, Any] = {"frame": ALONE, "is_complete": True}
    return {
        "overview": overview_page(board, lead=None, **shown),
        "models": models_page(board, comparison="compare/index.html", **shown),
    }


def pages(mini: Benchmark) -> dict[str, bytes]:
    return {
        **front(hostile_entries()),
        "benchmark": benchmark_page(mini),
        "hostile benchmark": benchmark_page(hostile_benchmark()),
    }


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_each_page_allows_its_own_scripts_and_styles_and_has_nothing_else(mini: Benchmark) -> None:
    for name, page in pages(mini).items():
        elements = Elements(page)
        [policy] = [
            attrs["content"] or ""
            for attrs, _ in elements.named("meta")
            if attrs.get("http-equiv") == "Content-Security-Policy"
        ]
        scripts = [text for attrs, text in elements.named("script") if "type" not in attrs]
        styles = [text for _, text in elements.named("style")]
        assert re.findall("sha256-([^']+)", policy) == [digest(t) for t in (*scripts, *styles)], (
            name
        )
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == rules["connect-src"] == rules["form-action"] == "'none'"
        assert "unsafe" not in policy
        for tag, attrs, _ in elements.found:
            assert not [a for a in attrs if a.startswith("on") or a == "style"], (name, tag, attrs)
            if (tag, attrs.get("rel")) == ("link", "icon"):
                assert (attrs["href"] or "").startswith("data:image/svg+xml,"), name
                continue
            for attribute in ("src", "href", "action", "data"):
                value = attrs.get(attribute) or ""
                assert not re.match(r"\s*(\w+:|//)", value), (name, tag, value)
            assert tag not in ("link", "base", "iframe", "object", "embed", "img"), name


def test_categories_are_named_in_both_languages(mini: Benchmark) -> None:
    strings = i18n.strings(("common",))
    assert strings.known("category", "math") == strings("category_math")
    for text in ("数学", "", "</b>", "none\u202e"):
        assert strings.known("category", text) == shown(text)


def test_labels_are_short_and_unique() -> None:
    runs = [
        *(
            ("anthropic/claude-opus-4-20250514", mode, f"claude-opus-4 · {mode}")
            for mode in ("qa", "chat")
        ),
        *(("a/Max-2025-01-25", "qa", "Max-2025-01-25 · qa"), ("a/Max", "qa", "Max · qa")),
        *((f"{name}/plamo", "completion", f"{name}/plamo · completion") for name in "ab"),
        *(("openai/gpt-4o", "chat", "gpt-4o · chat · 6"), ("gpt-4o", "chat", "gpt-4o · chat · 7")),
        *(("c/ONE-20259999", None, "ONE-20259999"), ("x/", "", "x/")),
    ]
    names = [
        RunName(f"result/r/{i}", model, model.split("/")[0] if "/" in model else "openai", mode)
        for i, (model, mode, _) in enumerate(runs)
    ]
    assert list(run_labels(names).values()) == [label for _, _, label in runs]


@given(st.lists(st.tuples(ANY_TEXT, st.sampled_from([None, "", "qa"])), max_size=8))
def test_no_two_labels_are_alike(runs: list[tuple[str, str | None]]) -> None:
    names = [RunName(f"result/{i}", model, None, mode) for i, (model, mode) in enumerate(runs)]
    assert len({label.casefold() for label in run_labels(names).values()}) == len(runs)


def test_hostile_text_makes_no_element(mini: Benchmark) -> None:
    harmless = {
        tag
        for page in (benchmark_page(mini), *front(made_entries(5)).values())
        for tag, _, _ in Elements(page).found
    }
    for page in pages(mini).values():
        text = page.decode()
        assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
        found = {tag for tag, _, _ in Elements(page).found}
        assert found <= {*harmless, "details", "small", "code"}


def test_our_scripts_cannot_end_their_element() -> None:
    for file in (file for file in ASSETS.iterdir() if file.is_file()):
        assert not re.search("</(script|style)|<!--", file.read_text(encoding="utf-8")), file.name


def test_axes_end_at_tenths() -> None:
    for values, labels in (
        ([0.31, 0.58], "0.3 0.4 0.5 0.6"),
        ([0.3, 0.6], "0.3 0.4 0.5 0.6"),
        ([0.5], "0.5 0.6"),
        ([], "0.0  0.2  0.4  0.6  0.8  1.0"),
        ([float("nan"), 0.1], "0.1 0.2"),
    ):
        axis = Axis.of(values)
        assert [label for _, label in axis.ticks] == labels.split(" ")
        assert (axis.low, axis.high) == pytest.approx((float(labels[:3]), float(labels[-3:])))
        assert axis.at(-9) == axis.at(axis.low) < axis.at(axis.high)


def test_a_run_without_interval_or_range_has_none_drawn() -> None:
    entry = made_entries(1)[0]
    unsure = replace(entry.estimate, low=None, high=None)
    bare = replace(entry, estimate=unsure, rank_low=None, rank_high=None, mode=None, engine=None)
    assert b'class="whisker"' not in front([bare])["overview"]
    assert b'class="whisker"' in front([entry])["overview"]
    assert b"<main" in front([])["models"]


def test_references_are_answers_and_frequent_ngrams(mini: Benchmark, tmp_path: Path) -> None:
    question = mini["Q02"]
    data = references_payload(question)
    assert data["sources"] == question.sources
    assert [tuple(answers) for answers in data["answers"]] == list(question.answers.values())
    for n in LENGTHS:
        rows = data["ngrams"][str(n)]
        assert len(rows) == TOP
        for gram, *counts in rows[:3]:
            plainly = [sum(gram in text for text in texts) for texts in question.answers.values()]
            assert counts == plainly, gram
    about = {"question_id": "Q01", "question": "?", "keywords": []}
    tokens = {**about, "answers": {"A": [[1, 12], [112, 1, 12]]}}
    (tmp_path / "Q01.json").write_text(json.dumps(tokens))
    bench = load_benchmark(tmp_path, settings=Settings(unit="token"))
    data = references_payload(next(iter(bench)))
    assert (data["tokens"], data["answers"]) == (True, [["1 12", "112 1 12"]])
    assert data["ngrams"]["2"][0] == ["1 12", 2]
    assert b"<section" in benchmark_page(bench)


def built(folder: Path, bench: Benchmark, jobs: int | None = None) -> dict[str, bytes]:
    site.build(folder, bench, made_entries(5), jobs=jobs)
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != MARKER)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_sites_depend_on_no_threads_and_stay(mini: Benchmark, tmp_path: Path) -> None:
    first = built(tmp_path / "a", mini, jobs=1)
    assert first == built(tmp_path / "b", mini, jobs=4)
    models = {model_key(entry) for entry in made_entries(5)}
    assert len(first) == 7 + len(models) + len(mini)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.*")}
    built(tmp_path / "a", mini)
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.*")}


def test_files_of_others_are_left_alone(mini: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    for place in (tmp_path, tmp_path / "index.html"):
        with pytest.raises(OutputError, match="choose a new or empty folder"):
            site.build(place, mini, [])
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "mine"


def test_pages_that_vanished_are_removed_and_nothing_else(tmp_path: Path) -> None:
    def written(*names: str) -> None:
        folder = SiteFolder(tmp_path / "site")
        for name in names:
            folder.write(name, name.encode())
        folder.finish()

    place = tmp_path / "site"
    written("index.html", "runs/a/index.html", "runs/b/index.html")
    (place / "CNAME").write_text("mine")
    (place / "runs" / "a" / "note.txt").write_text("mine")
    written("index.html")
    files = {path.relative_to(place).as_posix() for path in place.rglob("*")}
    assert files == {MARKER, "index.html", "CNAME", "runs", "runs/a", "runs/a/note.txt"}


@pytest.mark.parametrize(
    "listed", ["../kept", "a/../../kept", "/{}/kept", "link/kept", "no\0name", ".", ""]
)
def test_a_list_that_leads_out_of_the_folder_removes_nothing(tmp_path: Path, listed: str) -> None:
    place = tmp_path / "site"
    place.mkdir()
    (tmp_path / "kept").write_text("mine")
    (place / "link").symlink_to(tmp_path)
    files = [listed.format(tmp_path), 3, None]
    (place / MARKER).write_text(json.dumps({"files": files}))
    SiteFolder(place).finish()
    assert (tmp_path / "kept").read_text() == "mine"
    assert (place / "link").is_symlink()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": 3}', "[" * 100_000])
def test_a_damaged_list_is_that_of_a_site_all_the_same(tmp_path: Path, content: str) -> None:
    (tmp_path / MARKER).write_text(content)
    (tmp_path / "mine").write_text("mine")
    folder = SiteFolder(tmp_path)
    folder.write("index.html", b"new")
    folder.finish()
    assert json.loads((tmp_path / MARKER).read_bytes())["files"] == ["index.html"]
    assert (tmp_path / "mine").exists()
