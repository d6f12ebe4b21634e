// SPDX-License-Identifier: GPL-2.0-only
// Takes the text of AGAINST apart.
//
//   query   item ...
//   item    [operator] ( word [*] | "phrase" [@ number] | ( query ) )
//   operator  + - ~ < >
//
// Without boolean mode there are only words, phrases, and a * that stands alone. With a parser
// plugin, the plugin says what the words and operators are.
// Thread safety: stateless.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "plugin/codec/text_index.h"
#include "plugin/fulltext/query_node.h"

namespace rowan {

/// A list; null when nothing is asked for, or with a sentence in *problem when it makes no sense.
QueryNode::Pointer ParseQuery(const TextIndex& index, Bytes small, bool boolean_mode,
                              std::string* problem);

}  // namespace rowan
