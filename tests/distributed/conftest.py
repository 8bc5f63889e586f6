"""What tests of engines share."""

import secrets
from collections.abc import Iterator

import pytest

from many_answers import Answers, write_answers


@pytest.fixture(scope="session", autouse=True)
def _ray_writes_no_token_at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
        yield


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Half a million rows in files."""
    return write_answers(tmp_path_factory.mktemp("answers"))
