// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/abi_guard.h"

#include "plugin/xid_bytes.h"

#include "sql/xa.h"

#include "base/bytes.h"

namespace rowan {
namespace {

constexpr size_t kHeaderBytes = 10;

}  // namespace

std::string XidToBytes(const xid_t& xid) {
  std::string bytes(kHeaderBytes, '\0');
  auto* target = reinterpret_cast<std::byte*>(bytes.data());
  StoreLe<int64_t>(target, xid.get_format_id());
  target[8] = static_cast<std::byte>(xid.get_gtrid_length());
  target[9] = static_cast<std::byte>(xid.get_bqual_length());
  bytes.append(xid.get_data(),
               static_cast<size_t>(xid.get_gtrid_length() + xid.get_bqual_length()));
  return bytes;
}

bool BytesToXid(const std::string& bytes, xid_t* xid) {
  if (bytes.size() < kHeaderBytes) return false;
  const auto* source = reinterpret_cast<const std::byte*>(bytes.data());
  const auto gtrid = static_cast<long>(source[8]);
  const auto bqual = static_cast<long>(source[9]);
  if (gtrid > 64 || bqual > 64) return false;
  if (bytes.size() != kHeaderBytes + static_cast<size_t>(gtrid + bqual)) return false;
  const char* data = bytes.data() + kHeaderBytes;
  xid->set(static_cast<long>(LoadLe<int64_t>(source)), data, gtrid, data + gtrid, bqual);
  return true;
}

}  // namespace rowan
