# SPDX-License-Identifier: GPL-2.0-only
"""Programs of others that are built from the Go module proxy into .mysql/, once."""
import json
import os
import shutil
import subprocess
from pathlib import Path

from .bench.private_package import alone, provide
from .paths import UserError
from .progress import Step


def once(name, fill):
    """A folder below .mysql/ that is there whole or not at all."""
    with alone(name) as folder:
        if not folder.is_dir():
            partial = folder.with_name(name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            fill(partial)
            partial.rename(folder)
    return folder


def fetch(what, command, **options):
    """Runs a command that needs a registry of packages. Returns what it prints; UserError."""
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                            **options)
    if result.returncode:
        raise UserError(f"{what} cannot be had: {(result.stderr or result.stdout).strip()[-300:]}")
    return result.stdout


def go_programs(folder, module, version, packages, toolchain="", change=None):
    """Builds `packages` of a module, such as "cmd/tool", into the folder. A `toolchain` such as
    go1.24.9 is fetched where the machine's is another one; `change` may edit the sources, whose
    folder it is given. At most two jobs, at low priority: modules may be large."""
    work = folder / "go"
    work.mkdir()
    (work / "go.mod").write_text(f"module tools\n\ngo 1.23\n\nrequire {module} {version}\n")
    environment = {**os.environ, "GOPATH": str(work / "path"), "GOFLAGS": "-modcacherw -mod=mod",
                   "GOCACHE": str(work / "cache"), "CGO_ENABLED": "0",
                   **({"GOTOOLCHAIN": toolchain} if toolchain else {})}
    if change:
        told = fetch(module, [_go(), "mod", "download", "-json", f"{module}@{version}"], cwd=work,
                     env=environment)
        change(Path(json.loads(told)["Dir"]))
    for package in packages:
        name = f"{module}/{package}"
        with Step(f"building {name} {version}"):
            fetch(name, ["nice", _go(), "build", "-p", "2", "-ldflags", "-s -w", "-o",
                         str(folder / name.rsplit("/", 1)[1]), name], cwd=work, env=environment)
    shutil.rmtree(work)


def _go():
    """The machine's own, or Debian's, fetched."""
    for own in (shutil.which("go"), "/usr/local/go/bin/go"):
        if own and Path(own).is_file():
            return own
    return str(provide("golang", ["golang-go"]) / "usr/bin/go")
