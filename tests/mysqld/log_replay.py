# SPDX-License-Identifier: GPL-2.0-only
"""What is in a server's binary logs, carried out on another server."""
import subprocess

from framework import Failure
from rowantools.mysql_tree import find_tree


def replay(source, copy):
    """Returns the events as mysqlbinlog prints them."""
    logs = [str(source.data / row[0]) for row in source.client().query("SHOW BINARY LOGS")]
    tree = find_tree()
    events = subprocess.run([tree.program("mysqlbinlog"), "--no-defaults", *logs],
                            capture_output=True)
    if events.returncode != 0:
        raise Failure(f"mysqlbinlog: {events.stderr.decode()}")
    subprocess.run([tree.program("mysql"), "--no-defaults", f"--socket={copy.socket}", "-uroot"],
                   input=events.stdout, check=True, capture_output=True)
    return events.stdout
