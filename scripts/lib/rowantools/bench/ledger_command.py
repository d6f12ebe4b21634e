# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench ledger, as the other commands are called."""
from .ledger import OPTIONS, Ledger
from .workload import Workload


class LedgerCommand(Workload):
    @staticmethod
    def prepare(options):
        options.server_option = options.server_option + [f"mysql:{option}" for option in OPTIONS]

    def run(self):
        Ledger(self.session, self.options).run()
