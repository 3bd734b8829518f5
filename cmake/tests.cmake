# How tests are declared.
#
# percpu_test(NAME SOURCES file... [LABELS label...] [LIBS target...] [DEFINITIONS ...]
#             [COMPILE_OPTIONS ...] [LINK_OPTIONS ...] [ENVIRONMENT var=value...] [TIMEOUT seconds])
#   A program that uses test/test.h. Each TEST(x) in it becomes the CTest test NAME.x, found by
#   running the program with --list when ctest starts. LABELS defaults to unit, LIBS to the shared
#   library.
#
# percpu_test_variant(VARIANT NAME [LABELS ...] [ENVIRONMENT ...] [WRAPPER command...]
#                     [EXCLUDE regex] [TIMEOUT seconds])
#   All tests of the program NAME once more as NAME.x@VARIANT, in another environment or under
#   another program.
#
# percpu_script_test(NAME LABELS label... COMMAND command... [ENVIRONMENT ...] [TIMEOUT seconds]
#                    [FIXTURES fixture...])
#   A command that exits with 0, 1 or 77.
#
# percpu_missing_test(NAME PACKAGE [LABELS ...])
#   Stands in for a program that cannot be built without PACKAGE.
include_guard()

# CTest's limit is the second watchdog, behind the one in test.h.
set(percpu_test_timeout 150)

# Writes the file that ctest reads at its start, for one program and variant.
function(percpu__discover file program prefix suffix)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "EXCLUDE;TIMEOUT" "LABELS;ENVIRONMENT;WRAPPER")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${percpu_test_timeout})
  endif()
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${file}_tests.cmake)
  file(GENERATE OUTPUT ${path} CONTENT "set(test_program [==[$<TARGET_FILE:${program}>]==])
set(test_prefix [==[${prefix}]==])
set(test_suffix [==[${suffix}]==])
set(test_labels [==[${arg_LABELS}]==])
set(test_environment [==[${arg_ENVIRONMENT}]==])
set(test_wrapper [==[${arg_WRAPPER}]==])
set(test_exclude [==[${arg_EXCLUDE}]==])
set(test_timeout ${arg_TIMEOUT})
include([==[${PROJECT_SOURCE_DIR}/cmake/discover.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${path})
endfunction()

function(percpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT"
    "SOURCES;LABELS;LIBS;DEFINITIONS;COMPILE_OPTIONS;LINK_OPTIONS;ENVIRONMENT")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_LIBS)
    set(arg_LIBS percpu)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${arg_DEFINITIONS})
  target_compile_options(${name} PRIVATE ${arg_COMPILE_OPTIONS})
  target_link_options(${name} PRIVATE ${arg_LINK_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} Threads::Threads)
  percpu_warnings(${name})
  percpu__discover(${name} ${name} ${name}. ""
    LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT} TIMEOUT ${arg_TIMEOUT})
endfunction()

function(percpu_test_variant variant name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "EXCLUDE;TIMEOUT" "LABELS;ENVIRONMENT;WRAPPER")
  if(NOT arg_LABELS)
    set(arg_LABELS matrix)
  endif()
  percpu__discover(${name}@${variant} ${name} ${name}. @${variant}
    LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT} WRAPPER ${arg_WRAPPER}
    EXCLUDE ${arg_EXCLUDE} TIMEOUT ${arg_TIMEOUT})
endfunction()

function(percpu_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT;FIXTURES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${percpu_test_timeout})
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}" TIMEOUT ${arg_TIMEOUT}
    FIXTURES_REQUIRED "${arg_FIXTURES}" SKIP_RETURN_CODE 77)
endfunction()

function(percpu_missing_test name package)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LABELS")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  percpu_script_test(${name} LABELS ${arg_LABELS}
    COMMAND sh ${PROJECT_SOURCE_DIR}/test/skip.sh ${package})
endfunction()
