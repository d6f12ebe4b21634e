# SPDX-License-Identifier: GPL-2.0-only
"""A disk that is soon full, for tests with a server."""
import subprocess
import time
from pathlib import Path


class SmallDisk:
    """A file system of its own in a folder, by default one for Rowan's files; within `with`."""

    def __init__(self, t, megabytes, folder=None):
        self.folder = Path(folder or Path(t.server.folder) / "small-disk")
        self.folder.mkdir(exist_ok=True)
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777",
                                 "tmpfs", str(self.folder)], capture_output=True, text=True)
        if result.returncode != 0:
            t.skip(f"mounting a small file system needs root: {result.stderr.strip()[:80]}")

    def resize(self, megabytes):
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(self.folder)], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for _ in range(50):
            if subprocess.run(["umount", str(self.folder)], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        subprocess.run(["umount", "-l", str(self.folder)], capture_output=True)
