-- SPDX-License-Identifier: GPL-2.0-only
CREATE TABLE customer (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80) NOT NULL, version INT NOT NULL, UNIQUE KEY (name));
CREATE TABLE purchase (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer_id BIGINT NOT NULL, total DECIMAL(12,2) NOT NULL,
  at DATETIME(6) NOT NULL, CONSTRAINT fk_customer FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE);
INSERT INTO customer (name, version) VALUES ('from the migration', 0);
