# SPDX-License-Identifier: GPL-2.0-only
"""The command line of scripts/bench: one sub-command a workload, and those that read results."""
import argparse
import signal
import sys

from ..build import cores
from ..paths import UserError
from . import commands_more, commands_read, workloads
from .options import add_common, command, count_list, number, seconds, shape
from .targets import OWN

_DESCRIPTION = """\
Measures Rowan beside InnoDB, MariaDB, MyRocks, PostgreSQL or any server of yours, alternately, and
leaves a JSON result, a Markdown table and one HTML page. Without --on: the private MySQL with
innodb, the base, and rowan."""
_EPILOG = """\
targets of --on: """ + ", ".join(OWN) + """, each started by the driver; or a server that runs:
  NAME=mysql://USER:PASSWORD@HOST:PORT/DATABASE?engine=X   (also ?socket=/path, &pid=N)
  NAME=postgres://USER:PASSWORD@HOST:PORT/DATABASE
The first one is the base. Passwords may come from MYSQL_PWD and PGPASSWORD instead.

more of a command: scripts/bench COMMAND --help; how to read the tables: docs/benchmarking.md"""


def _parser():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=_DESCRIPTION,
                                     epilog=_EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_add_demo, _add_micro, _add_insert, _add_sync, _add_commit, _add_queue,
                _add_rww, _add_load, _add_hotrow,
                _add_groupwise, _add_json, _add_plans):
        add(commands)
    commands_more.add_commands(commands)
    commands_read.add_commands(commands)
    return parser


def _add_demo(commands):
    parser = command(commands, "demo", "the main points in less than three minutes: eight "
                     "microbenchmarks, and durable commits by sync method", workloads.demo)
    add_common(parser, rounds=4)
    parser.add_argument("--time", type=seconds, default=1, metavar="S",
                        help="seconds of a run (default 1)")
    parser.add_argument("--threads", type=count_list, default=[min(16, 2 * cores())],
                        metavar="N", help="clients (default: twice the cores, at most 16)")


def _add_micro(commands):
    parser = command(commands, "micro", "42 microbenchmarks: points, ranges, ranges with "
                     "aggregation, writes", workloads.micro)
    add_common(parser, rounds=4)
    parser.add_argument("--quick", action="store_true",
                        help="twelve of them, 2 s each, 100,000 rows, unless said otherwise")
    parser.add_argument("--set", choices=["quick", "32", "42"], help="how many (default 42; 32 "
                        "leaves out the reads before the writes)")
    parser.add_argument("--tests", metavar="A,B", help="only these")
    parser.add_argument("--shape", type=shape, metavar="TxR", help="tables and rows of each: "
                        "1x30M, 8x10M, 1x100k (default 1x1M)")
    parser.add_argument("--threads", type=count_list, default=[1], metavar="N,M",
                        help="clients; several numbers are measured one after the other (default "
                        "1)")
    parser.add_argument("--time", type=seconds, metavar="S", help="seconds of a run (default 10)")
    parser.add_argument("--rate", type=int, default=0, metavar="N", help="events a second; the "
                        "latency then counts from the intended start")
    parser.add_argument("--instructions", action="store_true",
                        help="count user instructions a query, where perf can")


def _add_insert(commands):
    parser = command(commands, "insert", "the insert benchmark: l.i0 l.x l.i1 l.i2, then reads "
                     "beside inserts at fixed rates", workloads.insert)
    add_common(parser, rounds=1)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, 2 s a step")
    parser.add_argument("--rows", type=shape, metavar="CxR", help="clients, a table each, and the "
                        "rows of l.i0 (default 1x1M)")
    parser.add_argument("--time", type=seconds, metavar="S",
                        help="seconds of each other step (default 60)")
    parser.add_argument("--pattern", default="A-RRR", metavar="CODE", help="where new entries go: "
                        "primary key, then marketing, register and price index: A ascending, R "
                        "random, Z skewed (default A-RRR)")
    parser.add_argument("--steps", metavar="A,B", help="only these (l.i0 always runs)")


def _add_sync(commands):
    parser = command(commands, "sync", "fsync against fdatasync against the rest: bare writes by "
                     "kind of file, and commits of the engine without a server", workloads.sync)
    add_common(parser, rounds=3, targets=False)
    parser.add_argument("--folders", metavar="A,B", help="folders, of several disks or file "
                        "systems (default: one in build/)")
    parser.add_argument("--threads", type=count_list, default=[1, 4, 16], metavar="N,M",
                        help="threads that commit (default 1,4,16)")
    parser.add_argument("--time", type=float, default=0.5, metavar="S",
                        help="seconds of a figure (default 0.5)")
    parser.add_argument("--delays", type=count_list, default=[0], metavar="US,US",
                        help="microseconds that each sync takes longer (default 0)")


