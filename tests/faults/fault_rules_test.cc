// SPDX-License-Identifier: GPL-2.0-only
// Each kind of fault and the rule that holds for it, as fault_rules.txt has them: a run of each
// line, and what is the same for all: once the fault is gone, nobody stays locked and nothing needs
// a start but what the rule says.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/faults/fault_scene.h"
#include "tests/support/await.h"
#include "tests/support/fault_tally.h"

namespace rowan::faults {
namespace {

constexpr int kMoreStarts = 5;

/// A line of the table.
struct RuleLine {
  std::string call;
  std::string file;
  std::string fault;
  std::string work;
  std::string rule;
};

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::vector<RuleLine> ReadRules() {
  std::ifstream stream(ROWAN_TEST_DATA "/fault_rules.txt");
  std::vector<RuleLine> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::array<std::string, 5> fields;
    std::istringstream parts(line);
    for (std::string& field : fields) {
      std::getline(parts, field, '|');
      field = Trimmed(field);
    }
    lines.push_back({fields[0], fields[1], fields[2], fields[3], fields[4]});
  }
  return lines;
}

const std::vector<RuleLine>& Rules() {
  static const auto& rules = *new std::vector<RuleLine>(ReadRules());
  return rules;
}

std::optional<FileCall> CallNamed(const std::string& name) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(FileCall::kCount); ++i) {
    if (name == FileCallName(static_cast<FileCall>(i))) return static_cast<FileCall>(i);
  }
  return std::nullopt;
}

std::optional<QueueFault> QueueFaultNamed(const std::string& name) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(QueueFault::kCount); ++i) {
    if (name == QueueFaultName(static_cast<QueueFault>(i))) return static_cast<QueueFault>(i);
  }
  return std::nullopt;
}

const FaultWork& WorkNamed(const std::string& name) {
  for (const FaultWork& work : FaultWorks()) {
    if (name == work.name) return work;
  }
  ADD_FAILURE() << "no work " << name;
  return FaultWorks().front();
}

class FaultRulesTest : public testing::TestWithParam<size_t> {
 protected:
  FaultRulesTest()
      : line_(Rules()[GetParam()]),
        work_(WorkNamed(line_.work)),
        scene_(line_.call == "queue" ? FaultScene::Calls::kQueued : FaultScene::Calls::kBlocking) {}

  /// What a path of the file contains.
  [[nodiscard]] std::string PathPart() const {
    if (line_.file == "table") return scene_.FileOf(*scene_.table);
    if (line_.file == "new table") return scene_.NextFile();
    if (line_.file == "undo") return "space_2.rws";
    if (line_.file == "catalog") return "space_1.rws";
    if (line_.file == "folder") return "";
    return line_.file;
  }

  void Inject() {
    if (line_.call == "queue") {
      const std::optional<QueueFault> fault = QueueFaultNamed(line_.fault);
      ASSERT_TRUE(fault.has_value()) << line_.fault;
      queue_fault_ = *fault;
      fired_before_ = CountsOf(*fault).fired;
      scene_.world.files.queue_faults()->Inject(*fault);
      return;
    }
    if (line_.call == "unmounted") return scene_.world.files.Unmount(line_.file);
    const std::optional<FileCall> call = CallNamed(line_.call);
    ASSERT_TRUE(call.has_value()) << line_.call;
    InjectedFault fault{.call = *call, .path_part = path_part_};
    // Nobody else may meet what this statement is to fail with: a new file of the log is synced
    // with the same folder.
    if (line_.rule == "fails" || (line_.file == "folder" && line_.rule == "later")) {
      fault.whose = InjectedFault::Whose::kInjectors;
    }
    fault.lasting = line_.fault.find("lasting") != std::string::npos;
    const std::string effect = line_.fault.substr(0, line_.fault.find(','));
    using Effect = InjectedFault::Effect;
    if (effect == "no space") fault.code = Code::kNoSpace;
    if (effect == "no descriptor") fault.error = EMFILE;
    if (effect == "half") fault.effect = Effect::kShort;
    if (effect == "dropped") fault.effect = Effect::kDropWrite;
    if (effect == "elsewhere") {
      fault.effect = Effect::kMisdirectWrite;
      fault.misdirect_bytes = scene_.world.options.storage.page_size_bytes;
    }
    scene_.world.files.Inject(fault);
  }
  [[nodiscard]] bool Met() const {
    if (line_.call == "unmounted") return true;
    if (line_.call == "queue") return CountsOf(queue_fault_).fired != fired_before_;
    return scene_.FaultMet();
  }
  void Run(Status* status) {
    ASSERT_NO_FATAL_FAILURE(work_.prepare(&scene_));
    ASSERT_NO_FATAL_FAILURE(Inject());
    *status = work_.run(&scene_);
  }
  void Clear() {
    scene_.world.files.ClearFaults();
    scene_.world.files.Unmount("");
  }

