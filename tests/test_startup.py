"""What is loaded when, and that nobody notices that the package's names are loaded when first used."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import assert_type

import polars as pl
import pytest

import pfgen_rs
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.scoring.batch import Score

HEAVY = {"jinja2", "matplotlib", "numpy", "platformdirs", "polars", "rich", "typer"}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def loaded(code: str) -> set[str]:
    """Modules that are loaded after this, beyond those of a bare interpreter."""
    listing = "import sys\nprint('\\n', *sys.modules, sep='\\n')"
    names = [set(run(f"{c}\n{listing}").rpartition("\n\n")[2].split()) for c in ("", code)]
    return names[1] - names[0]


def test_importing_the_package_loads_its_errors_alone() -> None:
    names = loaded("import pfgen_rs")
    assert not names & HEAVY
    assert {name for name in names if name.startswith("pfgen_rs")} == {
        "pfgen_rs",
        "pfgen_rs.errors",
    }


def test_an_error_can_be_caught_without_loading_more() -> None:
    assert not loaded("from pfgen_rs import InputError") & HEAVY


def test_the_version_needs_the_native_module_alone() -> None:
    assert not loaded("import pfgen_rs; assert pfgen_rs.__version__") & HEAVY


def test_every_name_is_found_and_then_kept() -> None:
    run("import pfgen_rs as p\nfor n in p.__all__: assert getattr(p, n) is vars(p)[n]")


def test_all_names_are_the_same_everywhere() -> None:
    assert sorted(pfgen_rs.__all__) == pfgen_rs.__all__
    assert set(pfgen_rs.__all__) <= set(dir(pfgen_rs))
    bound = run("from pfgen_rs import *; print(*dir())").split()
    assert set(pfgen_rs.__all__) <= set(bound)


def test_type_checkers_see_what_is_there() -> None:
    bench = pfgen_rs.load_benchmark("mini")
    assert_type(bench, Benchmark)
    assert_type(bench.score("Q02", "光合成"), Score)
    assert_type(pfgen_rs.__version__, str)
    lazily: Callable[..., pl.LazyFrame] = pfgen_rs.scan
    assert callable(lazily)


def test_an_unknown_name_is_an_attribute_error_with_a_suggestion() -> None:
    with pytest.raises(
        AttributeError, match=r"^module 'pfgen_rs' has no attribute 'score_fiel'"
    ) as e:
        pfgen_rs.score_fiel  # type: ignore[attr-defined] # noqa: B018
    assert (e.value.name, e.value.obj) == ("score_fiel", pfgen_rs)


def test_scan_is_the_function_whatever_was_imported_before() -> None:
    run("import pfgen_rs.scanning, pfgen_rs; assert pfgen_rs.scan is pfgen_rs.scanning.scan")
    run("import pfgen_rs; pfgen_rs.scan; import pfgen_rs.scanning; assert callable(pfgen_rs.scan)")


def test_packages_are_attributes_as_they_were_before() -> None:
    run("import pfgen_rs; pfgen_rs.stats.compare; pfgen_rs.errors; pfgen_rs.io.Source")


def test_names_are_pickled() -> None:
    for value in (pfgen_rs.Settings(max_n=3), pfgen_rs.load_benchmark, pfgen_rs.Benchmark):
        assert pickle.loads(pickle.dumps(value)) == value
    text = pickle.dumps(pfgen_rs.Settings(max_n=3))
    assert run(f"import pickle; print(pickle.loads({text!r}).max_n)") == "3\n"


def test_threads_may_race_for_the_first_use() -> None:
    run(
        "import threading, pfgen_rs\n"
        "names, found, gate = pfgen_rs.__all__, [], threading.Barrier(16)\n"
        "def use(number):\n"
        "    gate.wait()\n"
        "    turned = names[number:] + names[:number]\n"
        "    found.append({name: id(getattr(pfgen_rs, name)) for name in turned})\n"
        "threads = [threading.Thread(target=use, args=(n,)) for n in range(16)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "assert len(found) == 16 and all(each == found[0] for each in found)\n"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_may_be_the_first_to_use_a_name() -> None:
    out = run(
        "import os, pfgen_rs\n"
        "if not os.fork():\n"
        "    score = pfgen_rs.load_benchmark('mini').scorer()\n"
        "    print(*score(['Q02'], ['光合成']), flush=True)\n"
        "    os._exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "assert 'load_benchmark' not in vars(pfgen_rs)\n"
    )
    assert out == "0.34292\n"
