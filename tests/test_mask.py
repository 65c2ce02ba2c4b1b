"""Masking: what is recognised and what is left, stable placeholders, nothing else touched."""

from __future__ import annotations

import csv
import json
import random
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import turn
from hypothesis import given
from hypothesis import strategies as st

import dialeval as de
from dialeval.core.errors import MissingExtraError
from dialeval.mine.masking import checks, work
from dialeval.mine.masking.masker import PLACEHOLDER, Masker

MASKER = Masker(b"a secret of the tests")

# What stands between the braces is to be masked, as the kind before the colon.
FOUND = """
PHONE: 打电话{13800138000}
PHONE: 我的手机号是 {138 0013 8000}，谢谢
PHONE: 手机：{１３８００１３８０００}
PHONE: {+86-138-0013-8000}
PHONE: {13800138000},2 pcs
PHONE: {13800138000}、{13900139000}都打不通
PHONE: tel{13912345678}
PHONE: {1 3 8 0 0 1 3 8 0 0 0}
PHONE: 记一下{幺三八零零幺三八零零零}
PHONE: 手机尾号{8000}
PHONE: 总机{(010) 8888 8888}
PHONE: {0755-26123456转803}
PHONE: 拨打{400-810-1111}
PHONE: 客服{4008-123-456}
PHONE: 我的固话{60730748}
PHONE: call me at {415-555-0134} please
PHONE: Reach me on {(415) 555-0134}.
PHONE: my cell is {415 555 0134}
PHONE: London office: {+44 20 7946 0958}
PHONE: mobile {07700 900123}
EMAIL: 邮箱{zhang.san@qq.com}谢谢
EMAIL: write to {a.b+c@mail.example.co.uk}.
EMAIL: {ann (at) example.com}
EMAIL: {ｚｈａｎｇ＠１６３．ｃｏｍ}
ID: 身份证{11010519491231002X}
ID: {11010519491231002x}
ID: {110105 19491231 002X}
ID: 身份证号：{110105194912310021}
ID: 护照{E12345678}
ID: passport number {123456789}
ID: my SSN is {078-05-1120}
ID: {A123456(3)}
CARD: {4111 1111 1111 1111} 12/25
CARD: 2 {4111-1111-1111-1111}
CARD: {6212345678901232}
CARD: 银行卡号 {6217000010012345678}
CARD: the card ending in {4242}
CARD: {GB82 WEST 1234 5698 7654 32}
CARD: {3782 822463 10005}
ORDER: 订单号：{1234567890}
ORDER: 订单号{339527111}、{339526973}
ORDER: 订单编号是{AB-2023-778812}
ORDER: 订单尾号{6258}
ORDER: 快递单号{SF1234567890123}
ORDER: 工单编号{20231130001}
ORDER: {87115599}
ORDER: {855005361-20140306-1238925468}
ORDER: {201911301234567890}
ORDER: order #{44718}
ORDER: order no. {A4471}
ORDER: Order number: {113-7654321-1234567}
ORDER: my tracking number is {1Z999AA10123456784}
ORDER: {RA473124829GB}
ORDER: see ticket {4471832}
ACCOUNT: QQ：{12345678}
ACCOUNT: 加QQ客服（{12345678}）
ACCOUNT: 加微信{abc_12345}
ACCOUNT: my wechat id is {zhangsan}
NAME: {@某某客服} 你好
NAME: 感谢{@Bob_99}!
NAME: {@某某手机}：在吗
"""

LEFT = """
我的iPhone 15 Pro 256GB坏了
2023-11-30 14:30 到货
2023年11月30日
20231130
¥12999.00
价格1299元
订单100000元
总价 ￥12345678
$1,234,567,890
v10.0.19045.3693
192.168.100.200
call me at 10:30
call between 2023-11-30 and 2023-12-01
手机1500-2000左右
手机 5000mAh
RTX 4090, i7-13700K
KB5034441
ISO 9001:2015
拨打10086
拨打1001013查流量
meet @ 5pm
3 @ $5
see you @10:30
order 66
order no later than 2023-11-30
ticket 2024
room 1203
3.1415926535897
1,234,567
100000000元
2019-2023
误差0.00012345678
播放量12345678次
http://t.cn/RQabc12345678901234
phone 15 pro max
6-8 weeks
1-800 flowers
my ID is fine
account 2 months old
error 0x80070005
8:00-22:00
周一至周五9:00-18:00
哈哈哈2333333
一二三四五六七八九十
"""


