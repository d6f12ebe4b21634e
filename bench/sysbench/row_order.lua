-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: the lines of one customer through a secondary index; see scripts/bench load.
local common = require("common")

sysbench.cmdline.options = { customers = { "customers in the table", 1 } }

local lookup

function thread_init()
  local connection = common.connect()
  lookup = common.prepare(connection, "SELECT id, part, quantity, price FROM lineorder " ..
                          "WHERE customer = ?", { "int" })
end

function event()
  lookup.values[1]:set(sysbench.rand.uniform(1, sysbench.opt.customers))
  lookup.prepared:execute()
end
