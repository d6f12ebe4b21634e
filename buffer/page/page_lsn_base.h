// SPDX-License-Identifier: GPL-2.0-only
// PageLsnBase: the file `rowan.page_lsns`, a sorted array of slots that is never changed: folding
// writes a new one and renames it into place. Opening reads only a directory; slots are read on
// demand. A file of the older form, or one whose directory is damaged, is searched once.
// docs/formats/page_lsns.md has the byte tables.
// Thread safety: constant after Open; Read from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

inline constexpr char kPageLsnsFileName[] = "rowan.page_lsns";
/// The former name of the file, see docs/formats/page_lsns.md.
inline constexpr char kFormerPageLsnsFileName[] = "rowan.versions";
/// A slot: header and one LSN per page. A chunk is what one slot holds.
inline constexpr size_t kPageLsnSlotBytes = 4096;
inline constexpr size_t kPageLsnHeaderBytes = 32;
inline constexpr uint32_t kPagesPerChunk = (kPageLsnSlotBytes - kPageLsnHeaderBytes) / 8;

/// A chunk's space and number in one.
struct ChunkKey {
  SpaceId space;
  uint32_t number = 0;
  friend auto operator<=>(const ChunkKey&, const ChunkKey&) = default;
};

using ChunkLsns = std::array<Lsn, kPagesPerChunk>;

class PageLsnBase {
 public:
  /// kNewerFormat (logged). Anything else wrong with the file is logged and ignored: it only serves
  /// to detect lost writes.
  static Result<std::unique_ptr<PageLsnBase>> Open(std::unique_ptr<File> file, uint32_t instance);

  [[nodiscard]] bool Has(ChunkKey key) const { return SlotOf(key).has_value(); }
  enum class Found { kAbsent, kGood, kDamaged };
  /// kDamaged is logged with its offset; then `lsns` is zero.
  Found Read(ChunkKey key, ChunkLsns* lsns) const;

  /// Chunks in order.
  [[nodiscard]] std::vector<ChunkKey> Keys() const;
  [[nodiscard]] std::vector<ChunkKey> KeysOf(SpaceId space) const;
  [[nodiscard]] uint64_t slots() const { return slots_; }
  /// It has the older form, or is damaged: a new one should be written soon.
  [[nodiscard]] bool outdated() const { return outdated_; }

 private:
  PageLsnBase(std::unique_ptr<File> file, uint32_t instance)
      : file_(std::move(file)), instance_(instance) {}

  enum class Form { kDirectory, kSearch, kForeign, kNewer };
  Form LoadDirectory();
  Status Search();
  struct Seen;
  void LogSeen(const Seen& seen) const;
  [[nodiscard]] std::optional<uint32_t> SlotOf(ChunkKey key) const;
  void Place(ChunkKey key, uint32_t slot);

  static constexpr uint32_t kNowhere = UINT32_MAX;

  const std::unique_ptr<File> file_;
  const uint32_t instance_;
  std::map<SpaceId, std::vector<uint32_t>> places_;  ///< by chunk number: slot in the file
  uint64_t slots_ = 0;
  bool outdated_ = false;
};

/// Writes a new base: chunks in rising order, then Finish.
class PageLsnBaseWriter {
 public:
  PageLsnBaseWriter(std::unique_ptr<File> file, uint32_t instance);

  Status Add(ChunkKey key, const ChunkLsns& lsns);
  /// Durable on return. The file can be opened as a base.
  Status Finish();

 private:
  struct Run {
    ChunkKey first;
    uint32_t count = 0;
  };
  Status WriteBuffer();

  const std::unique_ptr<File> file_;
  const uint32_t instance_;
  std::vector<std::byte> buffer_;
  std::vector<Run> runs_;
  uint64_t offset_ = 0;  ///< of the buffer in the file
  uint64_t slots_ = 0;
};

}  // namespace rowan
