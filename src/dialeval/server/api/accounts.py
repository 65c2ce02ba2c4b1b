"""Teams and organisers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from dialeval.server.access import Address, CurrentActor, CurrentContext
from dialeval.server.api.schemas import (
    InvitationOut,
    Limit,
    Offset,
    OrganiserIn,
    PasswordIn,
    TeamIn,
    TeamOut,
    TokenOut,
)
from dialeval.server.services import accounts

router = APIRouter(tags=["teams and organisers"])


@router.post("/teams", status_code=201)
def register(context: CurrentContext, address: Address, team: TeamIn) -> TokenOut:
    """Register a team. Its token is shown this once."""
    row, token = accounts.register_team(context, team.name, team.information(), address)
    return TokenOut(name=row.name, token=token)


@router.get("/team")
def own_team(context: CurrentContext, actor: CurrentActor) -> TeamOut:
    """The team that asks."""
    return TeamOut.of(accounts.team_of(context, actor))


@router.get("/teams")
def teams(context: CurrentContext, offset: Offset = 0, limit: Limit = 100) -> list[TeamOut]:
    """All teams."""
    return [TeamOut.of(team) for team in accounts.all_teams(context, offset, limit)]


@router.post("/teams/{name}/token")
def new_team_token(
    context: CurrentContext, actor: CurrentActor, name: Annotated[str, Path(max_length=60)]
) -> TokenOut:
    """A new token for a team that lost its own."""
    return TokenOut(name=name, token=accounts.new_team_token(context, actor, name))


@router.post("/organisers", status_code=201)
def join(context: CurrentContext, address: Address, organiser: OrganiserIn) -> TokenOut:
    """Use an invitation. The token is for the command line and shown this once."""
    actor = accounts.join(
        context, organiser.invitation, organiser.name, organiser.password, address
    )
    return TokenOut(name=actor.name, token=accounts.new_organiser_token(context, actor))


@router.post("/organisers/token")
def organiser_token(context: CurrentContext, address: Address, given: PasswordIn) -> TokenOut:
    """A new token for an organiser; the one before stops working."""
    actor = accounts.organiser_by_password(context, given.name, given.password, address)
    return TokenOut(name=actor.name, token=accounts.new_organiser_token(context, actor))


@router.post("/organisers/invitations", status_code=201)
def invite(context: CurrentContext, actor: CurrentActor) -> InvitationOut:
    """Invite another organiser."""
    return InvitationOut(path=f"/join/{accounts.invite(context, actor)}")
