# SPDX-License-Identifier: GPL-2.0-only
"""Durability settings of a running server: sync methods, per-session strictness, what is durable,
redo capacity, data syncs and doublewrite modes, each changed while four sessions write."""
import re
import threading
import time

import pytest

from framework import ENGINE, HUNG_S, MysqlError

pytestmark = pytest.mark.skipif(ENGINE != "ROWAN", reason="it tests Rowan's own settings")
_METHODS = ("fsync", "fdatasync", "dsync", "direct_dsync", "uring")
_WRITERS = 4
_WRONG_VALUE = 1231
_CANNOT_INITIALIZE_UDF = 1123
_INTERRUPTED = 1317
_IN_USE = 1883
_NO_FUNCTION, _NO_DATABASE = 1305, 1046  # the second without a default database to look in


class Load:
    """Four sessions that insert and update until told to stop; counts what was acknowledged."""

    def __init__(self, t, server=None, settings=()):
        self._t, self._server = t, server
        self._stop = threading.Event()
        self.inserted = [0] * _WRITERS
        t.client(server).execute("CREATE TABLE IF NOT EXISTS w (writer INT, id INT, v INT, "
                                 "pad VARCHAR(200), PRIMARY KEY (writer, id), KEY (v))")
        clients = [t.client(server) for _ in range(_WRITERS)]
        for client in clients:
            for setting in settings:
                client.execute(setting)
        self._failures = []
        self._threads = [threading.Thread(target=self._write, args=(number, client), daemon=True)
                         for number, client in enumerate(clients)]
        for thread in self._threads:
            thread.start()

    def _write(self, number, client):
        try:
            pad = "x" * 200
            while not self._stop.is_set():
                row = self.inserted[number]
                client.execute(f"INSERT INTO w VALUES ({number}, {row}, 0, '{pad}')")
                self.inserted[number] = row + 1
                client.execute(f"UPDATE w SET v = v + 1 WHERE writer = {number} AND id = {row}")
        except Exception as error:  # noqa: B902 - raised again by finish()
            self._failures.append(error)

    def progress(self, rows=40):
        """Waits until each writer is so many rows further."""
        goals = [count + rows for count in self.inserted]
        self._t.wait_for(lambda: self._failures or all(
            count >= goal for count, goal in zip(self.inserted, goals)), "the writers go on")
        if self._failures:
            raise self._failures[0]

    def finish(self):
        """Stops the writers; raises what one of them met. Every acknowledged row is there."""
        self._stop.set()
        for thread in self._threads:
            thread.join(4 * HUNG_S)
        if self._failures:
            raise self._failures[0]
        client = self._t.client(self._server)
        for number, count in enumerate(self.inserted):
            self._t.equal(client.query("SELECT COUNT(*), SUM(v) FROM w WHERE writer = "
                                       f"{number} GROUP BY writer"),
                          [(count, str(count))], f"rows of writer {number}")
        self._t.check_table("w", client)


def _status(client, name):
    return client.query(f"SHOW STATUS LIKE 'Rowan_{name}'")[0][1]


def _number(client, name):
    return int(_status(client, name))


def _latency(client):
    """{(method, phase): (count by buckets, total count)}"""
    rows = client.query("SELECT method, phase, SUM(count), MAX(total_count), MIN(total_us) FROM "
                        "information_schema.rowan_sync_latency GROUP BY method, phase")
    return {(row[0], row[1]): (int(row[2]), int(row[3]), int(row[4])) for row in rows}


def _set_method(client, method):
    """False where this machine refuses the method, with a reason."""
    try:
        client.execute(f"SET GLOBAL rowan_log_sync_method = {method}")
        return True
    except MysqlError as error:
        if error.code != _WRONG_VALUE or "not changed" not in error.message:
            raise
        return False


