// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_manifest.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/format.h"
#include "io/aligned_buffer.h"

namespace rowan {
namespace {

/// Enough for millions of tables; a larger file is not a manifest.
constexpr uint64_t kBytesMax = uint64_t{1} << 30;
constexpr std::string_view kLastLine = "complete\n";

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

std::string ChecksumLine(std::string_view text) {
  return Format("checksum {:08x}\n", Crc32c(AsBytes(text)));
}

Status NotWhole() { return Status(Code::kCorrupt, "the backup's manifest is not whole"); }

/// One line at a time: its name, and what follows it.
class Parser {
 public:
  explicit Parser(const std::string& text) : stream_(text) {}

  Status Parse(BackupManifest* manifest) {
    manifest->version = 0;
    std::string name;
    while (stream_ >> name) {
      if (name == "complete") return manifest->version == 0 ? NotWhole() : Status::Ok();
      const Status status = ParseLine(name, manifest);
      if (!status.ok()) return status;
      if (!stream_) break;
    }
    return NotWhole();
  }

 private:
  Status ParseLine(const std::string& name, BackupManifest* manifest) {
    if (name == "rowan-backup") {
      manifest->version = Number<uint32_t>();
      if (manifest->version > kBranchManifest) {
        return Status(Code::kNewerFormat, "a newer version of Rowan made the backup");
      }
    } else if (name == "instance") {
      manifest->instance_id = Id();
    } else if (name == "run") {
      const InstanceId id = Id();
      manifest->history.push_back({id, Lsn(Number<uint64_t>())});
    } else if (name == "page_size") {
      manifest->page_size_bytes = Number<uint32_t>();
    } else if (name == "since" || name == "start" || name == "end") {
      Lsn* const field = name == "since"   ? &manifest->since
                         : name == "start" ? &manifest->start
                                           : &manifest->end;
      *field = Lsn(Number<uint64_t>());
    } else if (name == "space" || name == "clone" || name == "left_out") {
      ParseSpace(name, manifest);
    } else if (name == "file") {
      std::string file;
      stream_ >> file;
      const auto bytes = Number<uint64_t>();
      manifest->files[file] = {bytes, Checksum()};
    } else {
      std::string rest;  // of a later build
      std::getline(stream_, rest);
    }
    return Status::Ok();
  }

  void ParseSpace(const std::string& name, BackupManifest* manifest) {
    const SpaceId space(Number<uint32_t>());
    if (name == "left_out") {
      stream_ >> manifest->left_out[space];
      return;
    }
    const auto pages = Number<uint32_t>();
    const bool cloned = name == "clone";
    const bool checksummed = !cloned && manifest->version >= kChecksummedManifest;
    manifest->spaces[space] = {pages, checksummed ? Checksum() : 0, cloned};
  }

  template <typename T>
  T Number() {
    T number = 0;
    stream_ >> number;
    return number;
  }

  uint32_t Checksum() {
    uint32_t crc = 0;
    stream_ >> std::hex >> crc >> std::dec;
    return crc;
  }

  InstanceId Id() {
    std::string text;
    stream_ >> text;
    InstanceId id{};
    if (!ParseHex(text, &id)) stream_.setstate(std::ios::failbit);
    return id;
  }

  std::istringstream stream_;
};

/// From version 2 on, the second last line is the checksum of everything before it.
Status CheckChecksum(const std::string& text) {
  constexpr size_t kLineBytes = 18;
  static_assert(std::string_view("checksum 01234567\n").size() == kLineBytes);
  if (text.size() < kLineBytes + kLastLine.size()) return NotWhole();
  const size_t begin = text.size() - kLineBytes - kLastLine.size();
  const std::string_view all(text);
  return all.substr(begin, kLineBytes) == ChecksumLine(all.substr(0, begin)) ? Status::Ok()
                                                                             : NotWhole();
}

/// A name must not contain the separators.
std::string AsWord(std::string name) {
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) <= ' ') letter = '?';
  }
  return name;
}

