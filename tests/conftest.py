# SPDX-License-Identifier: GPL-2.0-only
"""Lets the tests import what the scripts are made of."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts" / "lib"))
