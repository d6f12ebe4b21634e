// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/xid_bytes.h"

#include "sql/xa.h"

#include "base/bytes.h"

namespace rowan {
namespace {

constexpr size_t kHeaderBytes = 10;
constexpr size_t kMarkBytes = 4;

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

void AppendMark(uint32_t mark, std::string* bytes) {
  std::byte encoded[kMarkBytes];
  StoreLe<uint32_t>(encoded, mark);
  bytes->append(reinterpret_cast<const char*>(encoded), kMarkBytes);
}

bool IsNotInBinlog(const std::string& stored) {
  XID xid;
  uint32_t mark = 0;
  if (!BytesToXid(stored, &xid, &mark) || xid.get_my_xid() != 0) return false;
  return stored.size() > XidToBytes(xid).size() && mark == kMarkNotInBinlog;
}

std::string WithMarkInBinlog(std::string stored) {
  stored.resize(stored.size() - kMarkBytes);
  AppendMark(kMarkInBinlog, &stored);
  return stored;
}

bool IsXid(const std::string& stored, const std::string& without_mark) {
  const bool length_fits =
      stored.size() == without_mark.size() || stored.size() == without_mark.size() + kMarkBytes;
  return length_fits && stored.starts_with(without_mark);
}

bool BytesToXid(const std::string& bytes, xid_t* xid, uint32_t* mark) {
  if (bytes.size() < kHeaderBytes) return false;
  const auto* source = reinterpret_cast<const std::byte*>(bytes.data());
  const auto gtrid = static_cast<long>(source[8]);
  const auto bqual = static_cast<long>(source[9]);
  if (gtrid > 64 || bqual > 64) return false;
  const size_t size = kHeaderBytes + static_cast<size_t>(gtrid + bqual);
  const bool marked = bytes.size() == size + kMarkBytes;
  if (bytes.size() != size && !marked) return false;
  if (mark != nullptr) *mark = marked ? LoadLe<uint32_t>(source + size) : 0;
  const char* data = bytes.data() + kHeaderBytes;
  xid->set(static_cast<long>(LoadLe<int64_t>(source)), data, gtrid, data + gtrid, bqual);
  return true;
}

}  // namespace rowan