@pytest.mark.parametrize("line", FOUND.strip().splitlines())
def test_what_is_masked(line: str) -> None:
    kind, _, marked = line.partition(": ")
    text = re.sub("[{}]", "", marked)
    expected = re.sub(r"\{.*?\}", f"[{kind}-x]", marked)
    assert re.sub(r"-[a-z]{8}\]", "-x]", MASKER.text(text)) == expected
    # Within a longer text, too, and once masked it stays as it is.
    longer = f"你好。{text}。再见" if kind != "ORDER" or not text.isdecimal() else text
    masked = MASKER.text(longer)
    assert len(PLACEHOLDER.findall(masked)) == marked.count("{")
    assert MASKER.text(masked) == masked


@pytest.mark.parametrize("text", LEFT.strip().splitlines())
def test_what_is_left(text: str) -> None:
    assert MASKER.text(text) == text
    assert MASKER.text(f"Hello. {text} Bye.") == f"Hello. {text} Bye."


@pytest.mark.parametrize(
    "spellings",
    [
        ("13800138000", "+86 138-0013-8000", "１３８００１３８０００", "0086 13800138000"),
        ("(415) 555-0134", "+1 415-555-0134", "415.555.0134"),
        ("Ann@Example.com", "ann (at) example.com"),
        ("@Bob", "＠bob"),
        ("4111 1111 1111 1111", "4111111111111111"),
        ("11010519491231002X", "110105 19491231 002x"),
    ],
)
def test_spellings_of_a_value_are_one(spellings: tuple[str, ...]) -> None:
    masked = {MASKER.text(spelling) for spelling in spellings}
    assert len(masked) == 1
    assert PLACEHOLDER.fullmatch(masked.pop())
    assert MASKER.text(spellings[0]) != Masker(b"another").text(spellings[0])


def test_the_same_number_as_order_and_as_phone_has_one_code() -> None:
    first, second = MASKER.text("订单号13800138000"), MASKER.text("电话13800138000")
    assert "[ORDER-" in first
    assert "[PHONE-" in second
    assert first[-9:] == second[-9:]


@given(st.text("0123456789", min_size=15, max_size=15), st.sampled_from(["4", "62", "51"]))
def test_cards_by_their_check_digit(digits: str, head: str) -> None:
    body = (head + digits)[:15]
    right = [body + d for d in "0123456789" if checks.luhn(body + d)]
    assert len(right) == 1
    assert MASKER.text(f"付款 {right[0]} 谢谢").startswith("付款 [CARD-")
    wrong = right[0][:-1] + str((int(right[0][-1]) + 1) % 10)
    assert "[CARD-" not in MASKER.text(f"付款 {wrong} 谢谢")


@given(st.integers(0, 16), st.integers(1, 9))
def test_identity_numbers_by_their_check_digit(place: int, more: int) -> None:
    """Any single wrong digit is noticed."""
    number = "110105199003074515"
    number = number[:17] + next(c for c in "0123456789X" if checks.is_resident_id(number[:17] + c))
    digit = str((int(number[place]) + more) % 10)
    assert not checks.is_resident_id(number[:place] + digit + number[place + 1 :])


def test_numbers_of_a_region() -> None:
    text = "Rufen Sie 030 901820 an"
    assert MASKER.text(text) == text
    german = Masker(b"x", regions=("DE",))
    assert german.text(text).startswith("Rufen Sie [PHONE-")
    assert german.text("am 30.11.2023 um 14 Uhr, 1500-2000 Euro").count("[") == 0


