# SPDX-License-Identifier: GPL-2.0-only
"""scripts/server: a MySQL server with Rowan installed, to play with."""
import argparse
import os
import shutil
import sys
from pathlib import Path

from .mysql_tree import dotted
from .paths import BUILD, UserError, run_main
from .progress import Step, say
from .server import Server


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/server",
        description="A private MySQL server with Rowan installed. Data lives under build/server; "
                    "it listens on a unix socket only, unless --port is given.",
        epilog="Arguments after -- go to mysqld (init, start) or to the mysql client (shell).")
    parser.add_argument("action", choices=["start", "stop", "restart", "kill", "status", "shell",
                                           "log", "init"])
    parser.add_argument("--dir", default=str(BUILD / "server"), help="folder of the instance")
    parser.add_argument("--binlog", choices=["on", "off"], default="off")
    parser.add_argument("--buffer-pool", default="256M", metavar="SIZE",
                        help="buffer pool size of both engines (default 256M)")
    parser.add_argument("--port", type=int, help="also listen on this port of 127.0.0.1")
    parser.add_argument("--no-plugin", action="store_true", help="do not install Rowan")
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        split = arguments.index("--")
        arguments, extra = arguments[:split], arguments[split + 1:]
    return parser.parse_args(arguments), extra


def _start(server, options, extra):
    with Step(f"starting mysqld in {server.folder}"):
        server.start(extra)
    say(f"server: ready; socket {server.socket}")
    say("server: `scripts/server shell` opens the mysql client"
        + (f" (port {options.port})" if options.port else ""))


def _status(server):
    pid = server.pid()
    if not pid:
        print(f"server: not running (folder {server.folder})")
        return 3
    with server.client() as client:
        rows = client.query("SELECT plugin_status FROM information_schema.plugins "
                            "WHERE plugin_name = 'ROWAN'")
    engine = rows[0][0].lower() if rows else "not installed"
    print(f"server: MySQL {dotted(server.tree.server_version())} runs as process {pid}, "
          f"Rowan {engine}, socket {server.socket}")
    return 0


def _shell(server, extra):
    if not server.is_running():
        raise UserError("the server is not running; scripts/server start")
    program = str(server.tree.program("mysql"))
    os.execv(program, [program, "--no-defaults", f"--socket={server.socket}", "--user=root",
                       *extra])


def _log(server):
    if not server.error_log.exists():
        raise UserError(f"no log yet at {server.error_log}")
    sys.stdout.write(server.error_log.read_text(errors="replace"))


def main():
    options, extra = _parse()
    server = Server(Path(options.dir), binlog=options.binlog == "on", port=options.port,
                    buffer_pool=options.buffer_pool, install_plugin=not options.no_plugin)
    action = options.action
    if action == "start":
        if server.is_running():
            return _status(server)
        _start(server, options, extra)
    elif action == "stop":
        with Step("stopping mysqld"):
            if not server.stop():
                raise UserError("mysqld did not end in time and was killed")
    elif action == "restart":
        server.stop()
        _start(server, options, extra)
    elif action == "kill":
        server.kill()
    elif action == "init":
        if server.is_running():
            raise UserError("the server is running; scripts/server stop first")
        shutil.rmtree(server.data, ignore_errors=True)
        with Step("creating an empty data directory"):
            server.initialize()
    elif action == "status":
        return _status(server)
    elif action == "shell":
        _shell(server, extra)
    elif action == "log":
        _log(server)
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "server"))
