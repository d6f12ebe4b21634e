# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench hotrow: every client adds to one row, beside clients that add to rows of their own:
what the row costs that all want, and what as many threads cost anyway."""
from . import database
from .load import Load, clients
from .measuring import latency_metrics, observe, per_operation, run_of, stalls
from .queries import fill

COLUMNS = ("events_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "cpu",
           "client_cpu", "cs", "wkb", "retries", "stalls")
_KINDS = (("one row", "One row for all clients", False),
          ("own rows", "A row for each client", True))


class HotRow:
    """`options`: threads (a list), time."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session, options = self._session, self._options
        for name, title, _ in _KINDS:
            session.result.add_group(name, title)
            for threads in options.threads:
                session.result.add_test(_name(name, threads), name, clients(threads),
                                        "events_per_s")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        for target in session.targets:
            self._fill(target)
        planned = options.time + 1
        session.plan("hotrow", 2 * planned * len(options.threads) * session.request.rounds
                     * len(session.targets))
        for name, _, own in _KINDS:
            for threads in options.threads:
                session.take_turns(_name(name, threads), planned,
                                   lambda target, tell, own=own, threads=threads:
                                   self._one_run(target, own, threads, tell))

    def _fill(self, target):
        engine = f"ENGINE = {target.engine}" if target.protocol == "mysql" else ""
        with database.connect(target) as connection:
            connection.execute("DROP TABLE IF EXISTS hot")
            connection.execute("CREATE TABLE hot (id INT PRIMARY KEY, v BIGINT NOT NULL, "
                               f"pad CHAR(60) NOT NULL) {engine}")
            fill(connection, "hot", ((number, 0, "x") for number in
                                     range(1, max(self._options.threads) + 1)))

    def _one_run(self, target, own, threads, tell):
        self._session.settle(target)
        load = Load(target, "hot_row.lua", {"threads": threads, "events": 0,
                                            "time": self._options.time,
                                            "own": "on" if own else "off"})
        with observe(target, self._session.data_folder(target)) as sampler:
            report = load.run(tell)
        cost = per_operation(sampler, report.events)
        metrics = dict(latency_metrics(report), events_per_s=report.events / report.seconds,
                       cpu=cost["cpu"], cs=cost["cs"], wkb=cost["wkb"],
                       client_cpu=report.client_cpu_s * 1e6 / max(1, report.events),
                       retries=sum(report.retries.values()),
                       stalls=stalls(report.events_by_second))
        return run_of(report, metrics, report.events_by_second)


def _name(kind, threads):
    return f"{kind}, {clients(threads)}"
