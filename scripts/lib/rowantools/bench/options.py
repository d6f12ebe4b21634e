# SPDX-License-Identifier: GPL-2.0-only
"""Options that all measuring commands share, and the forms of their values."""
import argparse
import re
from pathlib import Path

from ..paths import UserError
from .machine import memory_mib
from .servers import Conditions
from .session import Request

_UNITS = {"": 1, "k": 10 ** 3, "m": 10 ** 6, "g": 10 ** 9}


def command(commands, name, help_text, run):
    parser = commands.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(run=run)
    return parser


def add_common(parser, rounds, targets=True):
    if targets:
        parser.add_argument("--on", action="append", metavar="TARGET", default=None,
                            help="what to measure; may be repeated, the first is the base")
    parser.add_argument("--rounds", type=seconds, default=rounds, metavar="N",
                        help=f"alternations (default {rounds}; four show differences)")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="the JSON result (default: below build/results)")
    parser.add_argument("--dir", type=Path, help="folder of the servers, on the disk to measure")
    parser.add_argument("--memory", type=mib, metavar="SIZE",
                        help="buffer pool of each engine (default: a sixth of the machine's memory,"
                        " at most 512M)")
    parser.add_argument("--redo", type=mib, default=1024, metavar="SIZE",
                        help="redo capacity (default 1G)")
    parser.add_argument("--binlog", choices=["off", "on"], default="off")
    parser.add_argument("--relaxed", action="store_true",
                        help="commits are written and not synced, on all sides")
    parser.add_argument("--sync-delay", type=int, default=0, metavar="US",
                        help="microseconds that each sync of servers of the driver takes longer")
    parser.add_argument("--server-option", action="append", default=[], metavar="KIND:OPTION",
                        help="of servers of the driver: mysql:--innodb-io-capacity=1000")


def request_of(options, recorded):
    """The Request of parsed options; `recorded` are the workload's own, as results keep them."""
    conditions = Conditions(buffer_pool_mib=options.memory or max(64, min(512, memory_mib() // 6)),
                            redo_mib=options.redo, binlog=options.binlog == "on",
                            durable=not options.relaxed, delay_us=options.sync_delay,
                            folder=options.dir, options=_server_options(options.server_option))
    return Request(options.command, options.arguments, getattr(options, "on", None) or [],
                   options.output, options.rounds, conditions,
                   dict(recorded, rounds=options.rounds,
                        buffer_pool_mib=conditions.buffer_pool_mib, redo_mib=conditions.redo_mib,
                        binlog=options.binlog, durable=conditions.durable,
                        sync_delay_us=conditions.delay_us))


def _server_options(texts):
    found = {}
    for text in texts:
        kind, _, option = text.partition(":")
        found.setdefault(kind, []).append(option)
    return found


def number(text):
    """30M, 100k, 5000"""
    found = re.fullmatch(r"(\d+)([kmg]?)", text.lower())
    if not found or int(found.group(1)) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number such as 5000, 100k or 30M")
    return int(found.group(1)) * _UNITS[found.group(2)]


def listed(text, known, what):
    """The names in a list such as A,B; None without one. UserError for a name that is not known."""
    if not text:
        return None
    names = [name.strip() for name in text.split(",")]
    unknown = set(names) - set(known)
    if unknown:
        raise UserError(f"no {what} {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return names


def seconds(text):
    """A whole number from 1: sysbench counts in seconds."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1")
    return int(text)


def shape(text):
    """(tables, rows of each) of 8x10M."""
    tables, separator, rows = text.lower().partition("x")
    if not separator or not tables.isdigit() or int(tables) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not tables x rows, such as 8x10M")
    return int(tables), number(rows)


def count_list(text):
    """[1, 4, 16] of 1,4,16."""
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers such as 1,4,16")
    return [int(part) for part in parts]


def mib(text):
    """512 of 512M, 1024 of 1G."""
    found = re.fullmatch(r"(\d+)([MG])", text.upper())
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 4G")
    return int(found.group(1)) * (1024 if found.group(2) == "G" else 1)
