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
foreach(way atomic softmask sigmask)
  percpu_local_way(${way} ${way})
endforeach()
percpu_local_way(trivalue softmask)
percpu_local_way(twovalue atomic)

# Contexts, one instruction after the other: optimised always, so that there are not too many.
percpu_test(test_local_contexts SOURCES local_contexts.c local_subjects.c COMPILE_OPTIONS -O2)
percpu_test(test_local_storm LABELS storm SOURCES local_storm.c local_subjects.c)
percpu_test(test_local_handlers SOURCES local_handlers.c)
