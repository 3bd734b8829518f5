# Tests of one module each. Most run three times: as the machine is, with libc's registration
# switched off (the library registers threads itself), and on shared slots alone.
set(percpu_no_libc GLIBC_TUNABLES=glibc.pthread.rseq=0)
set(percpu_shared PERCPU_RSEQ=off)

# What cannot be had together with a sanitizer, or with one that has an end of its own for threads.
set(percpu_sanitized OFF)
set(percpu_sanitizer)
if(CMAKE_C_FLAGS MATCHES "-fsanitize=")
  set(percpu_sanitized ON)
  set(percpu_sanitizer TEST_SANITIZED)
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=(thread|memory)")
    list(APPEND percpu_sanitizer TEST_SANITIZED_THREADS)
  endif()
endif()

# The library once more, with other names for what can be made to fail (test/faults/).
get_target_property(percpu_sources percpu_objects SOURCES)
list(TRANSFORM percpu_sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
add_library(percpu_faulty STATIC ${percpu_sources})
target_include_directories(percpu_faulty PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(percpu_faulty PRIVATE _GNU_SOURCE
  PUBLIC $<TARGET_PROPERTY:percpu_objects,INTERFACE_COMPILE_DEFINITIONS>)
target_link_libraries(percpu_faulty PRIVATE Threads::Threads)
percpu_warnings(percpu_faulty)
foreach(call open opendir read sysconf getauxval mmap mprotect madvise syscall)
  target_compile_definitions(percpu_faulty PRIVATE ${call}=fault_${call})
endforeach()

# percpu_fault_test(NAME SOURCES file... [DEFINITIONS ...]): percpu_test() with that library.
function(percpu_fault_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEFINITIONS")
  percpu_test(${name} SOURCES ${arg_SOURCES} faults/faults.c LIBS percpu_faulty
    DEFINITIONS ${arg_DEFINITIONS} ${percpu_sanitizer})
endfunction()

# percpu_modes(NAME): the same tests in the two other modes.
function(percpu_modes name)
  percpu_test_variant(self ${name} LABELS unit ENVIRONMENT ${percpu_no_libc})
  percpu_test_variant(shared ${name} LABELS unit ENVIRONMENT ${percpu_shared})
endfunction()

percpu_fault_test(test_cpulist SOURCES test_cpulist.c)

percpu_fault_test(test_thread SOURCES test_thread.c)
percpu_modes(test_thread)
percpu_fault_test(test_register SOURCES test_register.c)
percpu_modes(test_register)

percpu_fault_test(test_area SOURCES test_area.c)
percpu_modes(test_area)

percpu_test(test_this_cpu SOURCES test_this_cpu.c)
percpu_modes(test_this_cpu)
percpu_test(test_this_cpu_outline SOURCES test_this_cpu.c DEFINITIONS PERCPU_OUTLINE)
add_subdirectory(cxx)

percpu_fault_test(test_counter SOURCES test_counter.c)
percpu_modes(test_counter)
percpu_fault_test(test_counter_outline SOURCES test_counter.c DEFINITIONS PERCPU_OUTLINE)

percpu_fault_test(test_limit SOURCES test_limit.c)
percpu_modes(test_limit)

percpu_fault_test(test_list SOURCES test_list.c)
percpu_modes(test_list)

percpu_fault_test(test_stack SOURCES test_stack.c)
percpu_modes(test_stack)
percpu_fault_test(test_stack_outline SOURCES test_stack.c DEFINITIONS PERCPU_OUTLINE)
percpu_fault_test(test_lock SOURCES test_lock.c)
percpu_modes(test_lock)
percpu_fault_test(test_ref SOURCES test_ref.c)
percpu_modes(test_ref)

percpu_test(test_events SOURCES test_events.c)
percpu_modes(test_events)
percpu_test(test_events_off SOURCES test_events_off.c)
percpu_test(test_events_call SOURCES test_events.c DEFINITIONS PERCPU_EVENTS_WAY=call)
percpu_test(test_events_atomic SOURCES test_events.c DEFINITIONS PERCPU_EVENTS_WAY=atomic)
percpu_test(test_events_file SOURCES test_events_file.c)
percpu_modes(test_events_file)
percpu_test(test_reader SOURCES test_reader.c)
percpu_modes(test_reader)

percpu_test(test_zone SOURCES test_zone.c)
percpu_modes(test_zone)

percpu_test(test_txn SOURCES test_txn.c)
percpu_modes(test_txn)
percpu_test(test_txn_kernel SOURCES test_txn_kernel.c)
percpu_modes(test_txn_kernel)

# What the library asks of the kernel, where nobody else asks as well.
if(NOT percpu_sanitized)
  percpu_test(test_calls SOURCES test_calls.c)
endif()

percpu_test(test_early_archive SOURCES test_early.c faults/early.c LIBS percpu_static)
if(NOT percpu_sanitized)
  percpu_test(test_early_static SOURCES test_early.c faults/early.c LIBS percpu_static
    DEFINITIONS TEST_PREINIT=1 LINK_OPTIONS -static)
endif()

if(PERCPU_STATIC_TESTS)
  # Only the checks of a debug build see system calls in transactions.
  add_library(percpu_checked STATIC ${percpu_sources})
  target_include_directories(percpu_checked PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(percpu_checked PRIVATE _GNU_SOURCE PUBLIC PERCPU_DEBUG)
  target_link_libraries(percpu_checked PRIVATE Threads::Threads)
  percpu_warnings(percpu_checked)
  percpu_test(test_txn_debug SOURCES test_txn.c LIBS percpu_checked)

  percpu_left_out("needs a shared library" test_process test_dlopen test_early test_early_named
    test_early_preinit)
  percpu_left_out("has an allocator of its own" test_handler)
  percpu_left_out("compiles on this machine" test_refused)
  return()
endif()

# Processes: with the shared library, because a plugin needs the same one.
add_library(test_plugin MODULE faults/plugin.c)
target_link_libraries(test_plugin PRIVATE percpu)
percpu_warnings(test_plugin)
set(percpu_plugin TEST_PLUGIN="$<TARGET_FILE:test_plugin>")
percpu_test(test_process SOURCES test_process.c
  DEFINITIONS ${percpu_plugin} ${percpu_sanitizer}
  LIBS percpu ${CMAKE_DL_LIBS})
add_dependencies(test_process test_plugin)
percpu_modes(test_process)
# Only headers of the library: it comes with the plugin.
percpu_test(test_dlopen SOURCES test_dlopen.c LIBS ${CMAKE_DL_LIBS}
  DEFINITIONS ${percpu_plugin} COMPILE_OPTIONS -I${PROJECT_SOURCE_DIR}/include)
add_dependencies(test_dlopen test_plugin)
percpu_modes(test_dlopen)

# Calls before the library's constructor: by a library that does not name it and asks to be first,
# by one that names it, and by .preinit_array, which sanitizers are not ready for.
foreach(kind unnamed named)
  add_library(early_${kind} SHARED faults/early.c)
  target_include_directories(early_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(early_${kind}
    PRIVATE $<TARGET_PROPERTY:percpu,INTERFACE_COMPILE_DEFINITIONS>)
  percpu_warnings(early_${kind})
endforeach()
target_link_options(early_unnamed PRIVATE -Wl,-z,initfirst)
target_link_libraries(early_named PRIVATE percpu)
percpu_test(test_early SOURCES test_early.c LIBS percpu early_unnamed DEFINITIONS TEST_EARLY=1)
percpu_modes(test_early)
percpu_test(test_early_named SOURCES test_early.c LIBS early_named percpu)
if(NOT percpu_sanitized)
  percpu_test(test_early_preinit SOURCES test_early.c LIBS early_named percpu
    DEFINITIONS TEST_PREINIT=1)
  percpu_modes(test_early_preinit)
endif()

# What the library asks of libc's allocator, where nobody else asks as well.
if(NOT percpu_sanitized)
  include(CheckFunctionExists)
  check_function_exists(__libc_malloc PERCPU_HAVE_LIBC_MALLOC)
  if(PERCPU_HAVE_LIBC_MALLOC)
    percpu_test(test_handler SOURCES test_handler.c)
    percpu_modes(test_handler)
  endif()
endif()

# Whatever compilers there are, not only this build's.
foreach(file words local txn)
  percpu_script_test(wrong_${file}_operations_do_not_compile LABELS unit once
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_refused.sh ${PROJECT_SOURCE_DIR} ${file}.c)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|i.86")
    percpu_script_test(wrong_${file}_operations_do_not_compile_for_32_bits LABELS unit once
      COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_refused.sh ${PROJECT_SOURCE_DIR} ${file}.c -m32)
  endif()
endforeach()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|i.86")
  percpu_script_test(field_H10_x32_is_refused LABELS unit once
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_refused.sh ${PROJECT_SOURCE_DIR} words.c -mx32)
endif()
