# SPDX-License-Identifier: GPL-2.0-only
"""Where things are in a checkout, and the one exception type whose text is meant for the user."""
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DEFAULT_LINE = "9.7"
LINE = os.environ.get("ROWAN_MYSQL_LINE") or DEFAULT_LINE  # of servers; server_lines.py
_OWN_BUILD = "build" if LINE == DEFAULT_LINE else f"build-{LINE}"
BUILD = Path(os.environ.get("ROWAN_BUILD_DIR", ROOT / _OWN_BUILD)).resolve()
# Programs in it name their loader by its full path: the same from all checkouts that share it.
MYSQL = (ROOT / ".mysql").resolve()
SERVER_HOME = MYSQL if LINE == DEFAULT_LINE else MYSQL / LINE
PLUGIN_LIBRARY = "ha_rowan.so"


class UserError(Exception):
    """A condition the user can act on: printed as one sentence, exit status 1, no traceback."""


def plugin_path():
    """The plugin as the build leaves it; ROWAN_PLUGIN names another one."""
    return Path(os.environ.get("ROWAN_PLUGIN", BUILD / "plugin" / PLUGIN_LIBRARY))


def run_main(main, name):
    """Runs main(), turning UserError and interruption into a short message and an exit status."""
    try:
        return main() or 0
    except UserError as error:
        print(f"{name}: {error}", flush=True)
        return 1
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted", flush=True)
        return 130
