// SPDX-License-Identifier: GPL-2.0-only
// JSON documents in the binary log. With binlog_row_value_options=PARTIAL_JSON the server logs what
// a statement changes of them, if it knows.
#pragma once

struct TABLE;

namespace rowan {

/// The documents of the row being updated are logged whole where a trigger may have changed them:
/// the server notes what the statement changes only. Before the row is logged.
void LogWholeDocuments(TABLE* table);

}  // namespace rowan
