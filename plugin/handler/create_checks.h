// SPDX-License-Identifier: GPL-2.0-only
// What CREATE TABLE may ask for and Rowan does not do: refused with a sentence, never accepted and
// ignored. Columns and indexes are judged by TableCodec::Make. Thread safety: the session's thread.
#pragma once

#include <string>

struct HA_CREATE_INFO;
struct TABLE;
class THD;

namespace rowan {

/// Empty when the table can be created, else what is not supported (completes "Rowan does not
/// support ...").
std::string UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

/// Warns of options that have no effect and would be a surprise, without refusing the statement.
void NoteIgnoredOptions(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

}  // namespace rowan
