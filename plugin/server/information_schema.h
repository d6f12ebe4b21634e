// SPDX-License-Identifier: GPL-2.0-only
// INFORMATION_SCHEMA tables: ROWAN_TRX (writing and prepared transactions), ROWAN_LOCKS (explicit
// row locks), ROWAN_LOCK_WAITS, ROWAN_SYNC_LATENCY (histogram of log syncs by method);
// ROWAN_TABLES, ROWAN_INDEXES and ROWAN_BUFFER_POOL (size_tables.cc); ROWAN_METRICS
// (metrics_table.cc). Reading holds nothing up: each row is correct as of some moment during the
// query. The functions are init callbacks for the plugin descriptor.
#pragma once

namespace rowan {

int InitializeTrxTable(void* schema_table);
int InitializeLocksTable(void* schema_table);
int InitializeLockWaitsTable(void* schema_table);
int InitializeSyncLatencyTable(void* schema_table);
int InitializeTablesTable(void* schema_table);
int InitializeIndexesTable(void* schema_table);
int InitializeBufferPoolTable(void* schema_table);
int InitializeMetricsTable(void* schema_table);
int DeinitializeTable(void* schema_table);

}  // namespace rowan
