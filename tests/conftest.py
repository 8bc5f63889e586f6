"""Fixtures that every test may use."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from helpers import write_benchmark
from jpeval_exam import write_exam
from pfgen_rs import Benchmark, load_benchmark
from pfgen_rs.drawing import style
from pfgen_rs.io import known_files
from pfgen_rs.llm_jp_eval import registry
from places import VARIABLE, needed, published_runs

pytest_plugins = ["browser", "jpeval_converted"]

hypothesis.settings.register_profile("pfgen", deadline=None, print_blob=True)
hypothesis.settings.load_profile("pfgen")


SLOW = Path(__file__).with_name("slow.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that `slow.txt` names, and those of pages."""
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        path = item.path.relative_to(config.rootpath).as_posix()
        if {path, f"{path}::{getattr(item, 'originalname', item.name)}"} & slow:
            item.add_marker(pytest.mark.slow)
        if "launched" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with the argument `published_run` one case a published run."""
    if "published_run" in metafunc.fixturenames:
        skipped = pytest.mark.skip(reason=f"{VARIABLE} has no pfgen-bench")
        missing = pytest.param("", id="none", marks=skipped)
        metafunc.parametrize("published_run", published_runs() or [missing])


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Question files of the tiny benchmark."""
    return write_benchmark(tmp_path / "tiny")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, which does not exist yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PFGEN_RS_CACHE", str(folder))
    return folder


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files count as settled, however recently they have changed."""
    monkeypatch.setattr(known_files, "_TICK", -(10**12))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What outlives a test never meets the user's cache either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PFGEN_RS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _isolated(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No test sees the user's choice of benchmark and tasks, what is installed, or what other tests add."""
    for name in ("PFGEN_RS_BENCHMARK", "PFGEN_RS_TASKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    if registry._folders:  # which commands in this process have added
        registry._folders.clear()
        registry._forget()


@pytest.fixture
def own_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a task of one's own, which is known during the test."""
    monkeypatch.setattr(registry, "_folders", [])
    registry.add_folder(write_exam(tmp_path / "exams"))
    yield tmp_path / "exams"
    registry._forget()


@pytest.fixture(scope="session", autouse=True)
def _our_figures_have_japanese_words() -> Iterator[None]:
    """A text of a figure that `japanese.toml` lacks fails the test that draws it in Japanese."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "JAPANESE", dict(style.JAPANESE))
        yield


def _public(folder: str) -> Any:
    """A fixture: this folder of the public data, without which its tests are skipped."""
    return pytest.fixture(scope="session")(lambda: needed(folder))


published_dir = _public("pfgen-bench")
"""The published repository: `data/` with the question files, `result/` with the runs."""
vectors_dir = _public("vectors")
"""Edge cases with every intermediate value."""
judging_dir = _public("judging")
"""Real verdicts and ratings of judges, prompts, and golden values."""
jpeval_dir = _public("jpeval")
"""llm-jp-eval: raw data, and what the published tool makes of it."""
studies_dir = _public("studies")
"""Tables of other benchmarks, the published figures, and what their correlations are."""


@pytest.fixture(scope="session")
def published_benchmark(published_dir: Path) -> Benchmark:
    """The published questions with all scorers built."""
    return load_benchmark(published_dir / "data").prepare()


@pytest.fixture(scope="session")
def mini() -> Benchmark:
    """The bundled benchmark with all scorers built."""
    return load_benchmark("mini").prepare()


@pytest.fixture
def settings_stay() -> Iterator[None]:
    """Fails if matplotlib's settings are others after the test."""
    import matplotlib as mpl  # some environments of tests lack it

    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
