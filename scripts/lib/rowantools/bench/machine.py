# SPDX-License-Identifier: GPL-2.0-only
"""The machine and the checkout that a result comes from."""
import hashlib
import os
import platform
import subprocess

from ..build import cores
from ..paths import ROOT, UserError, plugin_path


def describe():
    return {"cores": cores(), "cpu": _cpu(), "memory_mib": memory_mib(),
            "kernel": platform.release(), "load": round(os.getloadavg()[0], 1),
            "commit": _commit(), "plugin": _plugin()}


def memory_mib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def _cpu():
    with open("/proc/cpuinfo") as stream:
        for line in stream:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def _plugin():
    """Name and hash of a plugin that is not the checkout's; nothing where it is."""
    if "ROWAN_PLUGIN" not in os.environ:
        return ""
    path = plugin_path()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"ROWAN_PLUGIN={path}: {error.strerror}")
    return f"{path.name}, SHA-256 {digest[:16]}"


def _commit():
    """The checkout's commit, with a plus sign where files differ from it."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True,
                              text=True).stdout.strip()
    try:
        commit = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except OSError:
        return ""
    return commit + ("+" if changed else "")


def place(folder):
    """A folder's name with the kind of file system that it lies in."""
    path, kinds = os.path.abspath(folder), {}
    with open("/proc/self/mounts") as stream:
        for line in stream:
            _, mounted, kind, *_ = line.split()
            kinds[mounted] = kind
    while path not in kinds and path != "/":
        path = os.path.dirname(path)
    return f"{folder} ({kinds.get(path, 'unknown')})"
