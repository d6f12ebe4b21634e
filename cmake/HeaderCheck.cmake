# SPDX-License-Identifier: GPL-2.0-only
# Target rowan_header_check: every header of ours compiles alone, so each includes what it uses.
# Not part of `all`; scripts/test builds it. Headers of plugin/ need a server and are left out.
set(header_check_sources)
foreach(folder base io wal buffer space storage btree mvcc engine bench)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/${folder}/*.h ${CMAKE_SOURCE_DIR}/${folder}/*/*.h)
  foreach(header ${headers})
    string(REPLACE "/" "_" name ${header})
    set(source ${CMAKE_BINARY_DIR}/header_check/${name}.cc)
    set(content "#include \"${header}\"\n#include \"${header}\"\n")
    set(previous "")
    if(EXISTS ${source})
      file(READ ${source} previous)
    endif()
    if(NOT previous STREQUAL content)
      file(WRITE ${source} "${content}")
    endif()
    list(APPEND header_check_sources ${source})
  endforeach()
endforeach()
add_library(rowan_header_check OBJECT EXCLUDE_FROM_ALL ${header_check_sources})
target_include_directories(rowan_header_check PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(rowan_header_check PRIVATE ${ROWAN_WARNINGS} -O0 -g0)
