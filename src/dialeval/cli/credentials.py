"""Tokens of score servers, kept in the user's configuration folder for nobody else to read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

from dialeval.core.errors import DataError, UsageError

Role = Literal["team", "organiser"]


class Credential(msgspec.Struct):
    """Whose token it is, and the token."""

    name: str
    token: str


Saved = dict[str, dict[Role, Credential]]
"""By the server's address and the role."""


def credentials_file() -> Path:
    """`~/.config/dialeval/credentials.json`, or where XDG_CONFIG_HOME says."""
    home = os.environ.get("XDG_CONFIG_HOME")
    base = Path(home) if home else Path.home() / ".config"
    return base / "dialeval" / "credentials.json"


def load_credentials() -> Saved:
    """Everything that is saved."""
    path = credentials_file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Saved)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except msgspec.DecodeError:
        raise DataError(str(path), "", "a damaged file", "the tokens that dialeval saved") from None


def saved(server: str, role: Role) -> Credential | None:
    """What is saved for a server and a role."""
    return load_credentials().get(server, {}).get(role)


def saved_token(server: str, role: Role) -> str | None:
    """The token that is saved for a server and a role."""
    found = saved(server, role)
    return found.token if found else None


def save_credential(server: str, role: Role, credential: Credential) -> Path:
    """Keep a token; the file is for its owner only. Gives the file."""
    everything = load_credentials()
    everything.setdefault(server, {})[role] = credential
    path = credentials_file()
    content = msgspec.json.format(msgspec.json.encode(everything), indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".credentials.")  # mode 0600
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content + b"\n")
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}): keep the token yourself"
        ) from None
    return path
