// SPDX-License-Identifier: GPL-2.0-only
// IndexResolver: how rollback and purge find an index by its id. Supplied by engine/.
// Thread safety: all members.
#pragma once

#include <memory>

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/row/index.h"

namespace rowan {

class IndexResolver {
 public:
  virtual ~IndexResolver() = default;
  /// nullptr when the index no longer exists. Thread-safe; may read the catalog.
  virtual std::shared_ptr<Index> FindIndex(IndexId index) = 0;
  /// After FindIndex found nothing: true if the index exists but could not be opened.
  virtual bool IndexExists(IndexId /*index*/) { return false; }
  /// After FindIndex found nothing: Ok when there is no such index, else why it cannot be opened.
  /// kNotFound: its file is missing.
  virtual Status OpenFailure(IndexId /*index*/) { return Status::Ok(); }
};

}  // namespace rowan
