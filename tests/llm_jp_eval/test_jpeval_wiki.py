"""The tasks of the Wikipedia Annotated Corpus: published outputs, an oracle, tags, damage, and long work."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings

import jpeval_wiki_oracle as oracle
from jpeval_wiki import corpus, damaged_documents, documents, raw_file, samples
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.llm_jp_eval.conversion import wikipedia
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
    assert wikipedia.document_samples(raw_file(text)) == oracle.outputs(text)


@given(documents())
@settings(max_examples=50)
def test_mentions_agree_with_the_oracle(text: str) -> None:
    (ours, _), theirs = wikipedia.read_document(raw_file(text)), oracle.read(text)
    assert [wikipedia.mention_text(each) for each in ours.base_phrases] == [
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


def test_the_corpus_agrees_with_the_oracle(jpeval_dir: Path) -> None:
    split = corpus(jpeval_dir)["dev"]
    assert len(split) == 100
    for name, content in split:
        ours = wikipedia.document_samples(raw_file(content, name))
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
        ("<NE:PERSON:甲><NE:DATE:甲>", "甲（日付表現）"),
        ("<NE-OPTIONAL:PERSON:甲><JJIF><NE:OPTIONAL:甲>", ""),
        ("<NE:ANIMAL:甲>", ""),
        ("<NE:DATE:>", ""),
    ],
)
def test_features_of_named_entities(features: str, expected: str) -> None:
    assert output("wiki_ner", sentence(features)) == expected


def test_names_may_have_angle_brackets() -> None:
    assert output("wiki_ner", sentence(r"<NE:ARTIFACT:a\>b>", names=("a>b",))) == "a>b（固有物名）"


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
        ("# S-ID:a\n* -1D\n+ -1D\n東 とう\nEOS\n", 4, "morpheme with its 11 fields.* found '東"),
        (f"# S-ID:a\n* -1D\n+ -1D\n{WORD} <a\nEOS\n", 4, "morpheme with its 11 fields"),
        (f"* -1D\n{WORD}\nEOS\n", 3, "the sentence that ends here is damaged"),
        (f"{WORD}\nEOS\n", 2, "the sentence that ends here is damaged"),
        (f"\n\n+ -1D\n{WORD}\nEOS\n", 5, "the sentence that ends here is damaged"),
        ("* -1D\nEOS\n", 2, "the sentence that ends here is damaged"),
        ("* -1D\n+ -1D\nEOS\n", 3, "the sentence that ends here is damaged"),
        (SENTENCE.replace("EOS\n", "") + SENTENCE, 9, "the sentence that ends here is damaged"),
        (f"* 1D\n+ -1D\n{WORD}\nEOS\n", 4, "numbers of phrases that it has"),
        (f"* -1D\n+ 1D\n{WORD}\nEOS\n", 4, "numbers of phrases that it has"),
        (f"* -2D\n+ -1D\n{WORD}\nEOS\n", 1, r"found '\* -2D'"),
        (f"* {'9' * 1900}D\n+ -1D\n{WORD}\nEOS\n", 4, "numbers of phrases that it has"),
        (f"* {'9' * 5000}D\n+ -1D\n{WORD}\nEOS\n", 1, "in at most 2,000 characters"),
        (f"* 0X\n+ -1D\n{WORD}\nEOS\n", 1, r"found '\* 0X'"),
        (SENTENCE.removesuffix("EOS\n"), None, "ends within a sentence: expected 'EOS'"),
        (f'* -1D\n+ -1D <rel type="ガ" target="x" sid="a"/>\n{WORD}\nEOS\n', 2, "whole tags"),
        (f'* -1D\n+ -1D <rel type="=" mode="x" target="x"/>\n{WORD}\nEOS\n', 2, "whole tags"),
        (f"* -1D\n+ -1D <NE>\n{WORD}\nEOS\n", None, "cannot be read: "),
        (SENTENCE.encode() + b"\n\xe6\x9d", None, "codec can't decode"),
        (SENTENCE.encode("utf-16-le"), None, "can't decode"),
    ],
)
def test_damage_is_told_with_its_line(content: str | bytes, line: int | None, problem: str) -> None:
    documents = [
        ("knp/good.knp", SENTENCE.encode()),
        ("knp/wrong.knp", raw_file(content).content),
    ]
    with pytest.raises(InputError, match=problem) as caught:
        samples(documents)
    assert caught.value.path == "knp/wrong.knp"
    assert (f": line {line}: " in str(caught.value)) == (line is not None)


def test_parentheses_without_a_place_are_told() -> None:
    cut = SENTENCE.replace("a-1", "a-1 括弧削除")
    assert "knp/a.knp: '括弧削除' in sentence 'a-1', but no" in error_of(cut)
    assert error_of(cut + SENTENCE) == error_of(cut)


def with_name(words: int) -> str:
    """A sentence whose last base phrase has a name that is not in it."""
    lines = "".join(f"+ -1D\n{WORD}\n" for _ in range(words - 1))
    return f"# S-ID:b\n* -1D\n{lines}+ -1D <NE:DATE:年>\n{WORD}\nEOS\n"


def test_sizes_are_bounded() -> None:
    assert "more than 65,536 bytes" in error_of(b"\n" * (wikipedia.DOCUMENT_BYTES + 1))
    message = error_of(SENTENCE + with_name(wikipedia.MORPHEMES + 1))
    assert "of morphemes, at most 200" in message
    for tag, most in wikipedia.TAGS.items():
        message = error_of(tag * (most + 1))
        assert message == f"knp/a.knp: cannot be read: more than {most} tags that begin with {tag}"


def test_a_package_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rhoknp", None)
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[llm-jp-eval\]'"):
        wikipedia.document_samples(raw_file(SENTENCE))


def test_a_document_without_sentences_is_left_out() -> None:
    assert set(map(len, samples([("a.knp", b""), ("b.knp", b"\n \nEOS\n")]).values())) == {0}


def test_circles_of_parents_are_harmless() -> None:
    tags = '<rel type="=" target="東" sid="" id="1"/><rel type="ガ" target="東" sid="" id="2"/>'
    units = "".join(f"+ {(i + 1) % 3}D {tags}\n{WORD}\n" for i in range(3))
    found = samples([("a.knp", f"* 1D\n{units}* 0D\n+ 3D {tags}\n{WORD}\nEOS\n".encode())])
    assert found["wiki_dependency"] == [("東東東東", "東東東 -> 東\n東 -> 東東東")]
    assert found["wiki_pas"] == [("東東東東", "東 ガ：東東東")]


def unit(parent: int, features: str) -> str:
    return f"+ {parent}D {features}\na a a a 0 a 0 a 0 a 0\n"


def units(*features: str) -> str:
    return "* -1D\n" + "".join(unit(-1, each) for each in features) + "EOS\n"


def chain(count: int) -> str:
    """Every base phrase is identical to the one before it, and depends on the one after it."""
    found = [unit(i + 1 if i + 1 < count else -1, rel("=", max(i - 1, 0))) for i in range(count)]
    return "* -1D\n" + "".join(found) + "EOS\n"


def near_pairs(count: int, again: int) -> str:
    """Two base phrases that are nearly identical to the same others, linked again and again."""
    near = "".join(rel("=≒", i) for i in range(count))
    return units(*([""] * count), near, near + rel("=≒", count) * again)


def many(tag: str, count: int, each: int = 20) -> str:
    return units(*[tag * each] * (count // each))


OPEN = "* -1D\n+ -1D {}\na a a a 0 a 0 a 0 a 0\nEOS\n"
DOCUMENTS = {
    "open tags": OPEN.format("<a>" * 600 + "x"),
    "open quotes": OPEN.format('<"a">' * 300 + '"'),
    "open names": OPEN.format("<NE:a:" * 200),
    "escaped names": OPEN.format("<NE:a:" + "\\>" * 900),
    "open relations": OPEN.format('<rel type="ガ" target="a" sid="' * 60),
    "relations in memos": OPEN.format('<memo text="' + "<rel " * 390 + '"/>'),
    "brackets in memos": (OPEN.format('<memo text="' + "<" * 100 + '"/>')) * 9,
    "tags of a morpheme": f"* -1D\n+ -1D\n{WORD} {'<a>' * 600}x\nEOS\n",
    "tags of a phrase that is a morpheme": f"* -1D\n+ -1D\n* {'<a>' * 600} * a 0 a 0 a 0 a 0\nEOS\n",
    "tags of a comment": f"# a a a 0 a 0 a 0 a 0 {'<a>' * 600}x\n{SENTENCE}",
    "equal words": f"* -1D\n+ -1D\n{'a ' * 990}\nEOS\n",
    "long ids": f"# S-ID:{'1' * 1900}x\nEOS\n" * 30,
    "structures": many("<述語項構造:" + "a:" * 900 + ">", 30, 1),
    "spaces": "* -1D\n+ -1D\n" + " " * 1900 + "x\nEOS\n",
    "empty sentences": "EOS\n" * 16_000,
    "names that are nowhere": with_name(149).replace("+ -1D\n", "+ -1D <NE:DATE:年>\n"),
    "relations": many(rel("ガ", 0), 500),
    "chain": chain(199),
    "chain of cases": units(*([rel("ガ", 0) + rel("ヲ", 1)] * 199)),
    "near pairs": near_pairs(30, 20),
    "referents": many('<rel type="=≒" target="不特定:人"/>', 200),
    "different referents": units(
        *(
            "".join(f'<rel type="=" target="前文{10 * n + i}"/>' for i in range(10))
            for n in range(7)
        ),
        *[rel("=", 0) * 10 + rel("=", 1) * 10] * 6,
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_made_to_take_long(name: str) -> None:
    content = DOCUMENTS[name].encode()
    assert len(content) <= wikipedia.DOCUMENT_BYTES
    start = time.process_time()
    with suppress(InputError):
        samples([("a.knp", content)])
    assert time.process_time() - start < 60  # a tenth on a machine with nothing else to do


def test_all_line_ends_are_read() -> None:
    for end in ("\r\n", "\r"):
        changed = SENTENCE.replace("\n", end).encode()
        assert wikipedia.read_document(raw_file(changed))[0].text == "東"
    # What only str.splitlines takes for the end of a line does not end one.
    odd = SENTENCE.replace("東 とう", "東\u2028\x85\x0c と\x1cう").encode()
    assert wikipedia.read_document(raw_file(odd))[0].text == "東\u2028\x85\x0c"
