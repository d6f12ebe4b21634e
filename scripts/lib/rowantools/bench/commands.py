# SPDX-License-Identifier: GPL-2.0-only
"""The measuring commands as a table: what --help says of each, its options, and the class that runs
it."""
from dataclasses import dataclass

from ..build import cores
from .micro_tests import test_names
from .options import (add_files, count_list, isolations, mib, moment, number, number_list, seconds,
                      shape, whole)

_UNITS = ((10 ** 6, "M"), (10 ** 3, "k"))


def _option(name, kind, default, meaning, metavar="N", **more):
    """An option with a value. Where the help names no default, there is one."""
    if default is not None and "(default" not in meaning:
        meaning += f" (default {_words(default)})"
    return name, dict(more, type=kind, default=default, help=meaning, metavar=metavar)


def _flag(name, meaning):
    return name, {"action": "store_true", "help": meaning}


def _choice(name, choices, default, meaning):
    return name, {"choices": choices, "default": default, "help": meaning}


def _words(value):
    if isinstance(value, list):
        return ",".join(map(_words, value))
    for unit, letter in _UNITS:
        if isinstance(value, int) and value >= unit and value % unit == 0:
            return f"{value // unit}{letter}"
    return str(value)


@dataclass(frozen=True)
class Command:
    """`workload` is module.Class; `folders`: --dir may be given several times."""
    name: str
    meaning: str
    workload: str
    rounds: int
    options: tuple
    targets: bool = True
    folders: bool = False


def _time(default):
    return _option("--time", seconds, default, "seconds of a run", "S")


def _rows(default):
    return _option("--rows", number, default, "rows of the table")


def _clients(default, meaning="clients; several numbers are measured one after the other"):
    return _option("--threads", number_list if isinstance(default, list) else seconds, default,
                   meaning, "N,M" if isinstance(default, list) else "N")


def _tests(meaning):
    return _option("--tests", test_names, None, f"which of the microbenchmarks (default {meaning})",
                   "A,B")


def _timed_queries(rows):
    return (_option("--rows", number, None, rows),
            _option("--limit", seconds, 60, "seconds of a query", "S"),
            _flag("--instructions", "count them with valgrind instead of taking times (20k rows "
                  "unless said otherwise)"))


_DELAYS = _option("--delays", count_list, [0],
                  "microseconds that each sync takes longer, e.g. 0,1500", "US,US")

