"""`dialeval mine`: dialogues from posts, with known answers, bad input, wherever it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dialeval as de

SMALL = ("--partition-size", 500_000)


def records(path: Path) -> list[dict[str, Any]]:
    from dialeval.engine import partitions

    return [json.loads(bytes(r)) for part in partitions([path]) for _, r in part.records()]


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with generated posts, much trouble in them, and the answers."""
    folder = tmp_path_factory.mktemp("dump")
    command = [sys.executable, "-m", "dialeval", "generate", folder / "posts.jsonl"]
    options = ["--posts", "12000", "--answers", folder / "known", "--trouble", "0.05"]
    subprocess.run([*command, *map(str, options)], check=True, capture_output=True)
    return folder


def test_what_must_be_found_is_found(cli, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "dialogues.jsonl"
    result = cli("mine", dump / "posts.jsonl", "--out", out, "--json", *SMALL)
    assert (result.status, result.err) == (0, "")
    known = json.loads((dump / "known/answers.json").read_text())
    expected = {one["id"]: one for one in records(dump / "known/dialogues.jsonl")}
    found = {one["id"]: one for one in records(out)}
    assert found.keys() == expected.keys()
    for id, one in expected.items():
        assert {name: found[id][name] for name in one} == one
    assert len(found) == known["dialogues"] > 500
    # The accounts, and of each whether it is active.
    accounts = {a["name"]: a for a in result.json["accounts"]}
    for helpdesk in known["helpdesks"]:
        assert accounts[helpdesk["name"]]["active"] is helpdesk["active"], helpdesk
        assert accounts[helpdesk["name"]]["threads"] == helpdesk["threads"]
    active = {name for name, account in accounts.items() if account["active"]}
    assert active == {h["name"] for h in known["helpdesks"] if h["active"]}
    # Everything that was wrong.
    steps = result.json["steps"]
    read, threads = steps["read"], steps["threads"]
    dropped = {why: n["posts"] for why, n in (read["dropped"] | threads["dropped"]).items()}
    del dropped["mentions no account found"]
    assert dropped == known["dropped"]
    noted = {what: n["posts"] for what, n in (read["noted"] | threads["noted"]).items()}
    assert noted == known["noted"]
    assert len(noted) + len(dropped) >= 8
    assert read["given"]["posts"] == known["posts"]
    assert threads["given"]["threads"] == known["threads"]
    # It is a collection.
    assert len(de.load(out)) == len(found)


def test_nothing_is_lost_without_a_count(cli, dump: Path, tmp_path: Path) -> None:
    result = cli("mine", dump / "posts.jsonl", "--out", tmp_path / "out.jsonl", "--json")
    steps = [*result.json["steps"].values()]
    for step in steps:
        for unit in ("posts", "threads"):
            left = sum(count.get(unit, 0) for count in step["dropped"].values())
            if unit in step["given"]:
                assert step["given"][unit] == step["kept"].get(unit, 0) + left, (step, unit)
    for before, after in pairwise(steps):
        assert after["given"]["posts"] == before["kept"]["posts"]
    assert steps[-1]["kept"]["dialogues"] == len(records(tmp_path / "out.jsonl"))


def test_the_table(cli, dump: Path, tmp_path: Path) -> None:
    result = cli("mine", dump / "posts.jsonl", "--out", tmp_path / "out.jsonl")
    text = " ".join(result.out.split())
    for piece in ("dropped: broken line", "dropped: by others", "lone surrogates", "active"):
        assert piece in text
    assert "28 of them active" in text


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_same_bytes_wherever_it_runs(
    cli, dump: Path, dask: str, tmp_path: Path, kind: str
) -> None:
    content = []
    engines = ((), ("--jobs", 2), ("--engine", "dask", "--scheduler", dask))
    for number, engine in enumerate(engines):
        out = tmp_path / (f"{number}.jsonl" if kind == "file" else f"{number}")
        result = cli("mine", dump / "posts.jsonl", "--out", out, *SMALL, *engine)
        assert result.status == 0, result.err
        files = [out] if kind == "file" else sorted(out.iterdir())
        content.append([path.read_bytes() for path in files])
    assert content[0] == content[1] == content[2]
    if kind == "folder":
        assert len(content[0]) > 3
        rows = [one["id"] for one in records(tmp_path / "0")]
        assert sorted(rows) == sorted(r["id"] for r in records(dump / "known/dialogues.jsonl"))


def test_steps_one_by_one_give_the_same(cli, dump: Path, tmp_path: Path) -> None:
    posts, active, threads = dump / "posts.jsonl", tmp_path / "a.jsonl", tmp_path / "threads"
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    assert cli("mine", posts, "--out", whole).status == 0
    first = cli("mine", posts, "--step", "accounts", "--out", tmp_path / "found.jsonl")
    assert "Norvane Help" in first.out
    second = cli(
        *("mine", posts, "--step", "active", "--accounts", tmp_path / "found.jsonl"),
        *("--out", active),
    )
    assert "active" in second.out
    third = cli("mine", posts, "--step", "threads", "--accounts", active, "--out", threads, *SMALL)
    assert third.status == 0, third.err
    fourth = cli("mine", threads, "--step", "dialogues", "--accounts", active, "--out", out)
    assert fourth.status == 0, fourth.err
    by_id = {one["id"]: one for one in records(whole)}
    assert {one["id"]: one for one in records(out)} == by_id
    assert len(by_id) > 500


@pytest.mark.parametrize("name", ["posts.parquet", "posts.jsonl.gz", "posts"])
def test_formats_in_and_out(cli, tmp_path: Path, name: str) -> None:
    posts, known = tmp_path / name, tmp_path / "known"
    options = ("--posts", 3000, "--trouble", 0, "--answers", known, "--part-size", 1000)
    assert cli("generate", posts, *options).status == 0
    assert len(records(posts)) >= 3000
    if posts.is_dir():
        assert len([*posts.iterdir()]) == 5
    out = tmp_path / "dialogues.parquet"
    result = cli("mine", posts, "--out", out)
    assert (result.status, result.err) == (0, "")
    expected = {one["id"]: one["turns"] for one in records(known / "dialogues.jsonl")}
    assert {one["id"]: one["turns"] for one in records(out)} == expected
    assert {d.id for d in de.load(out).dialogues} == expected.keys()


def test_generated_posts_depend_on_the_seed(cli, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        cli("generate", tmp_path / f"{name}.jsonl", "--posts", 500, "--seed", seed)
    a, b, c = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert a == b != c


# A thread, post by post

H = "ABCD Helpdesk"


def post(id: str, author: str, text: str, minute: int, **more: Any) -> dict[str, Any]:
    time = f"2018-03-01T12:{minute:02}:00Z"
    return {"id": id, "thread": "t", "author": author, "text": text, "time": time, **more}


def to_helpdesk(id: str = "t", minute: int = 0, **more: Any) -> dict[str, Any]:
    return post(id, "Li", "It broke", minute, mentions=[H], **more)


@pytest.fixture
def mined(cli, tmp_path: Path) -> Callable[..., Any]:
    """Mine posts (or lines as they are); gives the dialogues' turns by id, and the report."""

    def mine(posts: list[Any], *options: object) -> tuple[dict[str, Any], dict[str, Any]]:
        file, out = tmp_path / "posts.jsonl", tmp_path / "out.jsonl"
        lines = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in posts]
        file.write_bytes(b"\n".join(lines) + b"\n")
        result = cli("mine", file, "--out", out, "--json", *options)
        assert result.status == 0, result.err
        found = {
            one["id"]: [(t["sender"][0], *t["utterances"]) for t in one["turns"]]
            for one in records(out)
        }
        return found, result.json["steps"]

    return mine


def test_turns_and_utterances(mined) -> None:
    """Consecutive posts are a turn; a sub-account answers; others are left out, and counted."""
    found, steps = mined(
        [
            to_helpdesk(),
            post("2", "Li", "", 1, reply_to="t"),
            post("3", "ABCD Helpdesk Beijing", "Which one?", 2, reply_to="2"),
            post("4", "Bob", "Mine too", 3, reply_to="t"),
            post("5", H, "Sorry, Bob", 4, reply_to="4"),
            post("6", "Li", "Poor Bob", 5, reply_to="4"),
            post("7", "Li", "The red one", 6, reply_to="3"),
            post("8", "abcd helpdesk", "Sent.", 7, reply_to="7"),
            post("9", "ABCD Helpdesks", "Buy here", 8, reply_to="7"),
        ]
    )
    assert found == {
        "t": [
            ("c", "It broke", ""),
            ("h", "Which one?"),
            ("c", "The red one"),
            ("h", "Sent."),
        ]
    }
    dropped = {why: count["posts"] for why, count in steps["dialogues"]["dropped"].items()}
    assert dropped == {"by others": 2, "to others": 2}


def test_two_helpdesks_in_one_thread(mined) -> None:
    found, _ = mined(
        [
            post("t", "Li", "Both?", 0, mentions=[H, "@XY Support"]),
            post("2", H, "We", 1, reply_to="t"),
            post("3", "XY Support", "They", 2, reply_to="t"),
            post("4", "Li", "To you", 3, reply_to="3"),
        ]
    )
    assert found == {
        "t/ABCD Helpdesk": [("c", "Both?"), ("h", "We")],
        "t/XY Support": [("c", "Both?"), ("h", "They"), ("c", "To you")],
    }


def test_threads_that_give_no_dialogue(mined) -> None:
    """Each for a reason of its own; three others are answered, so that the account is active."""
    posts = [
        *[{**to_helpdesk(f"a{n}"), "thread": f"a{n}"} for n in range(3)],
        *[{**post(f"b{n}", H, "Yes", 1, reply_to=f"a{n}"), "thread": f"a{n}"} for n in range(3)],
        {**to_helpdesk("unanswered"), "thread": "unanswered"},
        {**post("begun", H, "News", 0), "thread": "begun"},
        {**post("x", "Li", "Hm", 1, mentions=[H], reply_to="begun"), "thread": "begun"},
        {**post("y", "Li", "Hm", 1, mentions=[H], reply_to="gone"), "thread": "gone"},
        {**post("z", "Li", "Hello all", 1, mentions=["Bob"]), "thread": "z"},
        {**post("w", "Li", "Hey", 1, mentions=["Lazy Help"]), "thread": "w"},
    ]
    found, steps = mined(posts)
    assert found.keys() == {"a0", "a1", "a2"}
    why = {
        reason: count["threads"]
        for step in steps.values()
        for reason, count in step["dropped"].items()
    }
    assert why == {
        "mentions no account found": 1,
        "initial post missing": 1,
        "mentions no active account": 1,
        "begun by the account": 1,
        "no answer to the initial poster": 1,
    }


@pytest.mark.parametrize(("answered", "active"), [(3, True), (2, False)])
def test_active_is_who_answers_half(cli, write, answered: int, active: bool) -> None:
    """Of five threads, or with --least another share."""
    posts = [{**to_helpdesk(f"a{n}"), "thread": f"a{n}"} for n in range(5)]
    posts += [{**post(f"b{n}", H, "Yes", 1), "thread": f"a{n}"} for n in range(answered)]
    file = write("posts.jsonl", "\n".join(map(json.dumps, posts)).encode())
    found = cli("mine", file, "--step", "active", "--json").json["accounts"]
    assert [(a["name"], a["sampled"], a["answered"]) for a in found] == [(H, 5, answered)]
    assert found[0]["active"] is active
    other = cli("mine", file, "--step", "active", "--json", "--least", 0.4).json["accounts"]
    assert other[0]["active"] is True
    few = cli("mine", file, "--step", "active", "--json", "--sampled", 1).json["accounts"]
    assert (few[0]["threads"], few[0]["sampled"]) == (5, 1)


def test_a_thread_spread_over_partitions_comes_out_whole(cli, tmp_path: Path) -> None:
    texts = [f"{n} " + "x" * 50 for n in range(40)]
    thread = [
        post(f"{n}", "Li" if n % 2 == 0 else H, text, n, reply_to="0" if n else None)
        for n, text in enumerate(texts)
    ]
    thread[0] |= {"mentions": [H], "thread": "0"}
    folder = tmp_path / "posts"
    folder.mkdir()
    files = [(folder / f"{n}.jsonl").open("w") for n in range(3)]
    for n in (*range(39, -1, -3), *range(1, 40, 3), *range(2, 40, 3)):
        files[n % 3].write(json.dumps({**thread[n], "thread": "0"}) + "\n")
        other = {**post(f"o{n}", "Ann", "y" * 100, n), "thread": f"o{n}"}
        files[n % 3].write(json.dumps(other) + "\n")
    for file in files:
        file.close()
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.jsonl"
        options = ("--partition-size", 2000, "--jobs", jobs, "--json")
        result = cli("mine", folder, "--out", out, *options)
        assert result.status == 0, result.err
        (one,) = records(out)
        assert [turn["utterances"] for turn in one["turns"]] == [[text] for text in texts]
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


# Bad input

ANSWER = post("2", H, "Yes", 5, reply_to="t")
BAD = {
    "broken line": (b'{"id": "3", "thr', "no post"),
    "broken line ": (b"\x00\xff", "no post"),
    "broken line  ": (b"[1, 2]", "no post"),
    "no author": (json.dumps({**ANSWER, "id": "3", "author": None}).encode(), "no post"),
    "no text": (b'{"id": "3", "author": "Li", "time": 5}', "no post"),
    "no id": (json.dumps({**ANSWER, "id": ""}).encode(), "an empty id"),
    "bad author": (json.dumps({**ANSWER, "id": "3", "author": ["Li"]}).encode(), "no post"),
    "bad time": (json.dumps({**ANSWER, "id": "3", "time": "soon"}).encode(), 'time "soon"'),
    "bad time ": (json.dumps({**ANSWER, "id": "3", "time": 1e300}).encode(), "time 1e"),
    "bad mentions": (json.dumps({**ANSWER, "id": "3", "mentions": 5}).encode(), "no post"),
    "text too long": (
        json.dumps({**ANSWER, "id": "3", "text": "x" * 1_000_000}).encode(),
        "more than 100000 characters",
    ),
}


@pytest.mark.parametrize("why", BAD)
def test_bad_posts_are_counted_or_refused(mined, cli, tmp_path: Path, why: str) -> None:
    line, told = BAD[why]
    found, steps = mined([to_helpdesk(), b"", line, ANSWER])
    assert found == {"t": [("c", "It broke"), ("h", "Yes")]}
    assert steps["read"]["dropped"] == {why.strip(): {"posts": 1}}
    assert steps["read"]["given"] == {"posts": 3}
    out = tmp_path / "strict.jsonl"
    result = cli("mine", tmp_path / "posts.jsonl", "--out", out, "--strict")
    assert result.status == 2
    (error,) = result.err.splitlines()
    assert f"{tmp_path}/posts.jsonl: line 3: found {told}" in error
    assert not out.exists()
    assert not (tmp_path / ".strict.jsonl.work").exists()


@pytest.mark.parametrize("surrogate", [b"\\ud83d", b"\xed\xa0\xbd"])
def test_lone_surrogates_are_replaced(mined, cli, tmp_path: Path, surrogate: bytes) -> None:
    line = json.dumps({**ANSWER, "text": "Yes@"}).encode().replace(b"@", surrogate)
    found, steps = mined([to_helpdesk(), line])
    assert found == {"t": [("c", "It broke"), ("h", "Yes\ufffd")]}
    assert steps["read"]["noted"] == {"lone surrogates replaced": {"posts": 1}}
    strict = cli("mine", tmp_path / "posts.jsonl", "--out", tmp_path / "o.jsonl", "--strict")
    assert "line 2: found a lone surrogate" in strict.err


def replies(*pairs: tuple[str, str | None, int]) -> list[dict[str, Any]]:
    """Answers of the helpdesk, each with the id it replies to and its minute."""
    return [post(id, H, id, minute, reply_to=to) for id, to, minute in pairs]


@pytest.mark.parametrize(
    ("posts", "order", "noted", "told"),
    [
        (replies(("2", "2", 1), ("3", "2", 2)), "23", {"reply to itself": 1}, "a reply to itself"),
        (
            replies(("2", "4", 1), ("3", "2", 2), ("4", "3", 3)),
            "234",
            {"replies in a circle": 3},
            'thread "t", post "2": found replies in a circle',
        ),
        (
            replies(("2", "t", 9), ("3", "2", 4), ("4", "3", 12), ("5", "t", 10)),
            "2354",
            {"time before the post it replies to": 1},
            'thread "t", post "3": found time before the post it replies to',
        ),
        # The same moment, child first: nothing wrong.
        (replies(("3", "2", 4), ("2", "t", 4)), "23", {}, ""),
        # A post that is not there.
        (replies(("2", "none", 4), ("3", "t", 5)), "23", {}, ""),
    ],
)
def test_replies_that_cannot_be(
    mined, cli, tmp_path: Path, posts: list[Any], order: str, noted: dict[str, int], told: str
) -> None:
    found, steps = mined([to_helpdesk(), *posts])
    assert found == {"t": [("c", "It broke"), ("h", *order)]}
    counted = {**steps["read"]["noted"], **steps["threads"]["noted"]}
    assert {what: count["posts"] for what, count in counted.items()} == noted
    strict = cli("mine", tmp_path / "posts.jsonl", "--out", tmp_path / "o.jsonl", "--strict")
    assert strict.status == (2 if told else 0)
    assert told in strict.err


def test_an_initial_post_with_a_late_clock(mined) -> None:
    found, steps = mined([to_helpdesk(minute=30), ANSWER, post("3", "Li", "Ta", 40)])
    assert found == {"t": [("c", "It broke"), ("h", "Yes"), ("c", "Ta")]}
    assert steps["threads"]["noted"] == {"time before the post it replies to": {"posts": 1}}


def test_duplicates(mined, cli, tmp_path: Path) -> None:
    found, steps = mined([to_helpdesk(), ANSWER, to_helpdesk(), {**ANSWER, "text": "No"}])
    assert found == {"t": [("c", "It broke"), ("h", "Yes")]}
    assert steps["threads"]["dropped"]["duplicate id"] == {"posts": 2}
    strict = cli("mine", tmp_path / "posts.jsonl", "--out", tmp_path / "o.jsonl", "--strict")
    assert "found duplicate id" in strict.err


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.fixed_dictionaries(
                {},
                optional={
                    "id": st.one_of(st.text(max_size=2), st.integers(), st.none()),
                    "thread": st.one_of(st.text(max_size=1), st.integers(0, 3), st.none()),
                    "author": st.one_of(st.sampled_from([H, "Li", "Bob"]), st.integers()),
                    "text": st.one_of(st.text(max_size=5), st.none()),
                    "time": st.one_of(st.integers(), st.floats(), st.text(max_size=5)),
                    "reply_to": st.one_of(st.text(max_size=2), st.integers(0, 3), st.none()),
                    "mentions": st.one_of(st.lists(st.sampled_from([H, "Bob"])), st.none()),
                },
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=12,
    )
)
def test_any_lines_are_survived(mined, lines: list[bytes]) -> None:
    _, steps = mined(lines)
    for step in steps.values():
        left = sum(count.get("posts", 0) for count in step["dropped"].values())
        assert step["given"].get("posts", 0) == step["kept"].get("posts", 0) + left


