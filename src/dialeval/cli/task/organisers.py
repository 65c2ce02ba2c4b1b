"""Organisers' accounts, and the teams as organisers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    LOCAL_SERVER,
    InsecureOption,
    JsonOption,
    ServerOption,
    TokenOption,
)

if TYPE_CHECKING:
    from dialeval.cli.client import Client

NameOption = Annotated[str, typer.Option("--name", help="Your name as an organiser.")]
PASSWORD = "DIALEVAL_PASSWORD"


def join(
    link: Annotated[
        str, typer.Argument(metavar="LINK", help="The link that serve or an organiser gave you.")
    ],
    name: NameOption,
    server: ServerOption = LOCAL_SERVER,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: use an invitation. Asks for a password (or DIALEVAL_PASSWORD).

    Example: dialeval task join http://127.0.0.1:8000/join/dialeval_invitation_... --name NAME
    """
    from dialeval.cli.client import Client, server_address

    before, found, invitation = link.strip().rpartition("/join/")
    if found and before:
        server = before
    client = Client(server_address(server), insecure=insecure)
    given = {"invitation": invitation, "name": name, "password": _password(twice=True)}
    _keep(client, "organisers", given, json)


def sign_in(
    name: NameOption,
    server: ServerOption = LOCAL_SERVER,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: get a new token for this machine; the one before stops working.

    Example: dialeval task sign-in --name NAME --server https://example.org
    """
    from dialeval.cli.client import Client, server_address

    client = Client(server_address(server), insecure=insecure)
    _keep(client, "organisers/token", {"name": name, "password": _password(twice=False)}, json)


def _password(*, twice: bool) -> str:
    import os

    given = os.environ.get(PASSWORD)
    if given is not None:
        return given
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=twice, err=True))


def _keep(client: Client, path: str, given: dict[str, str], json: bool) -> None:
    from dialeval.cli.credentials import Credential, save_credential
    from dialeval.cli.output import print_json

    answer = client.send("POST", path, given, secret=True)
    if json:
        print_json(answer)
    credential = Credential(answer["name"], answer["token"])
    kept = save_credential(client.server, "organiser", credential)
    if not json:
        print(f"You are organiser {answer['name']} of {client.server}; token saved in {kept}.")


def invite(
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: a link that makes one more organiser, once, within a week.

    Example: dialeval task invite
    """
    from dialeval.cli.client import organiser_client
    from dialeval.cli.output import print_json

    client = organiser_client(server, token, insecure)
    answer = client.send("POST", "organisers/invitations")
    if json:
        print_json(answer)
    else:
        print(f"{client.server}{answer['path']}")


def teams(
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: all teams and what they tell of themselves.

    Example: dialeval task teams --json
    """
    from dialeval.cli.client import organiser_client
    from dialeval.cli.output import print_json, print_table
    from dialeval.cli.task.reading import moment

    client = organiser_client(server, token, insecure)
    found: list[dict[str, object]] = []
    while page := client.get("teams", offset=len(found), limit=1000):
        found += page
    if json:
        print_json(found)
        return
    rows = []
    for team in found:
        about = team["information"]
        told = (
            "; ".join(f"{k}: {v}" for k, v in about.items() if v) if isinstance(about, dict) else ""
        )
        kind = "baseline" if team["baseline"] else "team"
        rows.append([str(team["name"]), kind, moment(str(team["created_at"])), told])
    columns = ["name", "kind", "registered (UTC)", "information"]
    print_table(f"Teams at {client.server}", columns, rows)


def team_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The team's name.")],
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: a new token for a team that lost its own, shown once.

    Example: dialeval task team-token "Blue Lantern"
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.cli.output import print_json

    client = organiser_client(server, token, insecure)
    answer = client.send("POST", path_of("teams", name, "token"))
    if json:
        print_json(answer)
    else:
        print(f"The new token of {answer['name']}, shown this once: {answer['token']}")
