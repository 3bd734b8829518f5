# Tests of one module each. Most run three times: as the machine is, with libc's registration
# switched off (the library registers threads itself), and on shared slots alone.
set(percpu_no_libc GLIBC_TUNABLES=glibc.pthread.rseq=0)
set(percpu_shared PERCPU_RSEQ=off)

# percpu_fault_test(NAME SOURCES file... [DEFINITIONS ...]): percpu_test() with the archive and test/faults/ in between.
set(percpu_faults open opendir read sysconf getauxval mmap mprotect madvise syscall)
list(TRANSFORM percpu_faults PREPEND "-Wl,--wrap=")
function(percpu_fault_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEFINITIONS")
  percpu_test(${name} SOURCES ${arg_SOURCES} faults/faults.c DEFINITIONS ${arg_DEFINITIONS}
    LIBS percpu_static LINK_OPTIONS ${percpu_faults})
endfunction()

# percpu_modes(NAME): the same tests in the two other modes.
function(percpu_modes name)
  percpu_test_variant(self ${name} LABELS unit ENVIRONMENT ${percpu_no_libc})
  percpu_test_variant(shared ${name} LABELS unit ENVIRONMENT ${percpu_shared})
endfunction()

percpu_fault_test(test_cpulist SOURCES test_cpulist.c)

percpu_fault_test(test_thread SOURCES test_thread.c)
percpu_modes(test_thread)

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

percpu_test(test_zone SOURCES test_zone.c)
percpu_modes(test_zone)
