-- SPDX-License-Identifier: GPL-2.0-only
-- The schema rowan_sys: what operators look at, with names, numbers and labels as the schema sys has
-- them; each view whose numbers are for people has a twin x$ with plain ones. Running this again
-- brings an older one up to date. docs/observing.md tells what is in them.
--
-- Views run with the privileges of who reads them: PROCESS, SELECT on performance_schema, SELECT and
-- EXECUTE on rowan_sys and sys.

SET NAMES utf8mb4;
CREATE DATABASE IF NOT EXISTS rowan_sys DEFAULT CHARACTER SET utf8mb4;
USE rowan_sys;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW version (rowan_sys_version, mysql_version, engine_version)
AS SELECT '1.0.0', VERSION(), plugin_version
     FROM information_schema.plugins WHERE plugin_name = 'ROWAN';

-- A view cannot name a variable.
DROP FUNCTION IF EXISTS page_size;
CREATE FUNCTION page_size () RETURNS BIGINT UNSIGNED NO SQL SQL SECURITY INVOKER RETURN @@rowan_page_size;

-- Letters of a text in a key. Only weights are there, so letter case and accents are lost: letters
-- and digits of ASCII come back in lower case, whatever else as a question mark.
DROP FUNCTION IF EXISTS key_letters;
DELIMITER $$
CREATE FUNCTION key_letters (weights VARCHAR(1000)) RETURNS VARCHAR(1000)
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE result VARCHAR(1000) DEFAULT '';
  DECLARE code INT;
  DECLARE unit CHAR(4);
  WHILE weights <> '' DO
    SET unit = LEFT(weights, 4), weights = SUBSTR(weights, 5);
    SET code = 32;
    WHILE code < 127 AND HEX(WEIGHT_STRING(CHAR(code USING utf8mb4) COLLATE utf8mb4_0900_ai_ci)) <> unit DO
      SET code = IF(code = 64, 91, code + 1);
    END WHILE;
    SET result = CONCAT(result, IF(code < 127, CHAR(code USING utf8mb4), '?'));
  END WHILE;
  RETURN result;
END$$

-- Takes the escaped bytes at the beginning of a key apart: 00FF is a byte 00, 0000 the end. Returns
-- the bytes, or those after them when `rest` is true; NULL where there is no end.
DROP FUNCTION IF EXISTS key_escaped$$
CREATE FUNCTION key_escaped (bytes VARCHAR(1000), rest BOOL) RETURNS VARCHAR(1000)
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE result VARCHAR(1000) DEFAULT '';
  WHILE bytes <> '' DO
    IF LEFT(bytes, 4) = '0000' THEN
      RETURN IF(rest, SUBSTR(bytes, 5), result);
    END IF;
    SET result = CONCAT(result, LEFT(bytes, 2));
    SET bytes = SUBSTR(bytes, IF(LEFT(bytes, 4) = '00FF', 5, 3));
  END WHILE;
  RETURN NULL;
END$$

