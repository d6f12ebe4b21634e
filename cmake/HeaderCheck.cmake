# SPDX-License-Identifier: GPL-2.0-only
# Target rowan_header_check: every header of ours compiles alone, so each includes what it uses; in chains
# (header_chains.py), as most of the time goes into what they all include. Not part of `all`; scripts/test builds
# it. Headers of plugin/ need a server and are left out.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(header_check_folder ${CMAKE_BINARY_DIR}/header_check)
set(header_check_headers)
foreach(folder base io wal buffer space storage btree mvcc engine bench)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/${folder}/*.h ${CMAKE_SOURCE_DIR}/${folder}/*/*.h)
  list(APPEND header_check_headers ${headers})
endforeach()
list(TRANSFORM header_check_headers REPLACE "/" "_" OUTPUT_VARIABLE header_check_sources)
list(TRANSFORM header_check_sources REPLACE ".+" "${header_check_folder}/\\0.cc")
list(TRANSFORM header_check_headers PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE header_check_depends)
add_custom_command(OUTPUT ${header_check_sources}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/header_chains.py ${CMAKE_SOURCE_DIR}
          ${header_check_folder} ${header_check_headers}
  DEPENDS ${CMAKE_SOURCE_DIR}/cmake/header_chains.py ${header_check_depends}
  COMMENT "Chaining headers" VERBATIM)
add_library(rowan_header_check OBJECT EXCLUDE_FROM_ALL ${header_check_sources})
target_include_directories(rowan_header_check PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(rowan_header_check PRIVATE ${ROWAN_WARNINGS} -O0 -g0)
