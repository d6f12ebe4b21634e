# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench commit: durable single-row updates through a server, by sync method, number of
clients, binlog and injected sync latency. The sides are engines with a method each."""
import dataclasses
from dataclasses import dataclass

from ..progress import Step
from . import database, settings
from .load import Load, clients
from .measuring import latency_metrics, observe, per_operation, run_of, stalls
from .servers import MysqlServer
from .sync_delay import NOT_DELAYED, SYNC_METHODS, Counts
from .targets import Target

COLUMNS = ("commits_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "syncs",
           "calls", "cpu", "client_cpu", "cs", "wkb", "retries", "stalls")
_DIRECT, _SYNC = "O_DIRECT", "O_DSYNC"
_START_S = 8   # of two servers, for the plan


@dataclass
class Method(Target):
    """A side: `setting` is run before each of its runs, on the server with that flush method."""
    setting: str = ""
    flush_method: str = _DIRECT
    method: str = ""


def method_targets(methods=SYNC_METHODS):
    """Rowan by each of `methods`, then InnoDB by its own."""
    sides = [Method(f"rowan {method}", "mysql", "rowan", database="bench_rowan", method=method,
                    setting=f"SET GLOBAL rowan_log_sync_method = {method}") for method in methods]
    for method, value in (("fsync", "OFF"), ("fdatasync", "ON")):
        sides.append(Method(f"innodb {method}", "mysql", "innodb", database="bench_innodb",
                            method=method, setting=f"SET GLOBAL innodb_use_fdatasync = {value}"))
    sides.append(Method(f"innodb {_SYNC}", "mysql", "innodb", database="bench_innodb",
                        method=_SYNC, setting="DO 0", flush_method=_SYNC))
    return sides


@dataclass(frozen=True)
class _Case:
    binlog: bool
    delay_us: int

    @property
    def title(self):
        delay = f", each sync {self.delay_us} us longer" if self.delay_us else ""
        return f"binlog {'on' if self.binlog else 'off'}{delay}"


class Commit:
    """`options`: threads, binlogs (a list of bool), delays, time."""

    def __init__(self, session, options):
        self._session, self._options = session, options
        self._cases = [_Case(binlog, delay) for delay in options.delays
                       for binlog in options.binlogs]

    def run(self):
        session, options = self._session, self._options
        for case in self._cases:
            session.result.add_group(case.title, "Durable commits, " + case.title)
            for threads in options.threads:
                session.result.add_test(_name(threads, case), case.title, clients(threads),
                                        "commits_per_s")
        session.result.set_columns(COLUMNS)
        session.result.note("mysqlx_cache_cleaner is off in the MySQL servers of the driver: it "
                            "makes the server write out every prepared change, for each engine.")
        if any(options.delays):
            session.result.note("Injected delays do not reach what goes through io_uring: there "
                                f"{', '.join(NOT_DELAYED)} is n/a. Calls through io_uring are not "
                                "counted either.")
        runs = len(options.threads) * len(session.targets) * session.request.rounds
        session.plan("commit", len(self._cases) * (runs * (options.time + 1) + _START_S))
        for number, case in enumerate(self._cases):
            self._case(case, first=number == 0)

    def _case(self, case, first):
        """Servers of their own for each case, since binlog and delay are those of a start."""
        servers, counts = {}, {}
        try:
            for method in dict.fromkeys(side.flush_method for side in self._session.targets):
                folder = self._session.folder / method.lower().replace("_", "-")
                counts[method] = Counts(self._session.folder / f"counts-{method.lower()}")
                servers[method] = self._start(case, folder, method, counts[method].path)
            for side in self._session.targets:
                self._attach(side, servers[side.flush_method], record=first)
            self._session.advance(_START_S)
            for threads in self._options.threads:
                self._session.take_turns(
                    _name(threads, case), self._options.time + 1,
                    lambda side, tell, threads=threads: self._one_run(
                        case, threads, side, counts[side.flush_method], tell))
        finally:
            for server in servers.values():
                server.stop()

    def _start(self, case, folder, method, counts):
        conditions = dataclasses.replace(
            self._session.request.conditions, binlog=case.binlog, delay_us=case.delay_us,
            counts=counts, options={"mysql": [f"--innodb-flush-method={method}",
                                              *self._session.request.conditions.options.get(
                                                  "mysql", ())]})
        server = MysqlServer(folder, conditions)
        server.install_plugin = method == _DIRECT
        with Step(f"starting a server, {case.title}, {method}"):
            return server.start()

    def _attach(self, side, server, record):
        side.server, side.pid, side.socket = server, server.pid(), str(server.socket)
        with database.connect(side, database="") as connection:
            connection.execute(f"CREATE DATABASE IF NOT EXISTS {side.database}")
        Load(side, "commit.lua", {"engine": side.engine, "clients": max(self._options.threads)},
             "prepare").run()
        if record:
            facts = settings.describe(side)
            facts["settings"].update({"binlog": "as each test says", "sync method": side.method})
            self._session.result.add_target(dict(
                facts, name=side.name, kind=side.kind, engine=side.engine,
                address=side.address(), own=True, observed=True))

    def _one_run(self, case, threads, side, counts, tell):
        if case.delay_us and side.method in NOT_DELAYED:
            return {"metrics": {}, "facts": {"not available": "its syncs cannot be delayed"}}
        try:
            with database.connect(side, database="") as connection:
                connection.execute(side.setting)
        except database.error_types() as error:
            return {"metrics": {}, "facts": {"not available": str(error.args[-1])}}
        self._session.settle(side)
        load = Load(side, "commit.lua", {"threads": threads, "time": self._options.time,
                                         "events": 0, "clients": max(self._options.threads)})
        before = counts.read()
        with observe(side, self._session.data_folder(side)) as sampler:
            report = load.run(tell)
        syncs, durable, other = [new - old for new, old in zip(counts.read(), before)]
        events = max(1, report.events)
        seen = side.method not in NOT_DELAYED
        cost = per_operation(sampler, report.events)
        metrics = dict(latency_metrics(report), commits_per_s=report.events / report.seconds,
                       syncs=(syncs + durable) / events if seen else None,
                       calls=(syncs + durable + other) / events if seen else None,
                       cpu=cost["cpu"], cs=cost["cs"], wkb=cost["wkb"],
                       client_cpu=report.client_cpu_s * 1e6 / events,
                       retries=sum(report.retries.values()),
                       stalls=stalls(report.events_by_second))
        return run_of(report, metrics, report.events_by_second)


def _name(threads, case):
    return f"{clients(threads)}, {case.title}"
