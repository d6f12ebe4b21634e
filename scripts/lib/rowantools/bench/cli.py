# SPDX-License-Identifier: GPL-2.0-only
"""The command line of scripts/bench: one sub-command a workload, and those that read results."""
import argparse
import os
import signal
import sys

from ..paths import UserError
from . import commands_read
from .commands import add_measuring
from .launch import launch
from .session import END_SIGNALS
from .targets import OWN, without_passwords

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
    add_measuring(commands, launch)
    commands_read.add_commands(commands)
    return parser


def main(arguments=None):
    """Runs one command line; `repeat` comes back here with another one."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for number in END_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:   # nohup and & have it ignored
            signal.signal(number, _interrupt)
    options = _parser().parse_args(arguments)
    options.arguments = _recorded(arguments[1:])
    if getattr(options, "output", None) and options.output.suffix != ".json":
        raise UserError(f"--output {options.output}: the name ends with .json")
    try:
        return options.run(options)
    except BrokenPipeError:   # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _interrupt(*ignored):
    raise KeyboardInterrupt


def _recorded(arguments):
    """What repeats the measurement: without passwords and without the result's own name."""
    kept, skip = [], False
    for argument in arguments:
        if skip or argument.startswith("--output="):
            skip = False
        elif argument == "--output":
            skip = True
        else:
            kept.append(argument)
    return without_passwords(kept)
