// SPDX-License-Identifier: GPL-2.0-only
// Another record of a table, for a thread that is none of the server's. Not for computed columns:
// the server computes them only in the table's own records.
#pragma once

#include <algorithm>
#include <memory>

#include "sql/table.h"

namespace rowan {

inline std::shared_ptr<void> NewSpareRecord(const TABLE_SHARE& share) {
  const std::shared_ptr<uchar[]> record(new uchar[share.rec_buff_length]);
  std::copy_n(share.default_values, share.reclength, record.get());
  return {record, record.get()};
}

}  // namespace rowan
