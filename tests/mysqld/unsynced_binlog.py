# SPDX-License-Identifier: GPL-2.0-only
"""What a power cut takes of a binary log file whose end Rowan's redo log holds."""
import struct

_SLOT_BYTES = 4096


def covered(server):
    """What the control file says of the file that is carried: its name and what is durable of it;
    None if none is carried."""
    slots = (server.data / "rowan" / "rowan.control").read_bytes()
    newer = max((slots[:_SLOT_BYTES], slots[_SLOT_BYTES:2 * _SLOT_BYTES]),
                key=lambda slot: struct.unpack_from("<Q", slot, 16)[0])
    _, active, _, name_bytes, _, _, end = struct.unpack_from("<IBBHI4sQ", newer, 3232)
    name = newer[3256:3256 + name_bytes].decode()
    return (name, end) if active else None


def lose_unsynced(server, random):
    """Of the carried file's bytes that were never synced some prefix is left, the rest of it as
    zeros or not at all. Returns how many bytes were lost."""
    name, end = covered(server)
    path = server.data / name
    if path != max(server.data.glob("binlog.0*")):
        return 0  # the server has synced it and gone on to the next
    size = path.stat().st_size
    left = random.randint(end, size)
    with open(path, "r+b") as file:
        file.truncate(left)
        if random.random() < 0.3:
            file.truncate(size)
    return size - left
