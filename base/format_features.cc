// SPDX-License-Identifier: GPL-2.0-only
#include "base/format_features.h"

#include <string>

#include "base/bytes.h"
#include "base/format.h"
#include "base/logging.h"

namespace rowan {
namespace {

/// "bit 3", "bits 3, 17".
std::string BitNames(uint64_t mask) {
  std::string names;
  size_t count = 0;
  for (uint32_t bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    names += Format("{}{}", count++ == 0 ? "" : ", ", bit);
  }
  return (count == 1 ? "bit " : "bits ") + names;
}

void SetBits(uint64_t* mask, uint64_t bits, bool in_use) {
  *mask = in_use ? *mask | bits : *mask & ~bits;
}

}  // namespace

bool FormatFeatures::Has(const FormatFeatures& feature) const {
  FormatFeatures with = *this;
  with.Set(feature, true);
  return with == *this;
}

void FormatFeatures::Set(const FormatFeatures& feature, bool in_use) {
  SetBits(&compatible, feature.compatible, in_use);
  SetBits(&read_only_compatible, feature.read_only_compatible, in_use);
  SetBits(&incompatible, feature.incompatible, in_use);
}

void StoreFeatures(std::byte* target, const FormatFeatures& features) {
  StoreLe<uint64_t>(target, features.compatible);
  StoreLe<uint64_t>(target + 8, features.read_only_compatible);
  StoreLe<uint64_t>(target + 16, features.incompatible);
}

FormatFeatures LoadFeatures(const std::byte* source) {
  return {.compatible = LoadLe<uint64_t>(source),
          .read_only_compatible = LoadLe<uint64_t>(source + 8),
          .incompatible = LoadLe<uint64_t>(source + 16)};
}

Status CheckFeatures(const FormatFeatures& features, const FormatFeatures& known,
                     std::string_view file) {
  const uint64_t unreadable = features.incompatible & ~known.incompatible;
  if (unreadable != 0) {
    LogError(
        "'{}' makes use of incompatible features that this version of Rowan does not know "
        "({}): a newer version of Rowan wrote it. It is not opened.",
        file, BitNames(unreadable));
    return Status(Code::kNewerFormat, "features of a newer version of Rowan are in use");
  }
  const uint64_t unwritable = features.read_only_compatible & ~known.read_only_compatible;
  if (unwritable != 0) {
    LogError(
        "'{}' makes use of features with which this version of Rowan could only read it "
        "(read-only compatible, {}): a newer version of Rowan wrote it. It is not opened, "
        "because Rowan opens nothing for reading alone.",
        file, BitNames(unwritable));
    return Status(Code::kNewerFormat, "features of a newer version of Rowan permit reading only");
  }
  return Status::Ok();
}

}  // namespace rowan