-- The value of a part with a fixed number of bytes, of a time with so many digits behind the second;
-- NULL for types that are not told in words.
DROP FUNCTION IF EXISTS key_fixed$$
CREATE FUNCTION key_fixed (type VARCHAR(64), is_unsigned BOOL, digits INT, bytes VARCHAR(1000)) RETURNS VARCHAR(1000)
  DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE n BIGINT UNSIGNED DEFAULT CAST(CONV(LEFT(bytes, 16), 16, 10) AS UNSIGNED);
  DECLARE months INT;
  CASE
    WHEN type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') THEN
      RETURN IF(is_unsigned, n, IF(type = 'bigint', CAST(n ^ (1 << 63) AS SIGNED),
                                   CAST(n AS SIGNED) - CAST(1 << (4 * LENGTH(bytes) - 1) AS SIGNED)));
    WHEN type = 'year' THEN RETURN IF(n = 0, '0000', 1900 + n);
    WHEN type = 'date' THEN
      RETURN CONCAT('''', LPAD(n >> 9, 4, '0'), '-', LPAD(n >> 5 & 15, 2, '0'), '-', LPAD(n & 31, 2, '0'), '''');
    WHEN type = 'datetime' THEN
      SET n = CAST(CONV(LEFT(bytes, 10), 16, 10) AS UNSIGNED) & ~(1 << 39);
      SET months = n >> 22;
      RETURN CONCAT('''', LPAD(months DIV 13, 4, '0'), '-', LPAD(months % 13, 2, '0'), '-', LPAD(n >> 17 & 31, 2, '0'),
                    ' ', LPAD(n >> 12 & 31, 2, '0'), ':', LPAD(n >> 6 & 63, 2, '0'), ':', LPAD(n & 63, 2, '0'),
                    key_fraction(SUBSTR(bytes, 11), digits), '''');
    WHEN type = 'timestamp' THEN
      RETURN CONCAT('''', FROM_UNIXTIME(CAST(CONV(LEFT(bytes, 8), 16, 10) AS UNSIGNED)), key_fraction(SUBSTR(bytes, 9), digits), '''');
    WHEN type = 'binary' THEN RETURN CONCAT('0x', bytes);
    ELSE RETURN NULL;
  END CASE;
END$$

-- The fraction of a second behind a time: one byte for each two digits.
DROP FUNCTION IF EXISTS key_fraction$$
CREATE FUNCTION key_fraction (bytes VARCHAR(6), digits INT) RETURNS VARCHAR(7) DETERMINISTIC NO SQL SQL SECURITY INVOKER
  RETURN IF(bytes = '', '', CONCAT('.', LEFT(LPAD(CONV(bytes, 16, 10), LENGTH(bytes), '0'), digits)))$$

-- A key, as LOCK_KEY of ROWAN_LOCKS shows it, in words: (id = 5, at = '2026-01-02 03:04:05'). From the
-- first part on that has no words its digits remain. Text is told by its letters, see key_letters.
DROP FUNCTION IF EXISTS key_in_words$$
CREATE FUNCTION key_in_words (in_schema VARCHAR(64), in_table VARCHAR(64), in_index VARCHAR(64), bytes VARCHAR(1000))
  RETURNS TEXT READS SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE result TEXT DEFAULT '';
  DECLARE name, type, text_collation, value VARCHAR(1000);
  DECLARE is_unsigned, nullable, descending, done BOOL DEFAULT FALSE;
  DECLARE width, digits INT;
  DECLARE parts CURSOR FOR
    SELECT c.column_name, c.data_type, c.collation_name, c.column_type LIKE '%unsigned%', c.is_nullable = 'YES',
           s.collation = 'D',
           2 * CASE c.data_type WHEN 'tinyint' THEN 1 WHEN 'smallint' THEN 2 WHEN 'mediumint' THEN 3 WHEN 'int' THEN 4
                 WHEN 'bigint' THEN 8 WHEN 'year' THEN 1 WHEN 'date' THEN 3
                 WHEN 'datetime' THEN 5 + (c.datetime_precision + 1) DIV 2
                 WHEN 'timestamp' THEN 4 + (c.datetime_precision + 1) DIV 2
                 WHEN 'binary' THEN COALESCE(s.sub_part, c.character_octet_length) END,
           c.datetime_precision
      FROM (SELECT 0 AS place, i.* FROM information_schema.statistics i WHERE i.index_name = in_index
            UNION ALL
            SELECT 1, p.* FROM information_schema.statistics p
             WHERE p.index_name = 'PRIMARY' AND in_index <> 'PRIMARY' AND NOT EXISTS (
                   SELECT 1 FROM information_schema.statistics o
                    WHERE o.table_schema = p.table_schema AND o.table_name = p.table_name
                      AND o.index_name = in_index AND o.column_name = p.column_name AND o.sub_part IS NULL)) AS s
      LEFT JOIN information_schema.columns c
        ON c.table_schema = s.table_schema AND c.table_name = s.table_name AND c.column_name = s.column_name
     WHERE s.table_schema = in_schema AND s.table_name = in_table
     ORDER BY s.place, s.seq_in_index;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
  OPEN parts;
  walk: LOOP
    FETCH parts INTO name, type, text_collation, is_unsigned, nullable, descending, width, digits;
    IF done OR type IS NULL OR descending OR bytes = '' THEN LEAVE walk; END IF;
    SET value = NULL;
    IF nullable AND LEFT(bytes, 2) = '00' THEN
      SET value = 'NULL', bytes = SUBSTR(bytes, 3);
    ELSE
      SET bytes = IF(nullable, SUBSTR(bytes, 3), bytes);
      IF width <= LENGTH(bytes) THEN
        SET value = key_fixed(type, is_unsigned, digits, LEFT(bytes, width)), bytes = SUBSTR(bytes, width + 1);
      ELSEIF type = 'varbinary' THEN
        SET value = CONCAT('0x', key_escaped(bytes, FALSE));
      ELSEIF text_collation = 'utf8mb4_0900_ai_ci' THEN
        SET value = CONCAT('''', key_letters(key_escaped(bytes, FALSE)), '''');
      END IF;
      IF value IS NULL THEN
        SET bytes = CONCAT(IF(nullable, '01', ''), bytes);
        LEAVE walk;
      END IF;
      SET bytes = IF(width IS NULL, key_escaped(bytes, TRUE), bytes);
    END IF;
    SET result = CONCAT(result, IF(result = '', '', ', '), name, ' = ', value);
  END LOOP;
  CLOSE parts;
  RETURN CONCAT('(', result, IF(result <> '' AND bytes <> '', ', ', ''), IF(bytes <> '', CONCAT('0x', bytes), ''), ')');
END$$

-- Any LOCK_KEY: of a range both ends, the second one not in it; an end without a key is that of the index.
DROP FUNCTION IF EXISTS lock_in_words$$
CREATE FUNCTION lock_in_words (in_schema VARCHAR(64), in_table VARCHAR(64), in_index VARCHAR(64), lock_key VARCHAR(1000))
  RETURNS TEXT READS SQL DATA SQL SECURITY INVOKER
  RETURN IF(LEFT(lock_key, 1) = '[',
            CONCAT('from ', IF(lock_key LIKE '[, %', 'the beginning',
                               key_in_words(in_schema, in_table, in_index, SUBSTRING_INDEX(SUBSTR(lock_key, 2), ', ', 1))),
                   ' to ', IF(lock_key LIKE '%, )', 'the end',
                              CONCAT('before ', key_in_words(in_schema, in_table, in_index,
                                                             TRIM(TRAILING ')' FROM SUBSTRING_INDEX(lock_key, ', ', -1)))))),
            key_in_words(in_schema, in_table, in_index, lock_key))$$
DELIMITER ;

-- Who waits for whom, as sys.innodb_lock_waits. A blocker that has nothing running (Sleep) shows its
-- last statement, which need not be the one that took the lock.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `x$lock_waits` AS
SELECT NOW(6) - INTERVAL ws.timer_wait DIV 1000000 MICROSECOND AS waiting_statement_started,
       ws.timer_wait AS waiting_statement_age,
       CONCAT(sys.quote_identifier(w.locked_table_schema), '.', sys.quote_identifier(w.locked_table_name)) AS locked_table,
       w.locked_table_schema, w.locked_table_name, w.locked_table_partition, w.lock_index AS locked_index,
       w.waiting_type AS locked_type,
       lock_in_words(w.locked_table_schema, w.locked_table_name, w.lock_index, w.lock_key) AS locked_key,
       w.lock_key AS locked_key_bytes,
       w.waiting_trx_id, w.waiting_thread_id AS waiting_pid, ws.sql_text AS waiting_query,
       w.waiting_mode AS waiting_lock_mode,
       w.blocking_trx_id, w.blocking_thread_id AS blocking_pid, bt.processlist_command AS blocking_command,
       bs.sql_text AS blocking_query, w.blocking_mode AS blocking_lock_mode, w.blocking_type, w.blocking_status,
       CONCAT('KILL QUERY ', w.blocking_thread_id) AS sql_kill_blocking_query,
       CONCAT('KILL ', w.blocking_thread_id) AS sql_kill_blocking_connection
  FROM (SELECT l.*, SUBSTRING_INDEX(l.lock_table, '/', 1) AS locked_table_schema,
               SUBSTRING_INDEX(SUBSTRING_INDEX(l.lock_table, '/', -1), '#p#', 1) AS locked_table_name,
               IF(l.lock_table LIKE '%#p#%', SUBSTRING_INDEX(l.lock_table, '#p#', -1), NULL) AS locked_table_partition
          FROM information_schema.rowan_lock_waits l) AS w
  LEFT JOIN performance_schema.threads wt ON wt.processlist_id = w.waiting_thread_id
  LEFT JOIN performance_schema.events_statements_current ws
    ON ws.thread_id = wt.thread_id AND ws.nesting_event_level = 0
  LEFT JOIN performance_schema.threads bt ON bt.processlist_id = w.blocking_thread_id
  LEFT JOIN performance_schema.events_statements_current bs
    ON bs.thread_id = bt.thread_id AND bs.nesting_event_level = 0
 ORDER BY ws.timer_wait DESC;

CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW lock_waits AS
SELECT waiting_statement_started, format_pico_time(waiting_statement_age) AS waiting_statement_age, locked_table,
       locked_table_schema, locked_table_name, locked_table_partition, locked_index, locked_type, locked_key,
       waiting_trx_id, waiting_pid, sys.format_statement(waiting_query) AS waiting_query, waiting_lock_mode,
       blocking_trx_id, blocking_pid, blocking_command, sys.format_statement(blocking_query) AS blocking_query,
       blocking_lock_mode, blocking_type, blocking_status, sql_kill_blocking_query, sql_kill_blocking_connection
  FROM `x$lock_waits`;

-- Tables with what was done to them, as sys.schema_table_statistics, and their sizes.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `x$schema_table_statistics` AS
SELECT t.table_schema, t.table_name, io.sum_timer_wait AS total_latency,
       io.count_fetch AS rows_fetched, io.sum_timer_fetch AS fetch_latency,
       io.count_insert AS rows_inserted, io.sum_timer_insert AS insert_latency,
       io.count_update AS rows_updated, io.sum_timer_update AS update_latency,
       io.count_delete AS rows_deleted, io.sum_timer_delete AS delete_latency,
       t.table_rows, t.data_bytes, t.index_bytes, t.file_bytes, b.pool_bytes, b.pool_dirty_bytes, t.update_time
  FROM (SELECT table_schema, table_name, SUM(table_rows) AS table_rows,
               SUM(clustered_pages) * page_size() AS data_bytes,
               SUM(secondary_pages) * page_size() AS index_bytes,
               SUM(file_pages) * page_size() AS file_bytes, MAX(update_time) AS update_time
          FROM information_schema.rowan_tables GROUP BY table_schema, table_name) AS t
  LEFT JOIN (SELECT table_schema, table_name, SUM(bytes) AS pool_bytes,
                    SUM(dirty_pages) * page_size() AS pool_dirty_bytes
               FROM information_schema.rowan_buffer_pool WHERE table_name IS NOT NULL
              GROUP BY table_schema, table_name) AS b
    ON b.table_schema = t.table_schema AND b.table_name = t.table_name
  LEFT JOIN performance_schema.table_io_waits_summary_by_table io
    ON io.object_schema = t.table_schema AND io.object_name = t.table_name
 ORDER BY io.sum_timer_wait DESC;

CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW schema_table_statistics AS
SELECT table_schema, table_name, format_pico_time(total_latency) AS total_latency,
       rows_fetched, format_pico_time(fetch_latency) AS fetch_latency,
       rows_inserted, format_pico_time(insert_latency) AS insert_latency,
       rows_updated, format_pico_time(update_latency) AS update_latency,
       rows_deleted, format_pico_time(delete_latency) AS delete_latency,
       table_rows, format_bytes(data_bytes) AS data_bytes, format_bytes(index_bytes) AS index_bytes,
       format_bytes(file_bytes) AS file_bytes, format_bytes(pool_bytes) AS pool_bytes,
       format_bytes(pool_dirty_bytes) AS pool_dirty_bytes, update_time
  FROM `x$schema_table_statistics`;

-- Indexes, as sys.schema_index_statistics, and their sizes.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `x$schema_index_statistics` AS
SELECT i.table_schema, i.table_name, i.index_name, i.index_type,
       io.count_fetch AS rows_selected, io.sum_timer_fetch AS select_latency,
       io.count_insert AS rows_inserted, io.sum_timer_insert AS insert_latency,
       io.count_update AS rows_updated, io.sum_timer_update AS update_latency,
       io.count_delete AS rows_deleted, io.sum_timer_delete AS delete_latency,
       i.entries, i.size_bytes, i.height, 100 * i.visible_leaves / i.mapped_leaves AS visible_pct
  FROM (SELECT table_schema, table_name, index_name, MAX(index_type) AS index_type, SUM(entries) AS entries,
               SUM(size_bytes) AS size_bytes, MAX(height) AS height, SUM(mapped_leaves) AS mapped_leaves,
               SUM(all_visible_leaves) AS visible_leaves
          FROM information_schema.rowan_indexes GROUP BY table_schema, table_name, index_name) AS i
  LEFT JOIN performance_schema.table_io_waits_summary_by_index_usage io
    ON io.object_schema = i.table_schema AND io.object_name = i.table_name AND io.index_name = i.index_name
 ORDER BY io.sum_timer_wait DESC;

CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW schema_index_statistics AS
SELECT table_schema, table_name, index_name, index_type,
       rows_selected, format_pico_time(select_latency) AS select_latency,
       rows_inserted, format_pico_time(insert_latency) AS insert_latency,
       rows_updated, format_pico_time(update_latency) AS update_latency,
       rows_deleted, format_pico_time(delete_latency) AS delete_latency,
       entries, format_bytes(size_bytes) AS size_bytes, height, ROUND(visible_pct, 2) AS visible_pct
  FROM `x$schema_index_statistics`;

-- Secondary indexes that no statement has used since the server started; those that enforce
-- uniqueness serve without being read, and are left out. performance_schema counts rows that are
-- handed out: an index that only serves COUNT(*), which the engine counts itself, seems unused.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `x$schema_unused_indexes` AS
SELECT i.table_schema AS object_schema, i.table_name AS object_name, i.index_name, SUM(i.size_bytes) AS size_bytes
  FROM information_schema.rowan_indexes i
  JOIN performance_schema.table_io_waits_summary_by_index_usage io
    ON io.object_schema = i.table_schema AND io.object_name = i.table_name AND io.index_name = i.index_name
 WHERE io.count_star = 0 AND i.index_type NOT IN ('CLUSTERED', 'UNIQUE')
 GROUP BY i.table_schema, i.table_name, i.index_name
 ORDER BY object_schema, object_name;

CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW schema_unused_indexes AS
SELECT object_schema, object_name, index_name, format_bytes(size_bytes) AS size_bytes FROM `x$schema_unused_indexes`;

-- Memory by what it is for.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `x$memory` AS
SELECT 'buffer pool: pages of tables and indexes' AS event_name,
       (SELECT SUM(bytes) FROM information_schema.rowan_buffer_pool WHERE space_type <> 'UNDO') AS current_alloc
UNION ALL SELECT 'buffer pool: pages of undo',
       (SELECT SUM(bytes) FROM information_schema.rowan_buffer_pool WHERE space_type = 'UNDO')
UNION ALL SELECT 'buffer pool: free', (SELECT count * page_size() FROM information_schema.rowan_metrics
                                        WHERE name = 'buffer_pool_pages_free')
UNION ALL SELECT 'log buffer', (SELECT variable_value + 0 FROM performance_schema.global_variables WHERE variable_name = 'rowan_log_buffer_size')
UNION ALL SELECT CASE name WHEN 'row_lock_memory' THEN 'row locks' WHEN 'page_lsns_memory' THEN 'LSNs of pages'
                           ELSE 'visibility maps' END, count
            FROM information_schema.rowan_metrics
           WHERE name IN ('row_lock_memory', 'page_lsns_memory', 'visibility_map_memory')
 ORDER BY current_alloc DESC;

CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW memory AS
SELECT event_name, format_bytes(current_alloc) AS current_alloc FROM `x$memory`;

-- Bytes written since the start by their cause, and read from tables.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW `x$io_by_cause` AS
SELECT 'write' AS operation, REPLACE(SUBSTR(name, LENGTH('written_') + 1), '_', ' ') AS cause, count AS total_bytes,
       100 * count / NULLIF(SUM(count) OVER (), 0) AS total_pct, comment AS what
  FROM information_schema.rowan_metrics WHERE name LIKE 'written\_%'
UNION ALL
SELECT 'read', CASE name WHEN 'buffer_pool_reads' THEN 'missing in the pool' WHEN 'buffer_pool_read_ahead'
                         THEN 'read ahead' ELSE 'scrubbing' END,
       count * page_size(), 100 * count / NULLIF(SUM(count) OVER (), 0), comment
  FROM information_schema.rowan_metrics WHERE name IN ('buffer_pool_reads', 'buffer_pool_read_ahead', 'scrub_pages_read')
 ORDER BY operation DESC, total_bytes DESC;

CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW io_by_cause AS
SELECT operation, cause, format_bytes(total_bytes) AS total, ROUND(total_pct, 2) AS total_pct, what FROM `x$io_by_cause`;

-- As sys.metrics.
CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW metrics AS
SELECT name AS Variable_name, count AS Variable_value, CONCAT('Rowan - ', type) AS Type, 'YES' AS Enabled, unit AS Unit
  FROM information_schema.rowan_metrics;
