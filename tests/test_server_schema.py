"""schemathesis against the API's own description: whatever is sent, nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
import servers
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from servers import House, gold, run_bytes

ROLES = ("anyone", "team", "organiser")
EXAMPLES = 12


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server for all tests of this module: requests may leave there what they like."""
    url = f"sqlite:///{tmp_path_factory.mktemp('schema')}/dialeval.sqlite"
    with servers.house(url) as house:
        yield house


def operations() -> list[str]:
    from dialeval.server.access import ROUTES

    return [route for route in ROUTES if route.partition(" ")[2].startswith(servers.API)]


@pytest.mark.parametrize("operation", operations())
@pytest.mark.parametrize("role", ROLES)
def test_no_request_breaks_the_server(built: House, operation: str, role: str) -> None:
    schema = schemathesis.openapi.from_asgi(f"{servers.API}/openapi.json", built.app)
    schema.config.generation.modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    method, _, path = operation.partition(" ")
    name = f"{role}-{operations().index(operation)}"
    task = servers.make_task(built.organiser, name, collections={"en": gold(small=True)})
    team = built.team(name)
    sent = team.submit(task, run_bytes(small=True))
    token = {"team": team.token, "organiser": built.organiser.token}.get(role)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    there = {"task": task, "submission": sent["id"], "language": "en", "kind": "development"}

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    @hypothesis.given(case=schema[path.replace(":path", "")][method].as_strategy())
    def check(case: Any) -> None:
        for real in (False, True):  # names that chance would not find
            if real:
                case.path_parameters.update(
                    {n: v for n, v in there.items() if n in case.path_parameters}
                )
            answer = case.call(headers=headers)
            case.validate_response(answer, checks=[not_a_server_error])
            assert answer.status_code < 500

    check()
