"""Data for scripts: inside a page, or in a separate file that the page loads on demand.

Pages opened from disk may not fetch files, but they may add scripts. Therefore a payload is a script with a
single text, gzip in base64, which contains no characters that are special in markup or scripts.

A file of many parts is a script in UTF-16, whose parts are compressed one by one, so that a page decodes only
those that it shows. Their characters carry 15 bits each, in 16; base64 takes 20.
"""

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from pfgen_rs.io.text import acts
from pfgen_rs.lazy import NDArray, np

_LEVEL = 9
_PARTS_LEVEL = 6  # 9 takes twice the time for 0.2 %
_BITS = 15  # of a character
_FIRST = 0x4000  # the first of 2^15 characters without surrogates, quotes and line ends
_ZERO = 0x100  # the character of the number 0 in columns: those before it need escapes in JSON
_LARGEST = 0xD7FF - _ZERO  # behind it are surrogates
_SHORTEST = 4  # columns with fewer numbers stay lists
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def payload_file(name: str, value: Any) -> bytes:
    """Returns a script that hands over `value` (any JSON type) under `name`."""
    return f"pfgen.take({script_json(name)},{encode(value)!r});\n".encode()


def inline(name: str, value: Any) -> Markup:
    """Returns the same as an element for a page in a single file."""
    element = Markup('<script type="application/octet-stream" id="payload-{}">{}</script>')
    return element.format(name, encode(value))


def encode(value: Any) -> str:
    """Encode a value as JSON, gzip and base64, always with the same bytes."""
    content = gzip.compress(_content(value), _LEVEL, mtime=0)
    return base64.b64encode(content).decode("ascii")


def _content(value: Any) -> bytes:
    # Japanese text compresses better in UTF-16 (10 % for reference answers). Lone surrogates, which it cannot
    # encode, only occur within strings, where JSON has this escape.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16-le", "backslashreplace")


def payload_files(payloads: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """Yields paths and contents of the files of payloads; those named `file#number` are parts of one."""
    parts: dict[str, dict[int, Any]] = {}
    for name, value in payloads:
        file, is_part, number = name.partition("#")
        if is_part:
            parts.setdefault(file, {})[int(number)] = value
        else:
            yield f"{name}.js", payload_file(name, value)
    for file, found in parts.items():
        numbers = range(max(found) + 1)
        texts = [payload_part(found[number]) if number in found else "" for number in numbers]
        yield f"{file}.js", parts_file(file, texts)


def packed(value: Any) -> dict[str, Any]:
    """Returns a JSON value with columns of integers as texts, which compress better, for `pfgen.load`.

    A column is `{"~": text}`, a character a number; a falling one also has `from`, its first number, and the
    text has by how much each of the others is smaller than the one before it.
    """
    return {"packed": _packed_value(value)}


def _packed_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _packed_value(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) < _SHORTEST or set(map(type, value)) != {int}:
        return [_packed_value(item) for item in value]
    numbers = np.array(value, dtype=np.int64)
    falls = numbers[:-1] - numbers[1:]
    if falls.min() >= 0 and falls.max() <= _LARGEST:
        return {"~": _column(falls), "from": value[0]}
    fits = numbers.min() >= -1 and numbers.max() <= _LARGEST
    return {"~": _column(numbers)} if fits else value


def _column(numbers: "NDArray[np.int64]") -> str:
    return (numbers + _ZERO).astype("<u2").tobytes().decode("utf-16-le")


def parts_file(name: str, parts: Sequence[str]) -> bytes:
    """Returns a script that hands over parts, each of which pages load as `{name}#{its position}`.

    They are what `payload_part` gives; empty ones cannot be loaded.
    """
    texts = ",".join(f'"{part}"' for part in parts)
    script = f"pfgen.take({script_json(name)},[{texts}]);\n"
    return b"\xff\xfe" + script.encode("utf-16-le")  # the mark goes before what servers say


def payload_part(value: Any) -> str:
    """Returns a value as characters of 15 bits; the first says how many bytes too many there are."""
    content = zlib.compress(_content(value), _PARTS_LEVEL)
    count = -(-8 * len(content) // _BITS)
    padded = content.ljust(-(-len(content) // _BITS) * _BITS, b"\0")
    rows = np.frombuffer(padded, np.uint8).reshape(-1, _BITS).astype(np.uint32)
    rows = np.pad(rows, ((0, 0), (0, 1)))
    words = np.empty((len(rows), 8), dtype="<u2")
    for i in range(8):  # those in 15 bytes
        first, bit = divmod(_BITS * i, 8)
        three = rows[:, first] << 16 | rows[:, first + 1] << 8 | rows[:, min(first + 2, _BITS)]
        words[:, i] = (three >> (24 - _BITS - bit) & 0x7FFF) + _FIRST
    surplus = count * _BITS // 8 - len(content)
    return chr(_FIRST + surplus) + words.tobytes()[: 2 * count].decode("utf-16-le")


def data_block(name: str, value: Any) -> Markup:
    """Returns a small value as readable JSON in an inert element, for `pfgen.data(name)`."""
    element = Markup('<script type="application/json" id="data-{}">{}</script>')
    return element.format(name, Markup(script_json(value)))  # noqa: S704 - nothing is left to obey


def script_json(value: Any) -> str:
    """Returns JSON without characters that could end a script or an element, or reorder what is shown."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    return text if text.isprintable() else "".join(map(_character, text))


def _character(character: str) -> str:
    return json.dumps(character)[1:-1] if acts(character) else character
