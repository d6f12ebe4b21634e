# SPDX-License-Identifier: GPL-2.0-only
# rowan_library(<folder> [<folder to the left> ...]) and rowan_test(<folder>): how every layer is built.
find_program(ROWAN_CCACHE ccache)
if(ROWAN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ROWAN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ROWAN_CCACHE})
endif()
include(cmake/Libraries.cmake)

add_compile_definitions(_GNU_SOURCE)
set(ROWAN_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-msse4.2)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Not `rep movs` and `rep stos`: it takes dozens of cycles before they do anything, libc's functions a few.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-mmemcpy-strategy=unrolled_loop:16:noalign,libcall:-1:noalign>
                        $<$<COMPILE_LANGUAGE:CXX>:-mmemset-strategy=unrolled_loop:64:noalign,libcall:-1:noalign>)
  endif()
endif()
add_compile_options(-fno-omit-frame-pointer)
# A build is mostly debug information: compressed, and archives that point at their objects instead of
# holding copies, it takes less than half of the disk.
add_compile_options(-gz)
add_link_options(-gz)
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcT <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qT <TARGET> <LINK_FLAGS> <OBJECTS>")

if(ROWAN_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(ROWAN_DCHECK_ENABLED)
elseif(ROWAN_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(ROWAN_DCHECK_ENABLED)
elseif(ROWAN_SANITIZE)
  message(FATAL_ERROR "ROWAN_SANITIZE must be address, thread or empty, not '${ROWAN_SANITIZE}'")
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(ROWAN_DCHECK_ENABLED)
endif()

# scripts/optimize builds twice in one folder: each object finds its profile beside it. Code that the
# training does not reach is optimised as without a profile.
if(ROWAN_PROFILE STREQUAL "make")
  add_compile_options(-fprofile-generate -fprofile-update=atomic)
  add_link_options(-fprofile-generate)
elseif(ROWAN_PROFILE STREQUAL "use")
  add_compile_options(-fprofile-use -fprofile-partial-training -fprofile-correction -Wno-missing-profile)
elseif(ROWAN_PROFILE)
  message(FATAL_ERROR "ROWAN_PROFILE must be make, use or empty, not '${ROWAN_PROFILE}'")
endif()

if(ROWAN_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES CXX)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  add_link_options(-flto=auto)
endif()

# Headers, the server's above all, cost far more to parse than our sources: eight of these share one parse.
# Hence names in anonymous namespaces are unique within a library; a test that uses another one's names has a
# namespace of its own around them, rowan::<its file>.
function(rowan_compile_in_batches target)
  if(ROWAN_BATCHES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # A class may well have a member of a type that its own source keeps to itself.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(rowan_library folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cc)
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
  endif()
  add_library(rowan_${folder} STATIC ${sources})
  target_include_directories(rowan_${folder} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(rowan_${folder} PRIVATE ${ROWAN_WARNINGS})
  rowan_compile_in_batches(rowan_${folder})
  foreach(dependency ${ARGN})
    target_link_libraries(rowan_${folder} PUBLIC rowan_${dependency})
  endforeach()
endfunction()

# One GoogleTest executable per folder of tests/, from every *.cc in it plus tests/support.
function(rowan_test folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(rowan_${folder}_test ${sources})
  target_link_libraries(rowan_${folder}_test PRIVATE ${ARGN} GTest::gtest GTest::gtest_main
                        Threads::Threads)
  target_include_directories(rowan_${folder}_test PRIVATE ${CMAKE_SOURCE_DIR})
  # Test code need not be fast, only quick to compile; the libraries keep their flags.
  target_compile_options(rowan_${folder}_test PRIVATE -O0 -g1 -Wall -Wextra -Wshadow -Werror)
  if(NOT folder STREQUAL "simulation")  # which declares what it intercepts before anything else
    target_precompile_headers(rowan_${folder}_test PRIVATE <gtest/gtest.h> <algorithm> <functional> <map>
                              <memory> <random> <string> <thread> <vector>)
  endif()
  rowan_compile_in_batches(rowan_${folder}_test)
  add_test(NAME rowan_${folder}_test COMMAND rowan_${folder}_test)
endfunction()
