"""The client of a score server: JSON over HTTP with the standard library, nothing to install.

What the server sends is somebody else's text: everything that is decoded is made safe to print.
"""

from __future__ import annotations

import gzip
import http.client
import ipaddress
import socket
import ssl
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import msgspec

from dialeval import __version__
from dialeval.cli.credentials import Role, saved_token
from dialeval.core.errors import DataError, UsageError

WAITS: tuple[float, ...] = (0.5, 1, 2, 4)
"""Seconds before each further attempt."""
LONGEST_WAIT = 10.0
"""What a server may ask us to wait."""
TIMEOUT = 60.0
LONG = 3600.0
"""For what a server works on for long: publishing, rescoring, an export."""
BUSY = (502, 503, 504)
BODY_LIMIT = 10 << 20
"""What a server takes in one request."""
PACKED = 1 << 16
"""Larger bodies are compressed."""
CHUNK = 1 << 16
GZIP = b"\x1f\x8b"
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that steer a terminal or cannot be seen."""


class Refused(UsageError):
    """The server refuses a request; `problem` is its document (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or f"the server answers {status}"))
        self.status, self.problem = status, problem

    @property
    def code(self) -> str:
        """The problem's name for programs."""
        return str(self.problem.get("code", ""))


class Unreachable(UsageError):
    """No answer: it is not known whether the request was carried out."""


@dataclass(frozen=True)
class Client:
    """A server, and the token to show it; `insecure` sends it over plain http too."""

    server: str
    token: str | None = None
    insecure: bool = False

    def get(self, path: str, **query: Any) -> Any:
        """What is at a path, decoded."""
        return self._decoded("GET", path, query)

    def send(
        self,
        method: str,
        path: str,
        value: Any = None,
        *,
        body: bytes | None = None,
        key: str | None = None,
        secret: bool = False,
        timeout: float = TIMEOUT,
        **query: Any,
    ) -> Any:
        """Send a value as JSON, or a file; the decoded answer.

        With an idempotency `key` it is tried again if no answer comes. `secret` says that the
        value, or the answer, is a secret such as a password.
        """
        headers = {"Idempotency-Key": key} if key else {}
        if value is not None:
            body = msgspec.json.encode(value)
            headers["Content-Type"] = "application/json"
        elif body is not None:
            body = packed(body)
            kind = "gzip" if body.startswith(GZIP) else "json"
            headers["Content-Type"] = f"application/{kind}"
        return self._decoded(method, path, query, body, headers, secret, timeout)

    def download(self, path: str, out: Path, timeout: float = LONG) -> None:
        """Keep what is at a path as a file, whole or not at all."""
        from dialeval.core.files import replacing

        with replacing(out) as temporary, temporary.open("wb") as stream:
            request = self._request("GET", path)
            self._with_retries(request, timeout, lambda source: _copy(source, stream, out))

    def _decoded(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: bytes | None = None,
        headers: Mapping[str, str] = {},
        secret: bool = False,
        timeout: float = TIMEOUT,
    ) -> Any:
        request = self._request(method, path, query, body, headers, secret)
        content: bytes = self._with_retries(request, timeout, lambda stream: stream.read())
        try:
            return printable(msgspec.json.decode(content))
        except msgspec.DecodeError:
            raise UsageError(
                f"{self.server}: found an answer that is no JSON, expected a dialeval server"
            ) from None

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] = {},
        body: bytes | None = None,
        headers: Mapping[str, str] = {},
        secret: bool = False,
    ) -> Request:
        parts = urlsplit(self.server)
        if (self.token or secret) and not self.insecure and not is_private(parts):
            raise UsageError(
                f"{self.server}: found plain http, expected https, which keeps tokens secret "
                "(--insecure sends them all the same)"
            )
        given = {name: _text(value) for name, value in query.items() if value is not None}
        url = f"{self.server}/api/v1/{path}" + (f"?{urlencode(given)}" if given else "")
        request = Request(url, body, {**headers, "User-Agent": f"dialeval/{__version__}"})
        request.method = method
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        return request

    def _with_retries(self, request: Request, timeout: float, read: Any) -> Any:
        """The answer; tried again where a second time does what the first would have done."""
        safe = request.method == "GET" or request.has_header("Idempotency-key")
        waits = [*WAITS] if safe else []
        while True:
            try:
                with self._opened(request, timeout) as stream:
                    return read(stream)
            except _Busy as busy:
                if not waits or not busy.passing:
                    raise busy.error from None
                _wait(max(waits.pop(0), min(busy.wanted, LONGEST_WAIT)), str(busy.error))

    @contextmanager
    def _opened(self, request: Request, timeout: float) -> Iterator[IO[bytes]]:
        try:
            with _opener(self.server).open(request, timeout=timeout) as stream:
                yield stream
        except HTTPError as error:
            with error:
                refused = self._refused(error)
            if error.code in BUSY:
                wanted = error.headers.get("Retry-After", "")
                raise _Busy(refused, float(wanted) if wanted.isdigit() else 0) from None
            raise refused from None
        except (URLError, http.client.HTTPException, OSError) as error:
            cause = getattr(error, "reason", error)
            reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            lasting = isinstance(cause, (socket.gaierror, ssl.SSLCertVerificationError))
            message = f"{self.server}: cannot be reached ({cleaned(str(reason))})"
            raise _Busy(Unreachable(message), passing=not lasting) from None

    def _refused(self, error: HTTPError) -> Refused:
        if 300 <= error.code < 400:
            target = cleaned(error.headers.get("Location", "nowhere"))
            return Refused(error.code, {"detail": f"{self.server}: has moved to {target}"})
        try:
            problem = printable(msgspec.json.decode(error.read(BODY_LIMIT)))
        except (msgspec.DecodeError, OSError, http.client.HTTPException):
            problem = None
        if not isinstance(problem, dict):
            reason = f"{self.server}: answers {error.code} {cleaned(str(error.reason))}"
            problem = {"detail": reason}
        if error.code == 401 and self.token:
            hint = "dialeval task sign-in gives organisers a new one, organisers give teams one"
            problem["detail"] = f"{problem.get('detail')} ({hint})"
        return Refused(error.code, problem)


