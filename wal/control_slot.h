// SPDX-License-Identifier: GPL-2.0-only
// A slot of the control file: its contents as bytes with a checksum and a sequence number; of two
// good slots, the one with the larger number is newer. Format: docs/formats/control_file.md. Pure
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wal/control_data.h"

namespace rowan {

inline constexpr size_t kControlSlotBytes = 4096;
inline constexpr size_t kControlSlots = 2;
using ControlSlot = std::array<std::byte, kControlSlotBytes>;

/// Encodes into `slot`; its bytes after the fields are kept.
ControlSlot EncodeControlSlot(const ControlData& data, uint64_t sequence, ControlSlot slot);
/// REQUIRES: a good slot.
ControlData DecodeControlSlot(const ControlSlot& slot);
uint64_t ControlSlotSequence(const ControlSlot& slot);
/// It belongs to a control file, perhaps a damaged one.
bool HasControlMagic(const ControlSlot& slot);
/// The checksum is correct, too.
bool IsGoodControlSlot(const ControlSlot& slot);

}  // namespace rowan