def test_every_method_under_load(t):
    client = t.client()
    load = Load(t)
    used = []
    for method in (*_METHODS, *reversed(_METHODS)):
        before = _latency(client)
        if not _set_method(client, method):
            continue
        used.append(method)
        t.equal(_status(client, "log_sync_method"), method, "the method in use")
        load.progress()
        after = _latency(client)
        for phase in ("sync", "commit"):
            old = before.get((method, phase), (0, 0, 0))
            new = after.get((method, phase), (0, 0, 0))
            t.true(new[0] > old[0], f"no {phase} of {method} was counted")
            t.true(new[2] > old[2], f"the time of {phase} with {method} stood still")
    for method in ("fsync", "fdatasync", "dsync"):
        t.true(method in used, f"{method} was refused")
    _set_method(client, "auto")
    t.true(_status(client, "log_sync_method") in _METHODS, "auto chose no method")
    load.progress()
    load.finish()


def test_counters_agree_when_quiet(t):
    client = t.client()
    Load(t).finish()
    t.wait_for(lambda: _status(client, "log_lsn") == _status(client, "log_durable_lsn"),
               "the log is quiet")

    def agree():
        latency = _latency(client)
        for phase, counter in (("sync", "log_syncs"), ("commit", "commits")):
            total = sum(value[1] for key, value in latency.items() if key[1] == phase)
            if total != _number(client, counter):
                return False
        return all(value[0] == value[1] for value in latency.values())
    t.wait_for(agree, "histograms and counters agree")

    def told():
        """Statistics that are stored meanwhile are a commit, too."""
        commits, syncs = _number(client, "commits"), _number(client, "log_syncs")
        by_commit = float(_status(client, "log_syncs_per_commit"))
        by_sync = float(_status(client, "commits_per_log_sync"))
        report = client.query("SHOW ENGINE ROWAN STATUS")[0][2]
        return abs(by_commit - syncs / commits) < 0.01 and \
            abs(by_sync - commits / syncs) < 0.01 and f"{commits} commits:" in report
    t.wait_for(told, "syncs per commit, commits per sync and the report's commits agree")


def test_one_strict_session_beside_relaxed_ones(t):
    strict, relaxed = t.client(), t.client()
    strict.execute("CREATE TABLE s (id INT PRIMARY KEY, v INT)")
    strict.execute("INSERT INTO s VALUES (1, 0), (2, 0)")
    relaxed.execute("SET SESSION rowan_flush_log_at_trx_commit = 0")
    t.equal(strict.value("SELECT @@rowan_flush_log_at_trx_commit"), 1, "the strict session")
    t.equal(relaxed.value("SELECT @@rowan_flush_log_at_trx_commit"), 0, "the relaxed session")
    behind, syncs = 0, _number(strict, "log_syncs")
    started = time.monotonic()
    for _ in range(300):
        relaxed.execute("UPDATE s SET v = v + 1 WHERE id = 2")
        behind += relaxed.value("SELECT ROWAN_SESSION_LSN() > ROWAN_DURABLE_LSN()")
    allowed = 20 + 4 * (time.monotonic() - started)  # one a second, marks and checkpoints
    t.true(behind > 200, f"only {behind} of 300 relaxed commits returned before their sync")
    t.true(_number(strict, "log_syncs") - syncs < allowed, "relaxed commits made syncs")
    syncs, waits = _number(strict, "log_syncs"), _number(strict, "commit_waits")
    for _ in range(50):
        strict.execute("UPDATE s SET v = v + 1 WHERE id = 1")
        t.equal(strict.value("SELECT ROWAN_SESSION_LSN() <= ROWAN_DURABLE_LSN()"), 1,
                "a strict commit is durable")
        relaxed.execute("UPDATE s SET v = v + 1 WHERE id = 2")
    t.true(_number(strict, "log_syncs") - syncs >= 50, "strict commits made no syncs")
    t.equal(_number(strict, "commit_waits") - waits, 50, "commits that waited")


