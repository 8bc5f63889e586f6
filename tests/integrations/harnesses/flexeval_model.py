"""A model of flexeval that answers what it is told."""

import json
from pathlib import Path
from typing import Any

from flexeval import LanguageModel, LMOutput


class Told(LanguageModel):
    """Looks answers up by prompt, or by the messages as JSON; what it was asked is appended to `calls`."""

    def __init__(self, answers: str, calls: str) -> None:
        super().__init__()
        self.answers: dict[str, str] = json.loads(Path(answers).read_text(encoding="utf-8"))
        self.calls = Path(calls)

    def set_random_seed(self, seed: int) -> None:
        """There is nothing random."""

    def _batch_complete_text(self, text_list: list[str], **kwargs: Any) -> list[LMOutput]:
        with self.calls.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps([text, kwargs]) + "\n" for text in text_list))
        return [LMOutput(self.answers[text], finish_reason="stop") for text in text_list]

    def _batch_generate_chat_response(
        self, chat_messages_list: list[list[dict[str, Any]]], tools_list: Any = None, **kwargs: Any
    ) -> list[LMOutput]:
        assert not any(tools_list)
        return self._batch_complete_text(list(map(json.dumps, chat_messages_list)), **kwargs)
