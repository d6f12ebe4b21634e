// SPDX-License-Identifier: GPL-2.0-only
// How large keys, rows and entries may be, by the instance's page size. Larger values move off the
// page (Session::WriteBlob) or the engine refuses them with kTooBig.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rowan {

/// Key of any index.
[[nodiscard]] size_t KeyBytesMax(uint32_t page_size_bytes);
/// A row and its clustered key together.
[[nodiscard]] size_t RowBytesMax(uint32_t page_size_bytes);
/// Key and payload of a secondary entry together.
[[nodiscard]] size_t EntryBytesMax(uint32_t page_size_bytes);

}  // namespace rowan
