# SPDX-License-Identifier: GPL-2.0-only
# The libraries Rowan is built with, as targets rowan::<name>. One that is missing is named with what
# it is for and its package. io_uring and libaio are linked in whole, so that ha_rowan.so asks
# nothing of a server's machine that the server does not; the others are headers.

# rowan_require(<name> <package> <what for> <header> [<static library>])
function(rowan_require name package purpose header)
  string(TOUPPER ${name} upper)
  find_path(ROWAN_${upper}_INCLUDE ${header})
  if(ARGC GREATER 4)
    find_library(ROWAN_${upper}_LIBRARY ${ARGV4})
  endif()
  if(NOT ROWAN_${upper}_INCLUDE OR (ARGC GREATER 4 AND NOT ROWAN_${upper}_LIBRARY))
    message(FATAL_ERROR "Rowan needs ${name} for ${purpose}: <${header}> ${ARGV4} was not found. "
                        "Debian and Ubuntu have it in the package ${package}; scripts/setup "
                        "installs it.")
  endif()
  add_library(rowan::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(rowan::${name} SYSTEM INTERFACE ${ROWAN_${upper}_INCLUDE})
  if(ARGC GREATER 4)
    target_link_libraries(rowan::${name} INTERFACE ${ROWAN_${upper}_LIBRARY})
  endif()
endfunction()

rowan_require(fmt libfmt-dev "the texts of messages" fmt/format.h)
rowan_require(spdlog libspdlog-dev "its log" spdlog/logger.h)
rowan_require(xxhash libxxhash-dev "hashes of keys and rows" xxhash.h)
rowan_require(uring liburing-dev "writes over io_uring" liburing.h liburing.a)
rowan_require(aio libaio-dev "writes over libaio" libaio.h libaio.a)
target_compile_definitions(rowan::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_compile_definitions(rowan::xxhash INTERFACE XXH_INLINE_ALL)
find_package(Threads REQUIRED)
find_package(Boost REQUIRED)
