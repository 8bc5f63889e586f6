"""Transcripts of chats: `messages` (role, content), or `conversations` of ShareGPT (from, value)."""

from pfgen_rs.io.layouts import ANSWERS, LAYOUTS, Layout, Record
from pfgen_rs.io.messages import is_chat, role_of


def _find(record: Record) -> tuple[str, str] | None:
    for key in ("messages", "conversations", "conversation"):
        chat = record.get(key)
        if chat and is_chat(chat) and "assistant" in map(role_of, chat):
            return (
                None if any(isinstance(record.get(name), str) for name in ANSWERS) else (key, key)
            )
    return None


LAYOUTS.add("chat", Layout("chats", _find, is_general=True))
