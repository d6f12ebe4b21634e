# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench commit: durable single-row updates through a server, by sync method, number of
clients, binlog, injected sync latency and folder. The sides are engines with a method each."""
import dataclasses
import itertools
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..progress import Step
from . import database, settings
from .load import Load, clients
from .machine import place
from .options import listed
from .queries import status
from .servers import MysqlServer
from .sync_delay import NOT_DELAYED, SYNC_METHODS, Counts
from .targets import Target
from .workload import Case, Workload

_DIRECT, _SYNC = "O_DIRECT", "O_DSYNC"
_BINLOGS = {"off": [False], "on": [True], "both": [False, True]}


@dataclass
class Method(Target):
    """A side: `setting` is run before each of its runs, on the server with that flush method."""
    setting: str = ""
    flush_method: str = _DIRECT
    method: str = ""
    in_redo: str = ""   # rowan_binlog_in_redo where it is on

    def settings(self):
        """What the sides of one server share is set for each."""
        yield self.setting
        yield f"SET GLOBAL sync_binlog = {'0' if self.in_redo else '1'}"
        if self.flush_method == _DIRECT:
            yield f"SET GLOBAL rowan_binlog_in_redo = {self.in_redo or 'OFF'}"


def method_targets(methods=SYNC_METHODS):
    """Rowan by each of `methods`, by the first of them with the binary log in its redo log, then
    InnoDB by its own."""
    sides = [Method(f"rowan {method}{what}", "mysql", "rowan", database="bench_rowan",
                    method=method, in_redo=in_redo,
                    setting=f"SET GLOBAL rowan_log_sync_method = {method}")
             for method, what, in_redo in [*((method, "", "") for method in methods),
                                           (methods[0], ", binlog in redo", "ON"),
                                           (methods[0], ", sent early", "EARLY_SEND")]]
    for method, value in (("fsync", "OFF"), ("fdatasync", "ON")):
        sides.append(Method(f"innodb {method}", "mysql", "innodb", database="bench_innodb",
                            method=method, setting=f"SET GLOBAL innodb_use_fdatasync = {value}"))
    sides.append(Method(f"innodb {_SYNC}", "mysql", "innodb", database="bench_innodb",
                        method=_SYNC, setting="DO 0", flush_method=_SYNC))
    return sides


@dataclass(frozen=True)
class _Conditions:
    """What servers are started with; `place` is told where there are several folders."""
    folder: Path
    delay_us: int
    binlog: bool
    place: str

    @property
    def title(self):
        delay = f", each sync {self.delay_us} us longer" if self.delay_us else ""
        return f"binlog {'on' if self.binlog else 'off'}{delay}{self.place}"


class Commit(Workload):
    """`options`: threads, binlogs, delays, dir (a list), time."""
    columns = ("commits_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "syncs",
               "calls", "cpu", "client_cpu", "cs", "wkb", "retries", "stalls")

    def __init__(self, session, options):
        super().__init__(session, options)
        folders = options.dir or [session.folder]
        several = len(folders) > 1
        self._conditions = {one.title: one for one in (
            _Conditions(folder, delay, binlog, f", in {place(folder)}" if several else "")
            for folder, delay, binlog in itertools.product(folders, options.delays,
                                                           _BINLOGS[options.binlogs]))}
        self._open, self._folder, self._servers, self._counts = None, None, {}, {}

    @staticmethod
    def prepare(options):
        options.methods = listed(options.methods, SYNC_METHODS, "sync method") or list(SYNC_METHODS)

    @staticmethod
    def make_targets(options):
        return method_targets(options.methods)

    def groups(self):
        return [(title, "Durable commits, " + title) for title in self._conditions]

    def notes(self):
        yield ("mysqlx_cache_cleaner is off in the MySQL servers of the driver: it makes the "
               "server write out every prepared change, for each engine.")
        yield ("Syncs a commit are counted call by call in the server; those through io_uring by "
               "Rowan_log_syncs, which knows the redo log's alone.")
        if any(self.options.delays):
            yield ("Injected delays do not reach what goes through io_uring: there "
                   f"{', '.join(NOT_DELAYED)} is n/a.")

    def cases(self):
        return [Case(f"{clients(threads)}, {title}", title, clients(threads), "commits_per_s",
                     self.options.time + 1, partial(self._one_run, conditions, threads))
                for title, conditions in self._conditions.items()
                for threads in self.options.threads]

    def open_targets(self):
        """Nothing yet: binlog, delay and folder are those of a start."""

    def before(self, case):
        """Servers of their own for each group, one a flush method."""
        if self._open == case.group:
            return
        self.close()
        conditions = self._conditions[case.group]
        conditions.folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="bench-", dir=conditions.folder))
        for method in dict.fromkeys(side.flush_method for side in self.session.targets):
            self._counts[method] = Counts(self.session.folder / f"counts-{method.lower()}")
            self._start_server(conditions, method)
        for side in self.session.targets:
            self._attach(side, record=self._open is None)
        self._open = case.group

    def close(self):
        for server in self._servers.values():
            server.destroy()
        self._servers.clear()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start_server(self, conditions, method):
        common = self.session.request.conditions
        options = [f"--innodb-flush-method={method}", *common.options.get("mysql", ())]
        server = MysqlServer(self._folder / method.lower().replace("_", "-"), dataclasses.replace(
            common, binlog=conditions.binlog, delay_us=conditions.delay_us,
            counts=self._counts[method].path, options={"mysql": options}))
        server.install_plugin = method == _DIRECT
        self._servers[method] = server   # before it starts, which may be interrupted
        with Step(f"starting a server, {conditions.title}, {method}"):
            server.start()

    def _attach(self, side, record):
        server = self._servers[side.flush_method]
        side.server, side.pid, side.socket = server, server.pid(), str(server.socket)
        with database.connect(side, database="") as connection:
            connection.execute(f"CREATE DATABASE IF NOT EXISTS {side.database}")
        Load(side, "commit.lua", {"engine": side.engine, "clients": max(self.options.threads)},
             "prepare").run()
        if record:
            facts = settings.describe(side)
            facts["settings"].update({"binlog": "as each test says", "sync method": side.method})
            self.session.result.add_target(dict(
                facts, name=side.name, kind=side.kind, engine=side.engine,
                address=side.address(), own=True, observed=True))

    def _one_run(self, conditions, threads, side, tell):
        if conditions.delay_us and side.method in NOT_DELAYED:
            return {"metrics": {}, "facts": {"not available": "its syncs cannot be delayed"}}
        if side.in_redo and not conditions.binlog:
            return {"metrics": {}, "facts": {"not available": "there is no binary log"}}
        try:
            with database.connect(side, database="") as connection:
                for setting in side.settings():
                    connection.execute(setting)
        except database.error_types() as error:
            return {"metrics": {}, "facts": {"not available": str(error.args[-1])}}
        load = Load(side, "commit.lua", {"threads": threads, "time": self.options.time,
                                         "events": 0, "clients": max(self.options.threads)})
        before = self._counted(side)
        run, report, _ = self.run_load(side, load, tell, "events")
        syncs, durable, other, ring = [new - old for new, old in zip(self._counted(side), before)]
        events = max(1, report.events)
        run["metrics"].update(
            commits_per_s=run["metrics"].pop("events_per_s"),
            syncs=(syncs + durable + ring) / events,
            calls=None if side.method in NOT_DELAYED else (syncs + durable + other) / events)
        return run

    def _counted(self, side):
        """Syncs, durable writes and other writes by calls, and syncs of the log by io_uring."""
        ring = 0
        if side.method in NOT_DELAYED:
            with database.connect(side, database="") as connection:
                ring = status(connection, "Rowan_log_syncs")
        return (*self._counts[side.flush_method].read(), ring)
