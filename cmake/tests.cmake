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
#
# percpu_left_out(REASON NAME...)
#   Tests that PERCPU_STATIC_TESTS cannot have, said when configuring.
#
# percpu_guest_program(TARGET)
#   A program that guests have (test/vm): stripped, in the folder guest of the top of the build, and
#   beside it the names of its tests.
#
# percpu_write_guest_plan()
#   After all of them: what guests run, in guest/programs, a line per program and variant:
#	PROGRAM|VARIANT, with its @|ENVIRONMENT, with blanks between
include_guard()

option(PERCPU_STATIC_TESTS
  "Link the tests statically and with the archive, to be run where nothing is installed" OFF)

# CTest's limit is the second watchdog, behind the one in test.h.
set(percpu_test_timeout 150)

function(percpu_guest_program target)
  set(path ${PROJECT_BINARY_DIR}/guest/${target})
  set_property(GLOBAL APPEND PROPERTY percpu_guest_targets ${target})
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/guest
    COMMAND ${CMAKE_STRIP} -o ${path} $<TARGET_FILE:${target}>
    COMMAND sh ${PROJECT_SOURCE_DIR}/test/vm/list_tests.sh ${CMAKE_NM} $<TARGET_FILE:${target}>
      ${path}.tests
    VERBATIM)
endfunction()

# What depends on nothing but this build, and needs no other program, can be run in a guest.
function(percpu__offer_to_guests program suffix labels environment wrapper)
  if(NOT PERCPU_STATIC_TESTS OR wrapper OR "once" IN_LIST labels OR suffix AND "matrix" IN_LIST labels)
    return()
  endif()
  if(NOT suffix)
    percpu_guest_program(${program})
  endif()
  string(REPLACE ";" " " environment "${environment}")
  set_property(GLOBAL APPEND_STRING PROPERTY percpu_guest_programs
    "${program}|${suffix}|${environment}\n")
endfunction()

function(percpu_write_guest_plan)
  get_property(programs GLOBAL PROPERTY percpu_guest_programs)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/guest/programs CONTENT "${programs}")
endfunction()

function(percpu_left_out reason)
  list(JOIN ARGN " " names)
  message(STATUS "Left out, ${reason}: ${names}")
endfunction()

# Writes the file that ctest reads at its start, for one program and variant. Programs of another CPU
# cannot be asked for their tests, and are not run here.
function(percpu__discover file program prefix suffix)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "EXCLUDE;TIMEOUT" "LABELS;ENVIRONMENT;WRAPPER")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${percpu_test_timeout})
  endif()
  percpu__offer_to_guests(${program} "${suffix}" "${arg_LABELS}" "${arg_ENVIRONMENT}"
    "${arg_WRAPPER}")
  if(CMAKE_CROSSCOMPILING)
    return()
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
  if(PERCPU_STATIC_TESTS)
    list(TRANSFORM arg_LIBS REPLACE "^percpu$" percpu_static)
    list(APPEND arg_LINK_OPTIONS -static)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${arg_DEFINITIONS})
  target_compile_options(${name} PRIVATE ${arg_COMPILE_OPTIONS})
  target_link_options(${name} PRIVATE ${arg_LINK_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} Threads::Threads ${percpu_atomic})
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
  # What does not depend on the build is left to others.
  if(PERCPU_STATIC_TESTS AND arg_LABELS MATCHES "once|cross")
    return()
  endif()
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