# Fields, presets, options


def test_exports_of_others(cli, write, tmp_path: Path) -> None:
    tweet = {
        "conversation_id": "1",
        "created_at": "2018-10-10T20:19:24.000Z",
        "entities": {"mentions": [{"username": "ABHelp"}]},
    }
    weibo = {"created_at": "Tue May 31 17:46:55 +0800 2011", "reply_mid": None}
    ticket = {"ticket_id": 7, "created_at": "2018-10-10T20:19:24Z"}
    exports = {
        "twitter": [
            {**tweet, "id": "1", "text": "a", "author": {"username": "li"}},
            {
                **{"id": "2", "text": "b", "author": {"username": "ABHelp"}, "entities": None},
                **{"conversation_id": "1", "created_at": "2018-10-10T21:19:24.000Z"},
            },
        ],
        "weibo": [
            {
                **weibo,
                "mid": 1,
                "rootid": None,
                "user": {"screen_name": "李"},
                "text": "@云桥客服 a",
            },
            {**weibo, "mid": 2, "rootid": 1, "user": {"screen_name": "云桥客服"}, "text": "b"},
        ],
        "zendesk": [
            {**ticket, "id": 1, "author": {"name": "Li"}, "body": "a"},
            {**ticket, "id": 2, "author": {"name": "AB Support"}, "body": "b"},
        ],
    }
    for preset, posts in exports.items():
        file = write(f"{preset}.jsonl", "\n".join(map(json.dumps, posts)).encode())
        out = tmp_path / f"{preset}.out.jsonl"
        result = cli("mine", file, "--preset", preset, "--out", out)
        assert (result.status, result.err) == (0, ""), preset
        (found,) = records(out)
        texts = [turn["utterances"][0].removeprefix("@云桥客服 ") for turn in found["turns"]]
        assert texts == ["a", "b"], preset


