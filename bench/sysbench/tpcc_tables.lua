-- SPDX-License-Identifier: GPL-2.0-only
-- The nine tables of tpcc.lua and their first rows. Every customer has one order; of each
-- district's orders the last three tenths wait for delivery. Money is exact: sums can be checked.
local tpcc_random = require("tpcc_random")

local tables = {}

local DISTRICTS = 10
local FIRST_PAYMENT = "10.00"
local address = "street_1 VARCHAR(20), street_2 VARCHAR(20), city VARCHAR(20), " ..
                "state CHAR(2), zip CHAR(9)"

-- {name, columns}; @ stands for the type of a moment.
local CREATE = {
  { "tpcc_item", "i_id INT NOT NULL PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), " ..
    "i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50)" },
  { "tpcc_warehouse", "w_id INT NOT NULL PRIMARY KEY, w_name VARCHAR(10), " .. address ..
    ", w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL" },
  { "tpcc_district", "d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), " .. address ..
    ", d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INT NOT NULL, " ..
    "PRIMARY KEY (d_w_id, d_id)" },
  { "tpcc_customer", "c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, " ..
    "c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), " .. address ..
    ", c_phone CHAR(16), c_since @, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), " ..
    "c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, " ..
    "c_ytd_payment DECIMAL(12,2) NOT NULL, c_payment_cnt INT NOT NULL, " ..
    "c_delivery_cnt INT NOT NULL, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id)" },
  { "tpcc_history", "h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, " ..
    "h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_date @, h_amount DECIMAL(6,2) NOT NULL, " ..
    "h_data VARCHAR(24)" },
  { "tpcc_orders", "o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, " ..
    "o_c_id INT NOT NULL, o_entry_d @, o_carrier_id INT, o_ol_cnt INT NOT NULL, " ..
    "o_all_local INT NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id)" },
  { "tpcc_new_order", "no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, " ..
    "PRIMARY KEY (no_w_id, no_d_id, no_o_id)" },
  { "tpcc_order_line", "ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, " ..
    "ol_number INT NOT NULL, ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, " ..
    "ol_delivery_d @, ol_quantity INT NOT NULL, ol_amount DECIMAL(6,2) NOT NULL, " ..
    "ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)" },
  { "tpcc_stock", "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT NOT NULL, " ..
    "s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), " ..
    "s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), " ..
    "s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd INT NOT NULL, s_order_cnt INT NOT NULL, " ..
    "s_remote_cnt INT NOT NULL, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)" },
}
local INDEXES = {
  "CREATE INDEX tpcc_customer_name ON tpcc_customer (c_w_id, c_d_id, c_last, c_first)",
  "CREATE INDEX tpcc_orders_customer ON tpcc_orders (o_w_id, o_d_id, o_c_id, o_id)",
}

local text = tpcc_random.text

local function place()
  return string.format("'%s', '%s', '%s', '%s', '%d11111'", text(10, 20), text(10, 20),
                       text(10, 20), text(2, 2), sysbench.rand.uniform(1000, 9999))
end

local function load(to, into, rows)
  to:bulk_insert_init("INSERT INTO " .. into .. " VALUES")
  rows(function(...) to:bulk_insert_next(string.format(...)) end)
  to:bulk_insert_done()
end

-- One of ten items, and of ten stocks, says that it is original.
local function with_original()
  if sysbench.rand.uniform(1, 10) > 1 then return text(26, 50) end
  return text(10, 20) .. "ORIGINAL" .. text(8, 20)
end

-- Empty tables, and the items.
function tables.create(driver, to, options)
  local is_mysql = driver:name() == "mysql"
  local engine = is_mysql and options.engine ~= "" and " ENGINE = " .. options.engine or ""
  for _, entry in ipairs(CREATE) do
    to:query("DROP TABLE IF EXISTS " .. entry[1])
    local columns = entry[2]:gsub("@", is_mysql and "DATETIME" or "TIMESTAMP")
    to:query(string.format("CREATE TABLE %s (%s)%s", entry[1], columns, engine))
  end
  for _, index in ipairs(INDEXES) do to:query(index) end
  load(to, "tpcc_item", function(add)
    for id = 1, options.items do
      add("(%d, %d, '%s', %.2f, '%s')", id, sysbench.rand.uniform(1, 10000), text(14, 24),
          sysbench.rand.uniform(100, 10000) / 100, with_original())
    end
  end)
