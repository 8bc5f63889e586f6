"""Small documents: what tags and features of the Wikipedia Annotated Corpus come to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pfgen_rs.llm_jp_eval.conversion.wikipedia import named_entity, samples


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
    inner = sentence(
        rel("=", 0, sid="a"), sid="b", remark="括弧始:（ 括弧終:） 括弧位置:1", names="丁"
    )
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
    assert named_entity(features) == expected


def test_names_are_runs_of_morphemes() -> None:
    text = sentence("<NE:DATE:甲>", "<NE:DATE:甲乙>", "<NE:DATE:丁>", "<NE:TIME:丙丁>")
    assert output("wiki_ner", text) == "甲（日付表現） 甲乙（日付表現） 丙丁（時刻表現）"
    text = sentence("", "<NE:DATE:年乙>", "<NE:DATE:>", names=("2年", "乙月", "丙"))
    assert output("wiki_ner", text) == ""


def test_documents_are_in_the_order_of_their_file_names() -> None:
    names = ("z/wiki1.knp", "a/wiki3.knp", "b/wiki2.knp")
    documents = [(name, sentence("", names=name[6:7]).encode()) for name in names]
    assert [shown for shown, _ in samples(documents)["wiki_reading"]] == ["1", "2", "3"]
