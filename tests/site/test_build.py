"""A site of everything: what is written again, faults of sources, hostile names; real processes."""

import html
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from checkouts import add_run, contents, make_checkout, times
from helpers import SCRIPT, TIMEOUT
from payload_texts import file_payloads
from pfgen_rs.report.site import models_page as own_pages
from pfgen_rs.report.site.board import board_of
from pfgen_rs.report.site.model_facts import bundled_facts
from pfgen_rs.report.site.models_page import model_page, models_page
from pfgen_rs.report.site.pages import ALONE
from pfgen_rs.site.build import SitePlan, build_site
from pfgen_rs.site.sources import given
from site_samples import HOSTILE, made_entries
from verdict_pages import made_verdict_pairs, write_verdict_folder

PAIRS = made_verdict_pairs(20)
MOST_WRITTEN = 20
TABLE = "model,size\nsome/model,3\n"


def site(*places: Path | str, out: Path, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [SCRIPT, "site", *places, "--out", out],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        env={**os.environ, **more},
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a checkout, verdicts and a table."""
    make_checkout(tmp_path / "lab" / "checkout")
    write_verdict_folder(tmp_path / "lab" / "verdicts", PAIRS)
    (tmp_path / "lab" / "table.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "lab"


def built(lab: Path, out: Path, **more: Any) -> dict[str, int]:
    """Builds a site in this process; returns which files were written, by their times."""
    before = times(out) if out.exists() else {}
    plan = SitePlan([given(lab), given(f"{lab / 'table.csv'}:model")], **more)
    build_site(plan, out, jobs=1)
    return {name: when for name, when in times(out).items() if before.get(name) != when}


def new_facts(lab: Path) -> dict[str, Any]:
    path = lab.parent / "facts.toml"
    text = '[[parameters]]\nbillions = 3\nsource = "x"\nmodels = ["some/model"]\n'
    path.write_text(text, encoding="utf-8")
    return {"facts": path}


def new_run(lab: Path) -> dict[str, Any]:
    add_run(lab / "checkout", "result/new/model/1", config={"model": "new/model"})
    return {}


def new_verdicts(lab: Path) -> dict[str, Any]:
    write_verdict_folder(lab / "more", PAIRS[:9], model="new judge", shift=3)
    return {}


@pytest.mark.parametrize(("change", "models"), [(new_run, 1), (new_verdicts, 3), (new_facts, 1)])
def test_few_files_are_written_again(
    lab: Path,
    change: Callable[[Path], dict[str, Any]],
    models: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built(lab, lab.parent / "site")
    assert not built(lab, lab.parent / "site")
    more = change(lab)
    page = Mock(side_effect=model_page)
    monkeypatch.setattr(own_pages, "model_page", page)
    written = built(lab, lab.parent / "site", **more)
    assert page.call_count == models, "whose own values have changed"
    assert written
    assert len(written) <= MOST_WRITTEN
    built(lab, lab.parent / "anew", **more)
    pages = [contents(lab.parent / name) for name in ("site", "anew")]
    for each in pages:
        each.pop(".pfgen-site.json")
    assert pages[0] == pages[1]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_site_is_finished_after_a_kill_and_written_by_one_process(lab: Path) -> None:
    out = lab.parent / "site"
    command: list[str | Path] = [SCRIPT, "site", lab, "--out", out]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        end = time.monotonic() + TIMEOUT
        while not (out / "index.html").exists() and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    assert site(lab, out=out).returncode == 0
    assert site(lab, out=lab.parent / "whole").returncode == 0
    whole = contents(lab.parent / "whole")
    assert {**contents(out), ".pfgen-site.json": b""} == {**whole, ".pfgen-site.json": b""}


def damaged(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda lab: (lab / name).write_bytes(content) and None  # type: ignore[return-value]


def loop(lab: Path) -> None:
    (lab / "loop").symlink_to(lab)
    (lab / "itself").symlink_to("itself")


def damaged_line(lab: Path) -> None:
    path = lab / "verdicts" / "judgments.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "{}\n", *lines[4:]]), encoding="utf-8")


RUN = "checkout/result/some/model/1234567"


def listed(out: Path) -> tuple[list[str], str]:
    """The runs of a site's table, and what its page about the site says is left out."""
    board = file_payloads((out / "board.js").read_bytes())["board"]["runs"]["name"]
    about = (out / "about" / "index.html").read_text(encoding="utf-8")
    return board, html.unescape(about.partition('<ul lang="en">')[2].partition("</ul>")[0])


@pytest.mark.parametrize(
    ("fault", "runs", "said"),
    [
        (damaged(f"{RUN}/config.json", b"{"), 2, "is not valid JSON"),
        (damaged(f"{RUN}/config.json", b'{"model": 3}'), 2, "'model'"),
        (damaged(f"{RUN}/config.json", b'{"model": "renamed", "mode": "chat"}'), 3, "4 of 20"),
        (damaged("verdicts/judgments.jsonl", b""), 3, "no pair is decided yet"),
        (lambda _: None, 3, "4 of 20 pairs lack a judgment of their present texts"),
        (
            lambda lab: (lab / "table.csv").write_text("model,x\na-b,1\nA B,2\n"),
            3,
            "none of them is used",
        ),
    ],
)
def test_what_is_left_out_is_told_and_listed(
    lab: Path, fault: Callable[[Path], Any], runs: int, said: str
) -> None:
    add_run(lab / "checkout", "result/other/m/1", config={"model": "other/m"})
    subprocess.run([SCRIPT, "report", lab / "checkout"], check=True, capture_output=True)
    fault(lab)
    done = site(lab, f"{lab}/table.csv:model", out=lab.parent / "site")
    names, left_out = listed(lab.parent / "site")
    assert (len(names), said in left_out, said in done.stderr) == (runs, True, True), done.stderr
    assert str(lab.parent) not in left_out, "folders of the machine are not published"


def other_questions(lab: Path) -> None:
    shutil.copytree(lab / "checkout", lab / "other")
    for path in sorted((lab / "other" / "data").glob("Q*"))[:1]:
        path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (damaged("checkout/result/some/model/1234567/result.json", b"{"), 0, "index.html"),
        (damaged("checkout/result/some/model/1234567/result.json", b"[5]"), 0, "index.html"),
        (damaged("checkout/result/some/model/1234567/trials.jsonl", b"\xff{"), 1, "left out"),
        (damaged("verdicts/judgments.jsonl", b"\x00\xff[]\n"), 2, "judgments.jsonl"),
        (damaged_line, 2, "judgments.jsonl, line 4: is no judgment: expected 'order'"),
        (damaged("verdicts/config.json", b"[]"), 2, "config.json"),
        (lambda lab: shutil.rmtree(lab), 2, "o such file"),
        (lambda lab: (lab / "empty").mkdir(), 0, "index.html"),
        (loop, 0, "index.html"),
    ],
)
def test_faults_are_told(lab: Path, fault: Callable[[Path], None], code: int, said: str) -> None:
    fault(lab)
    done = site(lab, lab, out=lab.parent / "site")
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done


