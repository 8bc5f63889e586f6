"""Ray: values of `scan` and results of one machine, with a worker killed and a machine removed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from many_answers import Answers, check_results, check_scored, one_killed
from pfgen_rs import SettingsError
from pfgen_rs.integrations.arrow import scorer

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on this machine with two CPUs."""
    ray.init(num_cpus=2, object_store_memory=1 << 30, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def adapter(cluster: None) -> Any:
    from pfgen_rs.integrations import ray as adapter

    return adapter


@pytest.mark.parametrize("killed", [False, True])
def test_values_are_those_of_scan_when_a_worker_is_killed(
    killed: bool, adapter: Any, answers: Answers, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def is_worker(process: Any) -> bool:
        return killed and "MapBatches" in " ".join(process.cmdline())

    dataset = ray.data.read_parquet(str(answers.folder))
    with one_killed(is_worker, lambda: any(out.glob("*.parquet"))) as dead:
        adapter.score(dataset, answers.benchmark).write_parquet(str(out))
    assert len(dead) == killed
    check_scored(pl.read_parquet(out / "*.parquet"), answers)
    check_results(out / "*.parquet", answers)


def wait_for_nodes(count: int) -> None:
    """Ray notices after some seconds that a machine is gone."""
    until = time.monotonic() + 60
    while (alive := sum(node["Alive"] for node in ray.nodes())) != count:
        assert time.monotonic() < until, alive
        time.sleep(0.1)


def test_workers_have_one_thread_of_polars(adapter: Any) -> None:
    def threads(row: dict[str, Any]) -> dict[str, int]:
        import polars

        return {"threads": polars.thread_pool_size()}

    dataset = ray.data.from_items([{"question": "Q02", "answer": "草"}])
    asked = adapter.score(dataset, "mini", runtime_env={"env_vars": {"PFGEN_FRESH": "1"}})
    assert asked.map(threads).take_all() == [{"threads": 1}]


def test_errors_of_workers_say_what_is_wrong(adapter: Any) -> None:
    dataset = ray.data.from_items([{"question": "Q99", "answer": "葉"}])
    with pytest.raises(Exception, match="missing column 'text'"):
        adapter.score(dataset, "mini", answer_field="text").take_all()


def test_text_that_answers_no_question(adapter: Any) -> None:
    texts = ["草は光を吸う葉緑体で緑に見えます。", "風呂敷は物を包む布です。"]
    dataset = ray.data.from_items([{"text": text} for text in texts])
    score = scorer("mini", question_field=None, answer_field="text")
    expected = score(pa.table({"text": texts})).to_pylist()
    for scored in (
        adapter.score(dataset, "mini", question_field=None, answer_field="text"),
        dataset.map_batches(score, batch_format="pyarrow"),
    ):
        assert sorted(scored.take_all(), key=lambda row: texts.index(row["text"])) == expected


def test_pools_of_actors_are_refused(adapter: Any) -> None:
    dataset = ray.data.from_items([{"question": "Q02", "answer": "草"}])
    for how in ({"concurrency": (1, 2)}, {"compute": ray.data.ActorPoolStrategy(size=2)}):
        with pytest.raises(SettingsError, match="computed by tasks"):
            adapter.score(dataset, "mini", **how)


def test_no_rows(adapter: Any) -> None:
    empty = pa.table({name: pa.array([], pa.string()) for name in ("question", "answer")})
    scored = adapter.score(ray.data.from_arrow(empty), "mini").materialize()
    tables = [ray.get(ref) for ref in scored.to_arrow_refs()]
    assert sum(table.num_rows for table in tables) == 0


def test_one_machine_of_three_is_removed(answers: Answers, tmp_path: Path) -> None:
    """The last test: it starts a cluster of its own."""
    ray.shutdown()
    from ray.cluster_utils import Cluster

    from pfgen_rs.integrations import ray as adapter

    store = {"object_store_memory": 300 << 20}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **store}
    )
    nodes = [cluster.add_node(num_cpus=1, **store) for _ in range(2)]
    out = tmp_path / "out"
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        removed = threading.Event()

        def remove() -> None:
            while not any(out.glob("*.parquet")):
                if removed.wait(0.02):
                    return
            cluster.remove_node(nodes[0], allow_graceful=False)
            removed.set()

        thread = threading.Thread(target=remove)
        thread.start()
        dataset = ray.data.read_parquet(str(answers.folder))
        adapter.score(dataset, answers.benchmark).write_parquet(str(out))
        assert removed.is_set()
        thread.join()
        wait_for_nodes(2)
    finally:
        ray.shutdown()
        cluster.shutdown()
    check_scored(pl.read_parquet(out / "*.parquet"), answers)
    check_results(out / "*.parquet", answers)
