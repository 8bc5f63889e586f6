"""Graded dialogues: Japanese MT-bench++ and MT-bench, their light versions, tables, answers and grades."""

from typing import TYPE_CHECKING

__all__ = [
    "CATEGORIES",
    "TYPES",
    "Answer",
    "Dialogue",
    "Fields",
    "Light",
    "difficulty",
    "first_answer_lengths",
    "first_answer_scores",
    "human_judge_correlation",
    "length_bias",
    "light_scores",
    "light_version",
    "read_dialogues",
    "read_fields",
    "second_answer_lengths",
    "second_answer_scores",
    "sizes",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.association import human_judge_correlation, length_bias
    from pfgen_rs.judge.dialogues.fields import Fields, read_fields
    from pfgen_rs.judge.dialogues.light import Light, difficulty, light_version
    from pfgen_rs.judge.dialogues.records import (
        CATEGORIES,
        TYPES,
        Answer,
        Dialogue,
        read_dialogues,
    )
    from pfgen_rs.judge.dialogues.tables import (
        first_answer_lengths,
        first_answer_scores,
        light_scores,
        second_answer_lengths,
        second_answer_scores,
        sizes,
    )
else:  # lazy, so that reading records does not load polars
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "association": ("human_judge_correlation", "length_bias"),
            "fields": ("Fields", "read_fields"),
            "light": ("Light", "difficulty", "light_version"),
            "records": ("CATEGORIES", "TYPES", "Answer", "Dialogue", "read_dialogues"),
            "tables": (
                "first_answer_lengths",
                "first_answer_scores",
                "light_scores",
                "second_answer_lengths",
                "second_answer_scores",
                "sizes",
            ),
        },
    )
