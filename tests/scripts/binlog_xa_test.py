# SPDX-License-Identifier: GPL-2.0-only
"""What a backup reads of the binary log: which XA transactions it ends."""
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/lib"))
from rowantools.binlog_xa import ended_xa  # noqa: E402

_QUERY, _DESCRIPTION, _XA_PREPARE = 2, 15, 38


def _event(kind, body, checksum):
    size = 19 + len(body) + len(checksum)
    return struct.pack("<IBIIIH", 0, kind, 1, size, 0, 0) + body + checksum


def _prepare(gtrid):
    return struct.pack("<Biii", 0, 1, len(gtrid), 0) + gtrid


@pytest.mark.parametrize("checksum", [b"", b"\xff\x01\x02\x03", b"0123"])
def test_ends_are_read_whatever_the_checksums_are(tmp_path, checksum):
    kind = b"\x01" if checksum else b"\x00"
    path = tmp_path / "binlog.000001"
    events = [_event(_QUERY, b"\x00db\x00XA COMMIT X'61',X'',1", checksum),
              _event(_QUERY, b"\x00db\x00XA ROLLBACK X'62',X'',1", checksum),
              _event(_XA_PREPARE, _prepare(b"a"), checksum),
              _event(_QUERY, b"\x00db\x00XA COMMIT X'63',X'',12", checksum)]
    head = b"\xfebin" + _event(_DESCRIPTION, b"9.7.4" + kind, b"\x00\x00\x00\x00")
    path.write_bytes(head + b"".join(events))
    size = path.stat().st_size
    assert ended_xa(path, size) == {"X'62',X'',1": "XA ROLLBACK X'62',X'',1",
                                    "X'63',X'',12": "XA COMMIT X'63',X'',12"}
    assert "X'61',X'',1" in ended_xa(path, len(head) + 1), "prepared again later"