def test_systems_are_no_models_wherever_these_are_counted(lab: Path) -> None:
    (lab / "table.csv").unlink()
    shutil.rmtree(lab / "verdicts")
    add_run(lab / "checkout", "result/system/x/1", config={"model": "x", "engine": "system"})
    assert "2 models, 3 runs" in site(lab, out=lab.parent / "site").stdout
    assert "2 モデル、3 実行" in (lab.parent / "site" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("names", "models", "twice"),
    [
        (["some/model"], 2, False),
        (["Some/MODEL"], 2, False),
        (["some.model", "some-model", "some_model", "SOME.model"], 5, False),
        (["some/model.", "some/model/", "/some/model", "./some/model"], 6, False),
        ([], 2, True),
    ],
)
def test_models_are_told_apart_by_name(
    tmp_path: Path, names: list[str], models: int, twice: bool
) -> None:
    """Runs of one name, names that differ in letters that folders may not have, a checkout given twice."""
    checkout = make_checkout(tmp_path / "checkout")
    for number, name in enumerate(names):
        add_run(checkout, f"result/more/{number}", config={"model": name})
    done = build_site(SitePlan([given(checkout)] * (1 + twice)), tmp_path / "site", jobs=1)
    pages = [path.parent.name for path in (tmp_path / "site" / "models").glob("*/index.html")]
    assert (done.models, done.runs, done.failed) == (models, 2 + len(names), [])
    assert len({name.casefold() for name in pages}) == done.models


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("bild", "No such command 'bild'. Did you mean 'build'?"),
        ("labs", "labs: no such file or folder (did you mean 'lab'?)"),
        ("xyz/t.csv:model", "xyz/t.csv: no such file or folder"),
    ],
)
def test_what_is_missing_is_named(
    wrong: str, said: str, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab.parent)
    (lab / "site.toml").touch()
    done = site(Path(wrong), lab, out=lab.parent / "site")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_site_within_its_sources_is_no_source(lab: Path) -> None:
    assert site(lab, out=lab / "site").returncode == 0
    before = times(lab / "site")
    assert "up to date" in site(lab, out=lab / "site").stdout
    assert times(lab / "site") == before


def test_hostile_names_stay_texts_within_the_folder(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    names = [
        "../../out",
        *HOSTILE,
        "x" * 10_000,
        "a\x00\x1b[31m\u202eb",
        "some-model-1",
        "CON",
        ".",
    ]
    for i, name in enumerate(names):
        add_run(checkout, f"result/r/{i}", config={"model": name})
    before = set(tmp_path.rglob("*"))
    done = site(checkout, out=tmp_path / "site")
    assert "index.html" in done.stdout, done
    new = {path.relative_to(tmp_path).parts[0] for path in {*tmp_path.rglob("*")} - before}
    assert new == {"site"}


@pytest.mark.parametrize("models", [528, 2000])
def test_the_page_of_many_models_is_small(models: int) -> None:
    board = board_of(made_entries(models), None, bundled_facts())
    page = models_page(board, frame=ALONE, comparison=None, is_complete=True)
    assert len(page) <= 1_000_000