COMMANDS = (
    Command("demo", "the main points in less than three minutes: eight microbenchmarks, and "
            "durable commits by sync method", "launch.demo", 4,
            (_time(1), _clients([min(16, 2 * cores())], "clients; twice the cores, at most 16"))),
    Command("micro", "42 microbenchmarks: points, ranges, ranges with aggregation, writes",
            "micro.Micro", 4, (
                _flag("--quick", "twelve of them, 2 s each, 100,000 rows, unless said otherwise"),
                _choice("--set", ["quick", "32", "42"], None, "how many (default 42; 32 leaves out "
                        "the reads before the writes)"),
                _tests("all of the set"),
                _option("--shape", shape, None, "tables and rows of each: 1x30M, 8x10M, 1x100k "
                        "(default 1x1M)", "TxR"),
                _clients([1]),
                _option("--time", seconds, None, "seconds of a run (default 10)", "S"),
                _option("--rate", whole, 0, "events a second; the latency then counts from the "
                        "intended start (default: as fast as it goes)"),
                _flag("--instructions", "count user instructions a query, where perf can"))),
    Command("insert", "the insert benchmark: l.i0 l.x l.i1 l.i2, then reads beside inserts at "
            "fixed rates", "insert.Insert", 1, (
                _flag("--quick", "20,000 rows, 2 s a step"),
                _option("--rows", shape, None, "clients, a table each, and the rows of l.i0 "
                        "(default 1x1M)", "CxR"),
                _option("--time", seconds, None, "seconds of each other step (default 60)", "S"),
                _option("--pattern", str, "A-RRR", "where new entries go: primary key, then "
                        "marketing, register and price index: A ascending, R random, Z skewed",
                        "CODE"),
                _option("--steps", str, None, "only these (l.i0 always runs)", "A,B"))),
    Command("sync", "fsync against fdatasync against the rest: bare writes by kind of file, and "
            "commits of the engine without a server", "sync.Sync", 3, (
                _clients([1, 4, 16], "threads that commit"),
                _option("--time", moment, 0.5, "seconds of a figure", "S"), _DELAYS),
            targets=False, folders=True),
    Command("commit", "durable commits through a server: 1 to N clients, binlog off and on, by "
            "sync method, on one disk or several", "commit.Commit", 5, (
                _clients([1, 4, 16]),
                _option("--methods", str, None, "of Rowan (default: all)", "A,B"),
                _choice("--binlogs", ["off", "on", "both"], "both", "which (default both)"),
                _time(1), _DELAYS), targets=False, folders=True),
    Command("queue", "a table as a queue, with and without an old snapshot open", "queue.Queue", 3,
            (_time(10), _rows(1000), _clients(4, "clients"))),
    Command("rww", "reads next to updates at fixed rates", "rww.ReadsWhileWriting", 4, (
        _rows(1_000_000), _time(10), _clients(1, "clients"),
        _option("--rates", count_list, [0, 100, 1000],
                "updates a second, all clients together", "N,M"))),
    Command("load", "order lines loaded in order and shuffled, then read by customer",
            "row_order.RowOrder", 4, (_rows(1_000_000), _time(10), _clients(1, "clients"))),
    Command("hotrow", "one row that all clients change, next to rows of their own",
            "hotrow.HotRow", 4, (_time(4), _clients([1, 16, 64, 256]))),
    Command("groupwise", "the first rows of each group in every form of SQL",
            "groupwise.Groupwise", 5, (
                _rows(100_000), _option("--groups", number, 10, "groups of rows"),
                _option("--limit", seconds, 20, "seconds of a query", "S"),
                _option("--print", str, None, "only print the queries on a table of that name",
                        "TABLE", dest="printed"))),
    Command("json", "JSON_SET of ten bytes in large documents", "json_documents.JsonDocuments", 3, (
        _option("--sizes", number_list, [100, 1000, 10000], "of the documents", "KB,KB"),
        _option("--updates", seconds, 200, "of a run"))),
    Command("plans", "plans and times of 50 joins with both optimizers", "plans.Plans", 15, ()),
    Command("tpcc", "a load in the manner of TPC-C at three isolation levels; its conditions of "
            "consistency are checked after each run", "tpcc.Tpcc", 4, (
                _option("--warehouses", number, 1, "of ten districts"),
                _option("--customers", number, 3000, "of a district"),
                _option("--items", number, 100_000, "that are sold"),
                _option("--isolation", isolations, ["rc", "rr", "ser"], "levels", "A,B"),
                _clients([4]), _time(30))),
    Command("covering", "index-only scans, alone and beside updates", "covering.Covering", 4, (
        _rows(1_000_000),
        _option("--ranges", number_list, [1000, 100_000], "entries of a scan", "N,M"),
        _option("--rate", number, 1000, "updates a second, all clients together"),
        _time(10), _clients(1, "clients"))),
    Command("offset", "a page of a long list: LIMIT with small and large OFFSET", "offset.Offset",
            5, (_rows(1_000_000), _option("--offsets", count_list, [0, 1000, 100_000],
                                          "rows in front of the page", "N,M"))),
    Command("scale", "throughput by number of clients, and for each busy core", "scale.Scale", 4, (
        _option("--tests", test_names, ["point-query", "read-only_range=100", "update-nonindex",
                                        "read-write_range=10"], "which of the microbenchmarks",
                "A,B"),
        _rows(100_000), _time(5),
        _clients([2 ** power for power in range((4 * cores()).bit_length())],
                 "clients, up to four a core"))),
    Command("profile", "flame graphs: where the threads of server and engine compute, and where "
            "commits wait", "profile.Profile", 1, (
                _option("--tests", test_names, ["point-query", "update-nonindex"],
                        "which of the microbenchmarks", "A,B"),
                _rows(100_000), _clients(4, "clients"), _time(10),
                _flag("--exact", "instructions of one statement, counted by valgrind, in place of "
                      "perf's samples"))),
    Command("scans", "queries that read a whole table: sums, groups, patterns, first rows, TPC-H's "
            "Q1 and Q6; each answer compared between the sides", "scans.Scans", 4,
            _timed_queries("rows of the table (default 1M)")),
    Command("ssb", "the 13 queries of the Star Schema benchmark, each answer compared between the "
            "sides", "ssb.StarSchema", 4,
            _timed_queries("order lines; the other tables grow with them (default 300k; 6M are "
                           "scale 1)")),
    Command("instructions", "instructions a query of the microbenchmarks, counted by valgrind: "
            "exact where rates are noise", "instruction_counts.InstructionCounts", 3, (
                _tests("ten of single statements"), _rows(10_000),
                _option("--events", number, 50, "counted in each run"),
                _flag("--caches", "misses of simulated caches, too: twice as slow"))),
    Command("ledger", "the bytes written an operation by cause: redo, padding, doublewrite, pages, "
            "binlog", "ledger_command.LedgerCommand", 3, (
                _option("--tests", test_names, ["update-index", "update-nonindex", "insert"],
                        "which of the microbenchmarks", "A,B"),
                _rows(100_000), _clients(4, "clients"), _time(20))),
)


def add_measuring(commands, run):
    """Adds a parser for each; `run(options)` is called with the chosen one, whose row of the table
    is options.spec."""
    for spec in COMMANDS:
        parser = commands.add_parser(spec.name, help=spec.meaning, description=spec.meaning)
        parser.set_defaults(run=run, spec=spec)
        _add_common(parser, spec)
        for name, words in spec.options:
            parser.add_argument(name, **words)


def _add_common(parser, spec):
    if spec.targets:
        parser.add_argument("--on", action="append", metavar="TARGET", default=None,
                            help="what to measure; may be repeated, the first is the base")
    parser.add_argument("--rounds", type=seconds, default=spec.rounds, metavar="N",
                        help=f"alternations (default {spec.rounds}; four show differences)")
    add_files(parser, spec.folders)
    for name, words in (
            _option("--memory", mib, None, "buffer pool of each engine (default: a sixth of the "
                    "machine's memory, at most 512M)", "SIZE"),
            _option("--redo", mib, 1024, "redo capacity (default 1G)", "SIZE"),
            _choice("--binlog", ["off", "on"], "off", "of MySQL and MariaDB (default off)"),
            _flag("--relaxed", "commits are written and not synced, on all sides"),
            _option("--sync-delay", whole, 0, "microseconds that each sync of servers of the "
                    "driver takes longer", "US")):
        parser.add_argument(name, **words)
    parser.add_argument("--server-option", action="append", default=[], metavar="KIND:OPTION",
                        help="of servers of the driver: mysql:--innodb-io-capacity=1000")
