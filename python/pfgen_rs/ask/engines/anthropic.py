"""Servers with Anthropic's messages API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pfgen_rs.ask import retrying, server
from pfgen_rs.ask.batch_forms import AnthropicBatches
from pfgen_rs.ask.engines import engine
from pfgen_rs.ask.protocol import Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.ask.server_engine import ServerEngine
from pfgen_rs.ask.wire import Form, count_of, named

SERVICE = server.Service(
    "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "https://api.anthropic.com", "without /v1/messages"
)
MAX_TOKENS = 4096
"""The limit on the output that is sent if none is given, since the protocol requires one."""

_VERSION = "2023-06-01"
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""Reasons for the end of an answer, and as OpenAI calls them; others stay as they are."""


@dataclass(frozen=True, slots=True)
class MessagesForm(Form):
    """Requests and replies of `POST /v1/messages`."""

    OWN: ClassVar = (
        *("model", "messages", "system", "max_tokens", "temperature", "top_p"),
        *("stop_sequences", "stream"),
    )
    KNOWN: ClassVar = ("stop", "max_tokens", "temperature", "top_p")

    def options(self, task: Task, parameters: Parameters) -> dict[str, Any]:
        """Returns the options for a task, with a limit on the output in any case."""
        return {"max_tokens": MAX_TOKENS, **super(MessagesForm, self).options(task, parameters)}

    def headers(self, key: str) -> dict[str, str]:
        """Returns the headers of each request that say who asks."""
        return {"x-api-key": key, "anthropic-version": _VERSION}

    def request(self, task: Task, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Returns the path and body of the request for a task with these options."""
        named = {("stop_sequences" if k == "stop" else k): v for k, v in options.items()}
        system = {} if task.system is None else {"system": task.system}
        messages = [each for each in task.messages if each["role"] != "system"]
        body = {"model": self.model, **system, "messages": messages, **named, **self.extra}
        return "/v1/messages", body

    def cure(self, option: str) -> str:
        """Returns advice for a server that rejects an option."""
        return "set --max-tokens" if option == "max_tokens" else retrying.cure(option)

    def usage(self, reply: Mapping[str, Any]) -> Usage:
        """Returns the tokens that a reply reports; those of the prompt include what was cached."""
        usage = reply.get("usage")
        fresh, completion = (count_of(usage, f"{kind}_tokens") for kind in ("input", "output"))
        if fresh is None and completion is None:
            return Usage()
        read, created = (
            count_of(usage, f"cache_{k}_input_tokens") or 0 for k in ("read", "creation")
        )
        return Usage(0, 1, (fresh or 0) + read + created, completion or 0, read)

    def answer(self, task: Task, reply: Mapping[str, Any], key: str | None) -> Outcome:
        """Returns the answer in a reply, or why there is none, in words without the API key."""
        content, reason = reply.get("content"), reply.get("stop_reason")
        if not isinstance(content, list):
            return Failed(task, "the server's answer has no content")
        if reason == "refusal":
            return Failed(task, "the model refused", individual=True)
        texts, thoughts = _parts(content, "text", "text"), _parts(content, "thinking", "thinking")
        if thoughts and not texts:
            thought = "the server's answer has no text (only thinking; try a larger max_tokens)"
            return Failed(task, thought, cure="allow the model more tokens with --max-tokens")
        details = Details(
            finish_reason=_REASONS.get(said := named(reason, key) or "", said) or None,
            reasoning="\n".join(thoughts) or None,
            usage=self.usage(reply) or None,
            model=named(reply.get("model"), key),
        )
        return Answered(task, "".join(texts), details)


def _parts(content: Sequence[object], kind: str, key: str) -> list[str]:
    """Returns the texts of the blocks of a kind."""
    blocks = (block for block in content if isinstance(block, dict) and block.get("type") == kind)
    return [text for block in blocks if isinstance(text := block.get(key), str)]


@engine("anthropic")
class AnthropicEngine(ServerEngine):
    """Sends concurrent requests to Anthropic's messages API, or to a server that speaks its protocol.

    `base_url` and `api_key` default to `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`. The protocol has neither
    seeds nor log probabilities, and requires a limit on the output: 4,096 tokens unless one is given. What a
    model thinks (`extra={"thinking": …}`) is kept apart from its answer (`Details.reasoning`). All else,
    faults included, is as for `OpenAIEngine`; `omit` and `optional` may name `temperature` and `top_p`, and
    `omit` also `stop`.
    """

    name = "anthropic"
    service = SERVICE
    batch_form = AnthropicBatches
    abilities = frozenset({"chat", "history", "usage"})
    thinking_off = 'extra={"thinking": {"type": "disabled"}}'

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int | None = None,
        timeout: float = 600.0,
        retries: int = 6,
        backoff: retrying.Backoff | None = None,
        omit: str | Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
        optional: str | Sequence[str] = (),
    ) -> None:
        """Check the settings without connecting.

        Raises `SettingsError`, and `GenerationError` if the package or the key is missing.
        """
        url = (base_url or server.find_address(None, SERVICE)).rstrip("/").removesuffix("/v1")
        super().__init__(
            MessagesForm.checked(model, omit, "max_tokens", extra),
            base_url=url,
            api_key=api_key,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            optional=optional,
        )
