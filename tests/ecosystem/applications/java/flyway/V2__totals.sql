-- SPDX-License-Identifier: GPL-2.0-only
ALTER TABLE purchase ADD COLUMN note VARCHAR(100), ADD INDEX totals (total DESC);
CREATE VIEW big AS SELECT id FROM purchase WHERE total > 100;
