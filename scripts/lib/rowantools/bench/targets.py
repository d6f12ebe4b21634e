# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: each --on names a target, an engine of a server that the driver starts or an
address of a server that runs somewhere.

    rowan, innodb                      engines of the private MySQL server
    mariadb, myrocks, postgres         a server that the driver starts, on loopback
    NAME=mysql://USER:PASSWORD@HOST:PORT/DATABASE?engine=X    or ?socket=/path
    NAME=postgres://USER:PASSWORD@HOST:PORT/DATABASE

Of a server that the driver did not start, /proc is read only where `pid=N` names its process.
"""
import os
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, unquote, urlsplit

from ..paths import UserError

# name: (kind, engine) of what the driver starts itself
OWN = {"rowan": ("mysql", "rowan"), "innodb": ("mysql", "innodb"), "mariadb": ("mariadb", "innodb"),
       "myrocks": ("mariadb", "rocksdb"), "postgres": ("postgres", "heap")}
_SCHEMES = {"mysql": "mysql", "mariadb": "mysql", "postgres": "postgres", "postgresql": "postgres"}
_PORTS = {"mysql": 3306, "postgres": 5432}
_KNOWN_OPTIONS = {"engine", "socket", "pid"}
_PASSWORD_VARIABLES = {"mysql": "MYSQL_PWD", "postgres": "PGPASSWORD"}


@dataclass
class Target:
    """One side of a comparison. `kind` is mysql, mariadb or postgres; what speaks MySQL's protocol
    at an address is mysql."""
    name: str
    kind: str
    engine: str
    own: bool = True           # started by the driver
    host: str = ""
    port: int = 0
    socket: str = ""           # a file for MySQL, a folder for PostgreSQL
    user: str = "root"
    password: str = ""
    database: str = ""
    pid: int = 0               # of the server, where it may be looked at
    server: object = None      # the started server
    facts: dict = field(default_factory=dict)

    @property
    def protocol(self):
        return "postgres" if self.kind == "postgres" else "mysql"

    def address(self):
        """As it is shown and recorded: without the password."""
        if self.own:
            return "started by the driver"
        place = f"{self.host}:{self.port}" if self.host else ""
        options = [f"{name}={value}" for name, value in
                   (("engine", self.engine), ("socket", self.socket)) if value]
        return f"{self.protocol}://{quote(self.user)}@{place}/{self.database}" + (
            "?" + "&".join(options) if options else "")

    def sysbench_arguments(self):
        """How sysbench reaches the target's database."""
        driver = "pgsql" if self.protocol == "postgres" else "mysql"
        arguments = [f"--db-driver={driver}", f"--{driver}-user={self.user}",
                     f"--{driver}-db={self.database}"]
        if self.password:
            arguments.append(f"--{driver}-password={self.password}")
        if self.socket and driver == "mysql":
            return arguments + [f"--mysql-socket={self.socket}"]
        host = self.socket if driver == "pgsql" and self.socket else self.host
        return arguments + [f"--{driver}-host={host}", f"--{driver}-port={self.port}"]


def parse(text):
    """The Target that one --on names; UserError with one sentence where it cannot be read."""
    if text in OWN:
        kind, engine = OWN[text]
        return Target(text, kind, engine, database=f"bench_{text}")
    name, separator, address = text.partition("=")
    if not separator or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise UserError(f"--on {_without_password(text)}: neither one of {', '.join(OWN)} nor "
                        "NAME=mysql://... or NAME=postgres://...")
    if address in OWN:
        kind, engine = OWN[address]
        return Target(name, kind, engine, database="bench_" + re.sub(r"\W", "_", name))
    return _parse_address(name, address)


def _parse_address(name, address):
    shown = _without_password(address)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise UserError(f"--on {name}={shown}: {error}")
    if parts.scheme not in _SCHEMES:
        raise UserError(f"--on {name}={shown}: the address begins with mysql:// or postgres://")
    kind = _SCHEMES[parts.scheme]
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    unknown = set(options) - _KNOWN_OPTIONS
    if unknown:
        raise UserError(f"--on {name}={shown}: unknown option {', '.join(sorted(unknown))}; known: "
                        + ", ".join(sorted(_KNOWN_OPTIONS)))
    if not parts.hostname and "socket" not in options:
        raise UserError(f"--on {name}={shown}: it names neither a host nor socket=")
    if not options.get("pid", "0").isdigit():
        raise UserError(f"--on {name}={shown}: pid is a number")
    engine = options.get("engine", "heap" if kind == "postgres" else "innodb")
    return Target(name, kind, engine, own=False, host=parts.hostname or "",
                  port=port or _PORTS[kind], socket=options.get("socket", ""),
                  user=unquote(parts.username or ("postgres" if kind == "postgres" else "root")),
                  password=unquote(parts.password or os.environ.get(_PASSWORD_VARIABLES[kind], "")),
                  database=parts.path.strip("/") or "bench", pid=int(options.get("pid", 0)))


def parse_all(texts):
    """The targets of all --on in their order; the first one is the base."""
    targets = [parse(text) for text in texts or ("innodb", "rowan")]
    names = [target.name for target in targets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"--on: the name {twice[0]} is given twice; NAME=... tells them apart")
    return targets


def without_passwords(arguments):
    """A command line as it may be recorded; repeat takes passwords from the environment."""
    return [_without_password(argument) for argument in arguments]


def _without_password(text):
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", text)
