// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_manifest.h"

#include <charconv>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/format.h"

namespace rowan {
namespace {

constexpr uint64_t kVersion = 1;
/// Of a manifest with millions of tables; more is something else.
constexpr uint64_t kBytesMax = uint64_t{1} << 30;

std::string HexOf(const InstanceId& id) {
  std::string text;
  for (const uint8_t byte : id) text += Format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

bool ParseHex(std::string_view text, InstanceId* id) {
  if (text.size() != 2 * id->size()) return false;
  for (size_t i = 0; i < id->size(); ++i) {
    const char* begin = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, (*id)[i], 16);
    if (error != std::errc() || end != begin + 2) return false;
  }
  return true;
}

/// One line at a time: its name, and what stands behind it.
class Parser {
 public:
  explicit Parser(const std::string& text) : stream_(text) {}

  Status Parse(BackupManifest* manifest) {
    std::string name;
    while (stream_ >> name) {
      if (name == "complete") return Status::Ok();
      const Status status = ParseLine(name, manifest);
      if (!status.ok()) return status;
      if (!stream_) break;
    }
    return Status(Code::kCorrupt, "the backup's manifest is not whole");
  }

 private:
  Status ParseLine(const std::string& name, BackupManifest* manifest) {
    if (name == "rowan-backup") {
      return Number() > kVersion
                 ? Status(Code::kNewerFormat, "a newer version of Rowan made the backup")
                 : Status::Ok();
    }
    if (name == "instance") {
      std::string text;
      stream_ >> text;
      return ParseHex(text, &manifest->instance_id)
                 ? Status::Ok()
                 : Status(Code::kCorrupt, "the backup's manifest names no instance");
    }
    if (name == "page_size") manifest->page_size_bytes = static_cast<uint32_t>(Number());
    if (name == "since") manifest->since = Lsn(Number());
    if (name == "start") manifest->start = Lsn(Number());
    if (name == "end") manifest->end = Lsn(Number());
    if (name == "space") {
      const SpaceId space(static_cast<uint32_t>(Number()));
      manifest->spaces[space] = static_cast<uint32_t>(Number());
    }
    return Status::Ok();
  }

  uint64_t Number() {
    uint64_t number = 0;
    stream_ >> number;
    return number;
  }

  std::istringstream stream_;
};

}  // namespace

Status WriteBackupManifest(FileSystem* file_system, const std::string& folder,
                           const BackupManifest& manifest) {
  std::string text = Format("rowan-backup {}\ninstance {}\npage_size {}\n", kVersion,
                            HexOf(manifest.instance_id), manifest.page_size_bytes);
  text += Format("since {}\nstart {}\nend {}\n", manifest.since.value(), manifest.start.value(),
                 manifest.end.value());
  for (const auto& [space, pages] : manifest.spaces) {
    text += Format("space {} {}\n", space.value(), pages);
  }
  text += "complete\n";
  Result<std::unique_ptr<File>> file =
      file_system->Open(folder + "/" + kBackupManifestName, {.create = true});
  if (!file.ok()) return file.status();
  const Status status = file.value()->Write(0, AsBytes(text));
  if (!status.ok()) return status;
  return file.value()->Sync(SyncMethod::kFsync);
}

Result<BackupManifest> ReadBackupManifest(FileSystem* file_system, const std::string& folder) {
  Result<std::unique_ptr<File>> file =
      file_system->Open(folder + "/" + kBackupManifestName, {.read_only = true});
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  if (size.value() > kBytesMax) return Status(Code::kCorrupt, "not a backup's manifest");
  std::string text(size.value(), '\0');
  Status status = file.value()->Read(0, std::as_writable_bytes(std::span(text)));
  if (!status.ok()) return status;
  BackupManifest manifest;
  status = Parser(text).Parse(&manifest);
  if (!status.ok()) return status;
  return manifest;
}

}  // namespace rowan
