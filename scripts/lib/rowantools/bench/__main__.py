# SPDX-License-Identifier: GPL-2.0-only
import sys

from ..paths import run_main
from .cli import main

sys.exit(run_main(main, "bench"))
