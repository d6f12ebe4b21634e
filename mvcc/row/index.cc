// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/index.h"

#include "base/logging.h"

namespace rowan {

Status Index::ReportDamage(PageNumber page, const char* what) const {
  LogError("index {} in space {}: page {}: {}", id().value(), tree.space().value(), page.value(),
           what);
  return Status(Code::kCorrupt, what, page.value());
}

}  // namespace rowan
