# SPDX-License-Identifier: GPL-2.0-only
"""Configures and builds a build folder with CMake and ninja, with a progress display.

The full output goes to <folder>/build.log; on failure its relevant part becomes the message.
"""
import os
import re
import subprocess
from pathlib import Path

from .paths import ROOT, UserError
from .progress import Step

_NINJA_STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


def cores():
    return len(os.sched_getaffinity(0))


def build(folder, options=(), targets=(), name="building", tree=None):
    """Configures `folder` (cheap when nothing changed) and builds `targets`, or everything."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    definitions = list(options)
    if tree is not None:
        definitions += [f"-DROWAN_MYSQL_PREFIX={tree.prefix}",
                        f"-DROWAN_MYSQL_SOURCE={tree.source}"]
    with open(folder / "build.log", "w") as log:
        _configure(folder, definitions, log)
        _compile(folder, list(targets), name, log)


def _configure(folder, definitions, log):
    command = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *definitions]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log.write(result.stdout)
    if result.returncode != 0:
        errors = result.stdout[result.stdout.find("CMake Error"):]
        raise UserError(f"configuring {folder} failed:\n{errors[-2500:]}")


def _compile(folder, targets, name, log):
    command = ["ninja", "-C", str(folder), "-j", str(_jobs()), *targets]
    environment = dict(os.environ, NINJA_STATUS="[%f/%t] ", LC_ALL="C")
    lines = []
    with Step(name) as step:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
        for line in process.stdout:
            log.write(line)
            lines.append(line)
            match = _NINJA_STEP.match(line)
            if match:
                detail = match.group(3).rsplit("/", 1)[-1].replace(".o", "")
                step.update(int(match.group(1)), detail, total=int(match.group(2)))
        if process.wait() != 0:
            raise UserError(f"building in {folder} failed, all output in {folder}/build.log:\n"
                            + _failed_part(lines))


def _jobs():
    """One job per core, fewer where memory is short (the server's headers need about 1 GiB)."""
    with open("/proc/meminfo") as stream:
        values = dict(line.split(":", 1) for line in stream)
    available_gib = int(values["MemAvailable"].split()[0]) / 2**20
    return max(1, min(cores(), int(available_gib)))


def _failed_part(lines):
    for number, line in enumerate(lines):
        if line.startswith("FAILED:"):
            return "".join(lines[number:number + 25])
    return "".join(lines[-15:])
