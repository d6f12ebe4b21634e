# SPDX-License-Identifier: GPL-2.0-only
"""Tests through a real mysqld: functions test_*(t).

Every test file starts one server of its own (unix socket only) and gives each test a fresh
database. `t` is a Test: t.client() opens sessions, t.run() runs SQL in the first one, t.equal(),
t.error(), t.wait_for() check. A test that needs its own server or options calls t.new_server();
`pytestmark = pytest.mark.server(options=...)` sets those of the file's. Run one file or some of its
tests by hand: python3 -m pytest tests/mysqld/basic_test.py -k savepoint

Environment: ROWAN_TEST_ENGINE=InnoDB runs the same tests on InnoDB, to check the tests
themselves; ROWAN_TEST_LONG=1 asks for long runs; ROWAN_TEST_SEED fixes the random seed;
ROWAN_TEST_KEEP=1 keeps the server's folder of a failed test.
"""
import os
import random
import re
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest

from rowantools.client import Client, ConnectionLost, MysqlError  # noqa: F401
from rowantools.mysql_tree import find_tree
from rowantools.paths import BUILD, ROOT  # noqa: F401
from rowantools.server import Server, free_port  # noqa: F401

ENGINE = os.environ.get("ROWAN_TEST_ENGINE", "ROWAN")
LONG = os.environ.get("ROWAN_TEST_LONG") == "1"
SEED = int(os.environ.get("ROWAN_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
# What takes no time worth naming may take this long where the machine is busy or slow. A test
# that a time decides compares it with this and prints it; figures are held to --long and to docs/.
HUNG_S = 30
_FOLDER = BUILD / "mysqld-tests"
# Of the server; 8.4 has the hypergraph optimizer in debug builds only, and leaves foreign keys to
# the engines.
IS_8_4 = find_tree().source_version()[:2] == (8, 4)
needs_foreign_keys = pytest.mark.skipif(
    IS_8_4, reason="MySQL 8.4 leaves foreign keys to the engines, and Rowan refuses them")
OPTIMIZERS = ("off",) if IS_8_4 else ("off", "on")  # hypergraph_optimizer
_OPTIONS = ["--innodb-redo-log-capacity=16M", "--innodb-flush-log-at-trx-commit=1",
            "--performance-schema=OFF", "--max-connections=400"]


class Failure(AssertionError):
    """A check that did not hold."""


class Test:
    """What a test function gets."""
    __test__ = False  # nothing that pytest collects

    def __init__(self, name, server):
        self.name, self.server = name, server
        self.engine, self.long = ENGINE, LONG
        self.random = random.Random(f"{SEED}/{name}")
        self.database = "t_" + re.sub(r"\W+", "_", name.removeprefix("test_"))[:50]
        self._servers, self._clients, self.failed = [], [], False

    # --- servers and sessions ---

    def new_server(self, options=(), binlog=False, buffer_pool="64M"):
        """A further server with an empty data directory; stopped and removed after the test."""
        server = make_server(f"{self.name}-{len(self._servers)}", options, binlog, buffer_pool)
        self._servers.append(server)
        return server

    def client(self, server=None, database=None, timeout_s=180.0):
        """A new session in the test's database; tables without ENGINE get the engine under test."""
        server = server or self.server
        client = server.client(timeout_s=timeout_s)
        self._clients.append(client)
        if server.install_plugin or self.engine != "ROWAN":
            client.execute(f"SET SESSION default_storage_engine = {self.engine}")
        name = self.database if database is None else database
        if name:
            client.execute(f"CREATE DATABASE IF NOT EXISTS `{name}`")
            client.execute(f"USE `{name}`")
        return client

    def run(self, *statements):
        """Runs statements in the test's first session; returns the rows of the last one."""
        if not hasattr(self, "_first"):
            self._first = self.client()
        rows = []
        for statement in statements:
            rows = self._first.query(statement)
        return rows

    def value(self, statement):
        rows = self.run(statement)
        return rows[0][0] if rows else None

    # --- checks ---

    def equal(self, actual, expected, what=""):
        if actual != expected:
            raise Failure(f"{what or 'values differ'}: got {_short(actual)}, "
                          f"expected {_short(expected)}")

    def true(self, condition, what):
        if not condition:
            raise Failure(what)

    def rows(self, statement, expected):
        self.equal(self.run(statement), [tuple(row) for row in expected], statement)

    def error(self, statement, code, client=None):
        """The statement must fail with this error number (or one of these)."""
        codes = code if isinstance(code, (tuple, list, set)) else (code,)
        client = client or self._first_client()
        try:
            client.execute(statement)
        except MysqlError as error:
            if error.code not in codes:
                raise Failure(f"{statement[:200]}: failed with {error}, expected {code}") from error
            return error.message
        raise Failure(f"{statement[:200]}: succeeded, expected error {code}")

    def check_table(self, table, client=None):
        """CHECK TABLE must say OK and nothing else."""
        rows = (client or self._first_client()).query(f"CHECK TABLE {table}")
        if {row[3] for row in rows} != {"OK"}:
            raise Failure(f"CHECK TABLE {table}: {rows}")

    def wait_for(self, condition, what, limit_s=120.0):
        """Polls until condition() is true."""
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                raise Failure(f"not within {limit_s} s: {what}")
            time.sleep(0.02)

    def uninstall(self, client):
        """UNINSTALL PLUGIN, once sessions that were closed a moment ago have left."""
        self.wait_for(lambda: client.error_code("UNINSTALL PLUGIN rowan") == 0, "the plugin goes")

    def threads(self, functions, limit_s=240.0):
        """Runs functions in threads and raises the first exception of any of them."""
        failures = []

        def guard(function):
            try:
                function()
            except BaseException as error:  # noqa: B902 - handed to the caller below
                failures.append(error)
        workers = [threading.Thread(target=guard, args=(f,), daemon=True) for f in functions]
        for worker in workers:
            worker.start()
        deadline = time.monotonic() + limit_s
        for worker in workers:
            worker.join(max(0.1, deadline - time.monotonic()))
            if worker.is_alive():
                raise Failure(f"a thread still runs after {limit_s} s")
        if failures:
            raise failures[0]

    def amid(self, client, statements, within_s, strike):
        """Calls strike() at some time while the client runs these; returns how they failed. What
        comes after a connection is lost is not run."""
        failed = []

        def run():
            for statement in statements:
                try:
                    client.query(statement)
                except (MysqlError, ConnectionLost) as error:
                    failed.append(error)
                    if isinstance(error, ConnectionLost):
                        return
        worker = threading.Thread(target=run)
        worker.start()
        time.sleep(self.random.random() * within_s)
        strike()
        worker.join()
        return failed

    def kill_among(self, server, functions, stop, seconds, begun=lambda: True):
        """Kills the server while the functions run in threads, which end when they lose it or see
        the event `stop`, set then; so many seconds after begun() is true."""
        threads = [threading.Thread(target=function, daemon=True) for function in functions]
        for thread in threads:
            thread.start()
        self.wait_for(begun, "the sessions get on")
        time.sleep(seconds)
        server.kill()
        stop.set()
        for thread in threads:
            thread.join(60)
            self.true(not thread.is_alive(), "a session hangs after the server died")

    def skip(self, reason):
        pytest.skip(reason)

    # --- for conftest.py ---

    def all_servers(self):
        return [self.server, *self._servers]

    def _first_client(self):
        self.run()
        return self._first

    def finish(self):
        for client in self._clients:
            client.close()
        if self.server.is_running():
            try:
                with self.server.client() as client:
                    client.execute(f"DROP DATABASE IF EXISTS `{self.database}`")
            except (MysqlError, ConnectionLost) as error:
                raise Failure(f"cleaning up failed: {error}") from error

    def remove_servers(self):
        for server in self._servers:
            server.destroy()


def _short(value):
    text = repr(value)
    return text if len(text) <= 400 else text[:400] + "..."


def make_server(name, options=(), binlog=False, buffer_pool="64M"):
    """A server with a copy of the empty data directory that all tests share as a template."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    prefix = re.sub(r"[^\w-]", "_", name[:40]) + "-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_FOLDER))
    server = Server(folder, options=[*_OPTIONS, *options], binlog=binlog, buffer_pool=buffer_pool,
                    install_plugin=ENGINE == "ROWAN")
    shutil.copytree(_template(), server.data)
    for unique in ("auto.cnf",):
        (server.data / unique).unlink(missing_ok=True)
    return server


def _template():
    """An empty data directory of the server's version, made once and then copied."""
    import fcntl
    version = ".".join(str(part) for part in find_tree().server_version())
    template = Server(_FOLDER / f"template-{version}", options=_OPTIONS)
    with open(_FOLDER / "template.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        template.initialize()
    return template.data
