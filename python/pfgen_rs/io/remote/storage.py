"""Opens object storage and web servers with obstore: options, limits of time, and errors of one line."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from pfgen_rs import extras
from pfgen_rs.errors import InputError, OutputError, SettingsError
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.io.remote import urls, web

_PREFIXES = ("aws_", "azure_", "google_")
_CLIENT = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "read_timeout",
    "root_certificate",
    "timeout",
    "user_agent",
)
"""Options of connections; all others are of the kind of storage."""
_TIMEOUTS = {"connect_timeout": "10s", "timeout": "120s"}
_RETRIES = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3}[A-Za-z ]*)")
_ANYWHERE = re.compile(r"\bhttps?://[^\s\"'<>]+")
_FAILED = re.compile(r" [A-Z]+ (https?://)(?:[^/?\s]*@)?([^/?\s]+)\S* in .* HTTP error: (.*)$")
_CREDENTIALS = {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
_OF_MACHINES = ("//169.254.169.254", "//metadata.google.internal", "//metadata/")
"""Where a machine of a cloud is asked for its credentials, as a last resort."""
_HOW_TO_BE_KNOWN = (
    "set them in the environment, or skip_signature=true as a storage option for what is public "
    "(docs/how-to/scale.md)"
)
_LONGEST = 300
_GLANCE = "10s"  # for a look at an endpoint, before it is used
_FRESH = 300.0  # seconds for which a redirect is not followed anew
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_ENDPOINT")


class StorageError(InputError):
    """Storage that cannot be read.

    `kind`: `missing` (there is no such object), `denied` (it may not be read), `unranged` (not this part of
    it), `redirected` (elsewhere, where nothing is asked), or else empty.
    """

    def __init__(self, problem: str, *, path: str, kind: str = "") -> None:
        self.kind = kind
        super().__init__(problem, path=path)


class Object(NamedTuple):
    """An object: what opens the store that has it, its key there, and how its URL is shown."""

    opened: Callable[[], Any]
    key: str
    shown: str

    @property
    def store(self) -> Any:
        """The store. Raises `StorageError`."""
        return self.opened()

    def get(self, start: int | None = None, end: int | None = None) -> Any:
        """Returns obstore's answer for all bytes, or a range. Raises `StorageError`."""
        options, store = None if start is None else {"range": (start, end)}, self.store
        with storage_errors(self.shown):
            return store.get(self.key, options=options)


