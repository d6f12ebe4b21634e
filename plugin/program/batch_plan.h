// SPDX-License-Identifier: GPL-2.0-only
// BatchPlan: which values programs need of the entries of one index of a table, and how each is
// computed. Programs that share a plan share its values: a column that a filter and a sum use, and
// an expression that occurs twice, are computed once per batch.
//
// A plan is filled while the statement is optimised (AddValue, FilterProgram::Compile), evaluates
// its constants at the start of each execution (Prepare), and is then constant: any number of
// threads may run batches by it, each with its own Batch, none of which touches the server.
//
// Results are exactly the server's, or the plan refuses. What a single row may need beyond that is
// put aside: see Batch.
// Thread safety: const after Prepare.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plugin/program/constant.h"
#include "plugin/program/value_node.h"
#include "plugin/program/value_vector.h"

class Field;
class Item;
struct TABLE;

namespace rowan {

struct TableLayout;

/// A value of a plan.
enum class ValueId : uint32_t {};

class BatchPlan {
 public:
  /// For entries of index `index_number` of `table` (0: rows of the clustered index). Both outlive
  /// the plan.
  BatchPlan(const TABLE* table, const TableLayout& layout, uint32_t index_number);
  ~BatchPlan();
  BatchPlan(const BatchPlan&) = delete;
  BatchPlan& operator=(const BatchPlan&) = delete;

  /// A level of an expression while it is compiled. Rows are computed by as many nested calls, on a
  /// stack of which the server knows nothing of them: more than some are refused.
  class Level {
   public:
    explicit Level(BatchPlan* plan) : plan_(plan) { ++plan_->level_; }
    ~Level() { --plan_->level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    [[nodiscard]] bool IsTooDeep(const char** reason) const {
      if (plan_->level_ <= kLevelsMax) return false;
      *reason = "deep expression";
      return true;
    }

   private:
    BatchPlan* const plan_;
  };

  /// The value of an item that depends on no other table's rows. nullopt: it is not supported, and
  /// `*reason` says why.
  std::optional<ValueId> AddValue(Item* item, const char** reason);
  /// Of a column. Also for those whose value an expression cannot use yet (ENUM, SET: their
  /// numbers).
  std::optional<ValueId> AddColumn(const Field* field, const char** reason);
  /// For the parts of this folder.
  ValueId AddNode(std::unique_ptr<ValueNode> node);
  const Constant* AddConstant(Item* item, const ConstantForm& form);
  const Constant* AddNumber(int64_t number);
  /// `step` is to be done at each start, after the constants are known. False: as Prepare.
  void AddStep(std::function<bool()> step) { steps_.push_back(std::move(step)); }

  /// Evaluates the constants, on the session's thread, without a warning or an error: they are the
  /// server's to give, once or for each row. The programs must still be there. False: the plan
  /// cannot be used in this execution.
  [[nodiscard]] bool Prepare();

  [[nodiscard]] const TABLE* table() const { return table_; }
  [[nodiscard]] const TableLayout& layout() const { return layout_; }
  [[nodiscard]] uint32_t index_number() const { return index_number_; }
  [[nodiscard]] size_t value_count() const { return nodes_.size(); }
  [[nodiscard]] const ValueType& TypeOf(ValueId id) const { return NodeOf(id).type(); }
  [[nodiscard]] const ValueNode& NodeOf(ValueId id) const {
    return *nodes_[static_cast<uint32_t>(id)];
  }

 private:
  static constexpr uint32_t kLevelsMax = 40;

  bool EvaluateConstants();

  struct KnownItem {
    Item* item = nullptr;
    ValueId id{};
    uint32_t levels = 0;  ///< of its own
  };
  struct KnownColumn {
    const Field* field = nullptr;
    ValueId id{};
  };

  const TABLE* const table_;
  const TableLayout& layout_;
  const uint32_t index_number_;
  std::vector<std::unique_ptr<ValueNode>> nodes_;
  std::vector<std::unique_ptr<Constant>> constants_;
  std::vector<std::function<bool()>> steps_;
  std::vector<KnownItem> items_;
  std::vector<KnownColumn> columns_;
  uint32_t level_ = 0;    ///< that is compiled now
  uint32_t deepest_ = 0;  ///< reached in the value that is compiled now
};

}  // namespace rowan