  /// The line's rule, of the work that has met the fault.
  void Expect(const Status& status) {
    const Engine* const engine = scene_.world.engine.get();
    const auto stopped = [&] { return engine->stopped(); };
    if (line_.rule == "stops") {
      EXPECT_TRUE(Await(stopped)) << status.message();
      Clear();
      return StartAgain();
    }
    Clear();
    if (line_.rule == "start fails") {
      EXPECT_FALSE(status.ok());
      const Status started = work_.run(&scene_);
      ASSERT_TRUE(started.ok()) << started.message();
    }
    if (scene_.table == nullptr) scene_.OpenTables();
    if (line_.rule == "start fails") return;
    ASSERT_FALSE(stopped()) << scene_.log.Text();
    if (line_.rule == "fails") {
      EXPECT_FALSE(status.ok());
      scene_.Undo();
      Again();
    } else if (line_.rule == "unnoticed") {
      EXPECT_TRUE(status.ok()) << status.message();
    } else if (line_.rule == "told") {
      EXPECT_TRUE(status.ok()) << status.message();
      scene_.ExpectToldAndLocal();
    } else {
      EXPECT_EQ(line_.rule, "later");
    }
    if (work_.done) {
      EXPECT_TRUE(Await([&] { return work_.done(&scene_); })) << scene_.log.Text();
    }
  }
  /// In the same process, while the session that failed is still there.
  void Again() {
    const std::unique_ptr<Session> failed = std::move(scene_.session);
    if (work_.prepare != nullptr && failed != nullptr) scene_.Begin();
    if (line_.work == "drop a table") scene_.session->Begin(IsolationLevel::kRepeatableRead);
    const Status status = work_.run(&scene_);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void StartAgain() {
    const ToyRows after = scene_.after;
    scene_.Kill();
    ASSERT_TRUE(scene_.world.Open().ok());
    ASSERT_NO_FATAL_FAILURE(scene_.OpenTables());
    EXPECT_TRUE(Await([&] { return scene_.world.engine->Transactions().empty(); }));
    // What was about to commit may have.
    if (scene_.world.ReadAll(scene_.table.get()) == after) scene_.rows = after;
  }

  const RuleLine& line_;
  const FaultWork& work_;
  FaultScene scene_;
  std::string path_part_;
  QueueFault queue_fault_{};
  uint64_t fired_before_ = 0;
};

TEST_P(FaultRulesTest, Hold) {
  SCOPED_TRACE(line_.call + " of " + line_.file + ": " + line_.fault + ", " + line_.work + ": " +
               line_.rule);
  path_part_ = PathPart();
  Status status;
  ASSERT_NO_FATAL_FAILURE(Run(&status));
  // A start has nothing to redo that could fail if cleaners have written all before the crash.
  for (int turn = 0; turn < kMoreStarts && line_.rule == "start fails" && status.ok(); ++turn) {
    Clear();
    ASSERT_NO_FATAL_FAILURE(scene_.OpenTables());
    ASSERT_NO_FATAL_FAILURE(Run(&status));
  }
  ASSERT_TRUE(Await([this] { return Met(); }))
      << "the work makes no such call: " << status.message();
  ASSERT_NO_FATAL_FAILURE(Expect(status));
  scene_.Undo();
  scene_.ExpectHealthy();
}

std::string LineName(const testing::TestParamInfo<size_t>& line) {
  const RuleLine& rule = Rules()[line.param];
  std::string name = rule.call + " " + rule.file + " " + rule.fault + " " + rule.work;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rules, FaultRulesTest, testing::Range(size_t{0}, Rules().size()),
                         LineName);

}  // namespace
}  // namespace rowan::faults
