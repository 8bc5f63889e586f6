"""Journals of one process share what they lock."""

import subprocess
import sys
from pathlib import Path

from pfgen_rs.ask.journal import Journal

OTHER = """
import sys
from pathlib import Path
from pfgen_rs.ask.journal import Journal
with Journal(Path(sys.argv[1]), ("id",)) as journal:
    print(journal.claim(("a",)), journal.claim(("b",)))
"""


def test_closing_a_journal_keeps_the_claims_of_another(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, ("id",)) as first:
        assert first.claim(("a",))
        with Journal(path, ("id",)) as second:
            assert second.claim(("b",))
        command = [sys.executable, "-c", OTHER, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