class Storage:
    """Storage as seen with some options; opens each bucket once.

    `options`: as for obstore's stores and their connections, such as `{"endpoint": "https://…"}`.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options = urls.checked_options(options or {})
        self._stores: dict[str, Any] = {}
        self._contents: dict[str, bytes | None] = {}
        self.sizes: dict[str, int] = {}  # of what was listed

    def object(self, url: str) -> Object:
        """Returns the object of this URL, which need not exist. Raises `InputError` for invalid URLs."""
        place = urls.split_url(url)
        if not place.path:
            raise InputError("the URL names no object", path=urls.shown_url(url))
        shown = urls.shown_url(url)
        if place.scheme in urls.WEB:
            return Object(self._web_file(url, {}, shown), "", shown)
        if place.scheme == "hf":
            return Object(self._web_file(web.hub_address(url), web.hub_headers(), shown), "", shown)
        if not all(place.path.split("/")):  # which obstore drops, and so names another object
            problem = "not the name of an object: it begins or ends with '/', or contains '//'"
            raise InputError(problem, path=shown)
        bucket = self.bucket(place, url)
        return Object(lambda: bucket, place.path, shown)

    def bucket(self, place: urls.Place, url: str) -> Any:
        """Returns the store of a bucket."""
        key, shown = f"{place.scheme}://{place.host}", urls.shown_url(url)
        if key not in self._stores:
            opened = self._opened(place.scheme, key, {}, shown)
            _check_endpoints(self.options, place.host, shown)
            self._stores[key] = opened
        return self._stores[key]

    def _opened(self, kind: str, url: str, headers: Mapping[str, str], shown: str) -> Any:
        extras.needed("obstore", "remote")
        urls.check_environment(kind)
        with storage_errors(shown):
            return _opened_store(kind, url, self.options, headers)

    def _web_file(self, address: str, secret: Mapping[str, str], shown: str) -> Callable[[], Any]:
        """Returns what opens a file of a web server at the address that redirects lead to.

        obstore follows redirects by itself, and tells the next server the address, with its query. Addresses
        that are signed are valid for some time only.
        """
        store: Any = None
        until = 0.0

        def opened() -> Any:
            nonlocal store, until
            if time.monotonic() > until:
                extras.needed("obstore", "remote")
                client = _sorted_options(self.options)[1]
                final, is_own = _final_address(address, client, shown, secret)
                store = self._opened("http", final, secret if is_own else {}, shown)
                until = time.monotonic() + _FRESH
            return store

        return opened

    def content(self, url: str, largest: int) -> bytes | None:
        """Returns a small object; `None` if there is none, or if it may not be asked for."""
        if url not in self._contents:
            try:
                found = self.object(url)
                result = found.get()
                with storage_errors(found.shown):
                    if result.meta["size"] > largest:
                        raise InputError("is too large", path=found.shown)
                    self._contents[url] = bytes(result.bytes())
            except StorageError as error:
                if error.kind not in ("missing", "denied"):
                    raise
                self._contents[url] = None
        return self._contents[url]


def _opened_store(
    kind: str, url: str, options: Mapping[str, Any], headers: Mapping[str, str]
) -> Any:
    from obstore import store

    config, client = _sorted_options(options)
    client = {**_TIMEOUTS, **client}
    if headers:
        client["default_headers"] = dict(headers)
    how: dict[str, Any] = {"client_options": client, "retry_config": _RETRIES}
    if kind == "http":
        client["allow_http"] = url.lower().startswith("http:")  # and no https server leads to one
        return store.HTTPStore.from_url(url, **how)
    if "allow_http" not in client and _asks_for_plain_http(config):
        client["allow_http"] = True
    from_url: Any = store.from_url  # whose options have other types for each kind
    return from_url(url, config=config, **how)


def _final_address(
    address: str, client: Mapping[str, Any], shown: str, secret: Mapping[str, str] | None = None
) -> tuple[str, bool]:
    """Returns where redirects lead, and whether that is the same origin. Raises `StorageError`."""
    try:
        final = web.final_address(address, secret, client)
        return final, web.same_origin(final, address)
    except web.RedirectError as error:
        raise StorageError(f"the server {error.problem}", path=shown, kind="redirected") from None
    except web.FAILED as error:
        reason = getattr(error, "reason", error)
        raise StorageError(f"cannot be reached: {reason}", path=shown) from None


def _sorted_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns options of the storage, and of connections."""
    config: dict[str, Any] = {}
    client: dict[str, Any] = {}
    for name, value in options.items():
        key = name.lower()
        bare = next((key.removeprefix(p) for p in _PREFIXES if key.startswith(p)), key)
        if bare in _CLIENT:
            client[bare] = value
        else:
            config[key] = value
    return config, client


def _asks_for_plain_http(config: Mapping[str, Any]) -> bool:
    """Whether the environment or an option allows http, or names an endpoint that has it."""
    if any(os.environ.get(f"{name}_ALLOW_HTTP", "").lower() == "true" for name in ("AWS", "AZURE")):
        return True
    return any(value.lower().startswith("http://") for value in _endpoints(config))


def _endpoints(config: Mapping[str, Any]) -> list[str]:
    """Returns the addresses of endpoints in the options, else in the environment."""
    named = [str(value) for key, value in config.items() if "endpoint" in key]
    return named or [os.environ.get(name, "") for name in _ENDPOINTS]


def _check_endpoints(options: Mapping[str, Any], bucket: str, shown: str) -> None:
    """Raise `StorageError` if an endpoint leads to another origin, which obstore would send tokens to."""
    config, client = _sorted_options(options)
    for endpoint in _endpoints(config):
        if "://" not in endpoint:  # a switch, or nothing
            continue
        address = f"{endpoint.rstrip('/')}/{bucket}"
        try:
            final, is_own = _final_address(address, {"timeout": _GLANCE, **client}, shown)
        except StorageError as error:
            if error.kind == "redirected":
                raise
            continue  # which the first request says better
        if not is_own:
            problem = (
                f"the endpoint redirects to {urls.shown_url(final)}: name the address that answers"
            )
            raise StorageError(problem, path=shown, kind="redirected")


