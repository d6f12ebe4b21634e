// SPDX-License-Identifier: GPL-2.0-only
#include "tests/fuzz/sample_instance.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "buffer/page/page_header.h"
#include "tests/engine/engine_fixture.h"
#include "wal/control_file.h"
#include "wal/group.h"
#include "wal/log_reader.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr uint64_t kSampleSeed = 1;
constexpr uint64_t kRows = 400;

/// Inserts, updates, deletes, a rollback and off-page values.
void Write(EngineFixture* world, const char* name) {
  const std::shared_ptr<Table> table = world->CreateTable(name);
  ASSERT_NE(table, nullptr);
  std::unique_ptr<Session> session = world->engine->NewSession();
  const auto row_of = [](uint64_t id, uint32_t value) {
    return ToyRow{value, static_cast<uint32_t>(id), std::string(id % 90, 't'),
                  id % 50 == 0 ? std::string(6000, 'b') : std::string()};
  };
  for (uint64_t id = 1; id <= kRows; ++id) {
    const auto value = static_cast<uint32_t>(id % 17);
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), id, row_of(id, value)).ok());
    if (id % 3 == 0) {
      ASSERT_TRUE(EngineFixture::Update(session.get(), table.get(), id, row_of(id, value),
                                        row_of(id, value + 5))
                      .ok());
    }
    if (id % 11 == 0) {
      const ToyRow now = row_of(id, id % 3 == 0 ? value + 5 : value);
      ASSERT_TRUE(EngineFixture::Delete(session.get(), table.get(), id, now).ok());
    }
    if (id % 29 == 0) {
      ASSERT_TRUE(session->Rollback().ok());
    } else {
      ASSERT_TRUE(session->Commit().ok());
    }
  }
}

/// A log group with nothing but this record.
FuzzInput GroupOf(const RecordView& record) {
  GroupBuilder builder;
  std::byte* body = builder.Add(record.type, record.page, record.body.size());
  std::copy(record.body.begin(), record.body.end(), body);
  builder.Finish();
  builder.Seal(Lsn(1), 1, Lsn(0));
  return {builder.bytes().begin(), builder.bytes().end()};
}

}  // namespace

const SampleInstance& SampleInstance::Get() {
  static const SampleInstance instance;
  return instance;
}

SampleInstance::SampleInstance() {
  EngineFixture world(kSampleSeed);
  world.options.storage.page_size_bytes = kFuzzPageBytes;
  world.options.storage.buffer.pool_bytes = 64 * kFuzzPageBytes;
  world.options.storage.log.buffer_bytes = uint64_t{1} << 16;
  EXPECT_TRUE(world.Open().ok());
  Write(&world, "test/at_home");
  EXPECT_TRUE(world.Shutdown().ok());
  EXPECT_TRUE(world.Open().ok());
  Write(&world, "test/in_the_log");
  world.Crash(kSampleSeed);
  CopyFiles(&world.files, world.options.storage.folder);
  CopyGroups(&world.files, world.options.storage.folder);
}

void SampleInstance::CopyFiles(FileSystem* source, const std::string& folder) {
  Result<std::vector<std::string>> names = source->List(folder);
  EXPECT_TRUE(names.ok());
  for (const std::string& name : *names) {
    Result<std::unique_ptr<File>> file = source->Open(folder + "/" + name, {});
    if (!file.ok()) continue;  // a folder
    FuzzInput bytes((*file)->Size().value());
    if (bytes.empty() || (*file)->Read(0, bytes).ok()) files_.push_back({name, std::move(bytes)});
  }
}

void SampleInstance::CopyGroups(FileSystem* source, const std::string& folder) {
  Result<std::unique_ptr<ControlFile>> control = ControlFile::Open(source, folder);
  ASSERT_TRUE(control.ok());
  const ControlData data = (*control)->data();
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(source, folder, data, data.checkpoint_lsn);
  ASSERT_TRUE(reader.ok());
  LogReader::Group group;
  while ((*reader)->Next(&group).ok()) {
    groups_.emplace_back(group.bytes.begin(), group.bytes.end());
  }
}

std::vector<FuzzInput> SampleInstance::Files(const std::string& part) const {
  std::vector<FuzzInput> found;
  for (const NamedFile& file : files_) {
    if (file.name.find(part) != std::string::npos) found.push_back(file.bytes);
  }
  return found;
}

std::vector<FuzzInput> SampleInstance::Pages(uint8_t type, size_t limit) const {
  std::vector<FuzzInput> pages;
  for (const FuzzInput& file : Files(".rws")) {
    for (size_t at = 0; at + kFuzzPageBytes <= file.size(); at += kFuzzPageBytes) {
      const Bytes page = Bytes(file).subspan(at, kFuzzPageBytes);
      if (static_cast<uint8_t>(PageTypeOf(page.data())) != type) continue;
      if (LoadLe<uint32_t>(page.data()) == 0) continue;  // never written
      pages.emplace_back(page.begin(), page.end());
      if (pages.size() == limit) return pages;
    }
  }
  return pages;
}

std::vector<FuzzInput> SampleInstance::Groups(size_t limit) const {
  const size_t step = std::max<size_t>(1, groups_.size() / limit);
  std::vector<FuzzInput> chosen;
  for (size_t i = 0; i < groups_.size(); i += step) chosen.push_back(groups_[i]);
  return chosen;
}

std::vector<FuzzInput> SampleInstance::Changes(size_t limit) const {
  std::map<RecordType, std::vector<FuzzInput>> found;
  std::map<PageId, FuzzInput> pages;
  for (const FuzzInput& group : groups_) {
    GroupParser parser(group);
    RecordView record;
    Status status;
    while (parser.Next(&record, &status)) {
      const RedoEntry* entry = FindRedo(record.type);
      if (entry == nullptr || entry->pageless) continue;
      FuzzInput& page = pages.try_emplace(record.page, PageAtHome(record.page)).first->second;
      FuzzInput input = page;
      if (!entry->apply(record.page, page, record.body).ok()) continue;  // has it already
      std::vector<FuzzInput>& inputs = found[record.type];
      if (inputs.size() == limit) continue;
      const FuzzInput alone = GroupOf(record);
      input.insert(input.end(), alone.begin(), alone.end());
      inputs.push_back(std::move(input));
    }
  }
  std::vector<FuzzInput> all;
  for (auto& [type, inputs] : found) std::ranges::move(inputs, std::back_inserter(all));
  return all;
}

FuzzInput SampleInstance::PageAtHome(PageId id) const {
  FuzzInput page(kFuzzPageBytes);
  const std::string name = Format("space_{}.rws", id.space.value());
  for (const auto& [file_name, bytes] : files_) {
    const size_t at = size_t{id.page.value()} * kFuzzPageBytes;
    if (file_name == name && at + kFuzzPageBytes <= bytes.size()) {
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), kFuzzPageBytes, page.begin());
    }
  }
  return page;
}

}  // namespace rowan
