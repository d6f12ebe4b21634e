# SPDX-License-Identifier: GPL-2.0-only
"""A small MySQL client in pure Python: text protocol over a unix socket, or TCP on this machine.

Made for tests and measurements: many sessions in one process, error numbers as exceptions,
statements sent without waiting (send/receive), and no dependency on a driver package.
A Client belongs to one thread at a time.
"""
import hashlib
import socket
import struct

ER_DUP_ENTRY = 1062
ER_LOCK_WAIT_TIMEOUT = 1205
ER_LOCK_DEADLOCK = 1213

_CAPABILITIES = (0x00000001 | 0x00000002 | 0x00000004 | 0x00000200 | 0x00002000 | 0x00008000 |
                 0x00010000 | 0x00020000 | 0x00080000)  # 4.1 protocol, transactions, plugin auth
_CAPABILITY_WITH_DATABASE = 0x00000008
_CHARSET_UTF8MB4_BIN = 46
_CHARSET_BINARY = 63
_INTEGER_TYPES = {1, 2, 3, 8, 9, 13}
_FLOAT_TYPES = {4, 5}
_MORE_RESULTS = 0x0008
_COM_QUIT, _COM_QUERY, _COM_RESET_CONNECTION = 1, 3, 31


class MysqlError(Exception):
    """An error packet: `code` is MySQL's error number."""

    def __init__(self, code, state, message):
        super().__init__(f"{code} ({state}): {message}")
        self.code, self.state, self.message = code, state, message


class ConnectionLost(Exception):
    """The server closed the connection or died; what became of the last statement is unknown."""


class Result:
    """What one statement returned."""

    def __init__(self, columns, rows, affected=0, last_id=0, warnings=0, info=""):
        self.columns, self.rows = columns, rows
        self.affected, self.last_id, self.warnings, self.info = affected, last_id, warnings, info


class Client:
    def __init__(self, address, database="", user="root", timeout_s=180.0, password=""):
        """`address`: the path of a unix socket, or a pair of host and port."""
        self.address = address
        self.connection_id = 0  # as CONNECTION_ID() has it
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._buffer = bytearray()
        self._sequence = 0
        try:
            self._socket.connect(address if family == socket.AF_INET else str(address))
            self._handshake(user, database, password.encode())
        except OSError as error:
            self._socket.close()
            raise ConnectionLost(f"{address}: {error}") from error
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    # --- statements ---

    def execute(self, statement):
        """Runs one statement; returns its Result (the last one of a procedure call)."""
        self.send(statement)
        return self.receive()

    def query(self, statement):
        """The rows, as a list of tuples."""
        return self.execute(statement).rows

    def value(self, statement):
        """The first column of the first row, or None."""
        rows = self.query(statement)
        return rows[0][0] if rows else None

    def error_code(self, statement):
        """Runs a statement; returns the error number it failed with, or 0."""
        try:
            self.execute(statement)
            return 0
        except MysqlError as error:
            return error.code

    def send(self, statement):
        """Sends without waiting; exactly one receive() must follow."""
        if isinstance(statement, str):
            statement = statement.encode("utf-8", "surrogateescape")
        self._sequence = 0
        self._write_packet(bytes([_COM_QUERY]) + statement)

    def receive(self):
        result = self._read_result()
        while result[1] & _MORE_RESULTS:
            following = self._read_result()
            if following[0].columns:
                result = following
            else:
                result = (result[0], following[1])
        return result[0]

    def reset(self):
        """The session begins anew, as from a pool of connections."""
        self._sequence = 0
        self._write_packet(bytes([_COM_RESET_CONNECTION]))
        self._read_result()

    # --- other commands, by their bytes ---

    def tell(self, command):
        """Sends a command that has no answer."""
        self._sequence = 0
        self._write_packet(command)

    def command(self, command):
        """Sends it; returns the first packet of the answer."""
        self.tell(command)
        return self.packet()

    def packet(self):
        packet = self._read_packet()
        if packet[0] == 0xFF:
            raise _error_of(packet)
        return packet

    def close(self):
        try:
            self._sequence = 0
            self._write_packet(bytes([_COM_QUIT]))
        except (OSError, ConnectionLost):
            pass
        self._socket.close()

    def fileno(self):
        return self._socket.fileno()

    # --- packets ---

    def _write_packet(self, payload):
        while True:
            part, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
            header = struct.pack("<I", len(part))[:3] + bytes([self._sequence & 0xFF])
            self._sequence += 1
            try:
                self._socket.sendall(header + part)
            except OSError as error:
                raise ConnectionLost(str(error)) from error
            if len(part) < 0xFFFFFF:
                return

    def _read_exactly(self, count):
        while len(self._buffer) < count:
            try:
                chunk = self._socket.recv(65536)
            except socket.timeout as error:
                raise ConnectionLost("no answer within the time limit") from error
            except OSError as error:
                raise ConnectionLost(str(error)) from error
            if not chunk:
                raise ConnectionLost("the server closed the connection")
            self._buffer += chunk
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _read_packet(self):
        payload = b""
        while True:
            header = self._read_exactly(4)
            length = header[0] | header[1] << 8 | header[2] << 16
            self._sequence = header[3] + 1
            payload += self._read_exactly(length)
            if length < 0xFFFFFF:
                return payload

    # --- connection phase ---

    def _handshake(self, user, database, password):
        greeting = self._read_packet()
        if greeting[0] == 0xFF:
            raise _error_of(greeting)
        self.connection_id = struct.unpack_from("<I", greeting, greeting.index(b"\0", 1) + 1)[0]
        capabilities = _CAPABILITIES | (_CAPABILITY_WITH_DATABASE if database else 0)
        reply = struct.pack("<IIB23x", capabilities, 1 << 24, _CHARSET_UTF8MB4_BIN)
        proof = _password_proof(password, _nonce_of(greeting))
        reply += user.encode() + b"\0" + bytes([len(proof)]) + proof
        if database:
            reply += database.encode() + b"\0"
        reply += b"caching_sha2_password\0"
        self._write_packet(reply)
        while True:
            packet = self._read_packet()
            if packet[0] == 0x00:
                return
            if packet[0] == 0xFF:
                raise _error_of(packet)
            if packet[0] == 0xFE:  # another proof is asked for, with a nonce behind the method
                nonce = bytes(packet).split(b"\0", 1)[1].rstrip(b"\0")
                self._write_packet(_password_proof(password, nonce))
            if bytes(packet) == b"\x01\x04":  # the password itself: a unix socket keeps it here
                self._write_packet(password + b"\0")

    # --- results ---

    def _read_result(self):
        """Returns (Result, server status)."""
        packet = self._read_packet()
        if packet[0] == 0xFF:
            raise _error_of(packet)
        if packet[0] == 0x00:
            return _ok_of(packet)
        column_count, _ = _length_encoded(packet, 0)
        columns = [_column_of(self._read_packet()) for _ in range(column_count)]
        self._read_packet()  # end of the column list
        rows = []
        while True:
            packet = self._read_packet()
            if packet[0] == 0xFF:
                raise _error_of(packet)
            if packet[0] == 0xFE and len(packet) < 9:
                warnings, status = struct.unpack_from("<HH", packet, 1)
                names = [column[0] for column in columns]
                return Result(names, rows, len(rows), warnings=warnings), status
            rows.append(_row_of(packet, columns))