end

local function fill_stock(to, warehouse, items)
  load(to, "tpcc_stock", function(add)
    for item = 1, items do
      local districts = {}
      for i = 1, DISTRICTS do districts[i] = "'" .. text(24, 24) .. "'" end
      add("(%d, %d, %d, %s, 0, 0, 0, '%s')", item, warehouse, sysbench.rand.uniform(10, 100),
          table.concat(districts, ", "), with_original())
    end
  end)
end

local function fill_customers(to, warehouse, district, customers)
  load(to, "tpcc_customer", function(add)
    for id = 1, customers do
      local name = id <= 1000 and id - 1 or tpcc_random.last_name_number(customers)
      add("(%d, %d, %d, '%s', 'OE', '%s', %s, '%016d', CURRENT_TIMESTAMP, '%s', 50000, " ..
          "%.4f, -" .. FIRST_PAYMENT .. ", " .. FIRST_PAYMENT .. ", 1, 0, '%s')", id, district,
          warehouse, text(8, 16), tpcc_random.last_name(name), place(),
          sysbench.rand.uniform(1, 2000000000), sysbench.rand.uniform(1, 10) == 1 and "BC" or "GC",
          sysbench.rand.uniform(0, 5000) / 10000, text(300, 500))
    end
  end)
  load(to, "tpcc_history", function(add)
    for id = 1, customers do
      add("(%d, %d, %d, %d, %d, CURRENT_TIMESTAMP, " .. FIRST_PAYMENT .. ", '%s')", id, district,
          warehouse, district, warehouse, text(12, 24))
    end
  end)
end

local function fill_orders(to, warehouse, district, options)
  local customers = tpcc_random.permutation(options.customers)
  local delivered = math.floor(options.customers * 7 / 10)
  local counts = {}
  load(to, "tpcc_orders", function(add)
    for id = 1, options.customers do
      counts[id] = sysbench.rand.uniform(5, 15)
      add("(%d, %d, %d, %d, CURRENT_TIMESTAMP, %s, %d, 1)", id, district, warehouse,
          customers[id], id <= delivered and tostring(sysbench.rand.uniform(1, 10)) or "NULL",
          counts[id])
    end
  end)
  load(to, "tpcc_order_line", function(add)
    for id = 1, options.customers do
      for number = 1, counts[id] do
        local is_delivered = id <= delivered
        add("(%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s')", id, district, warehouse, number,
            sysbench.rand.uniform(1, options.items), warehouse,
            is_delivered and "CURRENT_TIMESTAMP" or "NULL",
            is_delivered and 0 or sysbench.rand.uniform(1, 999999) / 100, text(24, 24))
      end
    end
  end)
  load(to, "tpcc_new_order", function(add)
    for id = delivered + 1, options.customers do
      add("(%d, %d, %d)", id, district, warehouse)
    end
  end)
end

-- One warehouse and all that belongs to it.
function tables.fill_warehouse(to, warehouse, options)
  local district_ytd = options.customers * tonumber(FIRST_PAYMENT)
  to:query(string.format("INSERT INTO tpcc_warehouse VALUES (%d, '%s', %s, %.4f, %.2f)", warehouse,
                         text(6, 10), place(), sysbench.rand.uniform(0, 2000) / 10000,
                         DISTRICTS * district_ytd))
  fill_stock(to, warehouse, options.items)
  for district = 1, DISTRICTS do
    to:query(string.format("INSERT INTO tpcc_district VALUES (%d, %d, '%s', %s, %.4f, %.2f, %d)",
                           district, warehouse, text(6, 10), place(),
                           sysbench.rand.uniform(0, 2000) / 10000, district_ytd,
                           options.customers + 1))
    fill_customers(to, warehouse, district, options.customers)
    fill_orders(to, warehouse, district, options)
  end
end

return tables
