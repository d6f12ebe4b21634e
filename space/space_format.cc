// SPDX-License-Identifier: GPL-2.0-only
#include "space/space_format.h"

#include "base/logging.h"
#include "buffer/page/page_header.h"
#include "io/aligned_buffer.h"
#include "space/space_pages.h"

namespace rowan {

Status CheckSpaceFormat(Bytes page, const std::string& path) {
  const std::byte* bytes = page.data();
  if (PageTypeOf(bytes) != PageType::kSpaceHeader ||
      LoadLe<uint64_t>(bytes + space_layout::kMagicOffset) != space_layout::kMagic) {
    LogError("'{}' does not begin with a Rowan space header.", path);
    return Status(Code::kCorrupt, "not a space header", 0);
  }
  if (PageVersionOf(bytes) > space_layout::kHeaderVersion) {
    LogError(
        "'{}' has space format {}, this build knows formats up to {}: a newer version of "
        "Rowan wrote it.",
        path, PageVersionOf(bytes), space_layout::kHeaderVersion);
    return Status(Code::kNewerFormat, "space written by a newer version");
  }
  return CheckFeatures(LoadFeatures(bytes + space_layout::kFeaturesOffset), kSpaceFeatures, path);
}

Status CheckSpaceFormatOnDisk(SpaceFiles* files, SpaceId space) {
  const PageId id{space, PageNumber(0)};
  AlignedBuffer page(files->page_size_bytes());
  // An error will show again when the page is needed.
  if (!files->IsLive(space) || !files->ReadPage(id, page.span()).ok()) return Status::Ok();
  const bool good = VerifyPage(page.span(), id) == PageVerdict::kGood;
  if (!good || PageTypeOf(page.data()) != PageType::kSpaceHeader) return Status::Ok();
  return CheckSpaceFormat(page.span(), files->PathOf(space));
}

}  // namespace rowan