def test_regions_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    with pytest.raises(MissingExtraError, match=r"dialeval\[mask\]"):
        Masker(b"x", regions=("DE",))


def planted(count: int, seed: int = 3) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """Dialogues, the secrets planted in them, and what must not be touched."""
    pick = random.Random(seed)

    def digits(n: int) -> str:
        return "".join(pick.choices("0123456789", k=n))

    secrets: list[str] = []
    harmless = [
        *("2023-11-30", "¥1,299.00", "iPhone 15 Pro", "v2.10.3", "14:30", "1080p", "12306"),
        *("5000mAh", "第3次", "30%", "7*24小时", "3-5个工作日", "No. 1", "2 of 3"),
    ]
    templates = [
        ("我的电话是{}，请回电", lambda: "13" + digits(9)),
        ("mail me: {}", lambda: f"u{digits(4)}@example.org"),
        ("订单号{}还没到", lambda: "A" + digits(9)),
        ("Order number {} never came", lambda: digits(8)),
        ("Hi @{} are you there", lambda: f"user_{digits(4)}"),
    ]
    records = []
    for number in range(count):
        turns = []
        for sender in ("customer", "helpdesk", "customer"):
            template, make = pick.choice(templates)
            secret = make()
            secrets.append(secret)
            turns.append(turn(sender, template.format(secret), f"{pick.choice(harmless)} ok"))
        records.append({"id": f"d{number}", "turns": turns, "note": turns[-1]["utterances"][0]})
    return records, secrets, harmless


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return [*csv.DictReader(stream)]


def test_nothing_planted_is_left(cli, write, tmp_path: Path) -> None:
    records, secrets, harmless = planted(200)
    path, out = write("all.jsonl", lines(records)), tmp_path / "masked.jsonl"
    found = cli("mask", path, "--out", out, "--report", tmp_path / "report", "--json")
    assert found.status == 0, found.err
    text = out.read_text()
    assert not [secret for secret in secrets if secret in text]
    for word in harmless:
        assert text.count(word) == path.read_text().count(word)
    assert sum(found.json["masks"].values()) >= 600
    assert found.json["dialogues"] == found.json["dialogues_with_masks"] == 200
    # The counts by dialogue add up to those by kind.
    rows = table(tmp_path / "report/masks.csv")
    for kind, count in found.json["masks"].items():
        assert sum(int(row[kind]) for row in rows) == count
        assert sum(row[kind] != "0" for row in rows) == found.json["dialogues_by_kind"][kind]
    assert json.loads((tmp_path / "report/summary.json").read_text()) == found.json


def test_everything_else_stays(cli, write, gold_records, tmp_path: Path) -> None:
    gold_records[0]["turns"][0]["utterances"] = ["打13800138000", "@Bob", ""]
    gold_records[0] |= {"author": "Zhang", "meta": {"tel": ["13800138000"], "n": 13800138000}}
    path, out = write("gold.json", gold_records), tmp_path / "out.json"
    args = ("mask", path, "--out", out, "--secret", "s", "--name", "author")
    assert cli(*args).status == 0
    first, second = json.loads(out.read_text())
    said = first["turns"][0]["utterances"]
    assert PLACEHOLDER.fullmatch(said[0].removeprefix("打"))
    assert said[2] == ""
    assert first["meta"] == {"tel": [said[0][1:]], "n": 13800138000}
    assert re.fullmatch(r"\[NAME-[a-z]{8}\]", first["author"])
    assert first["annotations"] == gold_records[0]["annotations"]
    assert second == gold_records[1]
    # Only one kind; other ids.
    assert cli(*args, "--kind", "name", "--new-ids").status == 0
    record = json.loads(out.read_text())[0]
    assert record["turns"][0]["utterances"][0] == "打13800138000"
    assert record["turns"][0]["utterances"][1] == said[1]
    assert re.fullmatch("[a-z]{8}", record["id"])