def _nonce_of(greeting):
    """The random bytes of the server's first packet."""
    first = bytes(greeting).index(b"\0", 1) + 5  # behind version and thread id
    return bytes(greeting[first:first + 8]) + bytes(greeting[first + 27:first + 39])


def _password_proof(password, nonce):
    """What caching_sha2_password wants to see; nothing for an empty password."""
    if not password:
        return b""
    once = hashlib.sha256(password).digest()
    other = hashlib.sha256(hashlib.sha256(once).digest() + nonce).digest()
    return bytes(a ^ b for a, b in zip(once, other))


def _error_of(packet):
    code = struct.unpack_from("<H", packet, 1)[0]
    text = packet[3:]
    state = "HY000"
    if text[:1] == b"#":
        state, text = text[1:6].decode(), text[6:]
    return MysqlError(code, state, text.decode("utf-8", "replace"))


def _ok_of(packet):
    affected, offset = _length_encoded(packet, 1)
    last_id, offset = _length_encoded(packet, offset)
    status, warnings = struct.unpack_from("<HH", packet, offset)
    info = packet[offset + 4:].decode("utf-8", "replace")
    return Result([], [], affected, last_id, warnings, info), status


def _length_encoded(data, offset):
    first = data[offset]
    if first < 0xFB:
        return first, offset + 1
    if first == 0xFB:
        return None, offset + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(data[offset + 1:offset + 1 + width], "little"), offset + 1 + width


def _column_of(packet):
    """Returns (name, type, character set)."""
    offset, parts = 0, []
    for _ in range(6):
        length, offset = _length_encoded(packet, offset)
        parts.append(packet[offset:offset + length])
        offset += length
    charset = struct.unpack_from("<H", packet, offset + 1)[0]
    return parts[4].decode("utf-8", "replace"), packet[offset + 7], charset


def _row_of(packet, columns):
    values, offset = [], 0
    for _, kind, charset in columns:
        length, offset = _length_encoded(packet, offset)
        if length is None:
            values.append(None)
            continue
        raw = packet[offset:offset + length]
        offset += length
        values.append(_value_of(raw, kind, charset))
    return tuple(values)


def _value_of(raw, kind, charset):
    if kind in _INTEGER_TYPES:
        return int(raw)
    if kind in _FLOAT_TYPES:
        return float(raw)
    if charset == _CHARSET_BINARY and kind >= 15 and kind not in (246, 247, 248):
        return raw
    return raw.decode("utf-8", "surrogateescape")