@contextmanager
def storage_errors(shown: str) -> Iterator[None]:
    """Turn obstore's errors into a `StorageError` of one line, without signed addresses."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        if _code(error) == "NoSuchBucket":
            raise StorageError("there is no such bucket", path=shown) from None
        raise StorageError("there is no such object", path=shown, kind="missing") from None
    except BaseError as error:
        raise _storage_error(error, shown) from None
    except InputError:
        raise
    except (OSError, TypeError, ValueError) as error:
        raise StorageError(f"cannot be used: {_first_line(error)}", path=shown) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of PyO3, which may quote settings
            raise
        problem = "cannot be used: obstore has failed: check the endpoint, region and credentials"
        raise StorageError(problem, path=shown) from None


def _storage_error(error: Exception, shown: str) -> StorageError | SettingsError:
    kind, code, status = type(error).__name__, _code(error), _STATUS.search(str(error))
    answered = ", ".join(filter(None, [status and status[1].strip(), code]))
    line = str(error).partition("\n")[0]
    if kind == "UnknownConfigurationKeyError" or line.startswith("Generic Config error: "):
        return SettingsError(f"invalid storage option: {_first_line(error)}")
    if kind == "InvalidPathError":
        problem = "an object there has a name that cannot be read; rename it, or list other folders"
        return StorageError(f"{problem}: {_first_line(error)}", path=shown)
    if any(place in line for place in _OF_MACHINES):
        return StorageError(f"no credentials were found: {_HOW_TO_BE_KNOWN}", path=shown)
    may_not = kind in ("PermissionDeniedError", "UnauthenticatedError")
    if may_not or code in _CREDENTIALS or answered.startswith(("401", "403")):
        problem = f"access was denied ({answered or 'no reason given'}): check the credentials"
        denied = may_not and code not in _CREDENTIALS  # to this object, or whatever there is
        return StorageError(problem, path=shown, kind="denied" if denied else "")
    # Texts with addresses, which may be called anything, do not tell whether this part cannot be had.
    is_unranged = (
        kind == "NotSupportedError" or code == "InvalidRange" or answered.startswith("416")
    )
    if not (answered or "://" in line):
        is_unranged |= re.search(r"\brange\b", line, re.IGNORECASE) is not None
    failed = _FAILED.search(line)
    reason = f"{failed[1]}{failed[2]}: {failed[3]}" if failed else _first_line(error)
    problem = f"cannot be reached: {f'the answer was {answered}' if answered else reason}"
    return StorageError(problem, path=shown, kind="unranged" if is_unranged else "")


def _code(error: Exception) -> str:
    found = _CODE.search(str(error))
    return found[1] if found else ""


def _first_line(error: Exception) -> str:
    """Returns the first line of obstore's message without addresses, which may be signed."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return re.sub(r"^Generic \w+ error: ", "", _ANYWHERE.sub("…", line))[:_LONGEST]


# Files written to object storage: uploaded in parts, and there only when all parts are.


_PART = 8 << 20  # bytes of a part
_PARTS = 9_000  # S3 takes 10,000
_AT_ONCE = 4
_PATIENCE = 10  # seconds for aborting an upload


class RemoteTarget:
    """An object to write. Raises `OutputError` for URLs that cannot be written to."""

    def __init__(
        self,
        url: str | os.PathLike[str],
        storage: Storage | Mapping[str, Any] | None = None,
    ) -> None:
        self._url = urls.url_text(url)
        self._storage = storage if isinstance(storage, Storage) else Storage(storage)
        self.shown = urls.shown_url(self._url)
        try:
            place = urls.split_url(self._url)
        except InputError as error:
            raise OutputError(str(error)) from None
        if place.scheme not in urls.BUCKETS:
            raise OutputError(
                f"{self.shown}: nothing can be written there: expected a local path, or a URL that begins "
                "with s3://, gs:// or az://"
            )

    def check(self) -> None:
        """Raise `OutputError` if the storage cannot be reached, lacks the bucket, or refuses the user."""
        with self._as_output():
            try:
                interruptibly(lambda: self._storage.object(self._url).get(0, 1))
            except StorageError as error:
                # Who may write need not be allowed to read, and the object need not be there.
                if error.kind not in ("missing", "denied", "unranged"):
                    raise

    def put(self, content: bytes | Path) -> None:
        """Replace the object by bytes or a file's content, or leave it as it was. Raises `OutputError`."""
        stopped, ended = Event(), Event()

        def upload() -> None:
            try:
                self._upload(content, stopped)
            finally:
                ended.set()

        with self._as_output():
            try:
                interruptibly(upload)
            finally:  # after Ctrl-C, obstore removes the parts that have arrived
                stopped.set()
                ended.wait(_PATIENCE)

    def _upload(self, content: bytes | Path, stopped: Event) -> None:
        found, part = self._storage.object(self._url), _PART
        data: bytes | Path | Iterator[bytes] = content
        if isinstance(content, Path):
            size = content.stat().st_size
            part = max(_PART, -(-size // _PARTS))
            data = content.read_bytes() if size <= part else _parts(content, part, stopped)
        with storage_errors(self.shown):
            found.store.put(found.key, data, chunk_size=part, max_concurrency=_AT_ONCE)

    @contextmanager
    def _as_output(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            raise OutputError(f"{self.shown}: cannot be written: {error.problem}") from None


def _parts(path: Path, size: int, stopped: Event) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(size):
            if stopped.is_set():
                raise ValueError("the upload was stopped")  # and obstore aborts it
            yield part
