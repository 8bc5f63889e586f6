"""The kit that a lab publishes its site from: its files, its configuration, and the page about the site."""

import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import yaml

from helpers import SCRIPT, TIMEOUT
from pfgen_rs.errors import InputError, OutputError, PfgenError
from pfgen_rs.report.site.about_page import BIBTEX, CFF, About, Both, ListedRun, about_files, kinds
from pfgen_rs.report.site.pages import ALONE
from pfgen_rs.site.config import Accent, contrast, facts_in, plan_of, read_site
from pfgen_rs.site.starting import start
from places import ROOT

SITE = 'sources = ["runs"]\n[title]\nja = "表"\nen = "Board"\n'
HOSTILE = "<script>alert(1)</script>\u202e}{\\@misc{x,\n\n\"'\x00"


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit") / "board"
    start(folder)
    return folder


def test_the_kit_is_complete_and_never_overwrites(kit: Path) -> None:
    files = {str(path.relative_to(kit)) for path in kit.rglob("*") if path.is_file()}
    workflows = {f".github/workflows/{name}.yml" for name in ("check", "publish")}
    folders = {f"{name}/README.md" for name in ("runs", "verdicts", "results", "tables")}
    said = {".gitignore", "README.md", "README.ja.md", "site.toml", "CITATION.cff"}
    assert files == workflows | folders | said
    assert not any("@VERSION@" in (kit / name).read_text(encoding="utf-8") for name in files)
    (kit / "README.md").write_text("mine", encoding="utf-8")
    (kit / "runs" / "README.md").unlink()
    with pytest.raises(OutputError, match="not overwritten"):
        start(kit)
    assert (kit / "README.md").read_text(encoding="utf-8") == "mine"
    assert not (kit / "runs" / "README.md").exists()


def test_init_says_what_to_do_next(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPT, "site", "init", tmp_path / "board"],
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT,
    )
    assert f"pfgen-rs site {tmp_path / 'board'} --out" in done.stderr
    assert all(Path(line).is_file() for line in done.stdout.splitlines())


def test_workflows_are_pinned_as_those_of_the_project_and_may_little(kit: Path) -> None:
    folder = kit / ".github" / "workflows"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    used = dict(re.findall(r"uses: (\S+)@([0-9a-f]{40}) # v[\d.]+\n", "".join(texts.values())))
    assert len(re.findall("uses: ", "".join(texts.values()))) == 7
    own = "".join(p.read_text() for p in (ROOT / ".github" / "workflows").iterdir())
    known = dict(re.findall(r"uses: (\S+)@([0-9a-f]{40})", own))
    assert all(known[name] == pin for name, pin in used.items() if name in known)
    assert {name for name in used if name not in known} == {
        "actions/upload-pages-artifact",
        "actions/deploy-pages",
    }
    jobs = {
        job: each["permissions"]
        for text in texts.values()
        for job, each in yaml.safe_load(text)["jobs"].items()
    }
    reads = {"contents": "read"}
    writes = {"pages": "write", "id-token": "write"}
    assert jobs == {"check": reads, "build": reads, "deploy": writes}
    names = [str(path) for path in folder.iterdir()]
    tools: list[list[str]] = [
        ["zizmor", "--offline", "--quiet", "--no-progress", str(folder)],
        ["check-jsonschema", "--builtin-schema", "github-workflows", *names],
    ]
    for tool, *arguments in tools:
        command = shutil.which(tool, path=str(Path(sys.executable).parent)) or pytest.skip(tool)
        subprocess.run([command, *arguments], check=True, capture_output=True, timeout=TIMEOUT)


