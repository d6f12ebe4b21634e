// SPDX-License-Identifier: GPL-2.0-only
// The text of AGAINST as a parser plugin parses it. Thread safety: that of the plugin.
#pragma once

#include <string>

#include "base/bytes.h"
#include "plugin/codec/text_index.h"
#include "plugin/fulltext/query_node.h"

namespace rowan {

/// As ParseQuery. REQUIRES: the index has such a parser.
QueryNode::Pointer ParseQueryByPlugin(const TextIndex& index, Bytes small, bool boolean_mode,
                                      std::string* problem);

}  // namespace rowan
