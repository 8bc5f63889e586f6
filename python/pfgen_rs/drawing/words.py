"""Texts of figures: English, which is the key, and Japanese."""

from __future__ import annotations

from typing import Literal, get_args

from pfgen_rs.errors import PlotError

Language = Literal["en", "ja"]

JAPANESE = {
    "Score": "スコア",
    "Fluency": "流暢さ",
    "Truthfulness": "真実性",
    "Helpfulness": "有用性",
    "Relationships between metrics": "指標間の関係",
    "Score and length": "スコアと回答の長さ",
    "Mean length (characters)": "平均文字数",
    "Length (characters)": "文字数",
    "Runs": "結果の件数",
    "Responses": "回答数",
    "Series": "系列数",
    "completion": "補完（completion）",
    "chat": "対話（chat）",
    "qa": "質問応答（qa）",
    "system": "基準（system）",
    "other": "その他",
    "length discount ({start}–{stop} characters)": "長さによる減点（{start}～{stop} 文字）",
    "longer: the best cut before {start} characters is scored": (
        "それより長い回答は、{start} 文字までの最良の位置で切って採点"
    ),
    "at the right edge: {count} longer, up to {most}": (
        "右端：さらに長い {count} 件（最長 {most} 文字）"
    ),
    "{shown} of {count} runs shown, best first": "{count} 件中、スコア上位 {shown} 件を表示",
    "The best {shown} of {count} runs are numbered": (
        "番号を付けたのは {count} 件中、スコア上位 {shown} 件"
    ),
    "{shown} of {count} questions shown": "{count} 問中、{shown} 問を表示",
    "Scores by source of reference answers": "参照回答の生成元別のスコア",
    "source": "生成元",
    "overall": "全体",
    "Score by category": "分野別のスコア",
    "Scores with 95 % intervals": "スコアと 95 % 信頼区間",
    "Score (95 % interval over questions, Student's t)": (
        "スコア（設問についての 95 % 信頼区間、Student の t）"
    ),
    "rank range": "順位の範囲",
    "Convergence over trials": "試行数に対する収束",
    "Trials (line: running mean; band: {level} % interval for trial noise)": (
        "試行数（線：累積平均、帯：試行のばらつきによる {level} % 信頼区間）"
    ),
    "random order": "ランダム順",
    "Score by training step": "学習ステップごとのスコア",
    "Score during training": "学習中のスコアの推移",
    "Step": "ステップ",
    "Tokens": "トークン数",
    "Score (95 % interval)": "スコア（95 % 信頼区間）",
    "Distribution of scores and lengths": "スコアと長さの分布",
    "Value": "値",
    "Cumulative share of responses": "回答の累積割合",
    "mean {value}": "平均 {value}",
    "box: quartiles": "箱：四分位範囲",
    "line: median": "線：中央値",
    "Question": "設問",
    "Dialogues": "対話数",
    "Number of dialogues": "対話の件数",
    "Rating": "評点",
    "Scores by people": "人手評価のスコア",
    "Scores by the judge": "LLM 評価のスコア",
    "Scores of second answers in the light versions": "軽量版における 2 ターン目の回答のスコア",
    "Scores of first answers by category": "1 ターン目の回答のカテゴリ別スコア",
    "Scores of second answers by category": "2 ターン目の回答のカテゴリ別スコア",
    "Length of first answers by category": "1 ターン目の回答のカテゴリ別平均文字数",
    "Length of second answers by category": "2 ターン目の回答のカテゴリ別平均文字数",
    "Ratings of second answers by category": "2 ターン目の回答のカテゴリ別評点",
    "Ratings by category": "カテゴリ別の評点",
    "Correlation of scores by people and by the judge": "人手評価と LLM 評価の相関",
    "Pearson's r": "ピアソンの相関係数",
    "Spearman's ρ": "スピアマンの順位相関係数",
    "Length bias of the judge": "LLM 評価の長さバイアス",
    "Slope": "傾き",
    "Agreement of judges over answers": "評価モデル間の一致度（回答単位）",
    "Weighted κ": "重み付き κ 係数",
    "Reliability of decisions by probability": "確率による判定の信頼性ダイアグラム",
    "Probability of the decision": "判定の確率",
    "Share equal to the raters' majority": "評価者の多数決と一致した割合",
    "Pairs": "ペア数",
    "Models ranked by the judge": "評価モデルによる順位",
    "Bradley–Terry strength (log-odds)": "Bradley–Terry モデルの強さ（対数オッズ）",
    "Win rate": "勝率",
    "Win rate from probabilities": "確率から求めた勝率",
    " (95 % interval)": "（95 % 信頼区間）",
    "Position bias": "位置バイアス",
    "Share of pairs that flip between winners (95 % interval)": (
        "提示順で勝者が入れ替わるペアに占める割合（95 % 信頼区間）"
    ),
    "first answer wins": "先に提示した回答の勝ち",
    "second answer wins": "後に提示した回答の勝ち",
    "Agreement of judges and raters": "評価モデルと評価者の一致度",
    "Cohen's κ": "コーエンの κ 係数",
    "Share of equal verdicts": "判定が一致した割合",
    "Ratings by the judge and scores": "評価モデルの評点とスコア",
    "Mean rating": "評点の平均",
    "Scores by category": "カテゴリ別スコア",
    "Scores by task": "タスク別スコア",
    "Correlations": "相関",
    "Metrics against each other": "指標どうしの関係",
    "Two benchmarks of the same models": "同じモデルの 2 つのベンチマーク",
    "pfgen score": "pfgen のスコア",
    "* some tasks were not run": "* 一部のタスクは未実行",
    "* some tasks were not run; 0 in {average}: {categories}": (
        "* 一部のタスクは未実行（{average} では {categories} を 0 とする）"
    ),
}

CATEGORIES = {
    "arts": "芸術",
    "biology": "生物",
    "chemistry": "化学",
    "civics": "公民",
    "culture": "文化",
    "environment": "環境",
    "geography": "地理",
    "geology": "地学",
    "health": "健康",
    "history": "歴史",
    "it": "情報",
    "japanese": "国語",
    "math": "数学",
    "physics": "物理",
}
"""Japanese names of the published categories of questions, as pages have them."""


def translated(text: str, language: Language) -> str:
    """Returns a text in a language; raises `PlotError` for an unknown language."""
    if language not in get_args(Language):
        raise PlotError(
            f"unknown language {language!r}: expected one of {', '.join(get_args(Language))}"
        )
    return JAPANESE[text] if language == "ja" else text
