"""Four small sets of reference answers, each with the preset of its language, out of made-up candidates.

    python examples/sets.py [FOLDER]

Builds `finance` (five questions in Japanese), `english`, `chinese` and `korean` in FOLDER (`sets` without
it), with 60 answers a question, and scores a right and a wrong answer with each. Real candidates come from
many models; these combine parts, and some have errors in them.
"""

# ruff: noqa: E501 (parts of answers are long lines)

import itertools
import json
import random
import sys
from pathlib import Path

from pfgen_rs import load_benchmark
from pfgen_rs.references.config import BuildConfig, Outline
from pfgen_rs.references.pipeline import build

# By set: its language, and by question the parts of its answers; a right and a wrong answer to the first.
SETS: dict[str, tuple[str, dict[str, tuple[str, ...]], str, str]] = {
    "finance": (
        "ja",
        {
            "金利が上がると、債券の価格はなぜ下がるのですか？": (
                "債券は、|一般に債券は、|固定利付きの債券は、|発行済みの債券は、",
                "満期まで受け取る利息が決まっています。|利率が発行時に固定されています。|将来の利息があらかじめ定まっています。",
                "市場の金利が上がると、|金利が上昇すると、|世の中の金利が高くなると、",
                "新しく発行される債券の利息のほうが多くなり、|より高い利息の新しい債券が買えるようになり、|新発債の利回りのほうが有利になり、",
                "既存の債券は値下げしなければ売れないため、|利息の少ない既存の債券の魅力が薄れ、|手持ちの債券は見劣りするので、",
                "価格が下がります。|価格は下落します。|安く売買されるようになります。",
            ),
            "分散投資をすると、なぜリスクが下がるのですか？": (
                "値動きの異なる資産に分けて投資すると、|性質の違う複数の資産を持つと、|一つの資産に集中せず分けて投資すると、",
                "ある資産が値下がりしても、|一部の資産の価格が下がっても、|一つの投資先が不調でも、",
                "ほかの資産の値上がりで補えるため、|別の資産がその損失を和らげるので、|残りの資産が損失を打ち消すため、",
                "全体の値動きは小さくなります。|資産全体の変動が抑えられます。|大きな損失を避けやすくなります。",
                "ただし、市場全体が下落するリスクは残ります。|もっとも、市場全体に共通するリスクまでは消せません。|市場全体の下落は避けられません。",
            ),
            "円安になると、輸入品の価格はどうなりますか？": (
                "円安とは、|円安は、|為替が円安に動くというのは、",
                "外国の通貨に対する円の価値が下がることです。|同じ外貨を買うのにより多くの円が必要になることです。|円の対外的な価値が低くなることです。",
                "海外から商品を買うときに支払う円の金額が増えるので、|輸入に必要な円の額が多くなるため、|外貨建ての代金を円に直すと高くなるので、",
                "輸入品の価格は上がります。|輸入品は値上がりします。|輸入品の値段は高くなります。",
                "一方、輸出する企業には有利に働きます。|反対に、輸出企業の利益は増えやすくなります。|逆に、輸出には追い風となります。",
            ),
            "複利と単利の違いは何ですか？": (
                "単利では、元本だけに利息が付きます。|単利は最初の元本に対してのみ利息を計算する方法です。|単利の利息は当初の元本だけから計算します。",
                "これに対して複利では、|一方、複利では、|複利の場合は、",
                "受け取った利息を元本に加え、|利息が元本に組み入れられ、|付いた利息を次の元本に足し、",
                "その合計に対して次の利息が付きます。|増えた元本に次の期の利息が付きます。|利息にもさらに利息が付きます。",
                "そのため、期間が長いほど差が大きくなります。|長く運用するほど複利のほうが多く増えます。|時間がたつほど両者の差は広がります。",
            ),
            "株式と社債の違いは何ですか？": (
                "株式は会社の所有権の一部であり、|株式を持つ人は会社の所有者の一人であり、|株式は会社への出資を表し、",
                "株主は利益に応じて配当を受け取ります。|業績によって配当や株価が変わります。|株主総会で議決権を持ちます。",
                "社債は会社の借金であり、|一方、社債は会社への貸し付けであり、|これに対し、社債は会社が資金を借りるための証券で、",
                "決まった利息と満期での返済が約束されています。|満期には元本が返され、利息も定められています。|期日に元本と約束の利息を受け取れます。",
                "会社が倒産したときは社債の返済が優先されます。|倒産時には社債の保有者が株主より先に支払いを受けます。|破綻の際は社債が株式に優先します。",
            ),
        },
        "債券は利率が発行時に固定されています。金利が上昇すると、より高い利息の新しい債券が買えるようになり、既存の債券の価格は下がります。",
        "債券の人気は天気で決まります。雨が降ると銀行が休みになり、だれも債券を持ち歩けないため、価格は上がりも下がりもしません。",
    ),
    "english": (
        "en",
        {
            "Why is the sky blue?": (
                "Sunlight contains all colors, and|The light of the sun is a mix of all colors, and|White sunlight is made of many colors, and",
                "the molecules of the air scatter it.|the gas in the atmosphere scatters it in all directions.|tiny molecules in the air scatter it.",
                "Blue light has a short wavelength, so|Because blue light has a shorter wavelength than red light,|Since the waves of blue light are short,",
                "it is scattered far more than red light.|it is scattered more strongly than other colors.|much more of it is scattered.",
                "So blue light reaches our eyes from every part of the sky.|We therefore see blue light wherever we look in the sky.|That is why the sky looks blue from all sides.",
            ),
        },
        "Sunlight contains all colors, and tiny molecules in the air scatter it. Because blue light has a shorter wavelength than red light, it "
        "is scattered more strongly than other colors. That is why the sky looks blue from all sides.",
        "The sky is a painted ceiling. Every night workers climb up with brushes and repair the paint, and they like this color best, although "
        "some of them would prefer a green one.",
    ),
    "chinese": (
        "zh",
        {
            "天空为什么是蓝色的？": (
                "太阳光由各种颜色的光组成，|阳光里包含各种颜色的光，|白色的阳光是多种颜色的混合，",
                "进入大气层后会被空气分子散射。|穿过大气时，空气分子会把它散射开。|在大气中遇到气体分子会发生散射。",
                "蓝光的波长较短，|由于蓝光波长短，|因为蓝色光的波长比红光短，",
                "比红光更容易被散射，|散射得比其他颜色更强，|被散射的程度远大于红光，",
                "所以我们看到的天空是蓝色的。|因此天空看起来是蓝色。|于是整个天空都呈现蓝色。",
            ),
        },
        "阳光里包含各种颜色的光，穿过大气时，空气分子会把它散射开。蓝光的波长较短，比红光更容易被散射，因此天空看起来是蓝色。",
        "天空是一块很大的布，每天晚上有人把它拿下来清洗，第二天早上再挂上去，颜色全看洗衣服的人当天的心情如何，没有别的原因。",
    ),
    "korean": (
        "ko",
        {
            "하늘은 왜 파란가요?": (
                "햇빛은 여러 가지 색의 빛으로 이루어져 있으며, |태양의 빛에는 모든 색이 섞여 있고, |흰 햇빛은 여러 색의 빛이 합쳐진 것으로, ",
                "대기를 지나면서 공기 분자에 부딪혀 흩어집니다. |공기 중의 분자를 만나 사방으로 산란됩니다. |대기 속의 기체 분자에 의해 산란됩니다. ",
                "파란빛은 파장이 짧아서 |파란색 빛의 파장은 붉은빛보다 짧기 때문에 |파장이 짧은 파란빛은 ",
                "붉은빛보다 훨씬 많이 산란됩니다. |다른 색보다 더 강하게 흩어집니다. |붉은빛에 비해 훨씬 잘 흩어집니다. ",
                "그래서 하늘 어디를 보아도 파란빛이 눈에 들어옵니다.|그 결과 우리 눈에는 하늘이 파랗게 보입니다.|이 때문에 낮의 하늘은 파란색으로 보입니다.",
            ),
        },
        "태양의 빛에는 모든 색이 섞여 있고, 공기 중의 분자를 만나 사방으로 산란됩니다. 파란빛은 파장이 짧아서 붉은빛보다 훨씬 많이 산란됩니다. "
        "그 결과 우리 눈에는 하늘이 파랗게 보입니다.",
        "하늘은 커다란 천장입니다. 밤마다 사람들이 올라가서 붓으로 새로 칠하는데, 그날 남은 물감이 그 색밖에 없어서 그렇게 되었을 뿐 다른 이유는 "
        "하나도 없다고 합니다.",
    ),
}
COUNT = 60
WRONG = 0.1  # of the candidates