class _Busy(Exception):
    """An attempt that may do better later; `error` is what to say when it does not."""

    def __init__(self, error: UsageError, wanted: float = 0, passing: bool = True) -> None:
        super().__init__(str(error))
        self.error, self.wanted, self.passing = error, wanted, passing


class _NoRedirects(HTTPRedirectHandler):
    """A token goes where its owner sent it and nowhere else."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        return None


def _opener(server: str) -> OpenerDirector:
    """Proxies of the environment are used, but not between this machine and itself."""
    handlers: list[Any] = [_NoRedirects()]
    if is_loopback(urlsplit(server).hostname or ""):
        handlers.append(ProxyHandler({}))
    return build_opener(*handlers)


def _wait(seconds: float, why: str) -> None:
    from dialeval.cli.output import warn

    warn(f"{why}; trying again in {seconds:g} s")
    time.sleep(seconds)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def team_client(server: str, token: str | None, insecure: bool) -> Client:
    """A client with a team's token: the one given, or the one that `register` saved."""
    return _with_token(server, token, insecure, ("team",), "dialeval register makes one")


def organiser_client(server: str, token: str | None, insecure: bool) -> Client:
    """A client with an organiser's token: the one given, or the one of `join` or `sign-in`."""
    hint = "dialeval task join or sign-in makes one"
    return _with_token(server, token, insecure, ("organiser",), hint)


def member_client(server: str, token: str | None, insecure: bool) -> Client:
    """A client with any token: a team's where there is one, else an organiser's."""
    return _with_token(
        server, token, insecure, ("team", "organiser"), "dialeval register makes one"
    )


def reader_client(server: str, token: str | None, insecure: bool) -> Client:
    """A client for what everybody may see; an organiser's token shows hidden tasks too."""
    server = server_address(server)
    return Client(server, token or saved_token(server, "organiser"), insecure)


