// SPDX-License-Identifier: GPL-2.0-only
#include <array>

#include "buffer/page/page_header.h"
#include "engine/catalog/table_def.h"
#include "io/space_files.h"
#include "mvcc/undo/undo_page.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_instance.h"

namespace rowan {
namespace {

constexpr size_t kSamples = 24;

std::vector<FuzzInput> PagesOf(PageType type) {
  return SampleInstance::Get().Pages(static_cast<uint8_t>(type), kSamples);
}

std::vector<FuzzInput> Nodes() { return PagesOf(PageType::kTreeNode); }
std::vector<FuzzInput> UndoPages() { return PagesOf(PageType::kUndo); }
std::vector<FuzzInput> Groups() { return SampleInstance::Get().Groups(kSamples); }

std::vector<FuzzInput> Changes() { return SampleInstance::Get().Changes(8); }

/// Payloads of the undo records of the sample's pages.
std::vector<FuzzInput> UndoPayloads() {
  std::vector<FuzzInput> payloads;
  for (const FuzzInput& page : UndoPages()) {
    size_t offset = UndoRecordsBegin(page.data());
    UndoRecordInPage record;
    while (ParseUndoRecord(page.data(), offset, UndoFreeOf(page.data()), &record)) {
      payloads.emplace_back(record.payload.begin(), record.payload.end());
      offset += record.length;
    }
  }
  return payloads;
}

std::vector<FuzzInput> Definitions() {
  TableDef definition;
  definition.id = TableId(7);
  definition.space = SpaceId(20);
  definition.name = "test/sample";
  definition.descriptor = "columns";
  definition.indexes = {{IndexId(8), PageNumber(3), "PRIMARY", true, true, "id"},
                        {IndexId(9), PageNumber(4), "value", false, false, "value"}};
  const std::string row = EncodeTableDef(definition);
  const Bytes bytes = AsBytes(row);
  return {FuzzInput(bytes.begin(), bytes.end())};
}

std::vector<FuzzInput> ControlFiles() { return SampleInstance::Get().Files("rowan.control"); }
std::vector<FuzzInput> LogFiles() {
  std::vector<FuzzInput> files = SampleInstance::Get().Files("redo_");
  for (FuzzInput& file : files) file.resize(2 * kFuzzPageBytes);
  return files;
}
/// The first segment's directory and its first images: the rest is like it.
std::vector<FuzzInput> DoublewriteFiles() {
  std::vector<FuzzInput> files = SampleInstance::Get().Files("rowan.doublewrite");
  for (FuzzInput& file : files) file.resize(16 * kFuzzPageBytes);
  return files;
}
std::vector<FuzzInput> VersionsFiles() { return SampleInstance::Get().Files("rowan.page_lsns"); }

constexpr std::array kTargets = {
    FuzzTarget{"Node", Nodes, FuzzNode},
    FuzzTarget{"Redo", Changes, FuzzRedo},
    FuzzTarget{"LogGroup", Groups, FuzzLogGroup},
    FuzzTarget{"UndoPage", UndoPages, FuzzUndoPage},
    FuzzTarget{"RowUndo", UndoPayloads, FuzzRowUndo},
    FuzzTarget{"TableDef", Definitions, FuzzTableDef},
    FuzzTarget{"ControlFile", ControlFiles, FuzzControlFile},
    FuzzTarget{"LogFileHeader", LogFiles, FuzzLogFileHeader},
    FuzzTarget{"Doublewrite", DoublewriteFiles, FuzzDoublewrite},
    FuzzTarget{"PageLsns", VersionsFiles, FuzzPageVersions},
};

}  // namespace

std::span<const FuzzTarget> FuzzTargets() { return kTargets; }

}  // namespace rowan
