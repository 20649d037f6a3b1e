"""HTTP requests to hosts outside the cluster, within the hook's ``permissions.http``.

A call waits for the whole response. Redirects are not followed: the response says where one leads, and a request to
there needs a permission of its own.
"""

from __future__ import annotations

import json as _json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import quote, urlencode

from ._host import host

__all__ = ["Headers", "HttpError", "Reason", "Request", "Response", "delete", "get", "head", "patch", "post", "put", "request"]

#: Why there is no response, or why it is not taken for one.
#:
#: | reason | meaning |
#: | --- | --- |
#: | ``denied`` | no permission allows it, or the operator's admin does not |
#: | ``address`` | the host is not at a public address, and the admin does not allow it |
#: | ``not-sent`` | the run only plans, so nothing is sent that could change something |
#: | ``limit`` | a limit of the run, or of a request |
#: | ``name`` | the name has no address |
#: | ``connection`` | there is no connection, or it ended early |
#: | ``tls`` | TLS failed: in most cases, the certificate is not one that is trusted |
#: | ``timeout`` | there was no response in time |
#: | ``invalid`` | it is not a request that can be sent |
#: | ``credential`` | the operator's credential for the host cannot be used |
#: | ``status`` | ``raise_for_status`` found a status that is not one of 200 to 299 |
Reason = Literal[
    "denied",
    "address",
    "not-sent",
    "limit",
    "name",
    "connection",
    "tls",
    "timeout",
    "invalid",
    "credential",
    "status",
]

#: How many characters of a body are in an error.
_SHOWN = 200


class HttpError(Exception):
    """A request that did not succeed. The run is retried."""

    def __init__(self, reason: Reason, message: str, status: int | None = None) -> None:
        super().__init__(message)
        #: For deciding.
        self.reason: Reason = reason
        #: The HTTP status, when a server answered.
        self.status = status


class Headers(Mapping[str, str]):
    """Headers by name, in any letter case. Several of one name are joined with commas."""

    def __init__(self, pairs: Mapping[str, str] | list[tuple[str, str]] | None = None) -> None:
        self._values: dict[str, str] = {}
        for name, value in pairs.items() if isinstance(pairs, Mapping) else pairs or []:
            key = name.lower()
            self._values[key] = f"{self._values[key]}, {value}" if key in self._values else value

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Headers({self._values})"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent, for tests."""

    method: str
    url: str
    headers: Headers = field(default_factory=Headers)
    content: bytes = b""
    #: Seconds.
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered. A response with any status is a success of ``request``."""

    #: ``200``, ``404``, ….
    status: int
    headers: Headers = field(default_factory=Headers)
    #: The whole body.
    content: bytes = b""
    #: The URL of the request.
    url: str = ""

    @property
    def ok(self) -> bool:
        """Whether the status is one of 200 to 299."""
        return 200 <= self.status <= 299

    @property
    def text(self) -> str:
        """The body as text in UTF-8. Bytes that are not UTF-8 are replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON. Its shape is not checked."""
        return _json.loads(self.content)

    def raise_for_status(self) -> Response:
        """The same response, if its status is one of 200 to 299. Otherwise the error has the beginning of the body."""
        if self.ok:
            return self
        message = f"{_shown(self.url)}: the server answered with the status {self.status}: {self.text[:_SHOWN]}"
        raise HttpError("status", message, self.status)


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    data: str | bytes | Mapping[str, str] | None = None,
    timeout: float | timedelta | None = None,
) -> Response:
    """Sends a request, and waits for its response.

    ``json`` is sent as JSON, and ``data`` as it is; a mapping, as the fields of a form. ``timeout`` is a time, or
    seconds; without it, the operator's own limit and the time of the run count.
    """
    if json is not None and data is not None:
        raise TypeError("a request has json or data, not both")
    kind, content = _body(json, data)
    given = Headers(headers)
    if kind is not None and "content-type" not in given:
        given = Headers({**given, "content-type": kind})
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if seconds is not None and seconds <= 0:
        raise ValueError(f"timeout {seconds} is not longer than 0")
    return host().http(Request(method.upper(), _url(url), given, content, seconds))


def get(url: str, *, headers: Mapping[str, str] | None = None, timeout: float | timedelta | None = None) -> Response:
    """Reads."""
    return request("GET", url, headers=headers, timeout=timeout)


def head(url: str, *, headers: Mapping[str, str] | None = None, timeout: float | timedelta | None = None) -> Response:
    """Reads the headers only."""
    return request("HEAD", url, headers=headers, timeout=timeout)


def post(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    data: str | bytes | Mapping[str, str] | None = None,
    timeout: float | timedelta | None = None,
) -> Response:
    """Sends something new."""
    return request("POST", url, headers=headers, json=json, data=data, timeout=timeout)


def put(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    data: str | bytes | Mapping[str, str] | None = None,
    timeout: float | timedelta | None = None,
) -> Response:
    """Replaces."""
    return request("PUT", url, headers=headers, json=json, data=data, timeout=timeout)


def patch(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: Any = None,
    data: str | bytes | Mapping[str, str] | None = None,
    timeout: float | timedelta | None = None,
) -> Response:
    """Changes a part."""
    return request("PATCH", url, headers=headers, json=json, data=data, timeout=timeout)


def delete(url: str, *, headers: Mapping[str, str] | None = None, timeout: float | timedelta | None = None) -> Response:
    """Deletes."""
    return request("DELETE", url, headers=headers, timeout=timeout)


def _body(json: Any, data: str | bytes | Mapping[str, str] | None) -> tuple[str | None, bytes]:
    """The content type and the bytes."""
    if json is not None:
        return "application/json", _json.dumps(json).encode()
    if data is None:
        return None, b""
    if isinstance(data, Mapping):
        return "application/x-www-form-urlencoded", urlencode(data).encode()
    if isinstance(data, str):
        return "text/plain;charset=UTF-8", data.encode()
    if isinstance(data, (bytes, bytearray, memoryview)):
        return None, bytes(data)
    raise TypeError(f"data is a text, bytes or a mapping, not {type(data).__name__}: json= sends it as JSON")


_URL = re.compile(r"(https?)://([^/?#\\]+)([^?#]*)(\?[^#]*)?", re.IGNORECASE)


def _shown(url: str) -> str:
    """A URL for people: without a user, a password, a query and a fragment, which can have a secret."""
    place = re.split(r"[?#]", url.strip(), maxsplit=1)[0]
    return re.sub(r"^((?:[a-z][a-z0-9+.-]*:)?[/\\]+)?[^/\\]*@", r"\1", place, flags=re.IGNORECASE)


def _url(url: str) -> str:
    """An absolute URL without its fragment."""
    parts = _URL.match(url.strip())
    if parts is None:
        raise HttpError("invalid", f"{_shown(url)!r} is not a URL of https or http")
    scheme, authority, path, query = parts.groups(default="")
    # What is escaped stays so.
    escaped = (quote(part, safe="%/:=&?~+!$,;'@()*[]") for part in (path or "/", query))
    return f"{scheme.lower()}://{authority.lower()}{''.join(escaped)}"