std::string TextOf(const BackupManifest& manifest) {
  const uint32_t version = manifest.IsBranch() ? kBranchManifest : kChecksummedManifest;
  std::string text = Format("rowan-backup {}\ninstance {}\npage_size {}\n", version,
                            HexOf(manifest.instance_id), manifest.page_size_bytes);
  text += Format("since {}\nstart {}\nend {}\n", manifest.since.value(), manifest.start.value(),
                 manifest.end.value());
  for (const LogRun& run : manifest.history) {
    text += Format("run {} {}\n", HexOf(run.id), run.begin.value());
  }
  for (const auto& [space, about] : manifest.spaces) {
    text += about.cloned ? Format("clone {} {}\n", space.value(), about.pages)
                         : Format("space {} {} {:08x}\n", space.value(), about.pages, about.crc);
  }
  for (const auto& [space, name] : manifest.left_out) {
    text += Format("left_out {} {}\n", space.value(), AsWord(name));
  }
  for (const auto& [name, file] : manifest.files) {
    text += Format("file {} {} {:08x}\n", name, file.bytes, file.crc);
  }
  text += ChecksumLine(text);
  return text.append(kLastLine);
}

}  // namespace

bool BackupManifest::IsBranch() const {
  return std::any_of(spaces.begin(), spaces.end(), [](const auto& of) { return of.second.cloned; });
}

Status WriteBackupManifest(FileSystem* file_system, const std::string& folder,
                           const BackupManifest& manifest) {
  const std::string path = folder + "/" + kBackupManifestName;
  const std::string draft = path + ".tmp";
  const std::string text = TextOf(manifest);
  Result<std::unique_ptr<File>> file = file_system->Open(draft, {.create = true});
  if (!file.ok()) return file.status();
  Status status = file.value()->Truncate(0);
  if (!status.ok()) return status;
  status = file.value()->Write(WriteCause::kBackup, 0, AsBytes(text));
  if (!status.ok()) return status;
  status = file.value()->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  status = file_system->Rename(draft, path);
  if (!status.ok()) return status;
  return file_system->SyncDirectory(folder);
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
  if (!text.ends_with(kLastLine)) return NotWhole();
  // A damaged version number does not mean that there is no checksum.
  const bool checksummed = text.find("\nchecksum ") != std::string::npos;
  if (checksummed || manifest.version >= kChecksummedManifest) status = CheckChecksum(text);
  if (!status.ok()) return status;
  return manifest;
}

std::string WhyNotOnto(const BackupManifest& increment, const BackupManifest& full) {
  if (increment.instance_id != full.instance_id) return "they are backups of different instances";
  if (increment.page_size_bytes != full.page_size_bytes) return "their pages differ in size";
  if (increment.since == kNoLsn) return "it is no incremental backup";
  if (full.IsBranch()) return "the other is a branch";
  // Earlier versions did not record the history.
  const bool past = increment.version < kChecksummedManifest ||
                    IsPast(full.history, full.end, increment.history, increment.end);
  if (!past && increment.end >= full.end) {
    return "they are of different histories: the instance was restored, copied or lost the end of "
           "its log in between";
  }
  if (!past || increment.since > full.start || increment.start < full.start) {
    return Format(
        "it is since LSN {} and up to {}, and the other is from LSN {} to {}: apply the backup "
        "between them first, each only once",
        increment.since.value(), increment.end.value(), full.start.value(), full.end.value());
  }
  return {};
}

Result<BackupManifest::SmallFile> ChecksumFile(FileSystem* file_system, const std::string& path,
                                               FunctionRef<bool()> interrupted) {
  Result<std::unique_ptr<File>> file = file_system->Open(path, {.read_only = true});
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  BackupManifest::SmallFile found{size.value(), 0};
  AlignedBuffer buffer(kBackupPieceBytes);
  for (uint64_t at = 0; at < found.bytes; at += kBackupPieceBytes) {
    if (interrupted && interrupted()) return Status(Code::kInterrupted);
    const MutableBytes piece = buffer.span().first(std::min(found.bytes - at, kBackupPieceBytes));
    const Status status = file.value()->Read(at, piece);
    if (!status.ok()) return status;
    found.crc = Crc32c(piece, found.crc);
  }
  return found;
}

}  // namespace rowan
