"""Exports of other programs: read as dialogues, by every command, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import turn
from test_rubrics import OWN

import dialeval as de
from dialeval.core.errors import DataWarning

CUSTOMER, HELPDESK = "customer", "helpdesk"

ANDROID = """\
31/12/2023, 21:40 - Messages and calls are end-to-end encrypted. Tap to learn more.
31/12/2023, 21:41 - Ann Lee: Hello
my router is dead
it blinks: red
31/12/2023, 21:42 - Ann Lee: <Media omitted>
31/12/2023, 21:45 - Acme Support: Restart it: hold the button
31/12/2023, 21:46 - Ann Lee changed the subject from "x" to "y: z"
01/01/2024, 08:05 - Acme Support: Better? <This message was edited>
01/01/2024, 08:06 - Ann Lee: This message was deleted
01/01/2024, 08:07 - Ann Lee: Yes
"""
ANDROID_12 = ANDROID
for then, now in {
    "31/12/2023, 21:4": "12/31/23, 9:4",
    "01/01/2024, 08:0": "1/1/24, 8:0",
}.items():
    ANDROID_12 = ANDROID_12.replace(then, now)
ANDROID_12 = "".join(
    line.replace(" - ", "\u202fPM - " if line.startswith("12/") else "\u202fam - ", 1)
    if line[0].isdigit()
    else line
    for line in ANDROID_12.splitlines(keepends=True)
)
IOS = """\
[31.12.23, 21:40:01] Acme Support: \u200eMessages and calls are end-to-end encrypted.
[31.12.23, 21:41:00] Ann Lee: Hello
my router is dead
it blinks: red
\u200e[31.12.23, 21:42:00] Ann Lee: \u200eimage omitted
[31.12.23, 21:45:00] Acme Support: Restart it: hold the button
[01.01.24, 08:05:00] Acme Support: Better? \u200e<This message was edited>
[01.01.24, 08:06:00] Ann Lee: \u200eThis message was deleted.
[01.01.24, 08:07:00] Ann Lee: Yes
"""
CHINESE = """\
[2023/12/31 下午9:41:00] Ann Lee: Hello
my router is dead
it blinks: red
[2023/12/31 下午9:42:00] Ann Lee: \u200e图像已忽略
[2023/12/31 下午9:45:00] Acme Support: Restart it: hold the button
[2024/1/1 上午8:05:00] Acme Support: Better?
[2024/1/1 上午8:07:00] Ann Lee: Yes
"""
CHAT = [
    turn(CUSTOMER, "Hello\nmy router is dead\nit blinks: red", ""),
    turn(HELPDESK, "Restart it: hold the button", "Better?"),
    turn(CUSTOMER, "Yes"),
]


def read(path: Path, **how: Any) -> list[dict[str, Any]]:
    """The dialogues of a file as plain values, as a save and load of ours has them."""
    collection = de.load(path, **how)
    out = path.parent / "read.jsonl"
    de.save(collection, out)
    assert de.load(out).dialogues == collection.dialogues
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "system"),
    [(ANDROID, 2), (ANDROID_12, 2), (IOS, 1), (CHINESE, 0), (ANDROID.replace("\n", "\r\n"), 2)],
)
def test_whatsapp(write, text: str, system: int) -> None:
    path = write("chat.txt", text.encode())
    with pytest.warns(DataWarning) as told:
        records = read(path)
    assert [(r["id"], r["turns"]) for r in records] == [("1", CHAT)]
    assert records[0]["time"] == "2023-12-31T21:41:00Z"
    message = str(told[0].message)
    assert (f"system lines left out: {system}" in message) == (system > 0)
    assert "files read as empty posts: 1" in message
    assert ("deleted messages left out: 1" in message) == (text != CHINESE)


def test_whatsapp_silence_and_speakers(cli, write) -> None:
    path = write("chat.txt", ANDROID.encode())
    # Whoever writes first in the file is the first speaker, in the second dialogue too.
    found = cli("score", path, "--gap", 5, "--model", "uniform")
    dialogues = [json.loads(line) for line in found.out.splitlines()]
    labels = [[*turn] for d in dialogues for turn in d["nugget"]]
    asked, answered = ["CNUG0", "CNUG", "CNUG*", "CNaN"], ["HNUG", "HNUG*", "HNaN"]
    assert labels == [asked, answered, answered, asked]
    assert "speakers are told by who writes first (or say --speaker): 1" in found.err
    found = cli("score", path, "--speaker", "ann lee=helpdesk", "--speaker", "*=customer")
    assert [*json.loads(found.out)["nugget"][0]] == answered
    assert "first" not in found.err


def test_whatsapp_dates_in_any_order(write) -> None:
    """Days and months that both could be either: time runs forwards."""
    text = "3/9/24, 10:00 - A: x\n4/9/24, 10:00 - B: y\n3/10/24, 11:00 - A: z\n"
    with pytest.warns(DataWarning):
        collection = de.load(write("a.txt", text.encode()), gap=24 * 10)
    # As 3 September, 4 September, 3 October: forwards. As 9 March, 9 April, 10 March: not.
    assert [d.fields["time"][:10] for d in collection.dialogues] == ["2024-09-03", "2024-10-03"]


MESSAGES = [
    {"role": "system", "content": "You are kind."},
    {"role": "user", "content": "My order is late"},
    {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "tool", "content": "{}", "tool_call_id": "1"},
    {"role": "assistant", "content": "It comes today."},
]
SAID = [turn(CUSTOMER, "My order is late", "See"), turn(HELPDESK, "It comes today.")]


def lines(values: list[Any]) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("a.json", [{"messages": MESSAGES, "id": "x"}, {"messages": MESSAGES}], ["x", "2"]),
        ("a.jsonl", lines([{"messages": MESSAGES}] * 2), ["1", "2"]),
        ("a.json", {"messages": MESSAGES, "conversation_id": 7}, ["7"]),
        ("a.json", MESSAGES, ["1"]),
        ("a.jsonl", lines(MESSAGES), ["1"]),
        ("a.json", [MESSAGES, MESSAGES], ["1", "2"]),
        ("a.txt", json.dumps(MESSAGES).encode(), ["1"]),
        ("a.json.gz", gzip.compress(json.dumps({"messages": MESSAGES}).encode()), ["1"]),
    ],
)
def test_chats(write, name: str, content: Any, ids: list[str]) -> None:
    with pytest.warns(DataWarning) as told:
        records = read(write(name, content))
    assert [r["id"] for r in records] == ids
    assert all(r["turns"] == SAID for r in records)
    message = str(told[0].message)
    for odd in ("system messages", "tool messages", "assistant messages that only call tools"):
        assert f"{odd} left out: {len(ids)}" in message
    assert f"files read as empty: {len(ids)}" in message


ZENDESK = {
    "tickets": [
        {
            "id": 35436,
            "subject": "Help",
            "description": "The printer smokes",
            "requester_id": 11,
            "assignee_id": 22,
            "status": "open",
            "comments": [
                {
                    "author_id": 11,
                    "body": "The printer smokes",
                    "created_at": "2024-01-01T10:00:00Z",
                },
                {"author_id": 22, "public": False, "body": "Again him"},
                {"author_id": 33, "body": "Late", "created_at": "2024-01-01T12:00:00Z"},
                {
                    "author_id": 22,
                    "html_body": "<p>Unplug it</p>",
                    "created_at": "2024-01-01T11:00:00Z",
                },
                {
                    "author_id": 11,
                    "body": "",
                    "attachments": [{"id": 1}],
                    "created_at": "2024-01-01T11:30:00Z",
                },
            ],
        },
        {"id": 35437, "description": "No comments yet", "requester_id": 12},
        {"id": 35438, "requester_id": 12, "comments": []},
    ],
    "users": [
        {"id": 33, "name": "Cy", "role": "agent"},
        {"id": 11, "name": "Al", "role": "end-user"},
    ],
}
INTERCOM = {
    "type": "conversation.list",
    "conversations": [
        {
            "id": "9",
            "created_at": 1700000000,
            "source": {
                "body": "<p>Hi,<br>it&#39;s stuck</p>",
                "author": {"type": "user", "id": "u"},
            },
            "conversation_parts": {
                "type": "conversation_part.list",
                "conversation_parts": [
                    {"part_type": "assignment", "body": None, "author": {"type": "bot"}},
                    {"part_type": "note", "body": "<p>vip</p>", "author": {"type": "admin"}},
                    {"part_type": "comment", "body": "<p>Ask</p>", "author": {"type": "bot"}},
                    {
                        "part_type": "comment",
                        "body": "<p>Try &lt;b&gt;</p>",
                        "author": {"type": "admin"},
                    },
                    {"part_type": "comment", "body": "ok", "author": {"type": "lead", "id": "v"}},
                ],
            },
        }
    ],
}


def test_tickets_like_zendesk(write) -> None:
    with pytest.warns(DataWarning) as told:
        records = read(write("tickets.json", ZENDESK), keep=["status", "priority"])
    first = [
        turn(CUSTOMER, "The printer smokes"),
        turn(HELPDESK, "Unplug it"),
        turn(CUSTOMER, ""),
        turn(HELPDESK, "Late"),
    ]
    assert [r["turns"] for r in records] == [first, [turn(CUSTOMER, "No comments yet")]]
    assert [r["id"] for r in records] == ["35436", "35437"]
    assert records[0]["status"] == "open"
    assert records[0]["time"] == "2024-01-01T10:00:00Z"
    assert "subject" not in records[0]
    message = str(told[0].message)
    assert "private notes left out: 1" in message
    assert "attachments read as empty posts: 1" in message
    assert "conversations put in the order of their times: 1" in message
    assert "conversations without messages left out: 1" in message
    # One ticket a line, as the export of all tickets has it; roles from the requester alone.
    with pytest.warns(DataWarning):
        again = read(write("tickets.jsonl", lines(ZENDESK["tickets"])))
    assert [r["turns"] for r in again] == [r["turns"] for r in records]


def test_tickets_like_intercom(write) -> None:
    with pytest.warns(DataWarning, match="events without text left out: 1; private notes"):
        records = read(write("conversations.json", INTERCOM))
    assert records[0]["turns"] == [
        turn(CUSTOMER, "Hi,\nit's stuck"),
        turn(HELPDESK, "Ask", "Try <b>"),
        turn(CUSTOMER, "ok"),
    ]
    assert records[0]["id"] == "9"


TABLE = """\
Ticket ID,Sender,Message,Timestamp,product
7,customer,"It broke, ""again"" now",2024-03-01 10:00,lamp
8,Agent,Hello,2024-03-01 10:05,desk
7,agent,Sorry,2024-03-01 10:03,lamp
7,agent,Which one?,2024-03-01 10:02,lamp
8,end-user,"two
lines",2024-03-01 10:06,desk
"""
ROWS = [
    ("7", [turn(CUSTOMER, 'It broke, "again" now'), turn(HELPDESK, "Which one?", "Sorry")]),
    ("8", [turn(HELPDESK, "Hello"), turn(CUSTOMER, "two\nlines")]),
]


def test_tables(write) -> None:
    with pytest.warns(DataWarning, match="order of their times: 1"):
        records = read(write("m.csv", TABLE.encode()), keep=["product"])
    assert [(r["id"], r["turns"]) for r in records] == ROWS
    assert [r["product"] for r in records] == ["lamp", "desk"]
    odd = TABLE.replace("Ticket ID,Sender,Message,Timestamp", "k,who,what,when")
    columns = {"conversation": "k", "author": "who", "text": "what", "time": "when"}
    with pytest.warns(DataWarning):
        again = read(write("odd.csv", odd.encode()), columns=columns)
    assert [(r["id"], r["turns"]) for r in again] == ROWS
    # No time column: the order of the file. No conversation column: one dialogue.
    del columns["time"], columns["conversation"]
    plain = read(write("odd.csv", odd.encode()), columns=columns)
    assert [[t["sender"] for t in r["turns"]] for r in plain] == [
        [CUSTOMER, HELPDESK, CUSTOMER],
    ]


def test_tables_of_names(write) -> None:
    """Authors without roles: by who writes first, in each conversation anew."""
    rows = "thread,from,text\n1,Bo,a\n1,Cy,b\n2,Cy,c\n2,Di,d\n"
    path = write("m.tsv", rows.replace(",", "\t").encode())
    with pytest.warns(DataWarning, match="who writes first .*: 2"):
        records = read(path)
    assert [[t["sender"] for t in r["turns"]] for r in records] == [[CUSTOMER, HELPDESK]] * 2
    records = read(path, speakers={"Cy": HELPDESK, "*": CUSTOMER})
    assert [[t["sender"] for t in r["turns"]] for r in records] == [
        [CUSTOMER, HELPDESK],
        [HELPDESK, CUSTOMER],
    ]


def test_every_command_reads_them(cli, write, tmp_path: Path, monkeypatch) -> None:
    path = write("chat.txt", ANDROID.encode())
    stats = cli("stats", path, "--json").json
    assert (stats["dialogues"], stats["turns"], stats["posts"]) == (1, 3, 5)
    run = tmp_path / "run.json"
    assert cli("predict", "--model", "uniform", "--data", path, "--out", run).status == 0
    assert len(json.loads(run.read_text())[0]["nugget"]) == 3
    for name, format, content in (
        ("a.csv", "csv", TABLE.encode()),
        ("a.txt", "whatsapp", ANDROID.encode()),
        ("a.jsonl", "chats", lines([{"messages": MESSAGES}])),
        ("a.jsonl", "tickets", lines(ZENDESK["tickets"])),
    ):
        from_file = cli("score", write(name, content), "--model", "uniform")
        assert from_file.status == 0, from_file.err
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr(sys, "stdin", stdin)
        piped = cli("score", "-", "--format", format, "--model", "uniform")
        assert piped.out == from_file.out
        assert piped.err.replace("standard input", str(tmp_path / name)) == from_file.err


def test_roles_of_an_own_rubric(cli, refused, write) -> None:
    chats = write("chats.json", [{"messages": MESSAGES[1:3] + MESSAGES[5:]}])
    own = write("own.toml", OWN.encode())
    line = refused("score", chats, "--rubric", own, "--model", "uniform")
    assert '[0].messages[0]: found role "user", expected speakers of the rubric' in line
    assert "--speaker" in line
    speakers = de.load_rubric(own).speakers
    told = ("--speaker", f"user={speakers[0]}", "--speaker", f"assistant={speakers[1]}")
    assert cli("score", chats, "--rubric", own, "--model", "uniform", *told).status == 0
    roles = f'roles.{speakers[0]} = ["user"]\nroles.{speakers[1]} = ["Assistant"]\n'
    head, _, rest = OWN.partition("[[criteria]]")
    named = write("named.toml", f"{head}{roles}[[criteria]]{rest}".encode())
    assert cli("score", chats, "--rubric", named, "--model", "uniform").status == 0
    both = roles.replace("Assistant", "user")
    twice = write("twice.toml", f"{head}{both}[[criteria]]{rest}".encode())
    assert "a role of one speaker" in refused("validate", twice)


BAD = [
    ("a.txt", b"just words\n", "found no messages of a WhatsApp export"),
    ("a.txt", b"", "found no messages of a WhatsApp export"),
    ("a.txt", b"1/2/24, 10:00 - A: \xff\n", "line 1: found text that is not UTF-8"),
    (
        "a.txt",
        b"".join(b"1/2/24, 10:00 - %s: x\n" % name for name in (b"A", b"B", b"C")),
        'line 1: found 3 authors: "A", "B", "C", expected speakers of the rubric',
    ),
    ("a.json", {"messages": [{"content": "x"}]}, ".messages[0]: found no field 'role'"),
    ("a.json", [{"messages": [{"role": 1}]}], "[0].messages[0].role: found a whole number"),
    (
        "a.jsonl",
        lines([{"messages": []}, {"messages": [{"role": "pope", "content": ""}]}]),
        'line 2 .messages[0]: found role "pope"',
    ),
    ("a.json", {"messages": []}, "found no dialogues, expected at least one"),
    ("a.json", {"tickets": 3}, ".tickets: found a whole number, expected an array"),
    (
        "a.json",
        {"tickets": [{"id": 1, "comments": [{"body": 3}]}]},
        ".tickets[0].comments[0].body: found a whole number, expected a string or null",
    ),
    (
        "a.json",
        {"tickets": [{"id": 1, "comments": [{"body": "x"}]}]},
        ".tickets[0].comments[0]: found no author, expected one",
    ),
    ("a.json", {"tickets": [ZENDESK["tickets"][1]] * 2}, '.tickets[1].id: found "35437" again'),
    ("a.json", {"rows": []}, "found an object, expected an array of dialogues at the top"),
    ("a.json", b'{"messages": [', "found text that is not JSON"),
    ("a.csv", b"", "found nothing, expected names of columns in line 1"),
    ("a.csv", b"a,b\n1,2\n", "line 1: found columns a, b, expected one for the text"),
    ("a.csv", b"text\n1\n", "expected one for the author: say which, as in --column author=NAME"),
    ("a.csv", b"text,role\n1\n", "line 2: found 1 cells, expected 2"),
    ("a.csv", b"text,role\nhi,king\n", 'line 2: found role "king"'),
    ("a.csv", b'text,role\n"hi,user\n', "found what is not CSV"),
    ("a.csv", b"text,role\n\xff,user\n", "found text that is not UTF-8"),
]


@pytest.mark.parametrize(("name", "content", "words"), BAD)
def test_bad_files(refused, write, tmp_path: Path, name: str, content: Any, words: str) -> None:
    path, out = write(name, content), tmp_path / "out"
    line = refused("score", path, "--model", "uniform", "--out", out)
    assert words in line
    assert str(path) in line
    assert not out.exists()


def test_bad_options(refused, write) -> None:
    path = write("a.csv", TABLE.encode())
    score = ("score", path, "--model", "uniform")
    assert "unknown format 'xml'" in refused(*score, "--format", "xml")
    assert "expected NAME=VALUE" in refused(*score, "--speaker", "ann")
    assert "expected one of customer, helpdesk" in refused(*score, "--speaker", "ann=boss")
    assert "found no column 'nope'" in refused(*score, "--column", "text=nope")
    assert "unknown column 'txt'" in refused(*score, "--column", "txt=Message")
    wrong = write("b.json", [{"id": "1", "turns": []}])
    assert "no field 'messages'" in refused("score", wrong, "--format", "chats")
