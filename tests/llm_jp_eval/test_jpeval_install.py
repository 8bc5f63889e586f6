"""Installing raw files: recognised by digests and paths, in folders and archives of any layout."""

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from helpers import pfgen
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval import catalog, convert
from pfgen_rs.llm_jp_eval.catalog import installed_data, installed_raw
from pfgen_rs.llm_jp_eval.conversion import installing, raw_files
from pfgen_rs.llm_jp_eval.conversion.installing import find_raw, install_raw, raw_installation

JNLI = 20073
Files = Mapping[str, bytes]


@pytest.fixture(scope="session")
def published_raw(jpeval_dir: Path) -> Mapping[str, bytes]:
    """The real raw files by the reference's names, without stand-ins."""
    found = find_raw(jpeval_dir / "raw", catalog.tasks()).files
    return {name: file.content for name, file in found.items() if file.status == "published"}


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def tar_of(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def jnli_lines(count: int) -> bytes:
    line = {"sentence1": "雨が降る。", "sentence2": "水が落ちる。", "label": "entailment"}
    return (json.dumps(line, ensure_ascii=False) + "\n").encode() * count


def test_published_digests(jpeval_dir: Path, published_raw: Mapping[str, bytes]) -> None:
    published = raw_files.published()
    assert published_raw.keys() == published.keys()
    for name, content in published_raw.items():
        assert published[name] == (hashlib.sha256(content).hexdigest(), len(content))
    manifest = json.loads((jpeval_dir / "raw" / "manifest.json").read_bytes())
    for each in manifest:
        if "files" not in each and not each["note"].startswith("SURROGATE"):
            assert published[each["reference_name"]].sha256 == each["sha256"]
    for task, info in catalog.tasks().items():
        assert raw_files.source_of(task).licence == info.licence, task
    repositories = {source.repository for source in raw_files.sources().values()}
    listed = {each["repository"].split(" ")[0] for each in manifest}
    assert listed - repositories == {"odmishien/chABSA-dataset"}


def test_the_real_raw_files(jpeval_raw: Path) -> None:
    found = install_raw(jpeval_raw)
    assert found.folder == installed_raw()
    assert sum(each.files for each in found.taken) == len(raw_files.published())
    assert {each.status for each in found.taken} == {"published"}
    assert set(found.refused) == {"jnli_train.json", "jsquad_train.json"}
    assert all("does not have the" in reason for reason in found.refused.values())
    assert [each.task for each in found.missing] == ["jnli", "jsquad"]
    again = raw_installation()
    assert again.datasets == found.datasets
    assert again.missing == found.missing
    assert convert(tasks=["jamp"]).folder == installed_data()


def test_renamed_files_are_found_by_digest(published_raw: Files, tmp_path: Path) -> None:
    wanted = ["jcommonsenseqa_train.json", "jamp_test.tsv", "jamp_train.tsv"]
    for number, name in enumerate(wanted):
        found = install_raw(put(tmp_path / str(number), {"downloads/x.txt": published_raw[name]}))
        assert [(each.name, str(each.status)) for each in found.taken] == [(name, "published")]
        assert (installed_raw() / name).read_bytes() == published_raw[name]
    assert "jamp" not in {each.task for each in found.missing}


def test_documents_are_found_by_digest_without_lists(published_raw: Files, tmp_path: Path) -> None:
    documents = {n.split("/")[1]: c for n, c in published_raw.items() if n.endswith(".knp")}
    put(tmp_path, {"corpus.zip": zip_of({f"all/{n}": c for n, c in documents.items()})})
    found = find_raw(tmp_path, ["wiki_ner"])
    assert len(found.files) == 1817
    assert found.status("wiki_ner") == "published"


def test_checkouts_and_archives_side_by_side(published_raw: Files, tmp_path: Path) -> None:
    raw = published_raw
    chabsa = {n.removeprefix("chabsa/"): c for n, c in raw.items() if n.startswith("chabsa/")}
    jsem = {f"JSeM-master/data/v1.0/{n[5:]}": c for n, c in raw.items() if n.startswith("jsem_")}
    knp = {}
    for split in catalog.SPLITS:
        names = sorted(n for n in raw if n.startswith(f"{split}/"))
        ids = [Path(n).stem for n in names]
        knp[f"WikipediaAnnotatedCorpus-1.1.2/id/{split}.id"] = "\n".join(ids).encode()
        for name, document in zip(names, ids, strict=True):
            knp[f"WikipediaAnnotatedCorpus-1.1.2/knp/{document[:8]}/{document}.knp"] = raw[name]
    put(
        tmp_path,
        {
            "temporalNLI_dataset/dataset/train_all.tsv": raw["jamp_train.tsv"],
            "temporalNLI_dataset/dataset/test_2.tsv": raw["jamp_test.tsv"],
            "temporalNLI_dataset/.git/config": b"[core]",
            "JaNLI/janli.tsv": raw["janli.tsv"],
            "JSICK/jsick/train.tsv": raw["jsick_train.tsv"],
            "JSICK/jsick/test.tsv": raw["jsick_test.tsv"],
            "JEMHopQA/corpus/train.json": raw["jemhopqa_train.json"],
            "JEMHopQA/corpus/dev.json": raw["jemhopqa_test.json"],
            "JEMHopQA/corpus_ver1.1/train.json": b"[]",
            "chABSA-dataset.zip": zip_of(chabsa | {"__MACOSX/chABSA-dataset/._x_ann.json": b"x"}),
            "JSeM-master.tgz": tar_of(jsem),
            "WikipediaAnnotatedCorpus-1.1.2.tar": tar_of(knp, "w:"),
        },
    )
    found = install_raw(tmp_path)
    complete = {each.name for each in found.datasets if each.status == "published"}
    others = {"Jamp", "JaNLI", "JSICK", "JEMHopQA", "JSeM", "chABSA"}
    assert complete == {*others, "Wikipedia Annotated Corpus"}


def test_a_real_checkout_of_jglue(published_raw: Mapping[str, bytes], tmp_path: Path) -> None:
    raw = published_raw
    files = {
        "jnli-v1.1/train-v1.1.json": jnli_lines(JNLI),
        "jnli-v1.1/valid-v1.1.json": raw["jnli_test.json"],
        "jsts-v1.3/train-v1.3.json": raw["jsts_train.json"],
        "jsts-v1.3/valid-v1.3.json": raw["jsts_test.json"],
    }
    found = find_raw(put(tmp_path / "datasets", files).parent, ["jnli", "jsts", "jsquad"])
    names = ("jnli_test.json", "jsts_train.json", "jsts_test.json")
    expected = dict.fromkeys(names, "published") | {"jnli_train.json": "unverified"}
    assert {name: str(file.status) for name, file in found.files.items()} == expected
    assert found.missing("jsquad") == ("jsquad_train.json", "jsquad_test.json")


def test_train_files_of_another_size_are_refused(tmp_path: Path) -> None:
    put(tmp_path, {"jnli-v1.1/train-v1.1.json": jnli_lines(JNLI - 1)})
    with pytest.raises(InputError, match="does not have the 20,073 samples"):
        install_raw(tmp_path)
    assert not installed_raw().exists()


def test_changed_files(published_raw: Files, jpeval_mini: Path, tmp_path: Path) -> None:
    changed = published_raw["janli.tsv"].replace(b"\n", b"\r\n")
    put(tmp_path, {"JaNLI/janli.tsv": changed, "jamp_test.tsv": published_raw["jamp_test.tsv"]})
    found = install_raw(tmp_path)
    assert [each.name for each in found.taken] == ["jamp_test.tsv"]
    assert "SHA-256" in found.refused["janli.tsv"]
    assert not (installed_raw() / "janli.tsv").exists()
    with pytest.raises(InputError, match="contains none of the published raw files"):
        install_raw(jpeval_mini / "raw_files")


def test_folders_are_installed_whole(published_raw: Mapping[str, bytes], tmp_path: Path) -> None:
    chabsa = {n: c for n, c in published_raw.items() if n.startswith("chabsa/")}
    some = dict(list(chabsa.items())[:-1])
    with pytest.raises(InputError, match=r"found 229 of 230 published files, 0 others"):
        install_raw(put(tmp_path / "some", some))
    install_raw(put(tmp_path / "all", chabsa))
    found = find_raw(installed_raw(), ["chabsa"])
    assert found.status("chabsa") == "published"
    assert set(found.files) == set(chabsa)


def test_two_different_files_for_one_name(published_raw: Files, tmp_path: Path) -> None:
    put(tmp_path, {"a/janli.tsv": b"a", "b/janli.tsv": b"b", "c/janli.tsv": b"b"})
    with pytest.raises(InputError, match=r"a/janli\.tsv and .*janli\.tsv differ"):
        find_raw(tmp_path, ["janli"])
    put(tmp_path, {"d/janli.tsv": published_raw["janli.tsv"]})
    assert find_raw(tmp_path, ["janli"]).status("janli") == "published"


def test_a_list_of_documents_that_are_missing(tmp_path: Path) -> None:
    put(tmp_path, {"id/train.id": b"wiki1\nwiki2\n", "knp/wiki1/wiki1.knp": b"x"})
    with pytest.raises(InputError, match=r"train\.id, line 2: knp/wiki2/wiki2\.knp, which is"):
        find_raw(tmp_path, ["wiki_ner"])
    (tmp_path / "id" / "train.id").write_bytes(b"../../x\n")
    with pytest.raises(InputError, match=r"train\.id, line 1: invalid id '\.\./\.\./x'"):
        find_raw(tmp_path, ["wiki_ner"])


def bad_archives() -> Iterator[tuple[str, bytes, str]]:
    good = {"jsick/train.tsv": b"x\n" * 50}
    yield "a.tar.gz", tar_of({"../jsick/train.tsv": b"x"}), "points outside the archive"
    yield "a.zip", zip_of({"/jsick/train.tsv": b"x"}), "points outside the archive"
    yield "a.zip", zip_of(good)[:-30], "not a readable"
    yield "a.tar.xz", tar_of(good, "w:xz")[:90], "not a readable"
    yield "a.tar.gz", b"no archive", "not a readable"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        link = tarfile.TarInfo("jsick/train.tsv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    yield "a.tar.gz", stream.getvalue(), "is a link"


@pytest.mark.parametrize(("name", "content", "problem"), list(bad_archives()))
def test_bad_archives(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    put(tmp_path / "raw", {name: content})
    for source in (tmp_path / "raw", tmp_path / "raw" / name):
        with pytest.raises(InputError, match=problem) as caught:
            install_raw(source)
        assert str(caught.value.path).endswith(name)
    assert not installed_raw().exists()


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tar_of({"jsick/train.tsv": bytes(5000)}, "w:xz")
    put(tmp_path / "raw", {"a.tar.xz": bomb, "b/janli.tsv": bytes(5000)})
    monkeypatch.setattr(installing, "FILE_LIMIT", 4000)
    with pytest.raises(InputError, match="larger than 4000 bytes"):
        find_raw(tmp_path / "raw", catalog.tasks())
    with pytest.raises(InputError, match="larger than 4,000 bytes"):
        find_raw(tmp_path / "raw" / "b", catalog.tasks())
    monkeypatch.setattr(installing, "FILE_LIMIT", 6000)
    monkeypatch.setattr(installing, "KEPT_LIMIT", 4000)
    with pytest.raises(InputError, match="more than 4,000 bytes of raw files"):
        find_raw(tmp_path / "raw", catalog.tasks())
    monkeypatch.setattr(installing, "KEPT_LIMIT", 6000)
    monkeypatch.setattr(installing, "FILES_LIMIT", 1)
    with pytest.raises(InputError, match="more than 1 files"):
        find_raw(tmp_path / "raw", catalog.tasks())


def test_the_command(published_raw: Mapping[str, bytes], tmp_path: Path) -> None:
    cache = {"PFGEN_RS_CACHE": str(tmp_path / "cache"), "COLUMNS": "80"}
    listed = pfgen("llm-jp-eval", "install", env=cache)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "https://github.com/yahoojapan/JGLUE/archive/v1.1.0.tar.gz" in listed.stdout
    assert "JSeM (BSD 3-Clause): missing 22 files" in listed.stdout
    raw = put(tmp_path / "raw", {"x": published_raw["janli.tsv"], "jamp_test.tsv": b"x"})
    done = pfgen("llm-jp-eval", "install", "--from", raw, env=cache)
    assert done.returncode == 0
    assert "installed 1 raw file in" in done.stdout
    assert "jamp_test.tsv is not installed" in done.stderr
    found = json.loads(pfgen("llm-jp-eval", "install", "--format", "json", env=cache).stdout)
    expected = {"name": "JaNLI", "tasks": ["janli"], "licence": "CC BY-SA 4.0", "files": 1}
    assert found["datasets"][1] == {**expected, "missing": 0, "status": "published"}
    failed = pfgen("llm-jp-eval", "install", "--from", tmp_path / "nothing", env=cache)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "no such file or folder" in failed.stderr
    with pytest.raises(InputError, match="no raw files are installed"):
        convert()
