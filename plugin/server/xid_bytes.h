// SPDX-License-Identifier: GPL-2.0-only
// XIDs of the server as the opaque bytes the engine keeps with a prepared transaction, and back:
//   i64 format id | u8 gtrid length | u8 bqual length | data | [u32 run mark]
// The run mark (plugin/server/in_doubt.h) is there for transactions that the server coordinates
// itself.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

struct xid_t;

namespace rowan {

/// Without run mark.
std::string XidToBytes(const xid_t& xid);
void AppendRunMark(uint32_t mark, std::string* bytes);
/// False when the bytes are malformed. `mark` (may be null): 0 when there is none.
bool BytesToXid(const std::string& bytes, xid_t* xid, uint32_t* mark);
/// `stored` are the bytes of this XID, with or without a run mark.
bool IsXid(const std::string& stored, const std::string& without_mark);

}  // namespace rowan
