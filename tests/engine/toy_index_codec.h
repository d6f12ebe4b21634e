// SPDX-License-Identifier: GPL-2.0-only
// ToyIndexCodec: toy rows with their entries, as they are stored. Thread safety: const.
#pragma once

#include <string>

#include "tests/engine/toy_row.h"

namespace rowan {

class ToyIndexCodec : public StoredRowCodec {
 public:
  ToyIndexCodec() : StoredRowCodec(ToyKeyOf, EntryOf) {}

 private:
  static EncodedEntry EntryOf(uint32_t index, const StoredRow& stored) {
    const ToyRow row = ToyDecode(stored.value);
    const uint64_t id = LoadBe64(stored.key.data());
    const std::string key = index == 1 ? ToyValueEntry(id, row) : ToyUniqueEntry(id, row);
    const Bytes bytes = AsBytes(key);
    return {.key = {bytes.begin(), bytes.end()},
            .unique_prefix_bytes = index == 1 ? 0 : kToyUniqueBytes};
  }
};

}  // namespace rowan
