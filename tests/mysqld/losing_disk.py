# SPDX-License-Identifier: GPL-2.0-only
"""A disk that loses at a power cut what was not synced: ext4 of its own for a server's data."""
import fcntl
import os
import struct
import subprocess

_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN
_WITHOUT_ITS_JOURNAL = 2


class LosingDisk:
    """Holds the data directory of a server that was not yet started; within `with`. kill() is a
    power cut: at one moment nothing more reaches the disk, and the kernel forgets what it had not
    written by then."""

    def __init__(self, t, server, megabytes=1024):
        self._server, self._image = server, server.folder / "disk"
        for command in (["mkfs.ext4", "-q", "-d", server.data, self._image, f"{megabytes}M"],
                        self._mount()):
            try:
                result = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                t.skip(f"{command[0]} is missing")
            if result.returncode != 0:
                t.skip(f"a file system of its own needs root: {result.stderr.strip()[:80]}")
        (server.data / "lost+found").rmdir()
        self.sync()

    def _mount(self):
        # The kernel is to write little of its own accord.
        return ["mount", "-o", "loop,commit=300", self._image, self._server.data]

    def sync(self):
        subprocess.run(["sync", "-f", self._server.data], check=True)

    def kill(self):
        folder = os.open(self._server.data, os.O_RDONLY)
        fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_ITS_JOURNAL))
        os.close(folder)
        self._server.kill()
        subprocess.run(["umount", self._server.data], check=True)
        subprocess.run(self._mount(), check=True)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self._server.kill()
        subprocess.run(["umount", self._server.data])
