# SPDX-License-Identifier: GPL-2.0-only
"""A shell for VTGate, line by line. It knows one kind of proof of a password, which the client
programs of MySQL 9 have lost."""
import sys

from ..client import MysqlError


def run_shell(client, prompt):
    """Until the end of the input; each line is a statement."""
    while True:
        if sys.stdin.isatty():
            print(prompt, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        statement = line.strip().rstrip(";")
        if statement in ("exit", "quit"):
            return
        if statement:
            _run(client, statement)


def _run(client, statement):
    try:
        result = client.execute(statement)
    except MysqlError as error:
        print(f"ERROR {error}")
        return
    if result.columns:
        for row in [result.columns, *result.rows]:
            print("\t".join("NULL" if value is None else str(value) for value in row))
    else:
        print(f"{result.affected} rows affected")