def main() -> None:
    """Build all sets; show how many questions each has, and how it scores a right and a wrong answer."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "sets")
    for name, (language, questions, right, wrong) in SETS.items():
        write_candidates(folder / f"{name}.jsonl", language, questions)
        outlines = [Outline(f"{name}-{n}", text) for n, text in enumerate(questions, 1)]
        build(configuration(folder, name, language), outlines=outlines)
        benchmark = load_benchmark(folder / name)
        first = outlines[0].question_id
        scores = [benchmark.score(first, answer).average for answer in (right, wrong)]
        print(f"{folder / name} ({len(outlines)}): right {scores[0]:.2f}, wrong {scores[1]:.2f}")


def configuration(folder: Path, name: str, language: str) -> BuildConfig:
    """Returns what `pfgen-rs build` would read from a file: the defaults, but for what a toy needs."""
    given = {
        "candidates": [f"{name}.jsonl"],
        "out": name,
        "name": name,
        "language": language,
        "licence": "CC0-1.0",
        "singletons": {"n": 3, "at_least": 100},
        "length": {"share": 0.6},
        "select": {"count": COUNT},
    }
    return BuildConfig.from_dict(given, folder.absolute())


def write_candidates(path: Path, language: str, questions: dict[str, tuple[str, ...]]) -> None:
    """Write all combinations of the parts, by turns as if of four models; some have a character twice."""
    chance = random.Random(1)  # noqa: S311 (nothing here is secret)
    space = " " if language == "en" else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for question, parts in questions.items():
            combined = itertools.product(*(part.split("|") for part in parts))
            for number, answer in enumerate(map(space.join, combined)):
                if chance.random() < WRONG:
                    at = chance.randrange(len(answer))
                    answer = answer[:at] + answer[at] + answer[at:]
                row = {"question": question, "answer": answer, "model": f"made/model-{number % 4}"}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
