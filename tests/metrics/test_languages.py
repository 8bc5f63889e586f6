"""What the presets of languages decide, on texts that say the same in each of them."""

import re

import pytest

from pfgen_rs import Benchmark, Settings, SettingsError
from pfgen_rs.metrics.languages import LANGUAGES, is_foreign
from pfgen_rs.metrics.signature import lengths_in
from pfgen_rs.metrics.units import coder
from pfgen_rs.references.rules import STYLES, Style

# A paragraph that says the same in each language.
PARAGRAPH = {
    "en": "A rainbow is an arc of seven colours that is seen when sunlight falls on the sky after rain."
    " When light enters a drop of water floating in the air, it bends, is reflected deep inside t"
    "he drop, and bends once more on its way out. Since the angle depends on the colour, white li"
    "ght is split into colours from red to violet. To see a rainbow, one must stand with the sun "
    "behind. When the sun is high, the rainbow sinks below the horizon and cannot be seen. Someti"
    "mes there is a double rainbow; in the outer one the order of the colours is reversed.",
    "ja": "虹は、雨上がりの空に太陽の光が差したときに見える、七色の弧です。空気中に浮かんでいる水滴に光が入"
    "ると、光は曲がり、水滴の奥で反射して、もう一度曲がってから外に出ます。曲がる角度は色によって違い"
    "ますから、白い光は赤から紫までの色に分かれることになります。虹を見るためには、太陽を背にして立た"
    "なければなりません。太陽が高く昇ると、虹は地平線の下に沈んでしまい、見えなくなります。二重の虹が"
    "見えることもありますが、外側の虹では色の順番が逆になっています。",
    "zh": "彩虹是雨后阳光照向天空时出现的七色圆弧。光进入空气中漂浮的水滴后会发生折射，在水滴的深处反射，再"
    "次折射后射出。由于不同颜色的光折射角度不同，白光便分成从红到紫的各种颜色。要看到彩虹，必须背对太"
    "阳站立。太阳升高以后，彩虹会落到地平线以下，就看不见了。有时还能看到双重彩虹；外侧彩虹的颜色顺序"
    "正好相反。",
    "ko": "무지개는 비가 그친 하늘에 햇빛이 비칠 때 보이는 일곱 빛깔의 둥근 띠입니다. 빛은 공"
    "기 중에 떠 있는 물방울로 들어가면 꺾이고, 물방울 안쪽에서 반사된 다음, 다시 한번 "
    "꺾여 밖으로 나옵니다. 꺾이는 각도는 색마다 다르므로, 흰 빛은 빨강에서 보라까지의 색"
    "으로 나뉩니다. 무지개를 보려면 해를 등지고 서야 합니다. 해가 높이 뜨면 무지개는 지"
    "평선 아래로 숨어 보이지 않게 됩니다. 쌍무지개가 보일 때도 있는데, 바깥쪽 무지개에서"
    "는 색의 순서가 반대가 됩니다.",
}
MARKS = {"en": ".!,–;…", "ja": "。、、・", "zh": "。!、,；;", "ko": ".!,、"}


def otherwise(tag: str) -> str:
    """The same text with other punctuation."""
    own = MARKS[tag]
    return PARAGRAPH[tag].translate(str.maketrans(own[::2], own[1::2]))


@pytest.mark.parametrize("tag", LANGUAGES)
def test_lengths_carry_as_much_text(tag: str) -> None:
    own = LANGUAGES[tag]
    units = {key: coder(each.unit).lengths([PARAGRAPH[key]])[0] for key, each in LANGUAGES.items()}
    words = re.findall(r"\w+|[^\w\s]", PARAGRAPH["en"])  # none of them has an apostrophe
    assert units["en"] == len(words)
    assert own.length == pytest.approx(100 * units[tag] / units["ja"], rel=0.1)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_other_punctuation_is_as_true(tag: str) -> None:
    text, other = PARAGRAPH[tag], otherwise(tag)
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
@pytest.mark.parametrize("text", PARAGRAPH)
def test_other_scripts_are_seen(tag: str, text: str) -> None:
    assert is_foreign(PARAGRAPH[text], LANGUAGES[tag]) == (tag != text)
    assert is_foreign("123", LANGUAGES[tag]) is False


@pytest.mark.parametrize("tag", ["en", "zh", "ko"])
def test_styles_keep_what_is_well_written(tag: str) -> None:
    style = Style.standard(language=tag)
    done = style.apply([PARAGRAPH[tag], f" {otherwise(tag)}\n", PARAGRAPH["ja"]])
    assert done.answers[0] == PARAGRAPH[tag]
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
    with pytest.raises(SettingsError, match=r"'english' \(did you mean 'en'\?\)"):
        Benchmark.from_references({"?": ["a b"]}, language="english")
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
