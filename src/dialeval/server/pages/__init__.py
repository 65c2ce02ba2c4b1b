"""The pages: rendered on the server, forms that post, a little script for what must move."""

from fastapi import APIRouter

from dialeval.server.pages import annotation, live, organiser, public, runs, signing
from dialeval.server.pages.rendering import problem_page

__all__ = ["problem_page", "router"]

router = APIRouter(include_in_schema=False)
for part in (public, signing, runs, organiser, annotation, live):
    router.include_router(part.router)
