// SPDX-License-Identifier: GPL-2.0-only
// QuietEvaluation: items evaluated without anybody noticing. What the server has to say about them,
// it says each time that it evaluates them, or once, if it keeps their values. So if it has to say
// something here, the evaluation has not happened: its conditions are dropped, and values kept
// since are forgotten.
// Thread safety: the session's thread.
#pragma once

#include <vector>

#include "sql/error_handler.h"

class Item;
class Item_cache;
class THD;

namespace rowan {

class QuietEvaluation final : public Internal_error_handler {
 public:
  explicit QuietEvaluation(THD* thd);
  ~QuietEvaluation() override;
  QuietEvaluation(const QuietEvaluation&) = delete;
  QuietEvaluation& operator=(const QuietEvaluation&) = delete;

  /// Before the evaluation, each item of it.
  void Watch(Item* item);
  /// After the evaluation. False: there was an error, a warning or a note.
  [[nodiscard]] bool End();

 private:
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_severity_level*,
                        const char*) override {
    any_ = true;
    return true;
  }

  THD* const thd_;
  bool any_ = false;
  std::vector<Item_cache*> empty_;  ///< had no value yet
};

}  // namespace rowan
