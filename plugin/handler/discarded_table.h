// SPDX-License-Identifier: GPL-2.0-only
// Tables and partitions that were discarded and are to be imported (docs/export.md): the server's
// dictionary has the note. Thread safety: the thread that uses the table.
#pragma once

namespace dd {
class Properties;
}

namespace rowan {

/// `properties`: the private ones of the table or partition.
bool IsDiscarded(const dd::Properties& properties);
void SetDiscarded(bool discarded, dd::Properties* properties);

/// Raises the error, which names the table; the handler error.
int RefuseDiscarded(const char* table);

}  // namespace rowan
