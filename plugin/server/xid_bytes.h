// SPDX-License-Identifier: GPL-2.0-only
// The server's XIDs <-> the opaque bytes that the engine keeps with a prepared transaction:
//   i64 format id | u8 gtrid length | u8 bqual length | data | [u32 mark]
// The mark of a transaction that the server coordinates itself is that of its run
// (plugin/server/in_doubt.h). That of a client's XA transaction says whether the binary log has its
// XA PREPARE; without a mark the log has it, or there is no binary log.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

struct xid_t;

namespace rowan {

/// Without a mark.
std::string XidToBytes(const xid_t& xid);
void AppendMark(uint32_t mark, std::string* bytes);
/// Marks of clients' XA transactions.
inline constexpr uint32_t kMarkNotInBinlog = 0;
inline constexpr uint32_t kMarkInBinlog = 1;
/// Stored with kMarkNotInBinlog: its XA PREPARE was not logged before a crash, or is not logged
/// yet.
bool IsNotInBinlog(const std::string& stored);
/// The same with kMarkInBinlog.
std::string WithMarkInBinlog(std::string stored);
/// False when the bytes are malformed. `mark` (may be null): 0 when there is none.
bool BytesToXid(const std::string& bytes, xid_t* xid, uint32_t* mark);
/// `stored` are the bytes of this XID, with or without a mark.
bool IsXid(const std::string& stored, const std::string& without_mark);

}  // namespace rowan
