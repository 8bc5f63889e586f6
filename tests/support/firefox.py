"""Debian's Firefox for Playwright: a program that starts it and stands between the two.

Playwright drives Firefox as it is released by WebDriver BiDi (its channel `moz-firefox`), but wants a newer
one than the release with long support, and evaluates text within pages, which the policy of ours forbids.
`Page.emulate_media` does nothing.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("firefox-esr", "firefox")
# Commands that Firefox 140 does not know. All are answered here, so that each Firefox does the same: of what
# they are for, `preferences` does what the tests need.
_ANSWERED = {
    "browser.setDownloadBehavior",
    "emulation.setLocaleOverride",
    "emulation.setMediaFeaturesOverride",
    "emulation.setScreenOrientationOverride",
    "emulation.setScreenSettingsOverride",
    "network.addDataCollector",
}
WHOLE = {"locale", "color_scheme", "java_script_enabled"}
"""Options of pages that are settings of a whole Firefox, as `preferences` takes them."""
# What Playwright has evaluated within pages: the third argument of its `evaluate`, and texts of these names
# in later arguments, with this around them. Firefox's debugger compiles a function that has them all written
# out, and to which no page's policy applies.
_AROUND = {
    "functionText": "(%s)",
    "source": "(() => { const module = {};\n%s\nreturn module.exports.default(); })()",
}
_WRITTEN_OUT = """(...all) => {
  const own = globalThis.eval;
  const inner = [%s];
  globalThis.eval = (text) => text === %s ? (%s) : inner.find(([part]) => text.includes(part))[1]();
  try { return (%s)(...all); } finally { globalThis.eval = own; }
}"""


@cache
def downloads() -> Path:
    """The folder in which every Firefox of this process saves."""
    return Path(tempfile.mkdtemp(prefix="firefox-"))


def preferences(
    locale: str = "en-GB", color_scheme: str = "light", java_script_enabled: bool = True
) -> dict[str, bool | float | str]:
    """What a Firefox is set to for what Playwright calls a context's options."""
    return {
        "intl.accept_languages": f"{locale}, en",
        "layout.css.prefers-color-scheme.content-override": int(color_scheme == "light"),
        "javascript.enabled": java_script_enabled,
        "browser.download.dir": str(downloads()),
        "browser.download.folderList": 2,  # the one named above
        "browser.download.alwaysOpenPanel": False,
        "security.fileuri.strict_origin_policy": True,  # as readers have it; Playwright sets it otherwise
    }


def program(firefox: str) -> Path:
    """A program that Playwright starts as if it were this Firefox."""
    path = downloads() / "program"
    command = shlex.join([sys.executable, __file__, firefox])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _inner(value: Any) -> Iterator[str]:
    """Pairs of a text that is evaluated and a function that gives its value, found in arguments."""
    match value:
        case [
            [{"value": "k"}, {"value": str(name)}],
            [{"value": "v"}, {"value": str(text)}],
        ] if name == "functionText" or (name == "source" and "module.exports" in text):
            yield f"[{json.dumps(text)}, () => {_AROUND[name] % text}]"
        case list():
            for each in value:
                yield from _inner(each)
        case dict():
            yield from _inner(list(value.values()))


def sent(message: dict[str, Any]) -> dict[str, Any]:
    """What Firefox is asked instead."""
    of = message["params"]
    declaration = of.get("functionDeclaration", "")
    if "Script.evaluate(" in declaration and "sandbox" not in of["target"]:
        [_, _, _, expression, *others] = of["arguments"]
        text = expression["value"]
        parts = (", ".join(_inner(others)), json.dumps(text), text, declaration)
        of["functionDeclaration"] = _WRITTEN_OUT % parts
    return message


async def _pass_requests(own: Any, firefox: Any) -> None:
    async for message in own:
        request = json.loads(message.data)
        if request["method"] in _ANSWERED:
            await own.send_json({"type": "success", "id": request["id"], "result": {}})
        else:
            await firefox.send_json(sent(request))
    await firefox.close()


async def _pass_answers(firefox: Any, own: Any) -> None:
    async for message in firefox:
        await own.send_str(message.data)
    await own.close()


async def _stand_between(command: list[str]) -> None:
    from aiohttp import ClientSession, web

    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    found = None
    while not found:
        line = (await process.stderr.readline()).decode()
        if not line:
            sys.exit("Firefox has ended before it listened")
        found = re.search(r"WebDriver BiDi listening on (ws://\S+)", line)

    async def session(request: web.Request) -> web.WebSocketResponse:
        own = web.WebSocketResponse(max_msg_size=0)
        await own.prepare(request)
        async with (
            ClientSession() as client,
            client.ws_connect(f"{found[1]}/session", max_msg_size=0) as firefox,
        ):
            await asyncio.gather(_pass_requests(own, firefox), _pass_answers(firefox, own))
        return own

    app = web.Application()
    app.router.add_get("/session", session)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    [[_, port]] = [address[:2] for address in runner.addresses]
    print(f"WebDriver BiDi listening on ws://127.0.0.1:{port}", file=sys.stderr, flush=True)
    while await process.stderr.readline():
        pass  # or Firefox would wait for someone to read
    sys.exit(await process.wait())


if __name__ == "__main__":
    asyncio.run(_stand_between(sys.argv[1:]))
