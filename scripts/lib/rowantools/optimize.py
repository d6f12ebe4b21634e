# SPDX-License-Identifier: GPL-2.0-only
"""scripts/optimize: the plugin built with a profile of itself under load (PGO) and, at the linker,
as one program (LTO). `build/optimized` holds both builds, one after the other: each object finds
its profile beside it."""
import argparse
import os
import shutil
import subprocess
import sys

from . import setup
from .build import build
from .paths import BUILD, PLUGIN_LIBRARY, ROOT, UserError, run_main
from .progress import Step, say
from .server import Server

FOLDER = BUILD / "optimized"
PLUGIN = FOLDER / "plugin" / PLUGIN_LIBRARY
_TRAINING = FOLDER / "training"
# What is trained: commands of scripts/bench, each against a server with the profiled plugin.
_LOADS = (
    ("micro", "--set", "32", "--shape", "1x100k", "--threads", "2", "--time", "1", "--rounds", "1"),
    ("insert", "--quick"),
    ("ssb", "--rows", "100k", "--rounds", "1"),
)
_ONLY_PLUGIN = ["-DROWAN_SANITIZE=", "-DROWAN_BUILD_TESTS=OFF", "-DROWAN_BUILD_BENCH=OFF"]


def optimize(tree):
    """Builds PLUGIN, and returns its path."""
    for profile in FOLDER.rglob("*.gcda"):
        profile.unlink()
    build(FOLDER, [*_ONLY_PLUGIN, "-DROWAN_PROFILE=make", "-DROWAN_LTO=OFF"], ["ha_rowan"],
          "building the plugin that writes its profile", tree)
    _train(tree)
    build(FOLDER, [*_ONLY_PLUGIN, "-DROWAN_PROFILE=use", "-DROWAN_LTO=ON"], ["ha_rowan"],
          "building the plugin with its profile", tree)
    return PLUGIN


def _train(tree):
    shutil.rmtree(_TRAINING, ignore_errors=True)
    server = Server(_TRAINING, tree, plugin=PLUGIN)
    try:
        server.initialize()
        server.start()
        server.client().execute("CREATE DATABASE training")
        for command, *options in _LOADS:
            with Step(f"training with {command}"):
                _run(server, command, options)
        server.stop()   # the profile is written as the process ends
    finally:
        if server.is_running():
            server.kill()
    if not any(FOLDER.rglob("*.gcda")):
        raise UserError("the training left no profile")
    server.destroy()


def _run(server, command, options):
    target = f"rowan=mysql://root@localhost/training?socket={server.socket}&engine=ROWAN"
    log = FOLDER / f"training-{command}.log"
    with open(log, "wb") as stream:
        status = subprocess.run(
            [str(ROOT / "scripts" / "bench"), command, "--on", target, *options,
             "--output", str(FOLDER / f"training-{command}.json")],
            stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
            env=dict(os.environ, ROWAN_PLUGIN=str(PLUGIN))).returncode
    if status:
        raise UserError(f"scripts/bench {command} failed, all output in {log}")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/optimize",
        description="Builds the plugin twice, to be faster: profiled under load, and linked as one "
                    "program; some twenty minutes on two cores. It is "
                    f"{PLUGIN.relative_to(ROOT)}; scripts/package --optimize packages it, "
                    "ROWAN_PLUGIN=FILE has other scripts use it.")
    parser.parse_args()
    say(f"optimize: {optimize(setup.prepare())}")
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "optimize"))
