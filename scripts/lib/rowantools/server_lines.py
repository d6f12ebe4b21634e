# SPDX-License-Identifier: GPL-2.0-only
"""The lines of MySQL that Rowan is built for, and where a private server of each comes from.

The line in force is the one that --mysql of a script names (scripts/lib/server_line.sh), or the
environment variable ROWAN_MYSQL_LINE; without either it is the default. Each line has a folder of
its own for its server and for what is built."""
from .paths import LINE, UserError
from .private_apt import DEBIAN, UBUNTU

_ARCHIVES = {"9.7": DEBIAN, "8.4": UBUNTU}


def archive():
    """The distribution's archive that has the line in force; UserError if there is no such line."""
    if LINE not in _ARCHIVES:
        raise UserError(f"Rowan is not built for MySQL {LINE}; its lines are "
                        + ", ".join(_ARCHIVES))
    return _ARCHIVES[LINE]
