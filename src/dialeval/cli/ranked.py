"""`dialeval ranked`: lists of comments for posts, scored by the labels judges gave."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.evaluate import Missing
from dialeval.cli.groups import group
from dialeval.cli.options import (
    AlphaOption,
    JobsOption,
    JsonOption,
    ResultsOption,
    RubricOption,
    SeedOption,
    TestName,
    TestOption,
    TrialsOption,
)

RUBRIC = "stc2"

app = group(
    default="score",
    help="Score ranked lists of comments (RUN...); `retrieve` makes one, `pairs` what to judge.",
)


class Combine(StrEnum):
    """How the levels of several judges become one gain."""

    median = "median"
    majority = "majority"
    mean = "mean"


class Unjudged(StrEnum):
    """What to do with a comment that nobody judged."""

    error = "error"
    zero = "zero"


RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Comments by post: .json, .jsonl, .gz.")
]


@app.command("score")
def score(
    runs: RunsArgument,
    judged: Annotated[
        list[Path] | None,
        typer.Option("--judged", help="Votes on pairs, as `ranked pairs` wrote them; repeatable."),
    ] = None,
    rubric: RubricOption = RUBRIC,
    level: Annotated[
        str | None, typer.Option("--level", help="The rubric's level; its last unless told.")
    ] = None,
    combine: Annotated[
        Combine,
        typer.Option("--combine", help="Of several judges: median level, majority, or mean gain."),
    ] = Combine.median,
    unjudged: Annotated[
        Unjudged, typer.Option("--unjudged", help="Comments without labels.")
    ] = Unjudged.error,
    missing: Annotated[
        Missing, typer.Option("--missing", help="Posts that a run lacks.")
    ] = Missing.error,
    test: TestOption = TestName.tukey,
    trials: TrialsOption = 5000,
    alpha: AlphaOption = 0.05,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    by_post: Annotated[
        Path | None,
        typer.Option("--by-post", metavar="FILE", help="Write each post's scores as CSV."),
    ] = None,
    out: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Score runs of ten comments a post by nG@1, nERR@10 and P+, and test their differences.

    Higher is better, 1 is ideal. The ideal list of a post holds the best of all comments on it
    that were judged, in any of the runs given.

    Example: dialeval ranked a.jsonl b.jsonl --judged votes.jsonl --out results
    """
    from dialeval.cli.evaluate import run_names, write_by_dialogue
    from dialeval.cli.standings import give_standings
    from dialeval.core.decode_collection import load
    from dialeval.core.ranked_run import load_ranked
    from dialeval.core.rubric import load_rubric
    from dialeval.measures.ranked_runs import Judged, evaluate_ranked, judged_levels
    from dialeval.report.standings import standings_of
    from dialeval.stats.contest import Settings

    settings = Settings(test.value, trials, alpha, seed, jobs)
    known = load_rubric(rubric)
    wanted = known.level(level)
    names = run_names(runs)
    loaded = [load_ranked(path, wanted, name) for path, name in zip(runs, names, strict=True)]
    votes: Judged = {}
    for path in judged or ():
        for pair, given in judged_levels(load(path, known), wanted.id).items():
            votes.setdefault(pair, []).extend(given)
    scores = evaluate_ranked(
        loaded,
        known,
        level=wanted.id,
        judged=votes,
        combine=combine.value,
        unjudged=unjudged.value,
        missing=missing.value,
    )
    about = "Runs compared by the levels of the comments they rank. Higher is better, 1 is ideal."
    standings = standings_of(known.name, about, scores, settings, unit="post")
    if by_post is not None:
        write_by_dialogue(by_post, scores)
    options = {"rubric": rubric, "level": wanted.id, "combine": combine.value}
    give_standings(
        standings,
        settings,
        out=out,
        json=json,
        options={**options, "unjudged": unjudged.value, "missing": missing.value},
        inputs=[*runs, *(judged or ())],
    )


@app.command("pairs")
def pairs(
    runs: RunsArgument,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The collection for people to judge.")
    ],
    depth: Annotated[
        int, typer.Option("--depth", min=1, help="How many comments of each list.")
    ] = 10,
    rubric: RubricOption = RUBRIC,
) -> None:
    """Pool the comments of runs: a collection of distinct pairs for people to judge.

    Example: dialeval ranked pairs a.jsonl b.jsonl --out pairs.jsonl
    """
    from dialeval.core.encode import save
    from dialeval.core.ranked_run import load_ranked, pairs_to_judge
    from dialeval.core.rubric import load_rubric

    known = load_rubric(rubric)
    collection = pairs_to_judge([load_ranked(path) for path in runs], known, depth)
    save(collection, out)
    print(f"{out}: {len(collection)} pairs to judge")


@app.command("retrieve")
def retrieve(
    repository: Annotated[
        Path,
        typer.Option(
            "--repository",
            metavar="PAIRS",
            help="Pairs with `post` and `comment`: .jsonl, .csv, .tsv; or a saved index.",
        ),
    ],
    posts: Annotated[Path, typer.Option("--posts", help="Posts to answer, with `id` and `post`.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="The run: .json, .jsonl, .gz.")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="How many comments a post.")] = 10,
    save_index: Annotated[
        Path | None,
        typer.Option("--save-index", metavar="DIR", help="Keep the index for --repository DIR."),
    ] = None,
) -> None:
    """Answer posts with comments on similar posts: a retrieval chatbot by BM25.

    Without --out the run is printed as JSONL. Chinese and English are split into words.

    Example: dialeval ranked retrieve --repository pairs.jsonl --posts posts.jsonl --out run.jsonl
    """
    import sys

    import msgspec

    from dialeval.chatbots.repository import load_chatbot, read_posts
    from dialeval.core.files import format_for_writing
    from dialeval.core.ranked_run import Comment, RankedPost, save_ranked

    if out is not None:
        format_for_writing(out)
    asked = read_posts(posts)
    bot = load_chatbot(repository)
    if save_index is not None:
        bot.save(save_index)
    answers = (
        RankedPost(
            id,
            tuple(
                Comment(reply.text, score=round(reply.score, 4)) for reply in bot.reply(text, most)
            ),
            text,
        )
        for id, text in asked
    )
    if out is None:
        for answer in answers:
            sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
        return
    save_ranked(answers, out)
    print(f"{out}: {len(asked)} posts answered from {len(bot):,} pairs")
