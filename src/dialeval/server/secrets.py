"""Tokens and passwords, which are kept as hashes only.

Tokens carry 256 random bits, so one round of SHA-256 is enough, and a token is found by its
digest; passwords are chosen by people and get Argon2.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

_passwords = argon2.PasswordHasher()
_NOBODY = _passwords.hash(secrets.token_urlsafe())


def new_token(kind: str) -> str:
    """A secret that says what it is for, so that scanners find leaked ones."""
    return f"dialeval_{kind}_{secrets.token_urlsafe(32)}"


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def hash_password(password: str) -> str:
    """What is kept of a password."""
    return _passwords.hash(password)


def is_password(password: str, kept: str | None) -> bool:
    """Whether this is the password; takes as long when there is nobody of the name."""
    try:
        _passwords.verify(kept or _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


def form_key(visitor: str, session: str | None) -> str:
    """What a form must carry: only a page that we served to this browser can know it."""
    return hmac.new(visitor.encode(), (session or "").encode(), hashlib.sha256).hexdigest()


def name_key(name: str) -> str:
    """Names that look alike have the same key.

    >>> name_key("Team  A") == name_key("team a") == name_key("ｔｅａｍ A")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
