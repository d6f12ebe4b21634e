# SPDX-License-Identifier: GPL-2.0-only
"""A cursor that the server keeps: a prepared statement whose rows are fetched some at a time."""
import struct

_PREPARE, _EXECUTE, _CLOSE, _FETCH = 0x16, 0x17, 0x19, 0x1C
_READ_ONLY = 1
_CURSOR_EXISTS, _LAST_ROW_SENT = 0x40, 0x80


class ServerCursor:
    """Opens with the statement; fetch() until done. Rows are as they were sent: binary."""

    def __init__(self, client, statement):
        self._client = client
        reply = client.command(bytes([_PREPARE]) + statement.encode("utf-8", "surrogateescape"))
        self._id, columns, parameters = struct.unpack_from("<IHH", reply, 1)
        for count in (parameters, columns):
            if count:
                self._read_rows()
        client.command(struct.pack("<BIBI", _EXECUTE, self._id, _READ_ONLY, 1))
        _, status = self._read_rows()  # the columns
        # Without a cursor all rows follow at once.
        self._rest = None if status & _CURSOR_EXISTS else self._read_rows()[0]
        self.done = False

    def fetch(self, count):
        if self._rest is not None:
            rows, self._rest = self._rest[:count], self._rest[count:]
            self.done = not self._rest
            return rows
        first = self._client.command(struct.pack("<BII", _FETCH, self._id, count))
        rows, status = self._read_rows(first)
        self.done = bool(status & _LAST_ROW_SENT)
        return rows

    def close(self):
        self._client.tell(struct.pack("<BI", _CLOSE, self._id))

    def _read_rows(self, packet=None):
        """Packets up to the one that ends them, and the status that it tells."""
        packets = []
        while True:
            packet = packet or self._client.packet()
            if packet[0] == 0xFE and len(packet) < 9:
                return packets, struct.unpack_from("<HH", packet, 1)[1]
            packets.append(packet)
            packet = None
