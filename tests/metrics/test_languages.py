"""What the presets of languages decide, on texts that say the same in each of them."""

import re

import pytest

from pfgen_rs import Benchmark, Settings, SettingsError
from pfgen_rs.metrics.languages import LANGUAGES, is_foreign
from pfgen_rs.metrics.signature import lengths_in
from pfgen_rs.metrics.units import coder
from pfgen_rs.references.rules import STYLES, Style

# Universal Declaration of Human Rights, articles 1, 3 to 6 and 9.
DECLARATION = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason and"
    " conscience and should act towards one another in a spirit of brotherhood. Everyone has the righ"
    "t to life, liberty and security of person. No one shall be held in slavery or servitude; slavery"
    " and the slave trade shall be prohibited in all their forms. No one shall be subjected to tortur"
    "e or to cruel, inhuman or degrading treatment or punishment. Everyone has the right to recogniti"
    "on everywhere as a person before the law. No one shall be subjected to arbitrary arrest, detenti"
    "on or exile.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性"
    "と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。すべて人は、生命、自由"
    "及び身体の安全に対する権利を有する。何人も、奴隷にされ、又は苦役に服することはない。奴隷制度及び"
    "奴隷売買は、いかなる形においても禁止する。何人も、拷問又は残虐な、非人道的な若しくは屈辱的な取扱"
    "若しくは刑罰を受けることはない。すべて人は、いかなる場所においても、法の下において、人として認め"
    "られる権利を有する。何人も、ほしいままに逮捕、拘禁、又は追放されることはない。",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。人人有权享"
    "有生命、自由和人身安全。任何人不得使为奴隶或奴役；一切形式的奴隶制度和奴隶买卖，均应予以禁止。任"
    "何人不得加以酷刑，或施以残忍的、不人道的或侮辱性的待遇或刑罚。人人在任何地方有权被承认在法律前的"
    "人格。任何人不得加以任意逮捕、拘禁或放逐。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양"
    "심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다. 모든 사람은 생명과 신체의 자유와 안전"
    "에 대한 권리를 가진다. 어느 누구도 노예상태 또는 예속상태에 놓여지지 아니한다. 모든 형태의 노예"
    "제도와 노예매매는 금지된다. 어느 누구도 고문, 또는 잔혹하거나 비인도적이거나 굴욕적인 처우 또는 "
    "형벌을 받지 아니한다. 모든 사람은 어디에서나 법 앞에 인간으로서 인정받을 권리를 가진다. 어느 누"
    "구도 자의적으로 체포, 구금 또는 추방되지 아니한다.",
}
MARKS = {"en": ".!,–;…", "ja": "。、、・", "zh": "。!、,；;", "ko": ".!,、"}


def otherwise(tag: str) -> str:
    """The same text with other punctuation."""
    own = MARKS[tag]
    return DECLARATION[tag].translate(str.maketrans(own[::2], own[1::2]))


@pytest.mark.parametrize("tag", LANGUAGES)
def test_lengths_carry_as_much_text(tag: str) -> None:
    own = LANGUAGES[tag]
    units = {
        key: coder(each.unit).lengths([DECLARATION[key]])[0] for key, each in LANGUAGES.items()
    }
    words = re.findall(r"\w+|[^\w\s]", DECLARATION["en"])  # none of them has an apostrophe
    assert units["en"] == len(words)
    assert own.length == pytest.approx(100 * units[tag] / units["ja"], abs=1.5)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_other_punctuation_is_as_true(tag: str) -> None:
    text, other = DECLARATION[tag], otherwise(tag)
    bench = Benchmark.from_references({"?": [text]}, language=tag)
    assert bench.settings.unit == LANGUAGES[tag].unit
    found = bench.score("?", other).truthfulness["X"]
    assert found == pytest.approx(1, abs=0.03)  # かつ has a mark on both sides
    assert bench.score("?", other[::-1]).truthfulness["X"] < 0.1
    unskipped = Benchmark.from_references({"?": [text]}, language=tag, skipped="^$")
    assert unskipped.score("?", other).truthfulness["X"] < found - 0.02


def test_marks_in_numbers_and_words_count() -> None:
    pi = Benchmark.from_references({"?": ["원주율은 약 3.14입니다."]}, language="ko")
    right, wrong = (pi.score("?", text).truthfulness["X"] for text in ("약 3.14", "약 314"))
    assert right == 1 > wrong
    plain = Benchmark.from_references({"?": ["Fish don't have any legs."]}, language="en")
    for text, expected in {
        "“Fish don't have any legs”": 1,
        "Fish dont have any legs.": 0.6,
    }.items():
        assert plain.score("?", text).truthfulness["X"] == expected


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("text", DECLARATION)
def test_other_scripts_are_seen(tag: str, text: str) -> None:
    assert is_foreign(DECLARATION[text], LANGUAGES[tag]) == (tag != text)
    assert is_foreign("123", LANGUAGES[tag]) is False


@pytest.mark.parametrize("tag", ["en", "zh", "ko"])
def test_styles_keep_what_is_well_written(tag: str) -> None:
    style = Style.standard(language=tag)
    done = style.apply([DECLARATION[tag], f" {otherwise(tag)}\n", DECLARATION["ja"]])
    assert done.answers[0] == DECLARATION[tag]
    assert done.kept.tolist() == [True, True, False]
    assert not Style.standard(language="none").rules
    assert set(STYLES) == {*LANGUAGES, "none"}


def test_explicit_values_and_other_languages() -> None:
    made = Benchmark.from_references({"?": ["a b c d"]}, language="en", unit="character", length=7)
    assert (made.settings.unit, made.settings.target_length) == ("character", 7)
    assert made.settings.skipped == LANGUAGES["en"].skipped
    assert made.about is not None
    assert made.about.language == "en"
    told = r"no preset for language 'fr': expected one of ja \(Japanese\), .*also set unit, skipped, length"
    with pytest.raises(SettingsError, match=told):
        Benchmark.from_references({"?": ["a b"]}, language="fr")
    given = {"unit": "word", "skipped": "^$.", "length": 9}
    french = Benchmark.from_references({"?": ["a b"]}, language="fr", **given)  # type: ignore[arg-type]
    assert (french.settings.unit, french.settings.target_length) == ("word", 9)
    with pytest.raises(SettingsError, match="invalid language 'en!': expected a tag"):
        Benchmark.from_references({"?": ["a b"]}, language="en!", **given)  # type: ignore[arg-type]


def test_what_reads_the_settings_of_a_set() -> None:
    made = Benchmark.from_references({"?": ["a b c d"]}, language="en", length=400)
    found = lengths_in(made.signature)
    names = ("unit", "target_length", "zero_length", "max_length")
    assert all(getattr(found, name) == getattr(made.settings, name) for name in names)
    assert lengths_in("") == Settings()
    assert (Settings().answer_tokens, made.settings.answer_tokens) == (300, 1200)