def test_the_kits_own_configuration_is_read(kit: Path) -> None:
    found = read_site(kit)
    assert (found.benchmark, found.sources, found.accent) == ("pfgen-bench", ("runs",), Accent())
    assert (
        yaml.safe_load((kit / "CITATION.cff").read_text(encoding="utf-8"))["cff-version"] == "1.2.0"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 1\n" + SITE, "unknown key 'colour'"),
        (SITE + 'fr = "x"\n', r"unknown key 'title.fr'"),
        (SITE.replace('"表"', '" "'), "'title.ja' must not be empty"),
        (SITE.replace('["runs"]', "[]"), "'sources' must name"),
        (SITE.replace('["runs"]', '"runs"'), "'sources' must be a list"),
        ('url = "javascript:x"\n' + SITE, "'url' must be an address"),
        (SITE + '[citation]\nkey = "a}b"\n', "'citation.key' must be"),
        (SITE + '[accent]\nlight = "red"\n', "accent.light must be a colour"),
        (SITE + '[accent]\nlight = "#ffffff;x"\n', "accent.light must be a colour"),
        (SITE + '[accent]\nlight = "#7cc0f5"\n', "contrast of 1.75.* choose a darker one"),
        (SITE + '[accent]\ndark = "#00568f"\n', "choose a lighter one"),
        ('logo = "none.png"\n' + SITE, "logo: cannot be read"),
        ('logo = "site.toml"\n' + SITE, "expected a file that ends in"),
        ('logo = "large.png"\n' + SITE, "more than 200,000 bytes"),
        ('logo = "active.svg"\n' + SITE, "active content"),
        ("x", "invalid TOML"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "site.toml").write_text(text, encoding="utf-8")
    (tmp_path / "large.png").write_bytes(b"x" * 200_001)
    (tmp_path / "active.svg").write_text('<svg onload="alert(1)"/>')
    with pytest.raises(PfgenError, match=said) as caught:
        read_site(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # W3C's own example


def listed(name: str, signature: str, day: date | None = None) -> ListedRun:
    return ListedRun(name, signature, day)


def test_signatures_say_which_runs_cannot_be_compared() -> None:
    usual = "pfgen|set:aa|variant:pfgen-bench|n:1-10|t:3"
    found = kinds(
        [
            listed("a", f"{usual}|v:1"),
            listed("b", f"{usual}|clean:chat|v:2"),
            listed("c", f"{usual.replace('aa', 'bb')}|unit:word|v:1"),
            listed("d", f"{usual}|questions:1/2|v:1"),
        ]
    )
    assert [(each.runs, list(each.differing)) for each in found] == [
        (2, []),
        (1, ["questions"]),
        (1, ["set", "unit"]),
    ]


def test_the_page_shows_hostile_texts_and_dates() -> None:
    about = About(title=Both(HOSTILE, HOSTILE), licence=HOSTILE, contact="javascript:alert(1)")
    runs = [
        listed(HOSTILE, "pfgen|set:a|v:1"),
        listed("old", "pfgen|set:a|v:1", date(2024, 1, 2)),
        listed("new", "pfgen|set:b|v:1", date(2025, 3, 4)),
    ]
    files = dict(about_files(about, runs, unmatched=[(HOSTILE, HOSTILE)], frame=ALONE))
    page = files["about/index.html"].decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert 'href="javascript' not in page
    assert re.findall(r'<time datetime="([\d-]+)"', page) == ["2025-03-04", "2024-01-02"]
    assert page.index("2024-01-02") < page.index('data-t="date_unknown"')
    bibtex = files[BIBTEX].decode()
    assert bibtex.startswith("@misc{leaderboard,\n")
    assert "year = {2025}" in bibtex
    assert bibtex.count("\n@") == 0
    assert bibtex.count("{") == bibtex.count("}")
    cited = yaml.safe_load(files[CFF])
    assert cited["date-released"] == "2025-03-04"
    assert "license" not in cited
    assert cited["authors"][0]["name"].startswith("<script>")


def test_paragraphs_are_pairs() -> None:
    assert Both("一\n\n二", "one").paragraphs == [("一", "one"), ("二", "")]
    assert Both("", " ").paragraphs == []


def test_a_folder_with_a_plan_is_a_site_by_itself(kit: Path) -> None:
    plan = plan_of([kit])
    assert plan.benchmark == "pfgen-bench"
    assert [each.path for each in plan.given] == [kit / "runs"]
    assert plan_of([kit / "site.toml"], "mini").benchmark == "mini"
    with pytest.raises(InputError, match=r"is a site with a site\.toml: give it alone"):
        plan_of([kit / "runs", kit])
    assert [each.path for each in plan_of([kit / "runs"]).given] == [kit / "runs"]


@pytest.mark.parametrize("named", ["", 'facts = "own.toml"\n'])
def test_checks_know_the_facts_that_the_site_names(tmp_path: Path, named: str) -> None:
    start(kit := tmp_path / "board")
    check = (kit / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    assert "--facts site.toml" in check
    fact = '[[weights]]\nweights = "open"\nsource = "s"\nmodels = ["own/m"]\n'
    (kit / "own.toml").write_text(fact, encoding="utf-8")
    text = (kit / "site.toml").read_text(encoding="utf-8")
    (kit / "site.toml").write_text(named + text, encoding="utf-8")
    for path in (kit / "site.toml", kit / "own.toml"):
        found = facts_in(path).of("own/m")
        assert ("weights" in found) == (bool(named) or path.name == "own.toml")
