"""Graded dialogues: Japanese MT-bench++ and MT-bench, their light versions, tables, answers and grades."""

from typing import TYPE_CHECKING

__all__ = [
    "CATEGORIES",
    "TYPES",
    "Answer",
    "Dialogue",
    "Fields",
    "Item",
    "Light",
    "ModelAnswers",
    "Question",
    "Ratings",
    "answer",
    "difficulty",
    "find_grading_prompts",
    "first_answer_lengths",
    "first_answer_scores",
    "grade_answers",
    "human_judge_correlation",
    "items_of_dialogues",
    "items_of_questions",
    "judge_agreement",
    "length_bias",
    "light_scores",
    "light_version",
    "model_means",
    "model_scores",
    "ratings_of_folder",
    "read_answers",
    "read_dialogues",
    "read_fields",
    "read_items",
    "read_judge_table",
    "read_model_answers",
    "read_questions",
    "read_ratings",
    "record_answers",
    "second_answer_lengths",
    "second_answer_scores",
    "sizes",
    "tables_of",
    "with_references",
    "write_answers",
    "write_questions",
    "write_ratings",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.dialogues.answering import answer, read_model_answers
    from pfgen_rs.judge.dialogues.association import human_judge_correlation, length_bias
    from pfgen_rs.judge.dialogues.fields import Fields, read_fields
    from pfgen_rs.judge.dialogues.grading import (
        find_grading_prompts,
        grade_answers,
        model_scores,
        ratings_of_folder,
    )
    from pfgen_rs.judge.dialogues.items import (
        Item,
        items_of_dialogues,
        items_of_questions,
        read_items,
        record_answers,
        with_references,
    )
    from pfgen_rs.judge.dialogues.judges import judge_agreement, model_means, read_judge_table
    from pfgen_rs.judge.dialogues.light import Light, difficulty, light_version
    from pfgen_rs.judge.dialogues.mt_bench import (
        ModelAnswers,
        Question,
        Ratings,
        read_answers,
        read_questions,
        read_ratings,
        write_answers,
        write_questions,
        write_ratings,
    )
    from pfgen_rs.judge.dialogues.records import CATEGORIES, TYPES, Answer, Dialogue, read_dialogues
    from pfgen_rs.judge.dialogues.sources import tables_of
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
            "answering": (
                "answer",
                "read_model_answers",
            ),
            "association": (
                "human_judge_correlation",
                "length_bias",
            ),
            "fields": (
                "Fields",
                "read_fields",
            ),
            "grading": (
                "find_grading_prompts",
                "grade_answers",
                "model_scores",
                "ratings_of_folder",
            ),
            "items": (
                "Item",
                "items_of_dialogues",
                "items_of_questions",
                "read_items",
                "record_answers",
                "with_references",
            ),
            "judges": (
                "judge_agreement",
                "model_means",
                "read_judge_table",
            ),
            "light": (
                "Light",
                "difficulty",
                "light_version",
            ),
            "mt_bench": (
                "ModelAnswers",
                "Question",
                "Ratings",
                "read_answers",
                "read_questions",
                "read_ratings",
                "write_answers",
                "write_questions",
                "write_ratings",
            ),
            "records": (
                "CATEGORIES",
                "TYPES",
                "Answer",
                "Dialogue",
                "read_dialogues",
            ),
            "sources": ("tables_of",),
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
