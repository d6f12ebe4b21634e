# SPDX-License-Identifier: GPL-2.0-only
"""Options that all measuring commands share, and the forms of their values."""
import argparse
import re
from pathlib import Path

from ..paths import UserError
from .machine import memory_mib
from .servers import KINDS, Conditions
from .session import Request

_UNITS = {"": 1, "k": 10 ** 3, "m": 10 ** 6, "g": 10 ** 9}


def add_files(parser, several):
    """Where the result and the servers lie; --dir once, or `several` times."""
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="the JSON result (default: below build/results)")
    more = {"action": "append", "default": []} if several else {}
    parser.add_argument("--dir", type=Path, help="folder of the servers, on the disk to measure" + (
        "; given several times each is measured" if several else ""), **more)


def request_of(options):
    """The Request of parsed options. Results keep the values of the command's own options and of
    those that change what is measured."""
    folders = options.dir if isinstance(options.dir, list) else [options.dir]
    conditions = Conditions(buffer_pool_mib=options.memory or max(64, min(512, memory_mib() // 6)),
                            redo_mib=options.redo, binlog=options.binlog == "on",
                            durable=not options.relaxed, delay_us=options.sync_delay,
                            folder=folders[0] if folders else None,
                            options=_server_options(options.server_option))
    own = {name: getattr(options, name) for name in
           (words.get("dest") or option.lstrip("-").replace("-", "_")
            for option, words in options.spec.options)}
    return Request(options.command, options.arguments, getattr(options, "on", None) or [],
                   options.output, options.rounds, conditions,
                   dict(own, rounds=options.rounds,
                        buffer_pool_mib=conditions.buffer_pool_mib, redo_mib=conditions.redo_mib,
                        binlog=options.binlog, durable=conditions.durable,
                        sync_delay_us=conditions.delay_us))


def _server_options(texts):
    found = {}
    for text in texts:
        kind, _, option = text.partition(":")
        if kind not in KINDS or not option.startswith("-"):
            raise UserError(f"--server-option {text}: KIND:OPTION, such as "
                            f"mysql:--innodb-io-capacity=1000; kinds are {', '.join(KINDS)}")
        found.setdefault(kind, []).append(option)
    return found


def number(text):
    """30M, 100k, 5000"""
    found = re.fullmatch(r"(\d+)([kmg]?)", text.lower())
    if not found or int(found.group(1)) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number such as 5000, 100k or 30M")
    return int(found.group(1)) * _UNITS[found.group(2)]


def listed(text, known, what):
    """The names in a list such as A,B, each once; None without one. UserError for a name that is
    not known."""
    if text is None:
        return None
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = set(names) - set(known)
    if unknown:
        raise UserError(f"no {what} {', '.join(repr(name) for name in sorted(unknown))}; there are "
                        + ", ".join(known))
    return names


def isolations(text):
    """[rc, ser] of rc,ser."""
    return listed(text, ("rc", "rr", "ser"), "isolation level")


def seconds(text):
    """A whole number from 1: sysbench counts in seconds."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1")
    return int(text)


def whole(text):
    """A whole number from 0."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0")
    return int(text)


def moment(text):
    """Seconds with a fraction, above 0 and no more than a day."""
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not 0 < float(text) <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds such as 0.5")
    return float(text)


def shape(text):
    """(tables, rows of each) of 8x10M."""
    tables, separator, rows = text.lower().partition("x")
    if not separator or not tables.isdigit() or int(tables) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not tables x rows, such as 8x10M")
    return int(tables), number(rows)


def count_list(text):
    """[0, 4, 1000] of 0,4,1k, each once."""
    return list(dict.fromkeys(0 if part.strip() == "0" else number(part.strip())
                              for part in text.split(",")))


def number_list(text):
    """The same without 0."""
    return list(dict.fromkeys(number(part.strip()) for part in text.split(",")))


def mib(text):
    """512 of 512M, 1024 of 1G."""
    found = re.fullmatch(r"(\d+)([MG])", text.upper())
    if not found or not int(found.group(1)):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 4G")
    return int(found.group(1)) * (1024 if found.group(2) == "G" else 1)