def _with_token(
    server: str, token: str | None, insecure: bool, roles: tuple[Role, ...], hint: str
) -> Client:
    server = server_address(server)
    for role in roles:
        token = token or saved_token(server, role)
    if not token:
        raise UsageError(
            f"{server}: no token of a{'n organiser' if roles == ('organiser',) else ' team'} is "
            f"saved for this server: {hint}, or use --token or DIALEVAL_TOKEN"
        )
    return Client(server, token, insecure)


def server_address(given: str) -> str:
    """The address of a server in one spelling, so that its token is found again.

    >>> server_address("HTTP://Example.org:80/dialeval/")
    'http://example.org/dialeval'
    """
    try:
        parts = urlsplit(given.strip())
        port = parts.port
    except ValueError:
        raise _no_server(given) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise _no_server(given)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    shown = "" if port in (None, usual) else f":{port}"
    return f"{parts.scheme}://{host}{shown}{quote(parts.path.rstrip('/'), safe='/%')}"


def _no_server(given: str) -> UsageError:
    return UsageError(f"--server: found {given!r}, expected an address such as https://example.org")


def is_private(parts: Any) -> bool:
    """Whether nobody on the way can read what is sent there."""
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "a.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def path_of(*parts: str) -> str:
    """Parts of an address, each quoted.

    >>> path_of("teams", "A/B", "token")
    'teams/A%2FB/token'
    """
    return "/".join(quote(part, safe="") for part in parts)


def packed(content: bytes) -> bytes:
    """A body as it is sent: compressed if it is large."""
    if len(content) <= PACKED or content.startswith(GZIP):
        return content
    return gzip.compress(content, mtime=0)


def _copy(source: Any, target: IO[bytes], path: Path) -> None:
    """Copy an answer, over what an attempt before has left."""
    target.seek(0)
    target.truncate()
    while chunk := source.read(CHUNK):
        try:
            target.write(chunk)
        except OSError as error:  # ours, not the network's
            raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
    if source.length:  # what was still to come when the connection ended
        raise http.client.IncompleteRead(b"", source.length)


def read_upload(path: Path, limit: int | None = BODY_LIMIT) -> bytes:
    """A file to send, unpacked, if it is readable, JSON by its name, and not too large."""
    from dialeval.core.files import format_of, opened

    if format_of(path) == "parquet":
        raise DataError(str(path), "", "a Parquet file", "JSON: .json, .jsonl, .gz")
    with opened(path) as stream:
        content = stream.read() if limit is None else stream.read(limit + 1)
    if limit is not None and len(content) > limit:
        raise DataError(str(path), "", f"more than {limit >> 20} MB", "less: the server's limit")
    return content


def about_file(refused: Refused, path: Path) -> UsageError | DataError:
    """What the server says of a file, with the file's own name."""
    if refused.code != "bad-file":
        return refused
    problem = refused.problem
    if problem.get("found") and problem.get("expected"):
        place = str(problem.get("place") or "")
        return DataError(str(path), place, str(problem["found"]), str(problem["expected"]))
    return UsageError(f"{path}: {refused}")


def only_task(client: Client, slug: str | None) -> str:
    """The task that is meant: the one named, or the only one that the server shows."""
    if slug:
        return slug
    slugs = [task["slug"] for task in client.get("tasks")]
    if len(slugs) != 1:
        known = f"{len(slugs)} tasks: {', '.join(slugs)}" if slugs else "no task"
        raise UsageError(f"{client.server}: found {known}, expected --task with one of them")
    return str(slugs[0])


def language_code(language: str) -> str:
    """`english` and `chinese` are understood, as in the campaigns.

    >>> language_code("English"), language_code("fr")
    ('en', 'fr')
    """
    from dialeval.report.campaign import LANGUAGES

    return LANGUAGES.get(language.lower(), language)


def printable(value: Any) -> Any:
    """A decoded value whose texts are safe to print."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, list):
        return [printable(item) for item in value]
    if isinstance(value, dict):
        return {cleaned(name): printable(item) for name, item in value.items()}
    return value


def cleaned(text: str) -> str:
    """Text without what steers a terminal; ends of lines stay.

    >>> cleaned("a\\x1b[31mb\\u202e\\nc")
    'a[31mb\\nc'
    """
    return "".join(c for c in text if c == "\n" or unicodedata.category(c) not in HIDDEN)
