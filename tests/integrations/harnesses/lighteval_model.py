"""A model of lighteval that answers what it is told; `TOLD` names its answers, by prompt."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lighteval.models.abstract_model import LightevalModel
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.prompt_manager import PromptManager
from lighteval.tasks.requests import Doc, SamplingMethod
from lighteval.utils.cache_management import SampleCache, cached


class Told(LightevalModel):
    """Reads prompts as lighteval's own models do, with and without a template for chats."""

    tokenizer = None
    add_special_tokens = False
    max_length = 4096

    def __init__(self, config: Any) -> None:
        self.config = config
        self._cache = SampleCache(config)
        self.answers = json.loads(Path(os.environ["TOLD"]).read_text(encoding="utf-8"))

    @cached(SamplingMethod.GENERATIVE)  # type: ignore[untyped-decorator]
    def greedy_until(self, docs: list[Doc]) -> list[ModelResponse]:
        """Texts, for documents as this package makes them."""
        return [ModelResponse(text=[self._answer(doc)]) for doc in docs]

    def _answer(self, doc: Doc) -> str:
        assert (doc.num_samples, doc.generation_size) == (1, 300)
        plain = PromptManager(use_chat_template=False).prepare_prompt(doc)
        [message] = PromptManager(use_chat_template=True).prepare_prompt_api(doc)
        assert message == {"role": "user", "content": plain}
        text: str = self.answers[plain]
        return text

    def loglikelihood(self, docs: list[Doc]) -> list[ModelResponse]:
        """Nothing asks for it."""
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood
