# SPDX-License-Identifier: GPL-2.0-only
import sys

from ..paths import run_main


def _main():
    """Imports take a moment, in which a user may press Ctrl-C, too."""
    from .cli import main
    return main()


sys.exit(run_main(_main, "bench"))
