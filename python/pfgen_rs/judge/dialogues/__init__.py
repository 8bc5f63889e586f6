"""Graded dialogues: Japanese MT-bench++ and MT-bench, their light versions, tables, answers and grades."""

from pfgen_rs.judge.dialogues.association import (
    human_judge_correlation,
    judge_agreement,
    length_bias,
    model_means,
)
from pfgen_rs.judge.dialogues.fastchat_files import Ratings, read_ratings
from pfgen_rs.judge.dialogues.grading import model_scores, ratings_of_folder
from pfgen_rs.judge.dialogues.records import Answer, Dialogue, Fields, read_dialogues, read_fields
from pfgen_rs.judge.dialogues.tables import Light, difficulty, light_version

__all__ = [
    "Answer",
    "Dialogue",
    "Fields",
    "Light",
    "Ratings",
    "difficulty",
    "human_judge_correlation",
    "judge_agreement",
    "length_bias",
    "light_version",
    "model_means",
    "model_scores",
    "ratings_of_folder",
    "read_dialogues",
    "read_fields",
    "read_ratings",
]
