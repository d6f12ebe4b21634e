// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/binlog_files.h"

#include <array>
#include <charconv>
#include <fstream>

#include "mysql/plugin.h"
#include "sql/binlog.h"
#include "sql/binlog/log_sanitizer.h"
#include "sql/binlog_reader.h"
#include "sql/mysqld.h"
#include "sql/psi_memory_key.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/logging.h"

namespace rowan {
namespace {

/// The server's own reading of a crashed file, without its later calls to the engines.
class XidCollector : public binlog::Log_sanitizer {
 public:
  explicit XidCollector(Binlog_file_reader* reader) { process_logs(*reader); }
  [[nodiscard]] Outcomes outcomes() const {
    return Outcomes(m_internal_xids.begin(), m_internal_xids.end());
  }

 protected:
  PSI_memory_key& get_memory_key() const override { return key_memory_recovery; }
};

Status UnreadableBinlog(const BinlogFile& file, const char* reason) {
  LogError("The binary log file '{}' cannot be read: {}.", file.path, reason);
  return Status(Code::kIoError, "a binary log file cannot be read");
}

/// The file, or the restored one beside it, unless that is of an earlier file of the name.
std::string WholeFile(const std::string& path) {
  std::string restored = RestoredBinlogPath(path);
  const Result<uint32_t> its_mark = MarkOfBinlog(restored);
  const Result<uint32_t> mark = MarkOfBinlog(path);
  const bool belongs = its_mark.ok() && mark.ok() && its_mark.value() == mark.value();
  return belongs ? restored : path;
}

}  // namespace

std::optional<uint32_t> NumberOfBinlog(const std::string& path) {
  uint32_t number = 0;
  const char* end = path.data() + path.size();
  const char* begin = path.data() + path.rfind('.') + 1;
  if (std::from_chars(begin, end, number).ptr != end) return std::nullopt;
  return number;
}

Result<std::vector<BinlogFile>> ListBinlogFiles() {
  std::vector<BinlogFile> files;
  if (!opt_bin_log) return files;
  const auto [error, paths] = mysql_bin_log.get_log_index();
  if (error != 0 && error != LOG_INFO_EOF) {
    LogError("The index of the binary log cannot be read (error {}).", error);
    return Status(Code::kIoError, "the binary log's index cannot be read");
  }
  for (const std::string& path : paths) {
    if (const auto number = NumberOfBinlog(path)) files.push_back({path, *number});
  }
  return files;
}

Result<BinlogState> StateOfBinlog(const BinlogFile& file) {
  Binlog_file_reader reader(opt_source_verify_checksum);
  if (reader.open(file.path.c_str())) return UnreadableBinlog(file, reader.get_error_str());
  const std::unique_ptr<Log_event> event(reader.read_event_object());
  if (event == nullptr) return UnreadableBinlog(file, reader.get_error_str());
  if (event->get_type_code() != mysql::binlog::event::FORMAT_DESCRIPTION_EVENT) {
    return UnreadableBinlog(file, "it does not begin as it must");
  }
  const auto* description = static_cast<Format_description_log_event*>(event.get());
  BinlogState state;
  state.starts_run = description->created != 0;
  state.in_use = (description->common_header->flags & LOG_EVENT_BINLOG_IN_USE_F) != 0;
  return state;
}

/// Of the file's first event, which has the time of its creation; in an encrypted file its bytes
/// depend on the key drawn for it.
Result<uint32_t> MarkOfBinlog(const std::string& path) {
  constexpr size_t kEncryptionHeaderBytes = 512;
  constexpr std::byte kEncrypted{0xfd};
  constexpr size_t kFlags = 21;         // "in use" and others, which a closed file lacks
  constexpr size_t kMarkedBytes = 100;  // the event has more
  std::array<std::byte, kEncryptionHeaderBytes + kMarkedBytes> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  if (static_cast<size_t>(file.gcount()) < kMarkedBytes) {
    return Status(Code::kIoError, "the beginning of the file cannot be read");
  }
  const size_t begin = head[0] == kEncrypted ? kEncryptionHeaderBytes : 0;
  head[begin + kFlags] = head[begin + kFlags + 1] = std::byte{0};
  return Crc32c(Bytes(head).subspan(begin, kMarkedBytes));
}

std::string RestoredBinlogPath(const std::string& path) { return path + ".restored"; }

Result<Outcomes> CommittedInBinlog(const BinlogFile& file) {
  Binlog_file_reader reader(opt_source_verify_checksum);
  const std::string path = WholeFile(file.path);
  if (reader.open(path.c_str())) return UnreadableBinlog(file, reader.get_error_str());
  XidCollector collector(&reader);
  if (collector.is_log_malformed()) {
    return UnreadableBinlog(file, collector.get_failure_message().c_str());
  }
  return collector.outcomes();
}

Result<Outcomes> CommittedInCoordinatorLog() {
  // 4 bytes of magic, the number of engines, then slots of 8 bytes aligned in the file; 0 = free.
  constexpr uint32_t kMagic = 0x740523fe;
  constexpr size_t kFirstSlot = 8;
  const std::string path = std::string(mysql_real_data_home) + "/" + opt_tc_log_file;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.is_open() ? std::streamoff{file.tellg()} : 0;
  if (size < std::streamoff{kFirstSlot}) return Status(Code::kNotFound);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (file.gcount() != size) return Status(Code::kIoError, "the file cannot be read");
  if (LoadLe<uint32_t>(bytes.data()) != kMagic) return Status(Code::kNotFound);
  Outcomes outcomes;
  for (size_t at = kFirstSlot; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    const auto number = LoadLe<uint64_t>(bytes.data() + at);
    if (number != 0) outcomes.insert(number);
  }
  return outcomes;
}

}  // namespace rowan
