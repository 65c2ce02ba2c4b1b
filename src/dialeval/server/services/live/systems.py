"""Asking a system under test: only at the address an organiser gave, within limits."""

from __future__ import annotations

import ipaddress
import json
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from dialeval.server.problems import bad_request

MOST_BYTES = 200_000
"""Of one reply, however it is wrapped."""
MOST_CHARACTERS = 20_000
COMPLETIONS = "/chat/completions"


class SystemFailed(Exception):
    """A system did not reply as it should; the text says why, and goes into the records."""


@dataclass(frozen=True)
class Address:
    """Where and how a system is asked."""

    kind: str
    url: str
    model: str = ""
    key: str = ""
    seconds: int = 30


@dataclass(frozen=True)
class Piece:
    """A piece of a reply. `end` says that the system wants to stop."""

    text: str
    end: bool = False


Exchange = tuple[str, str | None]
"""What the tester said, and the reply; the last one has none yet."""


def check_address(url: str) -> str:
    """An address that may be called: http or https, a host, no user name, not link-local."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise bad_request("a system's address is like https://host/path") from None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.fragment:
        raise bad_request("a system's address is like https://host/path")
    for address in _addresses(host, port or 443):
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            raise bad_request("a system's address is not one of the network's own")
    return url


def _addresses(host: str, port: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """What a name stands for now; nothing if it stands for nothing."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


def replies(address: Address, talk: str, said: Sequence[Exchange]) -> Iterator[Piece]:
    """The reply to the last of what was said, piece by piece as it comes."""
    try:
        check_address(address.url)
    except Exception as error:
        raise SystemFailed(str(error)) from None
    limit = time.monotonic() + address.seconds
    timeout = httpx.Timeout(address.seconds, connect=min(5, address.seconds))
    asked = _openai_request(address, said) if address.kind == "openai" else _request(talk, said)
    url = address.url
    if address.kind == "openai" and not url.rstrip("/").endswith(COMPLETIONS):
        url = url.rstrip("/") + COMPLETIONS
    headers = {"authorization": f"Bearer {address.key}"} if address.key else {}
    try:
        with (
            httpx.Client(timeout=timeout, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", url, json=asked, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                raise SystemFailed(f"status {answer.status_code}")
            streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
            read = _events if streamed else _whole
            yield from _limited(read(answer, limit), address.seconds, limit)
    except httpx.TimeoutException:
        raise SystemFailed(f"no reply within {address.seconds} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise SystemFailed(f"cannot be reached ({type(error).__name__})") from None


def _limited(pieces: Iterator[Piece], seconds: int, limit: float) -> Iterator[Piece]:
    length = 0
    for piece in pieces:
        if time.monotonic() > limit:
            raise SystemFailed(f"no whole reply within {seconds} s")
        length += len(piece.text)
        if length > MOST_CHARACTERS:
            raise SystemFailed(f"a reply of more than {MOST_CHARACTERS:,} characters")
        yield piece


def _openai_request(address: Address, said: Sequence[Exchange]) -> dict[str, object]:
    messages = []
    for text, reply in said:
        messages.append({"role": "user", "content": text})
        if reply is not None:
            messages.append({"role": "assistant", "content": reply})
    return {"model": address.model or "default", "messages": messages, "stream": True}


def _request(talk: str, said: Sequence[Exchange]) -> dict[str, object]:
    history = [{"said": text, "reply": reply} for text, reply in said[:-1]]
    return {"session": talk, "text": said[-1][0], "history": history}


def _bytes(answer: httpx.Response, limit: float) -> Iterator[bytes]:
    received = 0
    for chunk in answer.iter_bytes():
        received += len(chunk)
        if received > MOST_BYTES:
            raise SystemFailed(f"a reply of more than {MOST_BYTES:,} bytes")
        if time.monotonic() > limit:
            raise SystemFailed("no whole reply in time")
        yield chunk


def _whole(answer: httpx.Response, limit: float) -> Iterator[Piece]:
    """A reply that comes at once: `{"reply": "...", "end": false}`, or a chat completion."""
    document = _document(b"".join(_bytes(answer, limit)))
    reply = document.get("reply")
    if isinstance(reply, str):
        yield Piece(reply, document.get("end") is True)
        return
    text = _content(document, "message")
    if text is None:
        raise SystemFailed("an answer without a reply in it")
    yield Piece(text)


def _events(answer: httpx.Response, limit: float) -> Iterator[Piece]:
    """A chat completion that streams: lines of `data: {...}` until `data: [DONE]`."""
    waiting = b""
    for chunk in _bytes(answer, limit):
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            text = _content(_document(data), "delta")
            if text:
                yield Piece(text)


def _document(content: bytes) -> dict[str, object]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise SystemFailed("an answer that is not JSON") from None
    if not isinstance(document, dict):
        raise SystemFailed("an answer that is not a JSON object")
    return document


def _content(document: dict[str, object], part: str) -> str | None:
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get(part) if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else None
