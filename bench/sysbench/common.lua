-- SPDX-License-Identifier: GPL-2.0-only
-- What our sysbench programs share: statements for MySQL and PostgreSQL, texts of random digits,
-- numbers by Zipf's law, the connection of a thread, and errors that are counted and tried again.
local common = {}

local C_DIGITS = string.rep("###########-", 9) .. "###########"
local PAD_DIGITS = string.rep("###########-", 4) .. "###########"

common.c_digits, common.pad_digits = C_DIGITS, PAD_DIGITS

-- A prepared statement and its parameters. Types: "int", or a number of characters.
function common.prepare(connection, text, types)
  local types_known = sysbench.sql.type
  local statement = { prepared = connection:prepare(text), values = {} }
  for number, kind in ipairs(types) do
    if kind == "int" then
      statement.values[number] = statement.prepared:bind_create(types_known.INT)
    elseif kind == "bigint" then
      statement.values[number] = statement.prepared:bind_create(types_known.BIGINT)
    else
      statement.values[number] = statement.prepared:bind_create(types_known.CHAR, kind)
    end
  end
  if #types > 0 then statement.prepared:bind_param(unpack(statement.values)) end
  return statement
end

-- "?, ?, ?"
function common.marks(count)
  return string.rep("?, ", count - 1) .. "?"
end

-- Numbers from 1 to `count` by Zipf's law, the frequent ones spread over the range. The sum of the
-- law is an integral beyond the first thousand terms.
function common.zipf(count, theta)
  local function sum(n)
    local exact = math.min(n, 1000)
    local total = 0
    for i = 1, exact do total = total + 1 / i ^ theta end
    if n > exact then
      total = total + (n ^ (1 - theta) - exact ^ (1 - theta)) / (1 - theta)
    end
    return total
  end
  local zeta = sum(count)
  local alpha = 1 / (1 - theta)
  local eta = (1 - (2 / count) ^ (1 - theta)) / (1 - sum(2) / zeta)
  return function()
    local uniform = sysbench.rand.uniform_double()
    local scaled = uniform * zeta
    local rank
    if scaled < 1 then
      rank = 0
    elseif scaled < 1 + 0.5 ^ theta then
      rank = 1
    else
      rank = math.min(count - 1, math.floor(count * (eta * uniform - eta + 1) ^ alpha))
    end
    return 1 + (rank * 2654435761) % count
  end
end

local connection
local errors = {} -- how often, by number

-- The thread's connection, which thread_done closes.
function common.connect()
  connection = sysbench.sql.driver():connect()
  return connection
end

function common.count_error(description)
  local number = description.sql_errno
  if number == 0 or number == nil then number = description.sql_state end
  errors[number] = (errors[number] or 0) + 1
end

-- Prints the errors for the driver to read.
function common.thread_done()
  for number, count in pairs(errors) do
    print(string.format("retried %s %d", tostring(number), count))
  end
  connection:disconnect()
end

-- A program that has more to do at either defines its own, which calls these.
thread_done = common.thread_done
sysbench.hooks.before_restart_event = common.count_error

return common