def test_fields_keywords_and_speakers(cli, write, tmp_path: Path) -> None:
    posts = [
        {"n": 1, "t": 9, "by": "Li", "x": "Hi", "at": 1539202764000, "to": ["Desk Seven"]},
        {"n": 2, "t": 9, "by": "Desk Seven", "x": "Hello", "at": 1539202765000},
    ]
    file = write("posts.jsonl", "\n".join(map(json.dumps, posts)).encode())
    fields = ("id=n", "thread=t", "author=by", "text=x", "time=at", "mentions=to")
    options = [part for field in fields for part in ("--field", field)]
    out = tmp_path / "out.jsonl"
    result = cli(
        *("mine", file, "--out", out, *options),
        *("--keyword", "desk", "--speakers", "guest,host"),
    )
    assert (result.status, result.err) == (0, "")
    assert records(out) == [
        {
            "id": "9",
            "turns": [
                {"sender": "guest", "utterances": ["Hi"]},
                {"sender": "host", "utterances": ["Hello"]},
            ],
            "thread": "9",
            "author": "Li",
            "account": "Desk Seven",
            "time": "2018-10-10T20:19:24+00:00",
        }
    ]
    names = write("names.txt", b"desk seven\n")
    named = cli("mine", file, "--out", out, *options, "--accounts", names)
    assert (named.status, named.err) == (0, "")
    assert len(records(out)) == 1
    wrong = cli("mine", file, "--out", out)
    assert wrong.err.startswith("warning: not one post could be read")
    nobody = cli("mine", file, "--out", out, *options, "--keyword", "zzz")
    assert nobody.err == "warning: no account was found: zzz\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--field", "id"], "expected NAME=PATH"),
        (["--field", "ids=a"], "did you mean 'id'"),
        (["--field", "id="], "every post must have one"),
        (["--field", "id=text"], "taken by another field"),
        (["--field", "id=text.id"], "taken by another field"),
        (["--preset", "wiebo"], "did you mean 'weibo'"),
        (["--speakers", "one"], "expected two"),
        (["--step", "dialogues"], "needs --accounts"),
        (["--accounts", "none.txt"], "no readable file"),
        (["--parts", "csv"], "unknown format of parts"),
        (["--engine", "dask"], "needs --scheduler"),
    ],
)
def test_options_that_do_not_fit(
    refused, write, tmp_path: Path, options: list[str], told: str
) -> None:
    file = write("posts.jsonl", json.dumps(to_helpdesk()).encode())
    assert told in refused("mine", file, "--out", tmp_path / "out", *options)
    assert [*tmp_path.iterdir()] == [file]


