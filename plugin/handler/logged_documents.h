// SPDX-License-Identifier: GPL-2.0-only
// JSON documents in the binary log. With binlog_row_value_options=PARTIAL_JSON the server logs only
// a statement's changes of them, if it knows these.
#pragma once

struct TABLE;

namespace rowan {

/// Logs the documents of the row being updated whole where a trigger may have changed them: the
/// server notes only changes by the statement. Call before the row is logged.
void LogWholeDocuments(TABLE* table);

}  // namespace rowan
