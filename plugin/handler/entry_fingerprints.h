// SPDX-License-Identifier: GPL-2.0-only
// What the rows of a table call for in its indexes, and what the indexes have, as fingerprints of
// sets of entries in one snapshot. The indexes are read in pieces of some leaves, with which
// threads of the server's pool may help (plugin/server/scan_workers.h).
// Thread safety: the handler's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "plugin/handler/table_part.h"

namespace rowan {

/// Independent of the order: equal sets of entries have equal sums.
struct Fingerprint {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(Bytes key, Bytes payload);
  void Add(const Fingerprint& other) {
    count += other.count;
    sum += other.sum;
  }
  bool operator==(const Fingerprint&) const = default;
};

/// By the number of the index.
struct EntryFingerprints {
  std::vector<Fingerprint> expected;  ///< by the rows; at 0, of the clustered keys
  std::vector<Fingerprint> found;     ///< at 0, nothing
};

/// Reads all rows and entries in the reader's snapshot, with at most so many helpers. Errors as of
/// the scans.
Status ReadEntryFingerprints(TablePart* part, uint32_t helpers, EntryFingerprints* sums);

}  // namespace rowan
