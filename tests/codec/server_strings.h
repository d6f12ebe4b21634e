// SPDX-License-Identifier: GPL-2.0-only
// Collations of the server for tests that have no server. my_charset_bin, my_charset_latin1,
// my_charset_utf8mb4_general_ci and my_charset_utf8mb4_bin need nothing else.
#pragma once

#include "mysql/strings/m_ctype.h"

namespace rowan {

/// utf8mb4_0900_ai_ci, ready for use.
const CHARSET_INFO* Utf8mb4AiCi();

}  // namespace rowan
