// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/old_snapshots.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

void OldSnapshotFinder::Find(const std::vector<Snapshot>& open, Csn announced, uint64_t now_nanos) {
  if (now_nanos - marked_nanos_ >= age_nanos_) {
    young_from_ = age_nanos_ == 0 ? announced : next_mark_;
    next_mark_ = announced;
    marked_nanos_ = now_nanos;
  }
  ROWAN_DCHECK(young_from_ <= announced && next_mark_ <= announced);
  found_.count = 0;
  found_.limit = announced;
  for (const Snapshot& snapshot : open) {
    if (snapshot.csn >= young_from_ || found_.count == OldSnapshots::kMax) {
      found_.limit = std::min(found_.limit, snapshot.csn);
      return;
    }
    ROWAN_DCHECK(found_.count == 0 || found_.open[found_.count - 1].csn <= snapshot.csn);
    ROWAN_DCHECK(snapshot.csn <= announced);
    found_.open[found_.count++] = snapshot;
  }
}

}  // namespace rowan