def test_written_is_enough_for_a_kill(t):
    """Level 2 keeps what was acknowledged when the server dies; a strict one anyway."""
    server = t.new_server()
    server.start()
    sessions = {level: t.client(server) for level in (1, 2)}
    sessions[1].execute("CREATE TABLE k (level INT, id INT, PRIMARY KEY (level, id))")
    for level, client in sessions.items():
        client.execute(f"SET SESSION rowan_flush_log_at_trx_commit = {level}")
    for number in range(200):
        for level, client in sessions.items():
            client.execute(f"INSERT INTO k VALUES ({level}, {number})")
    server.kill()
    server.start()
    t.equal(t.client(server).query("SELECT level, COUNT(*) FROM k GROUP BY level ORDER BY level"),
            [(1, 200), (2, 200)])


def test_a_relaxed_session_waits_for_its_rows(t):
    client = t.client()
    client.execute("SET SESSION rowan_flush_log_at_trx_commit = 0")
    t.equal(t.client().value("SELECT ROWAN_SESSION_LSN()"), 0, "LSN of a session without a commit")
    client.execute("CREATE TABLE d (id INT PRIMARY KEY)")
    for number in range(30):
        client.execute(f"INSERT INTO d VALUES ({number})")
        lsn = client.value("SELECT ROWAN_SESSION_LSN()")
        started = time.monotonic()
        t.equal(client.value(f"SELECT ROWAN_WAIT_DURABLE({lsn}, 30)"), 1, "the wait")
        t.true(client.value("SELECT ROWAN_DURABLE_LSN()") >= lsn, "durable after the wait")
        t.true(time.monotonic() - started < HUNG_S, "the wait took too long")
    read = client.value("SELECT ROWAN_SESSION_LSN()")
    client.query("SELECT * FROM d")
    t.equal(client.value("SELECT ROWAN_SESSION_LSN()"), read, "the LSN after a read")
    client.execute("BEGIN")
    client.execute("INSERT INTO d VALUES (1000)")
    client.execute("ROLLBACK")
    t.equal(client.value("SELECT ROWAN_SESSION_LSN()"), read, "the LSN after a rollback")


def test_the_wait_ends_by_time_kill_and_null(t):
    client, killer = t.client(), t.client()
    beyond = client.value("SELECT ROWAN_DURABLE_LSN()") + 10**12
    started = time.monotonic()
    t.equal(client.value(f"SELECT ROWAN_WAIT_DURABLE({beyond}, 0.3)"), 0, "the time-out")
    t.true(time.monotonic() - started >= 0.3, "the time-out came early")
    t.equal(client.value(f"SELECT ROWAN_WAIT_DURABLE({beyond}, 0)"), 0, "no wait at all")
    t.equal(client.value("SELECT ROWAN_WAIT_DURABLE(NULL, 1)"), None, "of NULL")
    t.equal(client.value("SELECT ROWAN_WAIT_DURABLE('4096', '1')"), 1, "of text")
    t.error("SELECT ROWAN_WAIT_DURABLE(1)", _CANNOT_INITIALIZE_UDF)
    t.error("SELECT ROWAN_DURABLE_LSN(1)", _CANNOT_INITIALIZE_UDF)
    number = client.value("SELECT CONNECTION_ID()")
    outcome = []

    def wait():
        try:
            outcome.append(client.value(f"SELECT ROWAN_WAIT_DURABLE({beyond}, 100)"))
        except MysqlError as error:
            outcome.append(error.code)
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    t.wait_for(lambda: killer.value("SELECT COUNT(*) FROM information_schema.processlist WHERE "
                                    f"id = {number} AND info LIKE '%WAIT_DURABLE%'"), "it waits")
    t.error("UNINSTALL PLUGIN rowan", _IN_USE)
    killer.execute(f"KILL QUERY {number}")
    thread.join(HUNG_S)
    # Which of the two, the server decides: it may look for kills once more or not.
    t.true(outcome in ([None], [_INTERRUPTED]), f"the killed wait: {outcome}")


