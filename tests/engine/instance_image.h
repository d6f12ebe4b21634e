// SPDX-License-Identifier: GPL-2.0-only
// Instances of old formats, kept as text (tests/engine/data), and changes to the blocks of any
// instance on a simulated disk. Thread safety: none.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"
#include "tests/support/fault_file_system.h"

namespace rowan {

/// Puts the files of tests/engine/data/`name` into `folder`, durably.
void LoadInstance(FaultFileSystem* files, const std::string& folder, const std::string& name);

/// Changes `size_bytes` bytes of a file at `offset`, durably.
void ChangeBytes(FaultFileSystem* files, const std::string& path, uint64_t offset,
                 size_t size_bytes, const std::function<void(MutableBytes)>& change);
/// Of a block of the control file or of a log file's header, whose checksum is made right after it.
void ChangeBlock(FaultFileSystem* files, const std::string& path, uint64_t offset,
                 const std::function<void(MutableBytes)>& change);
/// Of a tablespace's header page, whose checksum is made right after it.
void ChangeSpaceHeader(FaultFileSystem* files, const std::string& path, size_t page_size_bytes,
                       const std::function<void(MutableBytes)>& change);

}  // namespace rowan
