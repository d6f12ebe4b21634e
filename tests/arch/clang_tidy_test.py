# SPDX-License-Identifier: GPL-2.0-only
"""clang-tidy finds nothing in the libraries. Takes minutes: part of scripts/test --long."""
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

from rowantools.build import cores  # noqa: E402
from rowantools.cpp_source import LAYERS, sources  # noqa: E402
from rowantools.line_tests import Failure, require_none, run  # noqa: E402
from rowantools.paths import BUILD  # noqa: E402


def _findings(path, *options):
    result = subprocess.run(["clang-tidy", "--quiet", *options, str(path)], capture_output=True,
                            text=True, cwd=ROOT)
    return [line.removeprefix(f"{ROOT}/") for line in result.stdout.splitlines()
            if " error: " in line or " warning: " in line]


def test_the_libraries_are_tidy():
    paths = sources([folder for folder in LAYERS if folder != "plugin"], (".cc",))
    with ThreadPoolExecutor(cores()) as pool:
        found = pool.map(lambda path: _findings(path, "-p", str(BUILD)), paths)
    require_none(sorted({line for lines in found for line in lines}), "findings of clang-tidy")


def test_a_finding_is_found():
    sample = BUILD / "untidy.cc"
    sample.write_text("struct A { virtual void f(); };\nstruct B : A { void f(); };\n")
    found = _findings(sample, f"--config-file={ROOT / '.clang-tidy'}")
    sample.unlink()
    if not any("modernize-use-override" in line for line in found):
        raise Failure("an untidy line is not found")


if __name__ == "__main__":
    if not os.environ.get("ROWAN_TEST_LONG"):
        print("SKIP clang-tidy takes minutes: scripts/test --long")
        sys.exit(0)
    if shutil.which("clang-tidy") is None:
        print("SKIP there is no clang-tidy; scripts/test --long installs it")
        sys.exit(0)
    run(dict(globals()))