def test_what_is_needed(refused, write, tmp_path: Path) -> None:
    file = write("posts.jsonl", b"")
    assert "needs --out" in refused("mine", file)
    assert "no readable file" in refused("mine", tmp_path / "none.jsonl", "--out", tmp_path / "o")


# Stopped and killed


def started(*args: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dialeval", *map(str, args)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, start_new_session=True, **pipes)


def finished_tasks(folder: Path) -> int:
    journal = folder / "journal.jsonl"
    return journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


TINY = ("--partition-size", 400_000)


def test_killed_and_given_again(cli, dump: Path, tmp_path: Path) -> None:
    """kill -9 of everything; the second time the rest is done, and no row comes twice."""
    posts, out = dump / "posts.jsonl", tmp_path / "out.jsonl"
    work = tmp_path / ".out.jsonl.work"
    process = started("mine", posts, "--out", out, *TINY)
    until(lambda: finished_tasks(work) >= 20, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = finished_tasks(work)
    assert done >= 20
    assert not out.exists()
    again = cli("mine", posts, "--out", out, *TINY)
    assert again.status == 0
    assert f"{done} parts of the work were done already" in again.err
    assert cli("mine", posts, "--out", tmp_path / "whole.jsonl", *TINY).status == 0
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not work.exists()


def children(pid: int) -> list[int]:
    """The worker processes of a command."""
    import psutil

    found = psutil.Process(pid).children(recursive=True)
    return [child.pid for child in found if "spawn_main" in " ".join(child.cmdline())]


def test_a_killed_worker_does_not_matter(cli, dump: Path, tmp_path: Path) -> None:
    posts, out = dump / "posts.jsonl", tmp_path / "out.jsonl"
    process = started("mine", posts, "--out", out, "--jobs", 2, *TINY)
    until(lambda: finished_tasks(tmp_path / ".out.jsonl.work") >= 10, process)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert cli("mine", posts, "--out", tmp_path / "whole.jsonl", *TINY).status == 0
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_killed_worker_of_a_cluster(cli, dump: Path, dask: str, tmp_path: Path) -> None:
    from distributed import Client

    posts, out = dump / "posts.jsonl", tmp_path / "out.jsonl"
    with Client(dask, set_as_default=False) as client:
        pids = client.run(os.getpid)
        process = started(
            *("mine", posts, "--out", out, *TINY, "--engine", "dask", "--scheduler", dask)
        )
        until(lambda: finished_tasks(tmp_path / ".out.jsonl.work") >= 10, process)
        os.kill(min(pids.values()), signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert cli("mine", posts, "--out", tmp_path / "whole.jsonl", *TINY).status == 0
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
