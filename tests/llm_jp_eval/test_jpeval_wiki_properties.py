"""Made-up documents of the Wikipedia Annotated Corpus: an oracle, invariants, and damage."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings

import jpeval_wiki_oracle as oracle
from jpeval_wiki import corpus
from jpeval_wiki_documents import damaged_documents, documents
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.conversion.entities import Entity, mention_text, read_entities
from pfgen_rs.llm_jp_eval.conversion.knp import read_document
from pfgen_rs.llm_jp_eval.conversion.wikipedia import WIKI_TASKS, document_samples, samples


@given(documents())
def test_all_tasks_agree_with_the_oracle(text: str) -> None:
    assert document_samples(read_document("x.knp", text.encode())) == oracle.outputs(text)


@given(documents())
@settings(max_examples=50)
def test_mentions_agree_with_the_oracle(text: str) -> None:
    ours, theirs = read_document("x.knp", text.encode()), oracle.read(text)
    assert [mention_text(b) for s in ours.sentences for b in s.base_phrases] == [
        oracle.mention(theirs, b) for s in theirs for b in s.units
    ]


@given(documents())
@settings(max_examples=50)
def test_entities_and_mentions_know_each_other(text: str) -> None:
    sentences = read_document("x.knp", text.encode()).sentences
    entities = read_entities(sentences)
    mentions = [b for s in sentences for b in s.base_phrases]
    known: set[Entity] = {each for mention in mentions for each in entities.both(mention)}
    for entity in known:
        assert entity in entities
        assert not entity.identical & entity.near
    for mention in mentions:
        both = entities.both(mention)
        assert [e.number for e in both] == sorted({e.number for e in both})
        assert set(both) == {e for e in known if mention in e}
        assert set(entities.identical(mention)) == {e for e in known if mention in e.identical}


@given(damaged_documents())
@settings(max_examples=60)
def test_damage_is_an_input_error_at_most(content: bytes) -> None:
    error = None
    try:
        assert tuple(samples([("knp/x.knp", content)])) == WIKI_TASKS
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
        ours = document_samples(read_document(name, content))
        assert ours == oracle.outputs(content.decode()), name
