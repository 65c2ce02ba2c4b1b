from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

router = APIRouter()


def problem_page(request, problem, headers):
    return PlainTextResponse(problem.detail, problem.status, headers)
