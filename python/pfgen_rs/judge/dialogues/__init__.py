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
    from pfgen_rs.judge.dialogues.answering import (
        Item,
        answer,
        items_of_dialogues,
        items_of_questions,
        read_items,
        read_model_answers,
        record_answers,
        with_references,
    )
    from pfgen_rs.judge.dialogues.association import (
        human_judge_correlation,
        judge_agreement,
        length_bias,
        model_means,
        read_judge_table,
    )
    from pfgen_rs.judge.dialogues.grades import model_scores, ratings_of_folder
    from pfgen_rs.judge.dialogues.grading import find_grading_prompts, grade_answers
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
    from pfgen_rs.judge.dialogues.records import (
        CATEGORIES,
        TYPES,
        Answer,
        Dialogue,
        Fields,
        read_dialogues,
        read_fields,
    )
    from pfgen_rs.judge.dialogues.sources import tables_of
    from pfgen_rs.judge.dialogues.tables import (
        Light,
        difficulty,
        first_answer_lengths,
        first_answer_scores,
        light_scores,
        light_version,
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
                "Item",
                "answer",
                "items_of_dialogues",
                "items_of_questions",
                "read_items",
                "read_model_answers",
                "record_answers",
                "with_references",
            ),
            "association": (
                "human_judge_correlation",
                "judge_agreement",
                "length_bias",
                "model_means",
                "read_judge_table",
            ),
            "grades": ("model_scores", "ratings_of_folder"),
            "grading": ("find_grading_prompts", "grade_answers"),
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
                "Answer",
                "CATEGORIES",
                "Dialogue",
                "Fields",
                "TYPES",
                "read_dialogues",
                "read_fields",
            ),
            "sources": ("tables_of",),
            "tables": (
                "Light",
                "difficulty",
                "first_answer_lengths",
                "first_answer_scores",
                "light_scores",
                "light_version",
                "second_answer_lengths",
                "second_answer_scores",
                "sizes",
            ),
        },
    )
