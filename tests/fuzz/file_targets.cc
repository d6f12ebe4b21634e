// SPDX-License-Identifier: GPL-2.0-only
// Targets for whole files. Their blocks are given the right checksum first, else nothing beyond the
// checksum would ever be reached.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/page_lsns.h"
#include "io/space_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_instance.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "wal/control_file.h"
#include "wal/log_file_header.h"

namespace rowan {
namespace {

constexpr size_t kBlockBytes = 4096;
constexpr size_t kControlChecksumAt = 12;
constexpr size_t kLogHeaderChecksumAt = 12;
constexpr size_t kLogHeaderInstanceAt = 16;

/// CRC at `at` of the block with that field zero, or behind it alone when it comes first.
void SealBlock(MutableBytes block, size_t at) {
  StoreLe<uint32_t>(block.data() + at, 0);
  const Bytes covered = at == 0 ? Bytes(block).subspan(4) : Bytes(block);
  StoreLe<uint32_t>(block.data() + at, Crc32c(covered));
}

/// The file `name` with the input's bytes, its first `blocks` blocks sealed.
void Put(FaultFileSystem* files, const std::string& name, Bytes input, size_t blocks, size_t at) {
  FuzzInput bytes(input.begin(), input.end());
  for (size_t i = 0; i < blocks && (i + 1) * kBlockBytes <= bytes.size(); ++i) {
    SealBlock(MutableBytes(bytes).subspan(i * kBlockBytes, kBlockBytes), at);
  }
  Result<std::unique_ptr<File>> file = files->Open("/rowan/" + name, {.create = true});
  ROWAN_CHECK(file.ok() && (*file)->Write(0, bytes).ok());
}

}  // namespace

void FuzzControlFile(Bytes input) {
  const LogCapture quiet;
  FaultFileSystem files(1);
  Put(&files, "rowan.control", input, 2, kControlChecksumAt);
  (void)ControlFile::Open(&files, "/rowan");
}

void FuzzLogFileHeader(Bytes input) {
  const LogCapture quiet;
  FaultFileSystem files(1);
  const std::string name = LogFileName(1);
  Put(&files, name, input, 1, kLogHeaderChecksumAt);
  Result<std::unique_ptr<File>> file = files.Open("/rowan/" + name, {});
  // As the instance's own, so that the fields behind it are looked at.
  InstanceId instance_id{};
  if (input.size() >= kLogHeaderInstanceAt + instance_id.size()) {
    std::memcpy(instance_id.data(), input.data() + kLogHeaderInstanceAt, instance_id.size());
  }
  const Result<LogFileHeader> header = ReadLogFileHeader(file->get(), instance_id, 1);
  if (header.ok()) ROWAN_CHECK(std::as_const(header).value().end() > kNoLsn);
}

void FuzzDoublewrite(Bytes input) {
  const LogCapture quiet;
  FaultFileSystem files(1);
  Put(&files, kDoublewriteFileName, input, 1, 0);
  SpaceFiles spaces(&files, "/rowan", kFuzzPageBytes, {.open_files_max = 16});
  (void)DoublewriteFile(&files, &spaces, nullptr, nullptr).Check(Lsn(uint64_t{1} << 40));
}

void FuzzPageVersions(Bytes input) {
  const LogCapture quiet;
  FaultFileSystem files(1);
  Put(&files, kPageLsnsFileName, input, SIZE_MAX, 0);
  SpaceFiles spaces(&files, "/rowan", kFuzzPageBytes, {.open_files_max = 16});
  PageLsns versions(&files, &spaces);
  if (!versions.Open({.instance = 0, .expected = true}).ok()) return;
  (void)versions.Expected({kFirstTableSpace, PageNumber(3)});
}

}  // namespace rowan
