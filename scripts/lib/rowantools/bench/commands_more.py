# SPDX-License-Identifier: GPL-2.0-only
"""The commands tpcc, covering, offset, instructions and ledger: options and workloads."""
from argparse import ArgumentTypeError, Namespace

from ..paths import UserError
from .options import add_common, command, count_list, number, seconds
from .workloads import measure


def add_commands(commands):
    _add_tpcc(commands)
    _add_covering(commands)
    _add_offset(commands)
    _add_instructions(commands)
    _add_ledger(commands)


def _add_tpcc(commands):
    parser = command(commands, "tpcc", "a load in the manner of TPC-C at three isolation levels; "
                     "its conditions of consistency are checked after each run", _tpcc)
    add_common(parser, rounds=4)
    parser.add_argument("--warehouses", type=number, default=1, metavar="N")
    parser.add_argument("--customers", type=number, default=3000, metavar="N",
                        help="of a district; a warehouse has ten (default 3000)")
    parser.add_argument("--items", type=number, default=100_000, metavar="N")
    parser.add_argument("--isolation", type=_isolations, default=["rc", "rr", "ser"],
                        metavar="A,B", help="of rc, rr, ser (default all)")
    parser.add_argument("--threads", type=count_list, default=[4], metavar="N,M",
                        help="clients (default 4)")
    parser.add_argument("--time", type=seconds, default=30, metavar="S",
                        help="seconds of a run (default 30)")


def _isolations(text):
    from .tpcc import ISOLATIONS
    names = [name.strip() for name in text.split(",")]
    if set(names) - set(ISOLATIONS):
        raise ArgumentTypeError(f"'{text}' is not a list of {', '.join(ISOLATIONS)}")
    return names


def _tpcc(options):
    from .tpcc import Tpcc
    wanted = Namespace(warehouses=options.warehouses, customers=options.customers,
                       items=options.items, isolations=options.isolation,
                       threads=options.threads, time=options.time)
    if wanted.customers < 10:
        raise UserError("--customers: at least 10 of a district")
    return measure(options, Tpcc, wanted)


def _add_covering(commands):
    parser = command(commands, "covering", "index-only scans, alone and beside updates",
                     _covering)
    add_common(parser, rounds=4)
    parser.add_argument("--rows", type=number, default=1_000_000)
    parser.add_argument("--ranges", type=count_list, default=[1000, 100_000], metavar="N,M",
                        help="entries of a scan (default 1000,100000)")
    parser.add_argument("--rate", type=number, default=1000, metavar="N",
                        help="updates a second, all clients together (default 1000)")
    parser.add_argument("--time", type=seconds, default=10, metavar="S")
    parser.add_argument("--threads", type=seconds, default=1, metavar="N")


def _covering(options):
    from .covering import Covering
    wanted = Namespace(rows=options.rows, ranges=options.ranges, rate=options.rate,
                       threads=options.threads, time=options.time)
    return measure(options, Covering, wanted)


def _add_offset(commands):
    parser = command(commands, "offset", "a page of a long list: LIMIT with small and large "
                     "OFFSET", _offset)
    add_common(parser, rounds=5)
    parser.add_argument("--rows", type=number, default=1_000_000)
    parser.add_argument("--offsets", type=count_list, default=[0, 1000, 100_000], metavar="N,M")


def _offset(options):
    from .offset import Offset
    wanted = Namespace(rows=options.rows, offsets=options.offsets)
    return measure(options, Offset, wanted)


def _add_instructions(commands):
    parser = command(commands, "instructions", "instructions a query of the microbenchmarks, "
                     "counted by valgrind: exact where rates are noise", _instructions)
    add_common(parser, rounds=3)
    parser.add_argument("--tests", metavar="A,B", help="which of the microbenchmarks (default "
                        "ten of single statements)")
    parser.add_argument("--rows", type=number, default=10_000)
    parser.add_argument("--events", type=number, default=50, metavar="N",
                        help="counted in each run (default 50)")


def _instructions(options):
    from . import callgrind
    from .instruction_counts import InstructionCounts
    from .micro_tests import chosen
    callgrind.require()
    wanted = Namespace(rows=options.rows, events=options.events,
                       tests=[test.name for test in chosen(options.tests, "counted")])
    options.server_option = [*options.server_option,
                             *[f"mysql:{option}" for option in callgrind.OPTIONS]]
    return measure(options, InstructionCounts, wanted)


def _add_ledger(commands):
    parser = command(commands, "ledger", "the bytes written an operation by cause: redo, padding, "
                     "doublewrite, pages, binlog", _ledger)
    add_common(parser, rounds=3)
    parser.add_argument("--tests", metavar="A,B", default="update-index,update-nonindex,insert",
                        help="which of the microbenchmarks (default three that write)")
    parser.add_argument("--rows", type=number, default=100_000)
    parser.add_argument("--threads", type=seconds, default=4, metavar="N")
    parser.add_argument("--time", type=seconds, default=20, metavar="S")


def _ledger(options):
    from .ledger import OPTIONS, Ledger
    from .micro_tests import chosen
    wanted = Namespace(rows=options.rows, threads=options.threads, time=options.time,
                       tests=[test.name for test in chosen(options.tests, "42")])
    options.server_option = [*options.server_option, *[f"mysql:{option}" for option in OPTIONS]]
    return measure(options, Ledger, wanted)
