// SPDX-License-Identifier: GPL-2.0-only
// XIDs of the server as the opaque bytes the engine keeps with a prepared transaction, and back:
//   i64 format id | u8 gtrid length | u8 bqual length | data
// Thread safety: pure functions.
#pragma once

#include <string>

struct xid_t;

namespace rowan {

std::string XidToBytes(const xid_t& xid);
/// False when the bytes are malformed.
bool BytesToXid(const std::string& bytes, xid_t* xid);

}  // namespace rowan
