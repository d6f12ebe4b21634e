# SPDX-License-Identifier: GPL-2.0-only
"""A disk that is soon full, for tests with a server."""
import contextlib
import os
import subprocess
import threading
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

    @contextlib.contextmanager
    def full(self, left_bytes):
        """Never more than left_bytes are free within `with`, whatever is given back meanwhile; it
        begins when nothing has been given back for half a second."""
        filler = self.folder / "filler"
        filled, ended = threading.Event(), threading.Event()

        def fill():
            quiet = 0
            with open(filler, "wb") as file:
                while not ended.wait(0.005):
                    disk = os.statvfs(self.folder)
                    surplus = disk.f_bavail * disk.f_frsize - left_bytes
                    quiet = quiet + 1 if surplus <= 0 else 0
                    if quiet == 100:
                        filled.set()
                    with contextlib.suppress(OSError):  # others may have taken it meanwhile
                        if surplus > 0:
                            os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), surplus)

        thread = threading.Thread(target=fill)
        thread.start()
        try:
            filled.wait()
            yield
        finally:
            ended.set()
            thread.join()
            filler.unlink()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for _ in range(50):
            if subprocess.run(["umount", str(self.folder)], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        subprocess.run(["umount", "-l", str(self.folder)], capture_output=True)
