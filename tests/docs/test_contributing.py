"""What contributors read is true: paths, commands, hooks, metadata, citation, templates."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from places import ROOT

ENGLISH, JAPANESE = ROOT / "CONTRIBUTING.md", ROOT / "CONTRIBUTING.ja.md"
FENCE = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s:]+)\)")
PATH = re.compile(r"\.?[\w.-]+(/[\w.-]+)+|[\w-]+\.(md|toml|cff)")
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_paths_and_targets_that_contributors_read_of_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = [code for code in CODE.findall(FENCE.sub("", text)) if PATH.fullmatch(code)]
    named += LINK.findall(text)
    assert len(named) > 40
    # Pages are named by x.md and x.ja.md, and pytest and pre-commit are in an environment.
    missing = [n for n in named if not (ROOT / n).exists() and not n.startswith((".venv", "x."))]
    assert missing == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake ([a-z-]+)", text)
    assert {"build", "test", "lint"} <= set(targets)
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def test_both_languages_tell_contributors_the_same() -> None:
    english, japanese = (page.read_text(encoding="utf-8") for page in (ENGLISH, JAPANESE))
    for pattern in (r"^(#+|\d+\.|-|\|) ", r"^```"):
        counts = [
            [found[0] for found in re.finditer(pattern, text, flags=re.MULTILINE)]
            for text in (english, japanese)
        ]
        assert counts[0] == counts[1]
    codes = [set(CODE.findall(FENCE.sub("", text))) for text in (english, japanese)]
    assert codes[0] == codes[1]
    commands = [
        [
            line.partition("#")[0].strip()
            for block in FENCE.findall(text)
            for line in block.splitlines()
        ]
        for text in (english, japanese)
    ]
    assert commands[0] == commands[1]


def lint_commands(makefile: str) -> list[str]:
    """What `make lint` runs."""
    [recipe] = re.findall(r"^lint:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]


def test_hooks_run_what_lint_runs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    [repository] = config["repos"]
    assert repository["repo"] == "local"
    hooks = repository["hooks"]
    commands = lint_commands((ROOT / "Makefile").read_text(encoding="utf-8"))
    assert [hook["entry"] for hook in hooks] == commands
    assert len({hook["id"] for hook in hooks}) == len(hooks)
    for hook in hooks:  # which are those of the environment, and look at everything
        assert (hook["language"], hook["pass_filenames"]) == ("system", False)
        assert "stages" not in hook


def test_lint_commands_are_found_in_a_makefile() -> None:
    text = "lint: build ## Run\n\tcargo a\n\t$(BIN)/b --c\n\n.PHONY: bench\nbench:\n\tno\n"
    assert lint_commands(text) == ["cargo a", ".venv/bin/b --c"]


def checked(schema: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    return subprocess.run(
        [*command, "--force-filetype", "yaml", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("citation-file-format", ROOT / "CITATION.cff"),
        ("github-issue-config", TEMPLATES / "config.yml"),
        *(
            ("github-issue-forms", TEMPLATES / f"{name}.yml")
            for name in ("bug", "wrong-number", "feature")
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_files_for_hosts_have_their_schema(schema: str, path: Path, tmp_path: Path) -> None:
    done = checked(schema, path)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / path.name
    broken.write_text(path.read_text(encoding="utf-8") + "\nunknown: [1]\n", encoding="utf-8")
    assert checked(schema, broken).returncode == 1


def test_issue_forms_are_in_both_languages() -> None:
    for path in sorted(TEMPLATES.glob("*.yml")):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        labels = [item["attributes"].get("label") for item in form.get("body", ())]
        shown = [form.get("name"), form.get("description"), *labels]
        shown += [
            text for link in form.get("contact_links", ()) for text in (link["name"], link["about"])
        ]
        for text in filter(None, shown):
            assert re.search("[a-z]", text), text
            assert re.search("[ぁ-んァ-ヶ一-鿿]", text), text


def test_the_citation_is_of_the_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    english, japanese = citation["preferred-citation"], citation["references"][0]
    urls = project()["project"]["urls"]
    assert english["url"] == urls["Paper (English)"]
    assert urls["Paper (Japanese)"] == f"https://doi.org/{japanese['doi']}"
    assert citation["references"][1]["repository-code"] == urls["Benchmark"]
    assert citation["license"] == project()["project"]["license"]
    assert [a["family-names"] for a in english["authors"]] == [
        "Imajo",
        "Hirano",
        "Suzuki",
        "Mikami",
    ]
    assert [a["family-names"] for a in japanese["authors"]] == ["今城", "平野", "鈴木", "三上"]
    assert all(title in (ROOT / "CITATION.cff").read_text("utf-8") for title in TITLES)


TITLES = (
    "A Judge-free LLM Open-ended Generation Benchmark Based on the Distributional Hypothesis",
    "pfgen-bench: 日本語事前学習モデルのための文章生成性能評価ベンチマーク",
)


def test_metadata_say_what_is_supported() -> None:
    about = project()["project"]
    classifiers = about["classifiers"]
    assert classifiers == sorted(classifiers)
    assert len(set(classifiers)) == len(classifiers)
    assert about["keywords"] == sorted(set(about["keywords"]))
    least = about["requires-python"].removeprefix(">=")
    versions = [c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)]
    assert versions[0] == least
    assert versions == [f"3.{minor}" for minor in range(11, 11 + len(versions))]
    assert (ROOT / about["readme"]).is_file()
    assert (ROOT / "python" / "pfgen_rs" / "py.typed").is_file()  # Typing :: Typed
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"][
        "package"
    ]
    assert workspace["license"] == about["license"]
    assert workspace.get("authors") == about.get("authors")
