# SPDX-License-Identifier: GPL-2.0-only
"""Runs the driver in a Python environment of this checkout that has the libraries it needs.

Imports nothing but what Python brings, as it runs before the libraries are there."""
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from ..paths import BUILD, ROOT, UserError, run_main
from ..progress import Step

_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
FOLDER = BUILD / _VERSION   # libraries are built for one version
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def provide():
    """The interpreter to run with; makes the environment where it is missing or out of date."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "python.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = FOLDER / "requirements.sha256"
        wanted = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()
        python = FOLDER / "bin" / "python"
        if not python.exists() or not stamp.exists() or stamp.read_text() != wanted:
            with Step("installing the driver's Python libraries"):
                _make(python)
            stamp.write_text(wanted)
    return python


def enter():
    """Lets this process import the libraries."""
    provide()
    sys.path.append(str(FOLDER / "lib" / _VERSION / "site-packages"))


def _make(python):
    for command in ([sys.executable, "-m", "venv", "--clear", str(FOLDER)],
                    [str(python), "-m", "pip", "install", "--quiet",
                     "--disable-pip-version-check", "-r", str(_REQUIREMENTS)]):
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode != 0:
            raise UserError("the driver's Python libraries cannot be installed:\n"
                            + (result.stderr or result.stdout).strip()[-800:])


def main():
    arguments = sys.argv[1:]
    helped = not arguments or "--help" in arguments or "-h" in arguments
    python = sys.executable if helped else str(provide())
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "scripts" / "lib"))
    os.execve(python, [python, "-m", "rowantools.bench", *arguments], environment)


if __name__ == "__main__":
    sys.exit(run_main(main, "bench"))
