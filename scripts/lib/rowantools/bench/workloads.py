# SPDX-License-Identifier: GPL-2.0-only
"""From the options of a command to its workload, and from its result to the reports."""
import os
from argparse import Namespace

from ..paths import BUILD
from ..progress import say
from .options import listed, request_of


def measure(options, workload, wanted=None, tools=("ha_rowan",), targets=None):
    """Runs `workload(session, wanted)`, without `wanted` where there is none, and returns the
    status of the program. Whatever ends it, what was measured is published."""
    from .report.publish import publish
    from .session import Session
    request = request_of(options, vars(wanted) if wanted else {})
    _prepare(request.on, tools)
    session = Session(request, targets)
    try:
        with session:
            workload(*(session, wanted) if wanted else (session,)).run()
    except KeyboardInterrupt:
        if not session.result.document["runs"]:
            raise
        say("\nbench: interrupted; what was measured by then is kept")
        publish(session.result.path)
        return 130
    publish(session.result.path)
    return 1 if session.failed else 0


def _prepare(on, tools):
    """The private server and what is built of the checkout, where a target needs them."""
    from .. import setup
    from ..build import build
    from .targets import parse_all
    if not any(target.own and target.kind == "mysql" for target in parse_all(on)):
        return
    tree = setup.prepare()
    # What is measured is what stands in the checkout, unless another plugin is named.
    wanted = [tool for tool in tools if tool != "ha_rowan" or "ROWAN_PLUGIN" not in os.environ]
    if wanted:
        build(BUILD, ["-DROWAN_SANITIZE="], targets=wanted, name="building " + wanted[0],
              tree=tree)


def micro(options):
    from .micro import Micro
    from .micro_tests import chosen
    tables, rows = options.shape or ((1, 100_000) if options.quick else (1, 1_000_000))
    names = [test.name for test in chosen(options.tests, "42")] if options.tests else None
    group = "42" if names else options.set or ("quick" if options.quick else "42")
    wanted = Namespace(set=group, tests=names, tables=tables, rows=rows, threads=options.threads,
                       rate=options.rate, time=options.time or (2 if options.quick else 10),
                       instructions=options.instructions)
    return measure(options, Micro, wanted)


def insert(options):
    from .insert import STEPS, Insert
    from .insert_pattern import check
    clients, rows = options.rows or ((1, 20_000) if options.quick else (1, 1_000_000))
    names = listed(options.steps, [step.name for step in STEPS], "step")
    wanted = Namespace(clients=clients, rows=rows, pattern=check(options.pattern), steps=names,
                       time=options.time or (2 if options.quick else 60))
    return measure(options, Insert, wanted)


def sync(options):
    from .sync import Sync, method_targets
    folders = [name.strip() for name in options.folders.split(",")] if options.folders else \
        [str(options.dir or BUILD)]
    wanted = Namespace(folders=folders, threads=options.threads, time=options.time,
                       delays=options.delays)
    return measure(options, Sync, wanted, ("rowan-bench",), method_targets())


def commit(options):
    from .commit import Commit, method_targets
    from .sync_delay import SYNC_METHODS
    methods = listed(options.methods, SYNC_METHODS, "sync method") or list(SYNC_METHODS)
    binlogs = {"off": [False], "on": [True], "both": [False, True]}[options.binlogs]
    wanted = Namespace(threads=options.threads, binlogs=binlogs, time=options.time,
                       delays=options.delays, methods=methods)
    return measure(options, Commit, wanted, targets=method_targets(methods))


def queue(options):
    from .queue import Queue
    wanted = Namespace(threads=options.threads[0], rows=options.rows, time=options.time)
    return measure(options, Queue, wanted)


def rww(options):
    from .rww import ReadsWhileWriting
    wanted = Namespace(rows=options.rows, threads=options.threads[0], rates=options.rates,
                       time=options.time)
    return measure(options, ReadsWhileWriting, wanted)


def load(options):
    from .row_order import RowOrder
    wanted = Namespace(rows=options.rows, threads=options.threads[0], time=options.time)
    return measure(options, RowOrder, wanted)


def hotrow(options):
    from .hotrow import HotRow
    wanted = Namespace(threads=options.threads, time=options.time)
    return measure(options, HotRow, wanted)


def groupwise(options):
    from .groupwise import Groupwise
    from .groupwise_queries import FORMS
    if options.printed:
        print("\n".join(f"{query.format(options.printed)};" for _, query in FORMS))
        return 0
    wanted = Namespace(rows=options.rows, groups=options.groups, limit=options.limit)
    return measure(options, Groupwise, wanted)


def json_documents(options):
    from .json_documents import JsonDocuments
    wanted = Namespace(sizes=options.sizes, updates=options.updates)
    return measure(options, JsonDocuments, wanted)


def plans(options):
    from .plans import Plans
    return measure(options, Plans)


# Of each group the plainest, so that all is over in three minutes.
_DEMO_TESTS = ("update-index", "update-nonindex", "read-write_range=100", "read-only_range=100",
               "point-query", "points-notcovered-si", "range-notcovered-si", "insert")


def demo(options):
    """Two measurements with results of their own: some microbenchmarks, and durable commits."""
    from .micro import Micro
    from .session import default_path
    path = options.output or default_path("demo")
    options.output = path.with_name(path.stem + "-micro.json")
    options.command = "micro"
    options.arguments = _as_micro(options)
    wanted = Namespace(set="42", tests=list(_DEMO_TESTS), tables=1, rows=100_000,
                       threads=options.threads, rate=0, time=options.time, instructions=False)
    status = measure(options, Micro, wanted)
    if status == 130:
        return status
    options.output = path.with_name(path.stem + "-commit.json")
    options.command, options.rounds = "commit", 1
    options.methods, options.binlogs, options.delays = None, "off", [0]
    options.threads = [1]
    options.arguments = ["--binlogs", "off", "--threads", "1", "--rounds", "1", "--time",
                         str(options.time)]
    return commit(options) or status


def _as_micro(options):
    """The arguments that repeat the demo's first half."""
    arguments = ["--tests", ",".join(_DEMO_TESTS), "--shape", "1x100k", "--threads",
                 ",".join(map(str, options.threads)), "--rounds", str(options.rounds), "--time",
                 str(options.time)]
    return [word for target in options.on or () for word in ("--on", target)] + arguments