def test_functions_come_and_go_with_the_plugin(t):
    server = t.new_server()
    server.start()
    for _ in range(3):
        with server.client() as client:  # not t.client(): its default engine keeps the plugin
            t.true(client.value("SELECT ROWAN_DURABLE_LSN()") > 0, "the durable LSN")
            t.uninstall(client)
            t.error("SELECT ROWAN_DURABLE_LSN()", (_NO_FUNCTION, _NO_DATABASE), client)
        server.install_rowan()


def test_strictness_with_the_binlog(t):
    server = t.new_server(binlog=True)
    server.start()
    strict, relaxed = t.client(server), t.client(server)
    strict.execute("CREATE TABLE b (id INT PRIMARY KEY, v INT)")
    strict.execute("INSERT INTO b VALUES (1, 0), (2, 0)")
    relaxed.execute("SET SESSION rowan_flush_log_at_trx_commit = 0")
    for _ in range(30):
        strict.execute("UPDATE b SET v = v + 1 WHERE id = 1")
        relaxed.execute("UPDATE b SET v = v + 1 WHERE id = 2")
        lsn = relaxed.value("SELECT ROWAN_SESSION_LSN()")
        t.equal(relaxed.value(f"SELECT ROWAN_WAIT_DURABLE({lsn}, 30)"), 1, "the relaxed session")
    server.kill()
    server.start()
    t.equal(t.client(server).query("SELECT v FROM b ORDER BY id"), [(30,), (30,)])


