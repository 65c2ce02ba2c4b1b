"""Where work runs: here, in real local processes, on a real Dask cluster of two workers."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tasks
from tasks import Call, Shuffled

from dialeval.core.errors import DataError, UsageError
from dialeval.engine import (
    Engine,
    Output,
    Work,
    WorkerLostError,
    open_engine,
    opened_work,
    partitions,
)
from dialeval.engine.shuffle import Spill


@pytest.fixture(params=["here", "processes", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "dask":
        address = request.getfixturevalue("dask")
        opening = open_engine(engine="dask", scheduler=address)
    else:
        opening = open_engine(jobs=2 if request.param == "processes" else 1)
    with opening as opened:
        yield opened


def calls(folder: Path, count: int = 8) -> list[Call]:
    folder.mkdir(exist_ok=True)
    return [Call(number, str(folder)) for number in range(count)]


def times_done(folder: Path) -> dict[int, int]:
    return {int(p.name): len(p.read_text()) for p in folder.iterdir() if p.name.isdigit()}


def test_results_come_in_order(engine: Engine, tmp_path: Path) -> None:
    assert [*engine.ordered(tasks.square, calls(tmp_path))] == [n**2 for n in range(8)]
    assert sorted(engine.map(tasks.square, calls(tmp_path, 3))) == [(0, 0), (1, 1), (2, 4)]
    assert [*engine.map(tasks.square, [])] == []


def test_the_first_task_that_fails_is_told(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="number 1"):
        [*engine.map(tasks.fail_late, calls(tmp_path))]


@pytest.mark.parametrize("engine", ["processes", "dask"], indirect=True)
def test_a_killed_worker_is_survived(engine: Engine, tmp_path: Path) -> None:
    found = [*engine.ordered(tasks.square_or_die, calls(tmp_path))]
    assert (tmp_path / "died").exists()
    assert found == [n**2 for n in range(8)]


def test_a_task_that_kills_its_workers_is_given_up(tmp_path: Path) -> None:
    with (
        open_engine(jobs=2) as engine,
        pytest.raises(WorkerLostError, match="died 4 times in a row"),
    ):
        [*engine.map(tasks.always_die, calls(tmp_path))]


def test_a_process_killed_from_outside(tmp_path: Path) -> None:
    """Whichever worker it hits, and whenever."""
    with open_engine(jobs=2) as engine:

        def kill() -> None:
            time.sleep(1.0)
            os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)  # type: ignore[attr-defined]

        killer = threading.Thread(target=kill)
        killer.start()
        found = [*engine.ordered(tasks.slow_square, calls(tmp_path, 16))]
        killer.join()
    assert found == [n**2 for n in range(16)]


# What is done is not done again


@contextmanager
def stopped(*args: Any, **options: Any) -> Iterator[Work]:
    """Work that is interrupted where the block ends."""
    with suppress(KeyboardInterrupt), opened_work(*args, **options) as work:
        yield work
        raise KeyboardInterrupt


def test_work_goes_on_where_it_stopped(engine: Engine, tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "calls"
    same: dict[str, Any] = {"options": {"a": 1}, "inputs": []}
    seen: list[tuple[str, int, int]] = []
    with stopped(out, engine, **same) as work:
        work.each("squares", tasks.square, calls(folder, 4), int)
    assert (tmp_path / ".out.work").is_dir()
    with opened_work(out, engine, **same, progress=lambda *told: seen.append(told)) as work:
        assert work.resumed == 4
        assert work.each("squares", tasks.square, calls(folder, 6), int) == [0, 1, 4, 9, 16, 25]
        assert work.each("again", tasks.square, calls(tmp_path / "other", 2), int) == [0, 1]
    assert seen[0] == ("squares", 4, 6)
    assert seen[-1] == ("again", 2, 2)
    assert times_done(folder) == dict.fromkeys(range(6), 1)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_work_of_other_options_is_not_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    with open_engine() as engine:
        for options in ({"a": 1}, {"a": 2}):
            with stopped(tmp_path / "out", engine, options=options, inputs=[]) as work:
                assert work.resumed == 0
                (work.folder / "file").touch(exist_ok=False)
                work.each("squares", tasks.square, calls(folder, 2), int)
    assert times_done(folder) == {0: 2, 1: 2}


def test_a_changed_input_is_read_again(tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out"
    for content in ("{}\n", "{} \n"):
        file.write_text(content)
        with (
            open_engine() as engine,
            stopped(out, engine, options={}, inputs=partitions([file])) as work,
        ):
            assert work.resumed == 0
            work.each("squares", tasks.square, calls(tmp_path / "calls", 2), int)


def test_a_journal_that_was_cut_off(tmp_path: Path) -> None:
    """The computer stopped while a line was written: that task alone is done again."""
    folder, out = tmp_path / "calls", tmp_path / "out"
    with open_engine() as engine:
        with stopped(out, engine, options={}, inputs=[]) as work:
            work.each("squares", tasks.square, calls(folder, 4), int)
        journal = tmp_path / ".out.work" / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:-5])
        with opened_work(out, engine, options={}, inputs=[]) as work:
            assert work.each("squares", tasks.square, calls(folder, 4), int) == [0, 1, 4, 9]
    assert times_done(folder) == {0: 1, 1: 1, 2: 1, 3: 2}


def test_bad_input_leaves_nothing_and_two_do_not_share(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_engine() as engine:
        opening = partial(opened_work, out, engine, options={}, inputs=[])
        with (
            opening(),
            pytest.raises(UsageError, match="another run is at work"),
            opening(),
        ):
            pass
        with pytest.raises(DataError), opening():
            raise DataError("a", "", "b", "c")
    assert [*tmp_path.iterdir()] == []


# Partitions


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 1000])
@pytest.mark.parametrize("end", ["", "\n"])
def test_each_line_is_in_one_partition(tmp_path: Path, size: int, end: str) -> None:
    lines = ['{"a": 1}', "", "x", '{"b": "' + "y" * 30 + '"}', "{}", " ", "z"]
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(lines) + end)
    parts = partitions([file], size=size)
    assert [part.number for part in parts] == [*range(len(parts))]
    assert b"".join(block for part in parts for block in part.blocks()).decode() == (
        "\n".join(lines) + "\n"
    )
    found = [
        (part.origin.place(number), bytes(line).decode().removesuffix("\n"))
        for part in parts
        for number, line in part.records()
    ]
    assert found == [(f"line {n + 1}", line) for n, line in enumerate(lines) if line.strip()]


def test_folders_of_files(tmp_path: Path) -> None:
    import duckdb

    rows = [{"id": str(n), "n": n} for n in range(10)]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.jsonl").write_bytes(text)
    (tmp_path / "d.json").write_text(json.dumps(rows))
    (tmp_path / "_manifest.json").write_text("{}")
    (tmp_path / ".hidden.jsonl").write_text("{}")
    (tmp_path / "notes.txt").write_text("no")
    duckdb.connect().execute(
        f"COPY (SELECT * FROM read_json('{tmp_path}/a.jsonl')) TO '{tmp_path}/c.parquet'"
    )
    parts = partitions([tmp_path], size=50, rows=4)
    names = [Path(part.source).name for part in parts]
    assert [name for n, name in enumerate(names) if name not in names[:n]] == [
        "a.jsonl",
        "b.jsonl.gz",
        "c.parquet",
        "d.json",
    ]
    assert names.count("c.parquet") == 3
    found = [json.loads(bytes(raw)) for part in parts for _, raw in part.records()]
    assert [{"id": row["id"], "n": int(row["n"])} for row in found] == rows * 4
    last = [part for part in parts if part.source.endswith("c.parquet")][-1]
    assert [last.origin.place(number) for number, _ in last.records()] == ["[8]", "[9]"]


def test_a_line_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dialeval.engine import inputs as module

    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    monkeypatch.setattr(module, "BLOCK", 100)
    file = tmp_path / "a.jsonl"
    file.write_text("{}\n" + "x" * 50_000 + "\n{}\n")
    for size in (10_000, 1 << 20):
        lines = b"".join(b for part in partitions([file], size=size) for b in part.blocks())
        first, long, last = lines.decode().splitlines()
        assert (first, last) == ("{}", "{}")
        assert 1000 <= len(long) < 1200


def test_what_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no readable file"):
        partitions([tmp_path / "none.jsonl"])
    with pytest.raises(DataError, match="a folder without data"):
        partitions([tmp_path])


# Shuffles and outputs


def shuffled(engine: Engine, posts: Path, output: Output) -> None:
    parts = partitions([posts], size=200)
    buckets = 5
    with opened_work(output.path, engine, options={}, inputs=parts) as work:
        to_spill = [Shuffled(str(work.folder), buckets, part) for part in parts]
        rows = work.each("spill", tasks.spill_lines, to_spill, int)
        assert sum(rows) == 500
        to_gather = [
            Shuffled(str(work.folder), buckets, bucket=b, spills=len(parts), output=output)
            for b in range(buckets)
        ]
        counts = work.each("gather", tasks.gather_lines, to_gather, int)
        output.publish(work.folder, counts)


@pytest.fixture
def lines_of_keys(tmp_path: Path) -> Path:
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(f"key{n % 37} {n}\n" for n in range(500)))
    return file


def test_parts_are_published_again_after_a_stop(tmp_path: Path) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    output = Output.at(out)
    rows = [output.write_part(work, number, [b"1"] * number) for number in range(3)]
    out.mkdir()
    (out / "mine.txt").write_text("came meanwhile")
    with pytest.raises(UsageError, match="other files"):
        output.publish(work, rows)
    (out / "mine.txt").unlink()
    for _ in range(2):
        output.publish(work, rows)
        found = json.loads((out / "_manifest.json").read_text())
        assert found["parts"] == {f"part-0000{n}.jsonl.gz": n for n in range(3)}
        assert gzip.decompress((out / "part-00002.jsonl.gz").read_bytes()) == b"1\n1\n"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        *[("a.jsonl", None), ("a.json", None), ("a.jsonl.gz", None), ("a.parquet", None)],
        *[("folder", None), ("folder", "jsonl"), ("folder", "parquet")],
    ],
)
def test_keys_come_together(
    tmp_path: Path, lines_of_keys: Path, name: str, parts: str | None
) -> None:
    columns = {"key": "VARCHAR", "values": "VARCHAR"}
    output = Output.at(tmp_path / name, parts, columns)
    with open_engine() as engine:
        shuffled(engine, lines_of_keys, output)
    records = [
        json.loads(bytes(raw))
        for part in partitions([tmp_path / name])
        for _, raw in part.records()
    ]
    assert {row["key"]: row["values"] for row in records} == {
        f"key{k}": " ".join(str(n) for n in range(k, 500, 37)) for k in range(37)
    }
    assert len(records) == 37
    if name == "folder":
        manifest = json.loads((tmp_path / name / "_manifest.json").read_text())
        assert manifest["rows"] == sum(manifest["parts"].values()) == 37


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "parquet"])
def test_the_same_bytes_wherever_it_runs(
    dask: str, tmp_path: Path, lines_of_keys: Path, kind: str
) -> None:
    columns = {"key": "VARCHAR", "values": "VARCHAR"}
    content = []
    for options in ({}, {"jobs": 2}, {"engine": "dask", "scheduler": dask}):
        out = tmp_path / f"out{len(content)}"
        with open_engine(**options) as engine:  # type: ignore[arg-type]
            shuffled(engine, lines_of_keys, Output.at(out, kind, columns))
        content.append({path.name: path.read_bytes() for path in sorted(out.iterdir())})
    assert content[0] == content[1] == content[2]
    assert len(content[0]) > 3


def test_a_spill_in_several_runs(tmp_path: Path) -> None:
    from dialeval.engine import bucket_frames

    path = tmp_path / "spill"
    with path.open("wb") as stream:
        spill = Spill(stream, buckets=3, held=10)
        for n in range(20):
            spill.add([f"k{n}", "same"], [b"%d" % n, b"row"])
        spill.finish()
    found = [
        (key, row)
        for bucket in range(3)
        for keys, rows in bucket_frames([path], bucket, 3)
        for key, row in zip(keys, rows, strict=True)
    ]
    assert sorted(row for _, row in found if row != b"row") == sorted(b"%d" % n for n in range(20))
    assert found.count(("same", b"row")) == 20


def test_an_output_is_replaced_but_not_other_files(tmp_path: Path, lines_of_keys: Path) -> None:
    out = tmp_path / "out"
    with open_engine() as engine:
        for _ in range(2):
            shuffled(engine, lines_of_keys, Output.at(out))
    (out / "_manifest.json").unlink()
    with pytest.raises(UsageError, match="other files in it"):
        Output.at(out)
    with pytest.raises(UsageError, match="unknown format of parts"):
        Output.at(tmp_path / "new", "csv")
    with pytest.raises(UsageError, match="for a folder"):
        Output.at(tmp_path / "new.jsonl", "jsonl")
    with pytest.raises(UsageError, match="expected a name that ends in"):
        Output.at(tmp_path / "new.csv")


def test_options_that_do_not_go_together() -> None:
    for options, message in (
        ({"engine": "spark"}, "unknown engine"),
        ({"engine": "dask"}, "needs --scheduler"),
        ({"scheduler": "tcp://a:1"}, "goes with --engine dask"),
        ({"engine": "dask", "scheduler": "tcp://a:1", "jobs": 2}, "--jobs is of local"),
    ):
        with pytest.raises(UsageError, match=message), open_engine(**options):  # type: ignore[arg-type]
            pass


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from dialeval.engine import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with (
        pytest.raises(UsageError, match="no Dask scheduler"),
        open_engine(engine="dask", scheduler="tcp://127.0.0.1:9"),
    ):
        pass


def test_dask_is_an_extra() -> None:
    """Importing the engine loads neither Dask nor the processes' machinery of it."""
    code = "import sys, dialeval.engine; print([m for m in sys.modules if 'dask' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.sub(r"\s", "", done.stdout) == "[]"
