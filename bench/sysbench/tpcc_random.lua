-- SPDX-License-Identifier: GPL-2.0-only
-- The random values of tpcc.lua: texts, names, and numbers of which some are asked for more often.
local bit = require("bit")

local random = {}

local SYLLABLES = { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }
-- One each for a run: which values are the frequent ones.
local CONSTANTS = { [255] = 123, [1023] = 259, [8191] = 7911 }
local NAMES = 1000
local POOL_SIZE = 4096
local pool

-- Letters, `low` to `high` of them: a piece of one random text.
function random.text(low, high)
  if pool == nil then pool = sysbench.rand.string(string.rep("@", POOL_SIZE)) end
  local length = low == high and low or sysbench.rand.uniform(low, high)
  local first = sysbench.rand.uniform(1, POOL_SIZE - length)
  return pool:sub(first, first + length - 1)
end

-- Two uniform numbers whose bits are joined with OR, so that those with many bits set are frequent.
function random.skewed(bits, low, high)
  local joined = bit.bor(sysbench.rand.uniform(0, bits), sysbench.rand.uniform(low, high))
  return (joined + CONSTANTS[bits]) % (high - low + 1) + low
end

-- Of 0 to 999: three syllables.
function random.last_name(number)
  return SYLLABLES[math.floor(number / 100) + 1] .. SYLLABLES[math.floor(number / 10) % 10 + 1] ..
         SYLLABLES[number % 10 + 1]
end

-- A name that some of `customers` have.
function random.last_name_number(customers)
  return random.skewed(255, 0, math.min(customers, NAMES) - 1)
end

-- The numbers from 1 to `count` in random order.
function random.permutation(count)
  local numbers = {}
  for i = 1, count do numbers[i] = i end
  for i = count, 2, -1 do
    local other = sysbench.rand.uniform(1, i)
    numbers[i], numbers[other] = numbers[other], numbers[i]
  end
  return numbers
end

return random