def _redo_bytes(server):
    total = 0
    for path in (server.data / "rowan").glob("redo_*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # recycled meanwhile
            pass
    return total


def test_redo_capacity_under_load(t):
    server = t.new_server(options=["--loose-rowan-redo-log-capacity=64M"])
    server.start()
    client = t.client(server)
    if client.value("SELECT @@rowan_redo_log_capacity") != 64 << 20:
        client.execute(f"SET GLOBAL rowan_redo_log_capacity = {64 << 20}")
    load = Load(t, server)
    load.progress()
    for mebibytes in (80, 16, 32, 8, 96, 8):
        client.execute(f"SET GLOBAL rowan_redo_log_capacity = {mebibytes << 20}")
        load.progress()
    client.execute("SET SESSION rowan_flush_log_at_trx_commit = 0")
    client.execute("CREATE TABLE bulk (id INT PRIMARY KEY, v LONGBLOB)")
    client.execute("INSERT INTO bulk VALUES (1, '')")

    def are_small():
        """Ready files are written through first. Two more than the capacity, of 512 KiB."""
        client.execute("UPDATE bulk SET v = REPEAT(UUID(), 100000)")
        return _redo_bytes(server) <= (8 << 20) + (2 << 20)
    t.wait_for(are_small, "the files shrink to 8 MiB")
    for bad in (1000, 1 << 50):
        t.error(f"SET GLOBAL rowan_redo_log_capacity = {bad}", _WRONG_VALUE, client)
    t.equal(client.value("SELECT @@rowan_redo_log_capacity"), 8 << 20, "after refused values")
    client.execute("SET GLOBAL rowan_redo_log_capacity = 9000000")
    t.equal(client.value("SELECT @@rowan_redo_log_capacity"), 9000000, "what was asked for")
    load.progress()
    load.finish()
    server.kill()
    server.start()
    counts = t.client(server).query("SELECT COUNT(*) FROM w GROUP BY writer ORDER BY writer")
    t.equal(counts, [(count,) for count in load.inserted], "after recovery")


_READ_FOR_REDO = re.compile(r"Crash recovery: the redo log was read from LSN (\d+) to (\d+)")
_REDONE = re.compile(r"Crash recovery: (\d+) log groups redone \((\d+) of \d+ records applied\) "
                     r"from LSN \d+ to \d+, ([\d.]+) s")


def _recover_after_full_log(t, mebibytes):
    """Fills the log while the cleaner may hardly write, kills, starts: what was redone, and how
    long it took."""
    capacity = mebibytes << 20
    server = t.new_server([f"--loose-rowan-redo-log-capacity={capacity}"], buffer_pool="256M")
    server.start()
    client = t.client(server)
    for setting in ("GLOBAL rowan_io_capacity = 100",
                    "SESSION rowan_flush_log_at_trx_commit = 0",
                    "SESSION cte_max_recursion_depth = 1000000"):
        client.execute(f"SET {setting}")
    rows = 20000 if mebibytes < 64 else 400000
    client.execute("CREATE TABLE r (id INT PRIMARY KEY, k INT, pad VARCHAR(200), KEY (k))")
    client.execute("INSERT INTO r WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                   f"WHERE i < {rows}) SELECT i, i, REPEAT('x', 200) FROM n")
    total = rows * (rows + 1) // 2
    age, first_lsn = 0, _number(client, "log_lsn")
    while age < capacity * 0.6 and _number(client, "log_lsn") - first_lsn < 4 * capacity:
        low = t.random.randrange(rows)
        total += 7 * client.execute("UPDATE r SET k = k + 7 "
                                    f"WHERE id BETWEEN {low} AND {low + rows // 50}").affected
        age = max(age, _number(client, "checkpoint_age"))
        t.true(_number(client, "checkpoint_age") <= capacity, "the log outgrew its capacity")
    client.value(f"SELECT ROWAN_WAIT_DURABLE({client.value('SELECT ROWAN_SESSION_LSN()')}, 60)")
    server.kill()
    server.start()
    first, last = _READ_FOR_REDO.search(server.messages()).groups()
    span = int(last) - int(first)
    t.true(span <= capacity, f"{span} bytes were read, the capacity is {capacity}")
    t.equal(t.client(server).query("SELECT COUNT(*), SUM(k) FROM r"), [(rows, str(total))],
            "after recovery")
    if span == 0:  # a checkpoint came between the last look at its age and the kill
        print(f"redo capacity {mebibytes} MiB: nothing to redo", flush=True)
        return
    t.wait_for(lambda: _REDONE.search(server.messages()), "redo ends", limit_s=300)
    groups, applied, seconds = _REDONE.search(server.messages()).groups()
    print(f"redo capacity {mebibytes} MiB: {span / (1 << 20):.0f} MiB of log, {groups} groups, "
          f"{applied} records applied, recovery {seconds} s", flush=True)


def test_recovery_is_bounded_by_the_redo_capacity(t):
    for mebibytes in (64, 256, 1024) if t.long else (8,):
        _recover_after_full_log(t, mebibytes)


def test_data_sync_method_under_load(t):
    client = t.client()
    load = Load(t)
    for method in ("fsync", "fdatasync", "auto", "fsync"):
        client.execute(f"SET GLOBAL rowan_data_sync_method = {method}")
        t.equal(client.value("SELECT @@rowan_data_sync_method"), method)
        load.progress()
    t.error("SET GLOBAL rowan_data_sync_method = dsync", _WRONG_VALUE)
    client.execute("SET GLOBAL rowan_data_sync_method = DEFAULT")
    load.finish()


def test_doublewrite_modes_under_load(t):
    client = t.client()
    load = Load(t)
    for mode in ("detect_only", "off", "on", "off", "detect_only", "on"):
        client.execute(f"SET GLOBAL rowan_doublewrite = {mode}")
        t.equal(client.value("SELECT @@rowan_doublewrite"), mode)
        load.progress()
    load.finish()


def test_atomic_doublewrite_only_where_promised(t):
    client = t.client()
    try:
        client.execute("SET GLOBAL rowan_doublewrite = atomic")
    except MysqlError as error:
        t.equal(error.code, _WRONG_VALUE)
        t.true("untorn writes" in error.message, f"the reason is missing: {error.message}")
        t.equal(client.value("SELECT @@rowan_doublewrite"), "on", "after the refusal")
        log = t.server.messages()
        t.true("promises untorn writes of at most" in log, "the log does not name the file")
        return
    load = Load(t)
    for mode in ("on", "atomic", "off", "atomic", "on"):
        client.execute(f"SET GLOBAL rowan_doublewrite = {mode}")
        load.progress()
    load.finish()
