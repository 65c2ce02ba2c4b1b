"""`dialeval register`: a team at a score server."""

from __future__ import annotations

from typing import Annotated

import typer

from dialeval.cli.options import LOCAL_SERVER, InsecureOption, JsonOption, ServerOption


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The team's name, unlike others.")],
    organisation: Annotated[str, typer.Option("--organisation", help="Where you work.")] = "",
    contact: Annotated[str, typer.Option("--contact", help="For the organisers only.")] = "",
    members: Annotated[str, typer.Option("--members", help="Who takes part.")] = "",
    website: Annotated[str, typer.Option("--website", help="A page of yours.")] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Let go of a token saved for this server before.")
    ] = False,
    server: ServerOption = LOCAL_SERVER,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Register a team at a score server. Its token is shown once, and saved for `submit`.

    Example: dialeval register "Blue Lantern" --server https://example.org
    """
    from dialeval.cli.client import Client, server_address
    from dialeval.cli.credentials import Credential, save_credential, saved
    from dialeval.cli.output import print_json
    from dialeval.core.errors import UsageError

    client = Client(server_address(server), insecure=insecure)
    earlier = saved(client.server, "team")
    if earlier and not replace:
        raise UsageError(
            f"{client.server}: the token of team {earlier.name!r} is saved for this server; "
            "--replace lets go of it"
        )
    information = {
        "organisation": organisation,
        "contact": contact,
        "members": members,
        "website": website,
    }
    team = client.send("POST", "teams", {"name": name, **information}, secret=True)
    if json:
        print_json(team)
    else:
        print(f"Team {team['name']} is registered at {client.server}.")
        print(f"Its token, shown this once: {team['token']}")
    path = save_credential(client.server, "team", Credential(team["name"], team["token"]))
    if not json:
        print(f"Saved in {path}; dialeval submit finds it there.")
