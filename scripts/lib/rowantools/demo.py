# SPDX-License-Identifier: GPL-2.0-only
"""scripts/demo: sysbench and commit latency on Rowan and InnoDB, side by side in one server."""
import argparse
import json
import os
import platform
import statistics
import sys
import time

from . import setup
from .build import build, cores
from .commit_latency import SYNC_METHODS, CommitLatency
from .paths import BUILD, UserError, run_main
from .progress import Step, format_duration, say
from .report_html import write_page
from .report_text import latency_table, workload_table
from .server import Server
from .sysbench import BULK_INSERT, WORKLOADS, Sysbench

_ENGINES = ("rowan", "innodb")
_QUICK_BUDGET_S = 235          # of the whole demo after the set-up
_QUICK_FIXED_S = 45            # start, data, the start of each run
_QUICK_RUN_OVERHEAD_S = 1.1    # connecting and calming down, for each run
_REDO_CAPACITY = "1G"


class Demo:
    def __init__(self, options):
        self._options = options
        self._folder = BUILD / "demo"
        self._engines = options.engines
        self._problems = []

    def run(self):
        tree = setup.prepare()
        if "rowan" in self._engines and not os.environ.get("ROWAN_PLUGIN"):
            build(BUILD, ["-DROWAN_SANITIZE="], targets=["ha_rowan"],
                  name="building ha_rowan.so", tree=tree)
        start = time.monotonic()
        server = self._start_server(tree)
        try:
            results = self._measure(server)
        finally:
            if self._options.keep_server and server.is_running():
                say(f"demo: the server keeps running; scripts/server shell --dir {server.folder}")
            else:
                server.stop()
        results["seconds"] = time.monotonic() - start
        self._publish(results)
        return 1 if self._problems else 0

    # --- measuring ---

    def _start_server(self, tree):
        folder = self._folder / "server"
        Server(folder, tree).destroy()
        server = Server(folder, tree, options=_equal_options(),
                        buffer_pool=self._options.buffer_pool,
                        binlog=self._options.binlog == "on",
                        install_plugin="rowan" in self._engines)
        with Step("starting a fresh server" + (" with Rowan installed" if server.install_plugin
                                               else "")):
            server.start()
        return server

    def _measure(self, server):
        bench = Sysbench(server, self._options.threads, self._options.table_size,
                         self._options.rand_type)
        results = {"machine": _machine(), "settings": self._settings(server),
                   "workloads": [], "commit_latency": []}
        if self._options.workloads:
            for engine in self._engines:
                with Step(f"loading {self._options.table_size:,} rows into {engine}"):
                    bench.prepare(engine)
            results["workloads"] = self._all_workloads(bench)
        if self._options.sync_methods:
            results["commit_latency"] = self._commit_latency(server)
        return results

    def _all_workloads(self, bench):
        names, rounds = self._options.workloads, self._options.rounds
        total, done, reports = len(names) * rounds * len(self._engines), 0, []
        with Step("sysbench", total=total) as step:
            for name in names:
                runs = {engine: [] for engine in self._engines}
                problems = {}
                for number in range(rounds):
                    order = self._engines if number % 2 == 0 else self._engines[::-1]
                    for engine in order:
                        step.update(done, f"{name} on {engine}, round {number + 1}")
                        if engine not in problems:
                            self._one_run(bench, engine, name, runs, problems)
                        done += 1
                reports.append(self._report(name, runs, problems))
                say("    " + _one_line(reports[-1], self._engines))
        return reports

    def _one_run(self, bench, engine, name, runs, problems):
        try:
            runs[engine].append(bench.measure(engine, name, self._options.time))
        except UserError as error:
            problems[engine] = str(error)
            self._problems.append(str(error))

    def _report(self, name, runs, problems):
        report = {"name": name, "unit": "rows/s" if name == BULK_INSERT else "queries/s",
                  "engines": {}, "problems": problems}
        for engine, measured in runs.items():
            if measured and engine not in problems:
                report["engines"][engine] = {
                    "qps": statistics.median(run.qps for run in measured),
                    "p95_ms": statistics.median(run.p95_ms for run in measured),
                    "cpu_us": statistics.median(run.cpu_us for run in measured),
                    "errors": sum(run.errors for run in measured),
                    "runs_qps": [run.qps for run in measured]}
        have = report["engines"]
        if "rowan" in have and "innodb" in have:
            report["ratio"] = have["rowan"]["qps"] / have["innodb"]["qps"]
            report["cpu_ratio"] = have["rowan"]["cpu_us"] / max(0.01, have["innodb"]["cpu_us"])
        return report

    def _commit_latency(self, server):
        latency = CommitLatency(server, self._engines, self._options.sync_methods)
        with Step("commit latency") as step:
            rows = latency.run(self._options.latency_slice, self._options.latency_rounds,
                               lambda done, total, title: step.update(done, title, total=total))
        self._problems += [f"{row.title}: {row.problem}" for row in rows if row.problem]
        return [{"title": row.title, "kind": row.kind, "method": row.method, "engine": row.engine,
                 "figures": row.figures(), "problem": row.problem or row.unavailable}
                for row in rows]

    # --- results ---

    def _settings(self, server):
        options = self._options
        with server.client() as client:
            names = ["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_flush_method",
                     "innodb_use_fdatasync", "innodb_buffer_pool_size", "innodb_page_size",
                     "innodb_redo_log_capacity"]
            variables = dict(client.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ("
                                          + ", ".join(f"'{name}'" for name in names)
                                          + ") OR Variable_name LIKE 'rowan\\_%'"))
            version = client.value("SELECT VERSION()")
        return {"mysql": version, "threads": options.threads, "table_size": options.table_size,
                "time_s": options.time, "rounds": options.rounds, "binlog": options.binlog,
                "buffer_pool": options.buffer_pool, "rand_type": options.rand_type or "stock",
                "variables": variables}

    def _publish(self, results):
        results["problems"] = self._problems
        self._folder.mkdir(parents=True, exist_ok=True)
        json_path, page_path = self._folder / "results.json", self._folder / "results.html"
        json_path.write_text(json.dumps(results, indent=1) + "\n")
        write_page(page_path, results, self._engines)
        settings = results["settings"]
        print(f"\nMySQL {settings['mysql']}, {settings['threads']} client threads, "
              f"{settings['table_size']:,} rows, buffer pool {settings['buffer_pool']} each, "
              f"{settings['rounds']} alternating rounds of {settings['time_s']} s, medians; "
              f"{results['machine']['cores']} cores")
        if results["workloads"]:
            print("\n" + workload_table(results["workloads"], self._engines))
            if any(row["name"] == BULK_INSERT for row in results["workloads"]):
                print(f"({BULK_INSERT}: rows per second and CPU per row)")
        if results["commit_latency"]:
            print("\n" + latency_table(results["commit_latency"]))
        for problem in self._problems:
            print(f"failed: {problem}")
        print(f"\n{json_path}\n{page_path}\n"
              f"demo: {format_duration(results['seconds'])} after the set-up", flush=True)


