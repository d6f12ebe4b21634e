// SPDX-License-Identifier: GPL-2.0-only
// Contents of one simulated file: what programs see now, what a power loss would certainly leave,
// and the changes in between. Part of FaultFileSystem.
// Invariant: `durable` plus all of `pending`, in order, is `current`, unless a fault said otherwise
// (dropped write, failed sync). Thread-safe.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "tests/support/sparse_image.h"

namespace rowan {

/// What a power loss keeps of the changes that were not synced.
struct CrashPlan {
  enum class Keep {
    kNothing,     ///< the device never wrote any of it
    kEverything,  ///< all of it reached the device
    kPrefix,      ///< in the order of the calls up to one, and a torn part of that one
    kSubset,      ///< each unit of each write by its own throw of the dice
  };
  Keep keep = Keep::kSubset;
  uint64_t last_kept = 0;      ///< kPrefix: sequence number of the torn one
  uint32_t keep_percent = 50;  ///< kSubset: probability of a unit, and of the torn one's units
};

class SimulatedInode {
 public:
  enum class Durability {
    kCached,   ///< durable by a later sync
    kThrough,  ///< durable at return
  };
  struct Change {
    uint64_t sequence = 0;  ///< position in the order of all changes of the file system
    Durability durability = Durability::kCached;
    bool untorn = false;
  };

  SimulatedInode() = default;
  /// A symbolic link; it has no bytes.
  explicit SimulatedInode(std::string link_target) : link_target_(std::move(link_target)) {}

  /// Empty of a file.
  [[nodiscard]] const std::string& link_target() const { return link_target_; }
  /// False if the range ends beyond the file.
  bool Read(uint64_t offset, MutableBytes buffer) const;
  void Write(uint64_t offset, Bytes bytes, Change change);
  void Truncate(uint64_t size_bytes, Change change);
  /// Zeros within the file; what lies beyond its end is left out.
  void Punch(uint64_t offset, uint64_t length, Change change);
  /// Bytes that are not zero, in units of 4 KiB: what the file would take on a disk.
  [[nodiscard]] uint64_t AllocatedBytes() const;
  /// Grows the file to at least `size_bytes`.
  void Extend(uint64_t size_bytes, Change change);
  [[nodiscard]] uint64_t Size() const;
  /// Of what programs see.
  [[nodiscard]] uint64_t Digest() const;

  void Sync();
  /// The kernel reports a failure once and forgets the dirty pages: chance decides what became
  /// durable, programs still see everything, and a later Sync repairs nothing.
  void FailSync(Random& random);
  void Crash(const CrashPlan& plan, Random& random);
  /// False if the offset is beyond the file.
  bool FlipBit(uint64_t offset, unsigned bit);

 private:
  enum class Kind { kWrite, kTruncate, kExtend };
  struct Pending {
    Kind kind;
    Change change;
    uint64_t offset;  // of a write, else the new size
    std::vector<std::byte> bytes;
  };
  using Image = SparseImage;

  void RecordLocked(Kind kind, Change change, uint64_t offset, Bytes bytes);
  static void ApplyTo(Image& image, Kind kind, uint64_t offset, Bytes bytes);
  static void ApplyTorn(Image& image, const Pending& pending, uint32_t keep_percent,
                        Random& random);

  const std::string link_target_;
  mutable std::shared_mutex mutex_;
  Image current_;  // guarded by mutex_, as all below
  Image durable_;
  std::vector<Pending> pending_;
  bool diverged_ = false;  // current_ may differ from durable_ with nothing pending
};

}  // namespace rowan
