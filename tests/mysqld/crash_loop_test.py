# SPDX-License-Identifier: GPL-2.0-only
"""kill -9 under load, again and again, with the clients' own journals as the judge.

Writers, XA sessions and a DDL session (crash_actors.py) work until the server dies; some starts are
killed in the middle of their recovery. After each crash every acknowledged step is there whole, of
the one in flight per session either all or nothing, and nothing that nobody asked for. CHECK TABLE
is clean, every index gives the rows of the clustered one, and no file is left that no table owns.
ROWAN_TEST_CYCLES asks for another number of crashes.
"""
import os
import threading
import time
from functools import partial

from crash_actors import DdlActor, Writer, XaActor
from framework import Failure
from rowantools.client import ConnectionLost, MysqlError

_CYCLES, _CYCLES_LONG = 4, 50
_WRITERS, _XA_ACTORS, _DDL_ACTORS = 4, 2, 3
_LOAD_S = 0.8
_SYSTEM_FILES = 2  # the catalog's and the undo space


def _cycles(t):
    return int(os.environ.get("ROWAN_TEST_CYCLES", _CYCLES_LONG if t.long else _CYCLES))


def _kill_under_load(t, server, actors):
    stop = threading.Event()
    runs = [partial(actor.run, t.client(server), stop) for actor in actors]

    def each_kind_got_on():
        return {type(actor) for actor in actors} == {
            type(actor) for actor in actors if actor.commits or actor.unexpected}
    t.kill_among(server, runs, stop, _LOAD_S * t.random.uniform(0.2, 1.8), each_kind_got_on)
    for actor in actors:
        if actor.unexpected:
            raise Failure(f"{type(actor).__name__} {actor.number}: {actor.unexpected}")


def _start_again(t, server):
    """Sometimes the start itself is killed before it is through. Returns how often."""
    killed = 0
    while t.random.random() < 0.35:
        server.start(wait=False)
        time.sleep(t.random.uniform(0.2, 1.5))
        server.kill()
        killed += 1
    server.start()
    return killed


def _check_everything(t, server, actors, client):
    _check_tables(t, server, actors, client)
    wrong = client.query("SELECT h.id, h.n, COUNT(e.hot) FROM hot h LEFT JOIN evidence e "
                         "ON e.hot = h.id GROUP BY h.id, h.n HAVING COUNT(e.hot) <> h.n")
    t.equal(wrong, [], "shared counters and their evidence")


def _check_tables(t, server, actors, client):
    for actor in actors:
        actor.settle(client)
    tables = [row[0] for row in client.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")]
    for table in tables:
        t.check_table(table, client)
        _compare_indexes(t, client, table)
    _check_files(t, server, len(tables))


def _compare_indexes(t, client, table):
    clustered = client.query(f"SELECT * FROM {table} FORCE INDEX (PRIMARY)")
    indexes = {row[2] for row in client.query(f"SHOW INDEX FROM {table}")} - {"PRIMARY"}
    for index in indexes:
        rows = client.query(f"SELECT * FROM {table} FORCE INDEX (`{index}`) "
                            f"ORDER BY {_first_column(client, table, index)}")
        t.equal(sorted(rows, key=repr), sorted(clustered, key=repr), f"{table}.{index}")


def _first_column(client, table, index):
    for row in client.query(f"SHOW INDEX FROM {table}"):
        if row[2] == index and row[3] == 1:
            return f"`{row[4]}`"
    raise Failure(f"{table} has no index {index}")


def _check_files(t, server, tables):
    """What dropped and half-made tables left behind goes within moments."""
    folder = server.data / "rowan"

    def files():
        return sorted(path.name for path in folder.iterdir() if path.name.startswith("space_"))
    if t.engine != "ROWAN":
        return
    try:
        t.wait_for(lambda: len(files()) == tables + _SYSTEM_FILES, "no orphaned files")
    except Failure as error:
        raise Failure(f"{tables} tables, but files {files()}") from error


def _crash_again_and_again(t, server, actors, check):
    """Returns the number of crashes and of killed starts."""
    cycles, killed_starts = _cycles(t), 0
    for cycle in range(cycles):
        try:
            _kill_under_load(t, server, actors)
            killed_starts += _start_again(t, server)
            client = t.client(server)
            check(t, server, actors, client)
            client.close()
        except (Failure, ConnectionLost, MysqlError) as error:
            raise Failure(f"cycle {cycle + 1} of {cycles}: {error}") from error
    return cycles, killed_starts


def _loop(t, binlog):
    server = t.new_server(binlog=binlog)
    server.start()
    client = t.client(server)
    Writer.create(client)
    XaActor.create(client)
    actors = [Writer(number, t.random) for number in range(_WRITERS)]
    actors += [XaActor(number, t.random) for number in range(_XA_ACTORS)]
    actors.append(DdlActor(0, t.random))
    cycles, killed_starts = _crash_again_and_again(t, server, actors, _check_everything)
    _report(t, binlog, cycles, killed_starts, actors)


def _report(t, binlog, cycles, killed_starts, actors):
    count = {kind: sum(actor.commits for actor in actors if isinstance(actor, kind))
             for kind in (Writer, XaActor, DdlActor)}
    for kind, commits in count.items():
        t.true(commits > 0, f"no {kind.__name__} ever got anything done")
    prepared = sum(len(actor.open) for actor in actors if isinstance(actor, XaActor))
    print(f"binlog {'on' if binlog else 'off'}: {cycles} crashes and {killed_starts} killed starts,"
          f" acknowledged: {count[Writer]} commits, {count[XaActor]} XA PREPARE, "
          f"{count[DdlActor]} DDL steps; lost 0, phantom 0, {prepared} left prepared", flush=True)


def test_crashes_amid_definitions(t):
    """Nothing but DDL, so that nearly every crash comes upon some."""
    server = t.new_server(binlog=True)
    server.start()
    actors = [DdlActor(number, t.random, logged=number > 0) for number in range(_DDL_ACTORS)]
    cycles, killed_starts = _crash_again_and_again(t, server, actors, _check_tables)
    done, met = sum(actor.commits for actor in actors), sum(actor.met for actor in actors)
    t.true(done > 0, "no statement ever got done")
    print(f"{cycles} crashes and {killed_starts} killed starts, statements: {done} done, {met} met"
          " by a crash, each old or new; left-over files 0", flush=True)


def test_crashes_without_binlog(t):
    _loop(t, binlog=False)


def test_crashes_with_binlog(t):
    _loop(t, binlog=True)
