# SPDX-License-Identifier: GPL-2.0-only
"""XA transactions that a file of the binary log says are ended: read from the file, because the
server does not wait for the ends of XA transactions when it tells where its logs stand."""
import re
import struct

from .paths import UserError

_MAGIC = b"\xfebin"
_HEADER = struct.Struct("<IBIIIH")  # time, type, server, size, end position, flags
_QUERY_EVENT = 2
_FORMAT_DESCRIPTION_EVENT = 15
_XA_PREPARE_EVENT = 38
_STATEMENT_BYTES_MAX = 1000  # of an event that could be XA COMMIT or XA ROLLBACK
_END = re.compile(rb"XA (COMMIT|ROLLBACK) (X'[0-9a-f]*',X'[0-9a-f]*',[0-9]+)$")


def ended_xa(path, end):
    """Statements that end again what the file ends below position `end` and does not prepare again,
    by XID."""
    ended = {}
    with open(path, "rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise UserError(f"{path} is encrypted or no binary log: its XA transactions cannot be "
                            "told")
        position = len(_MAGIC)
        checksum_bytes = 0
        while position < end:
            header = stream.read(_HEADER.size)
            if len(header) != _HEADER.size:
                break
            _, kind, _, size, _, _ = _HEADER.unpack(header)
            if kind == _FORMAT_DESCRIPTION_EVENT:
                checksum_bytes = _checksum_bytes(stream.read(size - _HEADER.size))
            elif kind == _QUERY_EVENT and size <= _STATEMENT_BYTES_MAX:
                found = _END.search(stream.read(size - _HEADER.size - checksum_bytes))
                if found:
                    xid = found[2].decode()
                    ended.pop(xid, None)
                    ended[xid] = f"XA {found[1].decode()} {xid}"
            elif kind == _XA_PREPARE_EVENT:
                _forget(ended, stream.read(size - _HEADER.size))
            position += size
            stream.seek(position)
    return ended


def _checksum_bytes(body):
    """Of each event of the file: the description ends with the kind, and its own checksum."""
    return 4 if body[-5] else 0


def _forget(ended, body):
    """An XID may be used again."""
    _, format_id, gtrid, bqual = struct.unpack_from("<Biii", body)
    data = body[13:13 + gtrid + bqual]
    ended.pop(f"X'{data[:gtrid].hex()}',X'{data[gtrid:].hex()}',{format_id}", None)
