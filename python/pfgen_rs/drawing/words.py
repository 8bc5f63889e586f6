"""The words of figures in English, which is the key, and in Japanese."""

from __future__ import annotations

from typing import Literal, get_args

from pfgen_rs.errors import PlotError

__all__ = ["JAPANESE", "Language", "translated"]

Language = Literal["en", "ja"]

# The metrics keep the names that Japanese papers use for them.
JAPANESE = {
    "Score": "スコア",
    "Fluency": "Fluency",
    "Truthfulness": "Truthfulness",
    "Helpfulness": "Helpfulness",
    "Metrics of the runs": "指標間の関係",
    "Score and length": "スコアと回答の長さ",
    "Mean length (characters)": "平均の長さ（文字）",
    "Length (characters)": "長さ（文字）",
    "discount grows": "減点が増加",
    "counts nothing": "採点されない",
    "Runs": "モデル数",
    "Responses": "回答数",
    "Series": "系列",
    "completion": "補完 (completion)",
    "chat": "対話 (chat)",
    "qa": "質問応答 (qa)",
    "system": "基準 (system)",
    "other": "その他",
    "Sources of reference answers compared": "参照回答の生成元による比較",
    "source": "参照回答",
    "all": "全体",
    "Score by category": "分野ごとのスコア",
    "Scores and how sure they are": "スコアと信頼区間",
    "Score with 95 % interval over questions and trials": "スコア（問題と試行についての 95 % 信頼区間）",
    "ranks": "順位",
    "Convergence with the number of trials": "試行回数による収束",
    "Trials (line: mean so far; band: {level} % interval of the noise of trials)": (
        "試行回数（線：それまでの平均、帯：試行のばらつきによる {level} % 信頼区間）"
    ),
    "random order": "無作為順",
    "Score by training step": "学習ステップごとのスコア",
    "Score while training": "学習中のスコア",
    "Step": "ステップ",
    "Tokens": "トークン数",
    "Score with 95 % interval": "スコア（95 % 信頼区間）",
    "Spread of scores and lengths": "スコアと長さの分布",
    "Value": "値",
    "Share of responses up to it": "その値以下の回答の割合",
    "mean": "平均",
    "Question": "問題",
}


def translated(text: str, language: Language) -> str:
    """A word in a language; raises `PlotError` for a language there is none of."""
    if language not in get_args(Language):
        raise PlotError(
            f"there is no language {language!r}: use one of {', '.join(get_args(Language))}"
        )
    return JAPANESE[text] if language == "ja" else text
