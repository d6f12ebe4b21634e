# SPDX-License-Identifier: GPL-2.0-only
"""Calls of the benchmark driver from its tests, with its libraries and the plugin that is built."""
import os
import signal
import subprocess

from rowantools.bench import environment

environment.enter()

from rowantools.line_tests import Failure
from rowantools.paths import ROOT, plugin_path

LIMIT_S = 1000   # of a command that hangs: valgrind on a busy machine takes minutes
SMALL_SERVER = ["--memory", "64M", "--redo", "64M"]


def start(folder, *arguments, **variables):
    """A command line of the driver as a process; `variables` are of its environment."""
    python = str(environment.provide())
    library = {"ROWAN_PLUGIN": str(plugin_path())}  # as it was built: a test builds nothing
    return subprocess.Popen([python, "-m", "rowantools.bench", *arguments], cwd=folder, text=True,
                            env=dict(os.environ, **library, **variables,
                                     PYTHONPATH=str(ROOT / "scripts" / "lib")),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, preexec_fn=_heed_interrupts)


def _heed_interrupts():
    """What a shell starts in the background ignores them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run(folder, *arguments, status=0, **variables):
    """What it prints; Failure where it ends with another status."""
    process = start(folder, *arguments, **variables)
    output = process.communicate(timeout=LIMIT_S)[0]
    if process.returncode != status:
        raise Failure(f"{arguments}: status {process.returncode}:\n{output[-1500:]}")
    return output
