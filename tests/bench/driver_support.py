# SPDX-License-Identifier: GPL-2.0-only
"""Calls of the benchmark driver from its tests, with its libraries and the plugin that is built."""
import os
import signal
import subprocess
from pathlib import Path

from rowantools.bench import environment

environment.enter()

from rowantools.bench import result
from rowantools.line_tests import Failure, require_equal
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


def measured(folder, command, *arguments, wanted):
    """A valid result of which every run has the `wanted` figures, and its page the tests."""
    path = Path(folder) / f"{command}.json"
    run(folder, command, *arguments, "--rounds", "1", "--dir", folder, "--output", str(path),
        *SMALL_SERVER)
    document = result.read(path)
    require_equal(document["state"], "complete")
    require_equal(len(document["runs"]), 2 * len(document["tests"]), "runs of two sides")
    for one in document["runs"]:
        missing = [name for name in wanted if not one["metrics"].get(name)]
        require_equal(missing, [], f"figures of {one['test']} on {one['target']}: {one}")
    page = path.with_suffix(".html").read_text()
    for test in document["tests"]:
        if test["title"] not in page:
            raise Failure(f"the page lacks {test['title']}")
    return document
