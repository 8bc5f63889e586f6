"""Ray: values of `scan`, figures of `evaluate`, with workers killed and machines removed in the middle."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.fs as pafs  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from polars.testing import assert_frame_equal

import pfgen_rs
from helpers import environment
from many_answers import BAD, ROWS, Answers, check_scored
from pfgen_rs import InputError, OutputError, SettingsError
from pfgen_rs.distributed import Evaluation, evaluate
from pfgen_rs.integrations.arrow import scorer
from pfgen_rs.integrations.ray_tasks import in_worker
from places import DOCS
from processes import one_killed, watched
from s3_server import SERVER

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")

PAGE = DOCS / "how-to" / "ray.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M)
MODELS = 8
"""Models to compare one by one."""


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


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "part-*.parquet")


def test_values_are_those_of_scan(
    adapter: Any, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = ray.data.read_parquet(str(answers.folder))
    adapter.score(dataset.limit(10), answers.benchmark).materialize()  # starts workers
    with watched() as usage:
        scored = adapter.score(dataset, answers.benchmark).materialize()
    tables = [ray.get(ref) for ref in scored.to_arrow_refs()]
    check_scored(pl.DataFrame(pa.concat_tables(tables)), answers)
    with watched() as alone:
        pfgen_rs.scan(answers.good, answers.benchmark).collect()
    with capsys.disabled():
        print(f"\nRay, {ROWS:,} rows: {usage}; scan: {alone}")


@pytest.mark.parametrize("killed", [False, True])
def test_parts_are_whole_when_a_worker_is_killed(
    killed: bool, adapter: Any, answers: Answers, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def is_worker(process: Any) -> bool:
        return killed and "MapBatches" in " ".join(process.cmdline())

    with one_killed(is_worker, lambda: any(out.glob("part-*"))) as dead:
        found = adapter.score_file(
            f"{answers.folder}/*.parquet", out, answers.benchmark, by="model"
        )
    assert len(dead) == killed
    check_scored(read(out), answers)
    assert {path.name[:5] for path in out.iterdir()} == {"part-", "_SUCC"}
    assert sum(map(len, found.left_out.values())) > 1
    assert sum(run.height for run in found.values()) == ROWS - BAD
    mark = json.loads((out / "_SUCCESS").read_text())
    assert mark["rows"] == ROWS
    assert mark["signature"] == answers.scored["signature"][0]
    local = evaluate([answers.scored], answers.benchmark, by="model")
    assert_same_figures(found, local)


def assert_same_figures(found: Evaluation, expected: Evaluation) -> None:
    assert_frame_equal(
        found.frame.drop("left_out"), expected.frame.drop("left_out"), check_exact=True
    )
    assert [run.questions for run in found.values()] == [run.questions for run in expected.values()]


def test_figures_in_order_are_those_of_evaluate(adapter: Any, answers: Answers) -> None:
    dataset = ray.data.read_parquet(str(answers.folder))
    found = adapter.evaluate(dataset, answers.benchmark, by="model", order="row")
    for model in list(found)[:MODELS]:
        own = answers.good.filter(pl.col("model") == model)
        expected = answers.benchmark.evaluate(own)
        run = found[model]
        assert (run.score, run.score_std) == (expected.score, expected.score_std)
        assert (run.length, run.length_std) == (expected.length, expected.length_std)
        assert run.scores == expected.to_dict(allow_partial=True)["scores"]
        assert run.signature == expected.signature
    assert sum(counts.total() for counts in found.left_out.values()) == BAD


def test_scored_data_is_not_scored_again(adapter: Any, answers: Answers) -> None:
    dataset = ray.data.from_arrow(answers.scored[:1000].to_arrow())
    found = adapter.evaluate(dataset, answers.benchmark, by="model")
    assert_same_figures(found, evaluate([answers.scored[:1000]], answers.benchmark, by="model"))


def test_workers_have_one_thread_of_polars(adapter: Any) -> None:
    """In a worker that has run nothing else."""

    def probe(pickled: bytes) -> tuple[bool, int]:
        before = "polars" in sys.modules
        in_worker(pickled)
        import polars

        return before, polars.thread_pool_size()

    fresh = {"env_vars": {"PFGEN_FRESH": "1"}}
    asked = ray.remote(probe).options(runtime_env=fresh).remote(pickle.dumps(scorer("mini")))
    assert ray.get(asked) == (False, 1)


def wait_for_nodes(count: int) -> None:
    """Ray notices after some seconds that a machine is gone."""
    until = time.monotonic() + 60
    while (alive := sum(node["Alive"] for node in ray.nodes())) != count:
        assert time.monotonic() < until, alive
        time.sleep(0.1)


def test_one_machine_of_three_is_removed(answers: Answers, tmp_path: Path) -> None:
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
            while not any(out.glob("part-*")):
                if removed.wait(0.02):
                    return
            cluster.remove_node(nodes[0], allow_graceful=False)
            removed.set()

        thread = threading.Thread(target=remove)
        thread.start()
        found = adapter.score_file(str(answers.folder), out, answers.benchmark, by="model")
        assert removed.is_set()
        thread.join()
        wait_for_nodes(2)
    finally:
        ray.shutdown()
        cluster.shutdown()
    check_scored(read(out), answers)
    assert_same_figures(found, evaluate([answers.scored], answers.benchmark, by="model"))


def test_folders_that_are_not_empty_are_refused(adapter: Any, tmp_path: Path) -> None:
    pl.DataFrame({"question": ["Q02"], "answer": ["草"]}).write_parquet(tmp_path / "a.parquet")
    out = tmp_path / "out"
    adapter.score_file(tmp_path / "a.parquet", out, "mini")
    before = sorted(out.iterdir())
    with pytest.raises(OutputError, match="is not empty: choose another folder"):
        adapter.score_file(tmp_path / "a.parquet", out, "mini")
    (out / "_SUCCESS").unlink()
    with pytest.raises(OutputError, match="of a job that did not end"):
        adapter.score_file(tmp_path / "a.parquet", out, "mini")
    assert sorted(out.iterdir()) == before[1:]


def test_a_job_that_fails_leaves_nothing(adapter: Any, tmp_path: Path) -> None:
    pl.DataFrame({"question": ["Q02", "Q99"], "answer": ["草", "葉"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    out = tmp_path / "out"
    with pytest.raises(InputError, match="Q99"):
        adapter.score_file(tmp_path / "a.parquet", out, "mini", on_problem="raise")
    assert list(out.iterdir()) == []
    with pytest.raises(InputError, match="missing column 'text'"):
        adapter.score_file(tmp_path / "a.parquet", out, "mini", answer_field="text")
    with pytest.raises(InputError, match="Ray reads Parquet and JSON lines"):
        adapter.score_file(tmp_path / "a.csv", out, "mini")
    with pytest.raises(InputError, match="no file matches"):
        adapter.score_file(f"{tmp_path}/*.jsonl", out, "mini")


def test_only_rows_that_cannot_be_scored(adapter: Any, tmp_path: Path) -> None:
    pl.DataFrame({"question": ["Q98", "Q99"], "answer": ["草", "葉"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    out = tmp_path / "out"
    with pytest.raises(InputError, match="2 rows that cannot be scored were left out"):
        adapter.score_file(tmp_path / "a.parquet", out, "mini")
    assert list(out.iterdir()) == []


def test_errors_of_workers_are_short(adapter: Any, tmp_path: Path) -> None:
    pl.DataFrame({"question": ["Q02"], "answer": ["草"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"^missing column 'nothere': ") as caught:
        adapter.score_file(tmp_path / "a.parquet", tmp_path / "out", "mini", order="nothere")
    assert "Traceback" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_column_is_told_with_those_that_the_files_have(
    adapter: Any, tmp_path: Path
) -> None:
    pl.DataFrame({"question": ["Q02"], "answer": ["草"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"^missing column 'model': found question, answer$"):
        adapter.score_file(tmp_path / "a.parquet", tmp_path / "out", "mini", by="model")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.parquet", b"no Parquet"),
        ("a.jsonl", b'{"question": "Q02", "answer": "a"}\n{"question": "Q02", "answer": \n'),
        ("a.jsonl.gz", b"no gzip"),
    ],
)
def test_damaged_files_are_errors_of_one_line(
    name: str, content: bytes, adapter: Any, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"^Ray cannot read the files: ") as caught:
        adapter.score_file(tmp_path / name, tmp_path / "out", "mini")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("out/*"))


def test_pieces_are_read_as_ray_reads_the_files(
    adapter: Any, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = answers.good.head(3000).with_columns(
        pl.col("model").cast(pl.Categorical),
        pl.struct("row", "model").alias("both"),
        pl.concat_list("row").alias("list"),
        pl.lit(None, pl.Datetime).alias("time"),
    )
    source = tmp_path / "answers"
    source.mkdir()
    for at in range(3):
        part = rows.slice(1000 * at, 1000)
        part.write_parquet(source / f"{at}.parquet", row_group_size=300)
    found = {}
    for name, pieces_of in {"pieces": adapter.pieces_of, "files": lambda _: None}.items():
        monkeypatch.setattr(adapter, "pieces_of", pieces_of)
        adapter.score_file(source, tmp_path / name, answers.benchmark)
        found[name] = read(tmp_path / name).sort("row")
    assert len(found["pieces"]) == len(rows)
    assert_frame_equal(found["pieces"], found["files"], check_exact=True)


def test_a_damaged_page_is_an_error_of_one_line(
    adapter: Any, answers: Answers, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    answers.good.head(3000).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read: ") as found:
        adapter.score_file(path, tmp_path / "out", answers.benchmark)
    assert "\n" not in str(found.value)
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_names_that_ray_does_not_take(adapter: Any, tmp_path: Path) -> None:
    path = tmp_path / "a?b.parquet"
    pl.DataFrame({"question": ["Q02"], "answer": ["草"]}).write_parquet(path)
    with pytest.raises(InputError, match="for a query: rename the file"):
        adapter.score_file(path, tmp_path / "out", "mini")


def test_credentials_in_urls_are_refused_and_not_shown(adapter: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"question": ["Q02"], "answer": ["草"]}).write_parquet(path)
    for url in ("s3://AK:SECRET@bucket/x.parquet", "s3://bucket/x.parquet?secret_key=SECRET"):
        for paths, out in ((path, url), (url, tmp_path / "out")):
            with pytest.raises(InputError, match="credentials in a URL are not used") as caught:
                adapter.score_file(paths, out, "mini")
            assert "SECRET" not in str(caught.value)


def test_json_lines(adapter: Any, tmp_path: Path) -> None:
    lines = [json.dumps({"question": "Q02", "answer": text}) + "\n" for text in "草葉木"]
    (tmp_path / "a.jsonl").write_text("".join(lines), encoding="utf-8")
    [run] = adapter.score_file(tmp_path / "a.jsonl", tmp_path / "out", "mini").values()
    assert run.height == 3
    assert run.score == round(read(tmp_path / "out")["average"].mean(), 4)  # type: ignore[arg-type]


def test_pools_of_actors_are_refused(adapter: Any) -> None:
    dataset = ray.data.from_items([{"question": "Q02", "answer": "草"}])
    for how in ({"concurrency": (1, 2)}, {"compute": ray.data.ActorPoolStrategy(size=2)}):
        with pytest.raises(SettingsError, match="computed by tasks"):
            adapter.score(dataset, "mini", **how)


def test_no_rows(adapter: Any) -> None:
    empty = ray.data.from_arrow(
        pa.table({"question": pa.array([], pa.string()), "answer": pa.array([], pa.string())})
    )
    with pytest.raises(InputError, match="no rows"):
        adapter.evaluate(empty, "mini")


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples_of_the_page_run(
    code: str, adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {"question": ["Q02", "Q14"], "answer": ["光合成です。", "布"], "model": ["a", "b"]}
    pl.DataFrame(rows).write_parquet("answers.parquet")
    code = code.replace('read_parquet("', f'read_parquet("{tmp_path}/')  # workers are elsewhere
    exec(compile(code, PAGE.name, "exec"), {})
    assert read(tmp_path / "scored").height == 2


def run_score(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pfgen_rs", "score", *arguments]
    return subprocess.run(
        command, env=environment() | more, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def bucket() -> Iterator[tuple[Any, dict[str, str]]]:
    """A file system of object storage on this machine, and the variables that lead to it."""
    if find_spec("moto") is None or find_spec("flask") is None:
        pytest.skip("moto[server] is not installed")
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=PIPE, stdout=PIPE) as server:
        assert server.stdout is not None
        host = f"127.0.0.1:{int(server.stdout.readline())}"
        files = pafs.S3FileSystem(
            endpoint_override=host,
            scheme="http",
            access_key="key",
            secret_key="secret",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        files.create_dir("bucket")
        yield (
            files,
            {
                "AWS_ENDPOINT_URL": f"http://{host}",
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "us-east-1",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ALLOW_HTTP": "true",
            },
        )
        server.communicate(timeout=30)


def test_the_command_scores_object_storage(bucket: Any) -> None:
    ray.shutdown()
    files, variables = bucket
    rows = {
        "question": ["Q02", "Q14", "Q02"],
        "answer": ["光合成です。", "布", "草"],
        "model": list("aba"),
    }
    for name in ("one", "two"):
        pq.write_table(pa.table(rows), f"bucket/in/{name}.parquet", filesystem=files)
    asked = [
        "s3://bucket/in/*.parquet",
        "-b",
        "mini",
        "--engine",
        "ray",
        "--out",
        "s3://bucket/out",
    ]
    done = run_score(*asked, "--run-field", "model", "--format", "json", **variables)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert {row["name"]: row["responses"] for row in shown} == {"a": 4, "b": 2}
    assert all(row["score_std"] is None and "|order:none|" in row["signature"] for row in shown)
    found = pq.read_table("bucket/out", filesystem=files, partitioning=None)
    assert found.num_rows == 6
    assert json.loads(files.open_input_stream("bucket/out/_SUCCESS").read())["rows"] == 6
    again = run_score(*asked, **variables)
    assert again.returncode != 0
    assert "s3://bucket/out: is not empty: choose another folder" in again.stderr


def test_names_in_object_storage_are_taken_as_they_are(bucket: Any) -> None:
    ray.shutdown()
    files, variables = bucket
    rows = pa.table({"question": ["Q02", "Q14"], "answer": ["光合成です。", "布"]})
    pq.write_table(rows, "bucket/in/日本 a%20b.parquet", filesystem=files)
    where = ["--engine", "ray", "--out", "s3://bucket/日本 x%20y"]
    for url in ("s3://bucket/in/日本 a%20b.parquet", "s3://bucket/in/*.parquet"):
        done = run_score(url, "-b", "mini", *where, **variables)
        assert done.returncode == 0, done.stderr
        out = where[-1].removeprefix("s3://")
        assert files.get_file_info(f"{out}/_SUCCESS").is_file
        where[-1] += "z"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "ray"], "requires --out DIR"),
        (["--address", "auto"], "requires --engine ray"),
        (["--engine", "ray", "--out", "o", "--resume"], "cannot be used with --engine ray"),
    ],
)
def test_options_of_the_engine(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run_score(str(tmp_path / "a.parquet"), *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:9", "127.0.0.1:99999", "host.invalid:6379"])
def test_no_cluster_is_a_clear_error(address: str, tmp_path: Path) -> None:
    pl.DataFrame({"question": ["Q02"], "answer": ["草"]}).write_parquet(tmp_path / "a.parquet")
    where = ["--engine", "ray", "--out", str(tmp_path / "out"), "--address", address]
    done = run_score(str(tmp_path / "a.parquet"), "-b", "mini", *where, RAY_TMPDIR=str(tmp_path))
    assert done.returncode != 0
    assert f"no Ray cluster at address '{address}'" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_files_are_a_clear_error(adapter: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no files to score"):
        adapter.score_file([], tmp_path / "out", "mini")
    assert not (tmp_path / "out").exists()
