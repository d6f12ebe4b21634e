# SPDX-License-Identifier: GPL-2.0-only
"""Injected sync latency: a preloaded library, compiled on the spot, that makes every durable write
of a process take longer. A disk that answers in 25 us does not show what one with 1.5 ms would."""
import struct
import subprocess

from ..paths import BUILD, ROOT, UserError

SYNC_METHODS = ("fsync", "fdatasync", "dsync", "direct_dsync", "uring")   # of Rowan
SOURCE = ROOT / "bench" / "preload" / "sync_delay.c"
# What it cannot delay: the kernel makes these durable without a call that could be replaced.
NOT_DELAYED = ("uring",)
_COUNTS = 3


def library(source=SOURCE):
    """The compiled library; made again when its source is newer."""
    path = BUILD / f"{source.stem}.so"
    if path.exists() and path.stat().st_mtime >= source.stat().st_mtime:
        return path
    BUILD.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    result = subprocess.run(["cc", "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", str(partial),
                             str(source), "-ldl"], capture_output=True, text=True)
    if result.returncode != 0:
        raise UserError(f"{source.name} does not compile: {result.stderr.strip()[-400:]}")
    partial.replace(path)
    return path


def environment(delay_us, counts=None):
    """What a process is started with to have its syncs delayed, or counted in the file `counts`;
    nothing without either."""
    if not delay_us and counts is None:
        return {}
    found = {"LD_PRELOAD": str(library()), "ROWAN_SYNC_DELAY_US": str(delay_us)}
    return found if counts is None else dict(found, ROWAN_SYNC_COUNTS=str(counts))


class Counts:
    """What the library has counted in a process started with environment(counts=path)."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(8 * _COUNTS))

    def read(self):
        """(syncs, durable writes, other writes)"""
        return struct.unpack(f"={_COUNTS}Q", self.path.read_bytes())
