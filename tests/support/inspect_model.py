"""A model of inspect_ai that answers what it is told. `--model told/model -M answers=FILE -M calls=FILE`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

FILTERED = "(filtered)"


@modelapi(name="told")
class Told(ModelAPI):
    """Answers by seed and question, one after the other, the last of them again and again.

    What it was asked is appended to the file `calls`.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as inspect_ai has it
        *,
        answers: str,
        calls: str,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.answers: dict[str, list[str]] = json.loads(Path(answers).read_text(encoding="utf-8"))
        self.calls = Path(calls)
        self._asked: Counter[str] = Counter()

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - as inspect_ai has it
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        self._remember(input, config)
        key = f"{config.seed} {input[-1].text.rpartition('Q: ')[2]}"
        answers = self.answers[key]
        text = answers[min(self._asked[key], len(answers) - 1)]
        self._asked[key] += 1
        if text == FILTERED:
            return ModelOutput.from_content(self.model_name, "", stop_reason="content_filter")
        return ModelOutput.from_content(self.model_name, text)

    def _remember(self, messages: list[ChatMessage], config: GenerateConfig) -> None:
        call = {
            "messages": [{"role": m.role, "content": m.text} for m in messages],
            "config": config.model_dump(exclude_none=True),
        }
        with self.calls.open("a", encoding="utf-8") as file:
            file.write(json.dumps(call) + "\n")
