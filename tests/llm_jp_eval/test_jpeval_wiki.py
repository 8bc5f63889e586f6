"""The tasks of the Wikipedia Annotated Corpus: published outputs, an oracle, tags, damage, and long work."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings

import jpeval_wiki_oracle as oracle
from jpeval_wiki import corpus, damaged_documents, documents, samples
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.conversion import wikipedia
from pfgen_rs.llm_jp_eval.conversion.knp import DOCUMENT_BYTES, SENTENCE_CHARACTERS, read_document
from pfgen_rs.llm_jp_eval.evaluation_files import read_task
from pfgen_rs.llm_jp_eval.registry import SPLITS


def test_published_coreferences_are_among_ours(jpeval_converted: Path, jpeval_dir: Path) -> None:
    lines = (jpeval_dir / "golden" / "metrics.jsonl").read_text("utf-8").splitlines()
    golds = {
        record["gold"]
        for record in map(json.loads, lines)
        if (record["dataset"], record["tag"]) == ("wiki_coreference", "set_f1 real")
    }
    datas = [read_task(jpeval_converted, "wiki_coreference", split) for split in SPLITS]
    outputs = {sample.output for data in datas for sample in data.samples}
    assert len(golds) == 15
    assert golds <= outputs


def test_coreference_of_made_up_documents(jpeval_dir: Path) -> None:
    folder = jpeval_dir / "golden" / "mini" / "raw_files" / "test"
    documents = [(str(path), path.read_bytes()) for path in folder.glob("*.knp")]
    assert [output for _, output in samples(documents)["wiki_coreference"]] == [
        "東京大学 本郷 大学",
        "京都 A/B 5>3\n大人 2024年",
        "乙 丙 丁 彼",
    ]


# Made-up documents: an oracle, invariants, and damage


@given(documents())
def test_all_tasks_agree_with_the_oracle(text: str) -> None:
    assert wikipedia.document_samples(read_document("x.knp", text.encode())) == oracle.outputs(text)


@given(documents())
@settings(max_examples=50)
def test_mentions_agree_with_the_oracle(text: str) -> None:
    ours, theirs = read_document("x.knp", text.encode()), oracle.read(text)
    assert [wikipedia.mention_text(b) for s in ours.sentences for b in s.base_phrases] == [
        oracle.mention(theirs, b) for s in theirs for b in s.units
    ]


@given(damaged_documents())
@settings(max_examples=60)
def test_damage_is_an_input_error_at_most(content: bytes) -> None:
    error = None
    try:
        assert tuple(samples([("knp/x.knp", content)])) == wikipedia.WIKI_TASKS
    except InputError as caught:
        error = caught
    if error is not None:
        assert error.path == "knp/x.knp"
        assert error.line is not None
        assert 1 <= error.line <= content.count(b"\n") + content.count(b"\r") + 1


def test_the_corpus_agrees_with_the_oracle(jpeval_dir: Path) -> None:
    split = corpus(jpeval_dir)["dev"]
    assert len(split) == 100
    for name, content in split:
        ours = wikipedia.document_samples(read_document(name, content))
        assert ours == oracle.outputs(content.decode()), name


# Small documents: what tags and features come to


def rel(kind: str, target: int | str, mode: str = "", sid: str = "") -> str:
    mode = f' mode="{mode}"' if mode else ""
    if isinstance(target, str):
        return f'<rel type="{kind}"{mode} target="{target}"/>'
    return f'<rel type="{kind}"{mode} target="x" sid="{sid}" id="{target}"/>'


def sentence(
    *tags: str, sid: str = "a", remark: str = "", names: Sequence[str] = "甲乙丙丁"
) -> str:
    """A sentence of phrases, each a base phrase and a word without relations to the others."""
    lines = [f"# S-ID:{sid} {remark}"]
    for name, tag in zip(names, tags, strict=False):
        lines += ["* -1D", f"+ -1D {tag}", f"{name} よみ {name} 名詞 6 * 0 * 0 * 0 NIL"]
    return "\n".join([*lines, "EOS", ""])


def output(task: str, text: str) -> str:
    found = samples([("a.knp", text.encode())])[task]
    return found[0][1] if found else ""


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (("", rel("=", 0)), "甲 乙"),
        (("", rel("=構", 0), rel("=", 1)), "甲 乙 丙"),
        (("", rel("=≒", 0)), ""),
        (("", rel("=", 0, "OR"), rel("=", 0, "？")), ""),
        (("", rel("=", 0, "AND")), "甲 乙"),
        (("", rel("=", 9), rel("=", 0, sid="none")), ""),
        ((rel("=", 0), ""), ""),
        ((rel("=", "著者"), rel("=", "読者"), rel("=", "著者")), "甲 丙"),
        ((rel("=", "不特定:人1"), rel("=", "不特定:人０１"), rel("=", "不特定:物1")), "甲 乙"),
        ((rel("=", "不特定:人"), rel("=", "不特定:人")), ""),
        # Referents that differ keep entities apart: both mention both.
        ((rel("=", "著者"), rel("=", "読者") + rel("=", 0)), "甲 乙"),
        ((rel("=", "国"), rel("=", "国") + rel("=", 0), rel("=", 0)), "甲 乙 丙"),
        # An entity that is nearly the same stays apart until an identical link joins it.
        (("", rel("=≒", 0), rel("=", 1)), "乙 丙"),
        (("", rel("=≒", 0) + rel("=", 0)), "甲 乙"),
        # A case makes an entity of its target, but none of its own base phrase.
        ((rel("ガ", 1), ""), ""),
    ],
)
def test_coreference(tags: Sequence[str], expected: str) -> None:
    assert output("wiki_coreference", sentence(*tags)) == expected


def test_coreference_leaves_out_parentheses() -> None:
    cut = sentence("", "", remark="括弧削除")
    remark = "括弧始:（ 括弧終:） 括弧位置:1"
    inner = sentence(rel("=", 0, sid="a"), sid="b", remark=remark, names="丁")
    last = sentence(rel("=", 0, sid="b") + rel("=", 1, sid="a"), sid="c", names="戊")
    assert output("wiki_coreference", cut + inner + last) == "乙 戊"
    assert samples([("a", (cut + inner + last).encode())])["wiki_coreference"][0][0] == "甲乙戊"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (rel("ヲ", 0) + rel("ガ", 1), "丙 ガ：乙 ヲ：甲"),
        (rel("ガ2", 0) + rel("ガ", 1), "丙 ガ：乙 ガ：甲"),
        (rel("から", 0) + rel("カラ", 0) + rel("カラ", 1), "丙 カラ：甲 カラ：乙"),
        (rel("ガ", 0) + rel("ガ", "なし") + rel("ガ", 0) + rel("ガ", 1), "丙 ガ：乙"),
        (rel("ガ", 0) + rel("ヲ", "なし"), "丙 ガ：甲"),
        (rel("ガ", "著者") + rel("ガ≒", 0) + rel("修飾", 0) + rel("ガ", 2), ""),
        (rel("ガ", 0, "？") + rel("ガ", 7) + rel("ガ", 0, sid="none"), "丙 ガ：甲"),
    ],
)
def test_predicates(tags: str, expected: str) -> None:
    assert output("wiki_pas", sentence("", "", tags)) == expected


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("<NE:PERSON:甲><NE:DATE:乙>", ("DATE", "乙")),
        (r"<NE:PERSON:a\>b:c>", ("PERSON", "a>b:c")),
        (r"<NE:PERSON:a\>", ("PERSON", "a\\")),
        ("<NE-OPTIONAL:PERSON:甲><JJIF><NE:PERSON>", None),
        ("<NE:DATE:甲", None),
        ("<NE:DATE:>", ("DATE", "")),
    ],
)
def test_features_of_named_entities(features: str, expected: tuple[str, str] | None) -> None:
    assert wikipedia.named_entity(features) == expected


def test_names_are_runs_of_morphemes() -> None:
    text = sentence("<NE:DATE:甲>", "<NE:DATE:甲乙>", "<NE:DATE:丁>", "<NE:TIME:丙丁>")
    assert output("wiki_ner", text) == "甲（日付表現） 甲乙（日付表現） 丙丁（時刻表現）"
    text = sentence("", "<NE:DATE:年乙>", "<NE:DATE:>", names=("2年", "乙月", "丙"))
    assert output("wiki_ner", text) == ""


# Documents that are damaged or made to take long


WORD = "東 とう 東 名詞 6 * 0 * 0 * 0 NIL"
SENTENCE = f"# S-ID:a-1\n* -1D\n+ -1D\n{WORD}\nEOS\n"


def error_of(content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(InputError) as caught:
        samples([("knp/a.knp", data)])
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("# S-ID:a\n* -1D\n+ -1D\n東 とう\nEOS\n", 4, "morpheme with at least 11 fields, found"),
        ("# S-ID:a\n* -1D\n+ -1D\n東 とう 東 名詞 6 * 0 * 0 *\nEOS\n", 4, "11 fields, found '東"),
        (f"* -1D\n{WORD}\nEOS\n", 2, "a morpheme outside a base phrase"),
        (f"{WORD}\nEOS\n", 1, "a morpheme outside a base phrase"),
        (f"\n\n+ -1D\n{WORD}\nEOS\n", 3, r"base phrase \('\+'\) outside a phrase"),
        ("* -1D\nEOS\n", 1, "a phrase without base phrases"),
        (f"* -1D\n* -1D\n+ -1D\n{WORD}\nEOS\n", 1, "a phrase without base phrases"),
        ("* -1D\n+ -1D\nEOS\n", 2, "a base phrase without morphemes"),
        (f"* -1D\n+ -1D\n+ -1D\n{WORD}\nEOS\n", 2, "a base phrase without morphemes"),
        (f"* 1D\n+ -1D\n{WORD}\nEOS\n", 1, "the parent is not a phrase of the sentence"),
        (f"* -1D\n+ 1D\n{WORD}\nEOS\n", 2, "is not a base phrase of the sentence: expected -1 or"),
        (f"* -2D\n+ -1D\n{WORD}\nEOS\n", 1, "expected -1 or an index up to 0"),
        (f"* {'9' * 5000}D\n+ -1D\n{WORD}\nEOS\n", 1, "the parent is not a phrase"),
        (f"* 0X\n+ -1D\n{WORD}\nEOS\n", 1, r"found '\* 0X'"),
        (SENTENCE.removesuffix("EOS\n"), 4, "ends within a sentence: expected 'EOS'"),
        (SENTENCE.replace("EOS\n", "") + SENTENCE, 5, "before the previous one ended"),
        (f"# S-ID:a\n{SENTENCE}", 2, "before the previous one ended"),
        (SENTENCE + SENTENCE.replace("NIL", "").replace("東", "\x00 "), 9, r"found '\\x00 "),
        (f'* -1D\n+ -1D <rel type="ガ" target="x" sid="a"/>\n{WORD}\nEOS\n', 2, "damaged tag"),
        (f'* -1D\n+ -1D <rel type="=" target="x"/><rel >\n{WORD}\nEOS\n', 2, "damaged tag"),
        (SENTENCE.encode() + b"\n\xe6\x9d", 7, "not valid UTF-8: unexpected end of data"),
        (b"a\r\rb\r\n\xff\n", 4, "not valid UTF-8: invalid start byte"),
        (SENTENCE.encode("utf-16-le"), 5, "not valid UTF-8"),
        (SENTENCE.encode("utf-8-sig"), 1, "byte order mark"),
    ],
)
def test_damage_is_told_with_its_line(content: str | bytes, line: int, problem: str) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(InputError, match=problem) as caught:
        samples([("knp/good.knp", SENTENCE.encode()), ("knp/wrong.knp", data)])
    assert (caught.value.path, caught.value.line) == ("knp/wrong.knp", line)
    assert str(caught.value).startswith(f"knp/wrong.knp, line {line}: ")


def test_parentheses_without_a_place_are_told() -> None:
    tags = '<NE:PERSON:東><rel type="ガ" target="東" sid="" id="0"/>'
    cut = SENTENCE.replace("a-1", "a-1 括弧削除").replace("+ -1D", f"+ -1D {tags}")
    assert error_of(cut).startswith("knp/a.knp, line 1: '括弧削除', but no sentence follows")
    assert "knp/a.knp, line 6: '括弧削除' in the sentence before" in error_of(cut + SENTENCE)


def test_sizes_are_bounded() -> None:
    assert "expected a document of at most 1,048,576" in error_of(b"\n" * (DOCUMENT_BYTES + 1))
    words = f"{WORD}\n" * (SENTENCE_CHARACTERS + 1)
    message = error_of(f"{SENTENCE}# S-ID:b\n* -1D\n+ -1D\n{words}EOS\n")
    assert message.startswith("knp/a.knp, line 6: a sentence of more than 2,000 characters")


def test_a_document_without_sentences_is_left_out() -> None:
    assert set(map(len, samples([("a.knp", b""), ("b.knp", b"\n \nEOS\n")]).values())) == {0}


def test_circles_of_parents_are_harmless() -> None:
    tags = '<rel type="=" target="東" sid="" id="1"/><rel type="ガ" target="東" sid="" id="2"/>'
    units = "".join(f"+ {(i + 1) % 3}D {tags}\n{WORD}\n" for i in range(3))
    found = samples([("a.knp", f"* 1D\n{units}* 0D\n+ 3D {tags}\n{WORD}\nEOS\n".encode())])
    assert found["wiki_dependency"] == [("東東東東", "東東東 -> 東\n東 -> 東東東")]
    assert found["wiki_pas"] == [("東東東東", "東 ガ：東東東")]


def unit(parent: int, features: str) -> str:
    return f"+ {parent}D {features}\na a a a a a a a a a a\n"


def chain() -> str:
    units = [unit(i + 1 if i < 1998 else -1, rel("=", max(i - 1, 0))) for i in range(1999)]
    return "* -1D\n" + "".join(units) + "EOS\n"


def near_pairs(count: int = 1000) -> str:
    """Two base phrases that are nearly identical to many, linked again and again."""
    others = "".join(unit(-1, "") for _ in range(count))
    near = "".join(rel("=≒", i) for i in range(count))
    again = rel("=≒", count) * 10
    return f"* -1D\n{others}{unit(-1, near)}{unit(-1, near + again)}EOS\n"


def referents(count: int = 15_000) -> str:
    tags = "".join(f'<rel type="=≒" target="不特定:人{i}"/>' for i in range(count))
    return f"* -1D\n{unit(-1, tags)}EOS\n"


FEATURES = {
    "open names": "<NE:a:" * 150_000,
    "escaped names": "<NE:a:" + "\\>" * 400_000,
    "open categories": "<NE:" * 200_000,
    "names closed late": "<NE:PERSON:" * 80_000 + "\\>",
    "many names": "<NE:PERSON:東>" * 60_000,
    "many tags": rel("ガ", 0) * 24_900,
    "long numbers": rel("ガ", 0).replace("0", "9" * 900_000),
}
REMARKS = {
    "starts": "括弧始:" * 100_000,
    "starts apart": "括弧始:a " * 80_000,
    "starts and ends": "括弧始:a 括弧終:b " * 30_000,
    "ends": "括弧始:" * 50_000 + " 括弧終:" * 45_000,
    "long position": "括弧始:a 括弧終:b 括弧位置:" + "9" * 900_000,
}
DOCUMENTS = {
    **{name: f"* -1D\n{unit(-1, text)}EOS\n" for name, text in FEATURES.items()},
    **{
        name: f"# S-ID:a 括弧削除\n* -1D\n{unit(-1, '<NE:DATE:a>')}EOS\n# S-ID:b {text}\nEOS\n"
        for name, text in REMARKS.items()
    },
    "chain": chain(),
    "near pairs": near_pairs(),
    "referents": referents(),
    "referents, twice": referents(2_000).replace("EOS", unit(-1, rel("=", 0) * 900) + "EOS"),
    "spaces": "* -1D\n+ -1D\n" + " " * 1_000_000 + "x\nEOS\n",
    "fields": "* -1D\n+ -1D\n" + "a " * 500_000 + "\nEOS\n",
    "empty sentences": "EOS\n" * 100_000,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_made_to_take_long(name: str) -> None:
    content = DOCUMENTS[name].encode()
    assert len(content) <= DOCUMENT_BYTES
    start = time.process_time()
    with suppress(InputError):
        samples([("a.knp", content)])
    assert time.process_time() - start < 20


def test_too_many_relations_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikipedia, "STEPS", 100)
    content = near_pairs(50)
    message = error_of(content)
    assert message.startswith("knp/a.knp, line 102: too many relations between entities")
    monkeypatch.undo()
    assert samples([("knp/a.knp", content.encode())])["wiki_coreference"] == []


def test_all_line_ends_are_read() -> None:
    for end in ("\r\n", "\r"):
        changed = SENTENCE.replace("\n", end).encode()
        assert read_document("a", changed).sentences[0].text == "東"
    # What only str.splitlines takes for the end of a line does not end one.
    odd = SENTENCE.replace("東 とう", "東\u2028\x85\x0c と\x1cう").encode()
    assert read_document("a", odd).sentences[0].text == "東\u2028\x85\x0c"