def test_the_secret_decides(cli, write, tmp_path: Path, monkeypatch) -> None:
    path = write("a.jsonl", lines(planted(5)[0]))

    def masked(*more: object) -> str:
        assert cli("mask", path, "--out", tmp_path / "out.jsonl", *more).status == 0
        return (tmp_path / "out.jsonl").read_text()

    assert masked("--secret", "a") == masked("--secret", "a")
    assert masked("--secret", "a") != masked("--secret", "b")
    assert masked() != masked()
    given_secret = masked("--secret", "a")
    monkeypatch.setenv("DIALEVAL_MASK_SECRET", "a")
    assert masked() == given_secret


def test_review_sample(cli, write, tmp_path: Path) -> None:
    texts = [f"第{i}位：打1380013{i:04}，或 @user{i} 。单价 {10**7 + i}" for i in range(50)]
    records = [{"id": str(i), "turns": [turn("customer", text)]} for i, text in enumerate(texts)]
    path, out, report = write("a.json", records), tmp_path / "out.json", tmp_path / "report"
    assert cli("mask", path, "--out", out, "--report", report, "--examples", 3).status == 0
    rows = table(report / "review.csv")
    kinds = [row["masked as"] for row in rows]
    assert kinds == ["NAME"] * 3 + ["PHONE"] * 3 + [""] * 3
    for row in rows:
        text = texts[int(row["dialogue"])]
        marked = re.search("⟦(.*)⟧", row["before"])
        assert marked is not None
        assert row["before"].replace("⟦", "").replace("⟧", "") in text
        if row["masked as"]:
            assert marked[1] not in row["after"]
        else:
            assert row["recognised by, or left as"] == "a number of 8 digits"
            assert marked[1] in row["after"]
    assert stat.S_IMODE((report / "review.csv").stat().st_mode) == 0o600
    assert cli("mask", path, "--out", out, "--report", report, "--seed", 1).status == 0
    assert table(report / "review.csv") != rows


def test_dialogues_as_mined(cli, write, tmp_path: Path) -> None:
    """A name of two words is one name; an id is no card number, though it looks like one."""
    record = {
        "id": "4111111111111111",
        "turns": [
            {
                "sender": "customer",
                "utterances": ["@Acme Helpdesk hello", "＠ACME helpdesk? @acme"],
            },
            {"sender": "helpdesk", "utterances": ["Hi @Ann.Lee and @Acme Helpdesks"]},
        ],
        "thread": "4111111111111111",
        "author": "Ann.Lee",
        "account": "Acme Helpdesk",
    }
    path, out = write("mined.jsonl", lines([record])), tmp_path / "out.jsonl"
    result = cli("mask", path, "--out", out, "--json")
    assert result.json["masks"].get("CARD", 0) == 0
    masked = de.load(out).dialogues[0]
    first, second = masked.turns[0].utterances
    name = first.removesuffix(" hello")
    assert second.startswith(f"{name}? [NAME-")
    assert not second.endswith(name)
    assert "Helpdesk" not in first + second
    assert masked.turns[1].text.startswith(f"Hi {masked.fields['author']} and [NAME-")
    assert masked.fields["thread"] == masked.id == "4111111111111111"
    assert cli("mask", path, "--out", out, "--new-ids").status == 0
    changed = de.load(out).dialogues[0]
    assert changed.fields["thread"] == changed.id != masked.id


def test_other_formats(cli, write, tmp_path: Path) -> None:
    chat = "31/12/2023, 21:41 - Ann: my number is 415-555-0134\n31/12/2023, 21:42 - Bo: ok\n"
    path, out = write("chat.txt", chat.encode()), tmp_path / "out.parquet"
    found = cli("mask", path, "--out", out)
    assert found.status == 0, found.err
    assert de.load(out).dialogues[0].turns[0].text.startswith("my number is [PHONE-")


