// SPDX-License-Identifier: GPL-2.0-only
// What must hold for server headers to mean the same to us as to the server. The server's own
// version check covers the release number, but not the build type: class layouts (THD, Item, TABLE)
// depend on NDEBUG, and packaged servers are release builds. Include before the first server
// header.
#pragma once

#ifndef NDEBUG
#error "server headers must be compiled with NDEBUG: it changes class layouts"
#endif
#ifndef MYSQL_SERVER
#error "MYSQL_SERVER must be defined before server headers"
#endif

#include "mysql_version.h"

static_assert(MYSQL_VERSION_ID / 100 == 804 || MYSQL_VERSION_ID >= 90700,
              "Rowan is written for MySQL 8.4, and for 9.7 and later");
