# SPDX-License-Identifier: GPL-2.0-only
"""The programs in examples/ run and print what they promise; the README shows their lines."""
import re
import subprocess
import tempfile

from rowantools.line_tests import Failure, require_equal, require_none
from rowantools.paths import BUILD, ROOT

_HELLO = """Lyon: France
Bern: Switzerland
Lyon: France
Basel: Switzerland
Bern: Switzerland
"""


def _run(name, *arguments):
    return subprocess.run([str(BUILD / "examples" / name), *arguments], capture_output=True,
                          text=True, timeout=60)


def test_hello_puts_gets_and_scans():
    with tempfile.TemporaryDirectory() as folder:
        result = _run("rowan-hello", f"{folder}/instance")
        require_equal(result.returncode, 0, f"status ({result.stderr[-500:]})")
        require_equal(result.stdout, _HELLO, "output")


def test_hello_says_what_went_wrong():
    require_equal(_run("rowan-hello").returncode, 2, "status without a folder")
    result = _run("rowan-hello", "/proc/rowan-hello")
    require_equal(result.returncode, 1, "status where nothing can be created")
    if "opening failed" not in result.stderr:
        raise Failure(result.stderr)


def test_the_readme_shows_lines_of_the_example():
    blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    require_equal(len(blocks), 1, "examples in the README")
    example = {line.strip() for line in (ROOT / "examples" / "hello.cc").read_text().splitlines()}
    require_none([line for line in blocks[0].splitlines() if line.strip() not in example],
                 "lines of the README that are not in examples/hello.cc")
