"""Keyword arguments of trainers' callbacks; no trainer is needed for it."""

from typing import Any

import pytest

from generating import FakeEngine
from pfgen_rs import SettingsError
from pfgen_rs.integrations.callback_settings import split_settings


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"evry": 2}, "unknown setting `evry`: did you mean `every`"),
        (
            {"is_main": True},
            "unknown setting `is_main`: expected one of batch_size, behind, budget, engine, ",
        ),
        ({"every": 2.5}, "`every` must be an integer of at least 1, not 2.5"),
        ({"trials": 0}, "`trials` must be"),
        ({"mode": "poem"}, "unknown mode 'poem': expected one of completion"),
        ({"loggers": "x"}, "`loggers` must be one or more functions"),
        ({"temperature": -1}, "`temperature` must be at least 0, not -1"),
        ({"temperature": "1"}, "not '1'"),
        ({"temperature": float("nan")}, "not nan"),
        ({"top_p": 0}, "`top_p` must be positive and at most 1"),
        ({"top_p": 1.01}, "at most 1, not 1.01"),
        ({"batch_size": 0}, "`batch_size` must be"),
        ({"max_new_tokens": 1.5}, "`max_new_tokens` must be"),
        ({"budget": -1}, "`budget` must be a positive number of seconds, not -1"),
        ({"tasks": ["jamb"]}, "unknown task 'jamb': expected one of chabsa"),
        ({"tasks": [1]}, r"`tasks` must be a list of texts, not \[1\]"),
        ({"on_error": "ignore"}, "`on_error` must be one of raise, warn, not 'ignore'"),
        ({"engine": FakeEngine(), "top_p": 1}, "`top_p` cannot be combined with `engine`"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        split_settings(wrong)


def test_settings_are_split() -> None:
    given = {"every": 2, "temperature": 0, "top_p": 1, "loggers": print, "folder": "x"}
    sampling, others = split_settings(given)
    assert sampling == {"temperature": 0, "top_p": 1}
    assert others == {"every": 2, "loggers": (print,), "folder": "x", "on_error": "warn"}
    tasks = {"tasks": ["jamp", "MC"], "n": 5, "shots": 0, "tasks_folder": "x"}
    assert tasks.items() <= split_settings(tasks)[1].items()
    assert split_settings({"on_error": "raise"}) == ({}, {"loggers": (), "on_error": "raise"})
