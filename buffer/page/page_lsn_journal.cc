// SPDX-License-Identifier: GPL-2.0-only
// Block, little-endian, followed by zeros up to a multiple of 512 bytes:
//   offset size
//   0      4      CRC-32C over the rest of the block, without the zeros
//   4      4      magic "RWPJ"
//   8      4      format version, 1
//   12     4      CRC-32C of the instance id
//   16     4      number of entries
//   20     12     zero
//   32     16*n   entries: page id u64 (space high), LSN of its last image at home u64
#include "buffer/page/page_lsn_journal.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "base/logging.h"

namespace rowan {
namespace {

constexpr uint32_t kJournalMagic = 0x4A505752;  // "RWPJ"
constexpr uint32_t kJournalVersion = 1;
constexpr size_t kJournalMagicOffset = 4;
constexpr size_t kJournalVersionOffset = 8;
constexpr size_t kJournalInstanceOffset = 12;
constexpr size_t kJournalCountOffset = 16;
constexpr size_t kJournalHeaderBytes = 32;
constexpr size_t kJournalEntryBytes = 16;
static_assert(kJournalHeaderBytes % kJournalEntryBytes == 0);
constexpr size_t kSectorBytes = 512;
/// The file grows by this much, or by an eighth: extending it costs the sync a journal commit of
/// the file system.
constexpr uint64_t kGrowthBytesMin = uint64_t{64} << 10;

size_t Padded(size_t bytes) { return (bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes; }

/// Reads the journal of one file.
class Reader {
 public:
  Reader(std::unique_ptr<File> file, uint64_t size, uint32_t instance)
      : file_(std::move(file)), size_(size), instance_(instance) {}

  Status Run(std::vector<PageLsnEntry>* versions) {
    block_.resize(kSectorBytes);
    for (uint64_t offset = 0; offset + kSectorBytes <= size_;) {
      uint64_t bytes = kSectorBytes;
      if (!ReadPiece(offset, kSectorBytes)) return Status::Ok();
      const Status status = LookAt(offset, &bytes, versions);
      if (!status.ok()) return status;
      offset += bytes;
    }
    LogSeen();
    return Status::Ok();
  }

 private:
  bool ReadPiece(uint64_t offset, size_t bytes) {
    block_.resize(bytes);
    const Status status = file_->Read(offset, block_);
    if (status.ok()) return true;
    LogWarning(
        "'{}' cannot be read at offset {}: {}. Of some pages it may go unnoticed that they "
        "went back to an older state.",
        file_->path(), offset, status.message());
    return false;
  }

  /// Sets `*bytes` to the length of the block at `offset`; a sector if there is none.
  Status LookAt(uint64_t offset, uint64_t* bytes, std::vector<PageLsnEntry>* versions) {
    if (LoadLe<uint32_t>(block_.data() + kJournalMagicOffset) != kJournalMagic) {
      NoteUnlessZero(offset);
      return Status::Ok();
    }
    const uint64_t count = LoadLe<uint32_t>(block_.data() + kJournalCountOffset);
    const uint64_t used = kJournalHeaderBytes + count * kJournalEntryBytes;
    if (offset + used > size_ || (used > kSectorBytes && !ReadPiece(offset, used)) ||
        Crc32c(Bytes(block_).first(used).subspan(kJournalMagicOffset)) !=
            LoadLe<uint32_t>(block_.data())) {
      if (damaged_++ == 0) first_damaged_ = offset;
      block_.resize(kSectorBytes);
      return Status::Ok();
    }
    *bytes = Padded(used);
    if (LoadLe<uint32_t>(block_.data() + kJournalVersionOffset) > kJournalVersion) {
      LogError("'{}' was written by a newer version of Rowan.", file_->path());
      return Status(Code::kNewerFormat, "the journal of page LSNs has a newer format");
    }
    if (LoadLe<uint32_t>(block_.data() + kJournalInstanceOffset) != instance_) {
      ++foreign_;
      return Status::Ok();
    }
    for (uint64_t i = 0; i < count; ++i) {
      const std::byte* entry = block_.data() + kJournalHeaderBytes + i * kJournalEntryBytes;
      versions->push_back({LoadLe<uint64_t>(entry), Lsn(LoadLe<uint64_t>(entry + 8))});
    }
    return Status::Ok();
  }

  void NoteUnlessZero(uint64_t offset) {
    const Bytes sector = Bytes(block_).first(kSectorBytes);
    // The sectors after the first of a damaged block are not blocks themselves.
    if (damaged_ == 0 && !IsAllZero(sector)) {
      damaged_ = 1;
      first_damaged_ = offset;
    }
  }

  void LogSeen() const {
    if (damaged_ != 0) {
      LogWarning(
          "'{}': {} blocks are damaged or were being written when the machine stopped, the "
          "first at offset {}: of some pages it may go unnoticed that they went back to an "
          "older state.",
          file_->path(), damaged_, first_damaged_);
    }
    if (foreign_ != 0) {
      LogWarning("'{}': {} blocks belong to another instance and are ignored.", file_->path(),
                 foreign_);
    }
  }

  const std::unique_ptr<File> file_;
  const uint64_t size_;
  const uint32_t instance_;
  std::vector<std::byte> block_;
  uint64_t damaged_ = 0;
  uint64_t first_damaged_ = 0;
  uint64_t foreign_ = 0;
};

}  // namespace

Result<std::unique_ptr<PageLsnJournal>> PageLsnJournal::Create(FileSystem* file_system,
                                                               const std::string& path,
                                                               uint32_t instance) {
  Result<std::unique_ptr<File>> file =
      file_system->Open(path, {.create = true, .exclusive = true, .spare = true});
  if (!file.ok()) return file.status();
  return std::unique_ptr<PageLsnJournal>(new PageLsnJournal(std::move(file).value(), instance));
}

Status PageLsnJournal::Append(const std::vector<PageLsnEntry>& versions) {
  const size_t used = kJournalHeaderBytes + versions.size() * kJournalEntryBytes;
  std::vector<std::byte> block(Padded(used));
  if (end_ + block.size() > allocated_) {
    const uint64_t growth =
        std::max({kGrowthBytesMin, Padded(allocated_ / 8), uint64_t{block.size()}});
    const Status status = file_->Allocate(allocated_, growth);
    if (!status.ok()) return status;
    allocated_ += growth;
  }
  StoreLe<uint32_t>(block.data() + kJournalMagicOffset, kJournalMagic);
  StoreLe<uint32_t>(block.data() + kJournalVersionOffset, kJournalVersion);
  StoreLe<uint32_t>(block.data() + kJournalInstanceOffset, instance_);
  StoreLe<uint32_t>(block.data() + kJournalCountOffset, static_cast<uint32_t>(versions.size()));
  std::byte* entry = block.data() + kJournalHeaderBytes;
  for (const PageLsnEntry& version : versions) {
    StoreLe<uint64_t>(entry, version.page);
    StoreLe<uint64_t>(entry + 8, version.lsn.value());
    entry += kJournalEntryBytes;
  }
  StoreLe<uint32_t>(block.data(), Crc32c(Bytes(block).first(used).subspan(kJournalMagicOffset)));
  Status status = file_->Write(WriteCause::kPageLsns, end_, block);
  if (!status.ok()) return status;
  status = file_->Sync(SyncMethod::kFdatasync);
  if (!status.ok()) return status;
  end_ += block.size();
  return Status::Ok();
}

Status PageLsnJournal::Read(FileSystem* file_system, const std::string& path, uint32_t instance,
                            std::vector<PageLsnEntry>* versions) {
  Result<std::unique_ptr<File>> file = file_system->Open(path, {.read_only = true, .spare = true});
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  return Reader(std::move(file).value(), size.value(), instance).Run(versions);
}

}  // namespace rowan
