"""Servers with an OpenAI-compatible API: OpenAI, vLLM, llama.cpp, SGLang, Ollama and many more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfgen_rs.ask import protocol, retrying, wire
from pfgen_rs.ask.batch_forms import OpenAIBatches
from pfgen_rs.ask.engines import engine
from pfgen_rs.ask.server_engine import ServerEngine

_MOST_LOGPROBS = 5
"""Alternatives that OpenAI reports for completions, at most."""


@engine("openai")
class OpenAIEngine(ServerEngine):
    """Sends concurrent requests to a server: completions in mode `completion`, chats in the other modes.

    `base_url` and `api_key` default to `OPENAI_BASE_URL` and `OPENAI_API_KEY`; a server in the local network
    needs no key. `concurrency`: how many requests are under way at once, and fewer only after the server has
    refused some for now (429, 503, 529, time-outs); `None`: as many as raise the throughput, at most 512
    (see `pfgen_rs.ask.window`). `timeout`: seconds for one attempt, in total. `retries`: attempts after the
    first, spaced according to `backoff` (by default at most two minutes apart, even if a server asks for
    more); long waits and the first timeout are logged as warnings of `pfgen_rs.generate`. `omit`: options not
    to send (out of `seed`, `stop`, `max_tokens`, `temperature`, `top_p`, `logprobs`), for servers
    that reject them. `optional`: options (out of `logprobs`, `seed`, `temperature`, `top_p`) to leave out
    once the server has rejected them: the request is sent again at once without the option and, if that is
    answered, so are all later ones. This is logged once as a warning of `pfgen_rs.generate`, and answers say
    what was left out (`Details.left_out`). `max_tokens_name`: the server's name for that limit. `extra`:
    additional values for each request, which must not override those set here.

    Log probabilities (`Parameters.logprobs`) are read in the form of the chat API or in that of completions,
    whichever the server sends; OpenAI itself reports at most 5 alternatives for completions, and is asked for
    no more.

    Temporary failures (408, 409, 425, 429, 5xx, timeouts, failed connections, truncated bodies) are retried.
    If the last attempt fails, and for other rejections and answers without text, the task is `Failed`.
    Failures that affect all tasks raise `GenerationError`: a missing or invalid key, an unknown model or
    address, an option that the server does not support or for which it rejects the first eight tasks, an
    exhausted quota, an unreachable server (the first failed task, or eight in a row, received no response),
    and a server whose first three replies are not JSON, such as a web page. The key is never shown: not in
    errors, reasons, answers, logs or the engine's `repr`.

    The overhead per request is about half a millisecond of CPU.
    """

    name = "openai-api"  # the name in published runs
    abilities = protocol.ABILITIES
    thinking_off = 'extra={"chat_template_kwargs": {"enable_thinking": false}}'
    batch_form = OpenAIBatches

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
        max_tokens_name: str = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        optional: str | Sequence[str] = (),
    ) -> None:
        """Check the settings without connecting.

        Raises `SettingsError`, and `GenerationError` if the package or the key is missing.
        """
        super().__init__(
            wire.Form.checked(model, omit, max_tokens_name, extra),
            base_url=base_url,
            api_key=api_key,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            optional=optional,
        )
        if self.place.is_openai:
            self.form = replace(self.form, most_logprobs=_MOST_LOGPROBS)
        self.abilities = protocol.ABILITIES - self.form.omit