def _equal_options():
    """The same promise for both engines: durable commits, doublewrite, equal memory and redo."""
    return ["--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=ON",
            f"--innodb-redo-log-capacity={_REDO_CAPACITY}",
            "--loose-rowan-flush-log-at-trx-commit=1", "--loose-rowan-doublewrite=on",
            f"--loose-rowan-redo-log-capacity={_REDO_CAPACITY}",
            "--performance-schema=OFF", "--max-connections=1200",
            "--max-prepared-stmt-count=1000000", "--max-allowed-packet=64M"]


def _one_line(report, engines):
    parts = []
    for engine in engines:
        figures = report["engines"].get(engine)
        parts.append(f"{engine} {figures['qps']:,.0f}/s" if figures else f"{engine} failed")
    ratio = f", ratio {report['ratio']:.2f}" if "ratio" in report else ""
    return f"{report['name']}: {', '.join(parts)}{ratio}"


def _machine():
    model = ""
    with open("/proc/cpuinfo") as stream:
        for line in stream:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cores": cores(), "cpu": model, "kernel": platform.release(),
            "memory_mib": _memory_mib()}


def _memory_mib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


# --- options ---

def _names(text, allowed, what):
    if text in ("none", ""):
        return []
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in allowed:
            raise UserError(f"unknown {what} '{name}'; known: {', '.join(allowed)}")
    return names


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Sets everything up, starts a private MySQL server with Rowan installed, runs "
                    "the stock sysbench workloads on Rowan and InnoDB alternately in that server, "
                    "then compares the latency of durable commits by sync method. Tables on the "
                    "screen, JSON and one HTML page under build/demo/.")
    parser.add_argument("--quick", action="store_true",
                        help="a result within 4 minutes after the set-up")
    parser.add_argument("--time", type=int, metavar="S", help="seconds per run (default 10)")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help="alternations per workload (default 3)")
    parser.add_argument("--threads", type=int, metavar="N",
                        help="sysbench threads (default: twice the cores, at most 16)")
    parser.add_argument("--table-size", type=int, metavar="ROWS", help="rows (default 1000000)")
    parser.add_argument("--workloads", metavar="A,B", default=",".join(WORKLOADS),
                        help="which workloads, or none (default all: %(default)s)")
    parser.add_argument("--engines", metavar="A,B", default=",".join(_ENGINES))
    parser.add_argument("--sync-methods", metavar="A,B", default=",".join(SYNC_METHODS),
                        help="log sync methods to compare, or none (default %(default)s)")
    parser.add_argument("--buffer-pool", metavar="SIZE", help="of each engine (default 512M)")
    parser.add_argument("--binlog", choices=["on", "off"], default="off")
    parser.add_argument("--rand-type", choices=["uniform", "gaussian", "special", "pareto"],
                        default="", help="sysbench's key distribution (default: sysbench's own)")
    parser.add_argument("--keep-server", action="store_true", help="leave the server running")
    options = parser.parse_args()
    options.workloads = _names(options.workloads, WORKLOADS, "workload")
    options.engines = _names(options.engines, _ENGINES, "engine")
    options.sync_methods = _names(options.sync_methods, SYNC_METHODS, "sync method")
    if not options.engines:
        raise UserError("--engines needs at least one of " + ", ".join(_ENGINES))
    _fill_defaults(options)
    return options


def _fill_defaults(options):
    quick = options.quick
    options.threads = options.threads or min(16, 2 * cores())
    options.rounds = options.rounds or (2 if quick else 3)
    options.table_size = options.table_size or (100_000 if quick else 1_000_000)
    if not options.buffer_pool:
        options.buffer_pool = f"{max(64, min(512, _memory_mib() // 6))}M"
    options.latency_rounds = 2 if quick else 5
    options.latency_slice = 1.0 if quick else 3.0
    if not options.time:
        options.time = _quick_time(options) if quick else 10


def _quick_time(options):
    """Seconds per run that keep the whole demo inside the promise of --quick."""
    runs = max(1, len(options.workloads) * options.rounds * len(options.engines))
    latency_rows = 2 * len(options.sync_methods) + 2 if options.sync_methods else 0
    latency_s = latency_rows * options.latency_rounds * (options.latency_slice + 0.1)
    left_s = _QUICK_BUDGET_S - _QUICK_FIXED_S - latency_s - runs * _QUICK_RUN_OVERHEAD_S
    return max(1, min(5, int(left_s / runs)))


def main():
    return Demo(_parse()).run()


if __name__ == "__main__":
    sys.exit(run_main(main, "demo"))
