# The local operations: in every way, on every type, in every context; and handlers that wait.

# The same tests of what operations do, once for each way behind the names.
function(percpu_local_way counter atomic)
  percpu_test(test_local_by_${counter} SOURCES test_local.c
    DEFINITIONS PERCPU_LOCAL_COUNTER_WAY=${counter} PERCPU_LOCAL_ATOMIC_WAY=${atomic}
      WANTED_COUNTER_WAY="${counter}" WANTED_ATOMIC_WAY="${atomic}"
    COMPILE_OPTIONS ${local_options})
endfunction()

# Of an unsigned sum it is asked whether it is negative, too: there all types are equal.
set(local_options -Wno-type-limits)
percpu_test(test_local SOURCES test_local.c COMPILE_OPTIONS ${local_options})
percpu_modes(test_local)
set(local_ways atomic:atomic softmask:softmask sigmask:sigmask trivalue:softmask twovalue:atomic)
foreach(ways IN LISTS local_ways)
  string(REPLACE ":" ";" ways ${ways})
  percpu_local_way(${ways})
endforeach()

# Contexts, one instruction after the other: optimised always, so that there are not too many.
percpu_test(test_local_contexts SOURCES local_contexts.c local_subjects.c COMPILE_OPTIONS -O2)
percpu_test(test_local_storm LABELS storm SOURCES local_storm.c local_subjects.c)
percpu_test(test_local_handlers SOURCES local_handlers.c)

# What other CPUs' compilers make of the way atomic.
foreach(cpu arm64 riscv64 ppc64le ppc64 ppc32 arm)
  percpu_script_test(local_atomics_have_no_barrier_on_${cpu} LABELS cross
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cross/order.sh ${PROJECT_SOURCE_DIR} ${cpu})
endforeach()

# All of this on a big-endian CPU that has nothing lighter than atomics; it does not depend on how
# the library is built here.
percpu_script_test(local_is_exact_on_a_big_endian_cpu LABELS cross TIMEOUT 900
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cross/local.sh ${PROJECT_SOURCE_DIR} ${local_ways})
