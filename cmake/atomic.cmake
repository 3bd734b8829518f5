# percpu_atomic: what tests and the bench link with, which use atomics of 64 bits wherever they run, so
# also on 32-bit CPUs that have none. The library needs nothing.
include_guard()
include(CheckCSourceCompiles)

check_c_source_compiles("
static unsigned long long word;
int main(void) { return (int)__atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST); }"
  PERCPU_ATOMICS_OF_64_BITS)
set(percpu_atomic)
if(NOT PERCPU_ATOMICS_OF_64_BITS)
  set(percpu_atomic atomic)
endif()