def parts(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        records = planted(20, seed=number)[0]
        for record in records:
            record["id"] = f"{number}-{record['id']}"
        (folder / f"{number}.jsonl").write_bytes(lines(records))
    return folder


def test_the_same_wherever_it_runs(cli, dask: str, tmp_path: Path) -> None:
    source = parts(tmp_path / "in", 4)
    found = []
    ways = ((), ("--jobs", 2), ("--engine", "dask", "--scheduler", dask))
    for number, way in enumerate(ways):
        out, report = tmp_path / f"out{number}", tmp_path / f"report{number}"
        args = ("mask", source, "--out", out, "--report", report, "--secret", "s")
        result = cli(*args, *way, "--json")
        assert result.status == 0, result.err
        files = {p.name: p.read_bytes() for p in [*out.iterdir(), *report.iterdir()]}
        found.append((result.out, files))
    assert found[0] == found[1] == found[2]
    assert json.loads((tmp_path / "out0/_manifest.json").read_text())["rows"] == 80
    whole = tmp_path / "whole.jsonl"
    assert cli("mask", source, "--out", whole, "--secret", "s").status == 0
    assert len(de.load(whole)) == 80


def test_parts_of_parquet(cli, tmp_path: Path) -> None:
    source = parts(tmp_path / "in", 3)
    last = source / "2.jsonl"  # a field that only the last part has is a column of all
    records = [json.loads(line) | {"topic": "parcels"} for line in last.read_text().splitlines()]
    last.write_bytes(lines(records))
    out, one = tmp_path / "out", tmp_path / "one.jsonl"
    for target, more in ((out, ("--parts", "parquet")), (one, ())):
        assert cli("mask", source, "--out", target, "--secret", "s", *more).status == 0
    assert sorted(p.name for p in out.iterdir() if p.suffix == ".parquet") == [
        f"part-0000{number}.parquet" for number in range(3)
    ]
    masked = [d for n in range(3) for d in de.load(out / f"part-0000{n}.parquet").dialogues]
    expected = de.load(one).dialogues
    assert [(d.id, d.turns) for d in masked] == [(d.id, d.turns) for d in expected]
    assert [d.fields["topic"] for d in masked] == [None] * 40 + ["parcels"] * 20


def test_goes_on_where_it_stopped(cli, tmp_path: Path, monkeypatch) -> None:
    source, out = parts(tmp_path / "in", 4), tmp_path / "out.jsonl"
    done: list[int] = []
    real = work.mask_part

    def failing(task: work.Task) -> Any:
        if task.part.number == 2 and len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.part.number)
        return real(task)

    monkeypatch.setattr(work, "mask_part", failing)
    assert cli("mask", source, "--out", out, "--secret", "s").status == 130
    assert not out.exists()
    done.append(-1)
    assert cli("mask", source, "--out", out, "--secret", "s").status == 0
    assert done == [0, 1, -1, 2, 3]
    monkeypatch.setattr(work, "mask_part", real)
    assert cli("mask", source, "--out", tmp_path / "again.jsonl", "--secret", "s").status == 0
    assert out.read_bytes() == (tmp_path / "again.jsonl").read_bytes()


def test_bad_input(refused, write, tmp_path: Path) -> None:
    path, out = write("a.jsonl", lines(planted(2)[0])), tmp_path / "out.jsonl"
    assert "unknown kind 'PHON' (did you mean 'PHONE'?)" in refused(
        "mask", path, "--out", out, "--kind", "phon"
    )
    assert "unknown region 'XX'" in refused("mask", path, "--out", out, "--region", "xx")
    assert "another file" in refused("mask", path, "--out", path)
    assert "ends in" in refused("mask", path, "--out", tmp_path / "out.txt")
    broken = write("b.jsonl", lines(planted(2)[0]) + b'{"id": "x", "turns": []}\n')
    assert "line 3 .turns: found no turns" in refused("mask", broken, "--out", out)
    assert "no readable file" in refused("mask", tmp_path / "nope.json", "--out", out)
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl", "b.jsonl"] or not out.exists()
    assert not [*tmp_path.glob(".*")]