def _add_commit(commands):
    parser = command(commands, "commit", "durable commits through a server: 1 to N clients, "
                     "binlog off and on, by sync method", workloads.commit)
    add_common(parser, rounds=5, targets=False)
    parser.add_argument("--threads", type=count_list, default=[1, 4, 16], metavar="N,M",
                        help="clients (default 1,4,16)")
    parser.add_argument("--methods", metavar="A,B", help="of Rowan (default: all)")
    parser.add_argument("--binlogs", choices=["off", "on", "both"], default="both")
    parser.add_argument("--time", type=seconds, default=1, metavar="S",
                        help="seconds of a run (default 1)")
    parser.add_argument("--delays", type=count_list, default=[0], metavar="US,US",
                        help="microseconds that each sync takes longer, e.g. 0,1500 (default 0)")


def _add_queue(commands):
    parser = command(commands, "queue", "a table as a queue, with and without an old snapshot "
                     "open", workloads.queue)
    add_common(parser, rounds=3)
    parser.add_argument("--time", type=seconds, default=10, metavar="S")
    parser.add_argument("--rows", type=int, default=1000, help="the queue's length (default 1000)")
    parser.add_argument("--threads", type=count_list, default=[4], metavar="N")


def _add_rww(commands):
    parser = command(commands, "rww", "reads next to updates at fixed rates", workloads.rww)
    add_common(parser, rounds=4)
    parser.add_argument("--rows", type=number, default=1_000_000)
    parser.add_argument("--rates", type=count_list, default=[0, 100, 1000], metavar="N,M",
                        help="updates a second, all clients together (default 0,100,1000)")
    parser.add_argument("--time", type=seconds, default=10, metavar="S")
    parser.add_argument("--threads", type=count_list, default=[1], metavar="N")


def _add_load(commands):
    parser = command(commands, "load", "order lines loaded in order and shuffled, then read by "
                     "customer", workloads.load)
    add_common(parser, rounds=4)
    parser.add_argument("--rows", type=number, default=1_000_000)
    parser.add_argument("--time", type=seconds, default=10, metavar="S")
    parser.add_argument("--threads", type=count_list, default=[1], metavar="N")


def _add_hotrow(commands):
    parser = command(commands, "hotrow", "one row that all clients change, next to rows of their "
                     "own", workloads.hotrow)
    add_common(parser, rounds=4)
    parser.add_argument("--time", type=seconds, default=4, metavar="S")
    parser.add_argument("--threads", type=count_list, default=[1, 16, 64, 256], metavar="N,M")


def _add_groupwise(commands):
    parser = command(commands, "groupwise", "the first rows of each group in every form of SQL",
                     workloads.groupwise)
    add_common(parser, rounds=5)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--limit", type=int, default=20, metavar="S",
                        help="seconds of a query (default 20)")
    parser.add_argument("--print", metavar="TABLE", dest="printed",
                        help="only print the queries on a table of that name")


def _add_json(commands):
    parser = command(commands, "json", "JSON_SET of ten bytes in large documents",
                     workloads.json_documents)
    add_common(parser, rounds=3)
    parser.add_argument("--sizes", type=count_list, default=[100, 1000, 10000], metavar="KB,KB")
    parser.add_argument("--updates", type=int, default=200)


def _add_plans(commands):
    parser = command(commands, "plans", "plans and times of 50 joins with both optimizers",
                     workloads.plans)
    add_common(parser, rounds=15)


def main(arguments=None):
    """Runs one command line; `repeat` comes back here with another one."""
    arguments = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _interrupt)
    options = _parser().parse_args(arguments)
    options.arguments = _recorded(arguments[1:])
    if getattr(options, "output", None) and options.output.suffix != ".json":
        raise UserError(f"--output {options.output}: the name ends with .json")
    return options.run(options)


def _interrupt(*ignored):
    raise KeyboardInterrupt


def _recorded(arguments):
    """What repeats the measurement: without passwords and without the result's own name."""
    from .targets import without_passwords
    kept, skip = [], False
    for argument in arguments:
        if skip or argument.startswith("--output="):
            skip = False
        elif argument == "--output":
            skip = True
        else:
            kept.append(argument)
    return without_passwords(kept)
