# SPDX-License-Identifier: GPL-2.0-only
"""A disk whose files can share blocks: XFS of its own for a server's data and branches of it."""
import subprocess


class CloningDisk:
    """In a folder, within `with`, at whose end the test's own servers are killed."""

    def __init__(self, t, folder, megabytes):
        self._t, self.folder = t, folder
        image = folder.with_name(folder.name + ".image")
        with open(image, "wb") as file:
            file.truncate(megabytes << 20)
        folder.mkdir()
        for command in (["mkfs.xfs", "-q", image], ["mount", "-o", "loop", image, folder]):
            try:
                result = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                t.skip(f"{command[0]} is missing")
            if result.returncode != 0:
                t.skip(f"XFS of its own needs root: {result.stderr.strip()[:80]}")

    def take(self, server):
        """The data of a server that was not yet started lies here from now on."""
        place = self.folder / "data"
        subprocess.run(["cp", "-a", server.data, place], check=True)
        subprocess.run(["rm", "-r", server.data], check=True)
        server.data.symlink_to(place)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for server in self._t.all_servers()[1:]:
            server.kill()
        subprocess.run(["umount", self.folder])
