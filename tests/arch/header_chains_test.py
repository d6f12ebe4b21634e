# SPDX-License-Identifier: GPL-2.0-only
"""rowan_header_check reads a header after nothing but what it includes."""
import subprocess
import sys

from rowantools.line_tests import require_equal
from rowantools.paths import ROOT


def _sources(folder, **headers):
    """What is compiled to check headers, given what each of them includes; empty ones left out."""
    for name, included in headers.items():
        (folder / f"{name}.h").write_text("".join(f'#include "{other}.h"\n' for other in included))
    subprocess.run([sys.executable, ROOT / "cmake/header_chains.py", folder, folder / "out",
                    *(f"{name}.h" for name in headers)], check=True)
    texts = {path.name[:-len(".h.cc")]: path.read_text() for path in (folder / "out").iterdir()}
    require_equal(sorted(texts), sorted(headers))
    return {name: text.replace('#include "', "").replace('.h"', "").split()
            for name, text in texts.items() if text}


def test_headers_of_which_each_includes_the_one_before_share_a_source(tmp_path):
    require_equal(_sources(tmp_path, low=(), middle=["low"], beside=["low"], top=["middle"]),
                  {"top": ["low", "middle", "top"], "beside": ["beside"]})


def test_headers_that_do_not_include_each_other_share_none(tmp_path):
    require_equal(_sources(tmp_path, one=(), other=(), both=["one", "other"]),
                  {"both": ["one", "both"], "other": ["other"]})


def test_a_source_follows_what_its_header_includes(tmp_path):
    _sources(tmp_path, low=(), top=["low"])
    require_equal(_sources(tmp_path, low=(), top=()), {"low": ["low"], "top": ["top"]})
