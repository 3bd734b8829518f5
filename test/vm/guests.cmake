# Which guests there are. Their names are CPU-KERNEL-SET.

percpu_guest_programs(x86_64 static)
percpu_guest_programs(i386 static32)
foreach(cpu arm64 arm64lse arm arma32 ppc64le s390x riscv64 mipsel mips64el ppc64 ppc32)
  percpu_guest_programs(${cpu} ${cpu})
endforeach()

# A storm under an emulator: fewer batches than on a real CPU, and longer ones.
set(storm STORM_SCALE=0.02 STORM_BATCH=20)
# Each of these takes minutes there; check-vm-full has them.
set(long "field_E3_forked_children_go_on|field_A7_start_of_64_threads")
string(APPEND long "|kill_counts_what_was_added|random_calls_agree_with_a_model@")

# The sets.
#   modules    each module, as the machine is
#   storm      exact sums under threads, signals and migration
#   kernel     what kernels do, of the above: registration, aborts, transactions
#   registers  the library registers threads itself, and shared slots alone
#   contexts   local operations, one instruction after the other
#   one        one CPU
#   many       64 CPUs
#   step       an interrupt between any two instructions
#   offline    CPUs go offline and come back meanwhile
#   parallel   CPUs that really run at the same time, as many as most machines have
set(set_modules PROGRAMS "^test_[^@]*$"
  EXCLUDE "^test_(storm|storm_threads|local_storm|stops|local_contexts)\\.|${long}")
set(set_storm PROGRAMS "^test_(storm|storm_threads|local_storm|stops)$" EXCLUDE "${long}")
set(set_kernel PROGRAMS "^test_(thread|register|seq|seq_txn|txn|txn_debug|txn_kernel|calls|stops)(@self)?$"
  EXCLUDE "${long}")
set(set_registers PROGRAMS "@(self|shared)$" EXCLUDE "${long}")
set(set_contexts PROGRAMS "^test_local_contexts$")
set(set_one CPUS 1 PROGRAMS "^test_(this_cpu|counter|limit|list|stack|lock|ref|txn|storm|storm_threads)$"
  EXCLUDE "${long}")
set(set_many CPUS 64 PROGRAMS "^test_(thread|area|this_cpu|counter|zone|storm_threads)$" EXCLUDE "${long}")
set(set_step STEP CPUS 2 PROGRAMS "^test_storm$" EXCLUDE "${long}")
set(set_offline PROGRAMS "^test_(storm|storm_threads|counter)$" EXCLUDE "${long}" OFFLINE)
set(set_parallel CPUS 2 PARALLEL PROGRAMS "^test_(storm|storm_threads|lock|list|stack|ref)$"
  EXCLUDE "${long}")
set(set_everything PROGRAMS "^test_[^@]*$" EXCLUDE "^test_local_contexts\\.")

# guests(CPU KERNEL [OFTEN set...] [FULL set...] [MACHINE cpu] [CPUS n])
function(guests cpu kernel)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "MACHINE;CPUS" "OFTEN;FULL")
  set(others)
  if(arg_MACHINE)
    list(APPEND others MACHINE ${arg_MACHINE})
  endif()
  if(arg_CPUS)
    list(APPEND others CPUS ${arg_CPUS})
  endif()
  foreach(set IN LISTS arg_OFTEN arg_FULL)
    set(options ${others})
    if(set IN_LIST arg_OFTEN)
      list(APPEND options OFTEN)
    endif()
    percpu_guest(${cpu}-${kernel}-${set} CPU ${cpu} KERNEL ${kernel} ${set_${set}} ${options}
      ENVIRONMENT ${storm})
  endforeach()
endfunction()

guests(x86_64 6.1 OFTEN modules storm registers one offline FULL contexts many step parallel everything)
guests(x86_64 6.12 OFTEN kernel FULL everything registers)
guests(x86_64 newest OFTEN kernel storm FULL everything registers offline)
guests(arm64 6.1 OFTEN modules storm many step parallel FULL registers contexts one offline everything)
guests(arm64 6.12 OFTEN kernel FULL everything registers)
guests(arm64 newest OFTEN kernel FULL storm everything registers offline)
guests(arm 6.1 OFTEN modules storm FULL registers contexts one step offline everything)
guests(ppc64le 6.1 OFTEN modules storm FULL registers contexts one step offline everything)
guests(s390x 6.1 OFTEN modules storm FULL registers contexts one step offline everything)
guests(riscv64 6.12 OFTEN modules storm FULL registers contexts one step offline everything)
# This machine has one CPU.
guests(mips64el 6.1 OFTEN kernel FULL modules storm registers contexts step CPUS 1)
guests(mipsel 6.1 FULL modules storm registers MACHINE mips64el CPUS 1)
# Other code for the same CPU.
guests(arm64lse 6.1 FULL modules storm MACHINE arm64)
guests(arma32 6.1 FULL modules storm MACHINE arm)
# 32-bit programs on 64-bit kernels, and on one of their own.
guests(i386 6.1 FULL modules storm registers)
guests(i386 newest FULL kernel storm MACHINE x86_64)
guests(arm newest FULL kernel storm MACHINE arm64)
# One kernel, which Debian does not have.
guests(ppc64 6.1 FULL modules storm registers contexts step)
guests(ppc32 6.1 FULL modules storm registers MACHINE ppc64)

# The kernel module.
percpu_guest(x86_64-6.1-module CPU x86_64 KERNEL 6.1 CPUS 2 PARALLEL OFTEN PREPARE prepare_module.sh
  PLAN "module.runs|900|/programs/module||" APPEND preempt=voluntary)
percpu_script_test(kernel_module_is_exact_and_loads_again_on_a_real_kernel LABELS vm often
  FIXTURES x86_64-6.1-module
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/module.sh ${PROJECT_SOURCE_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/x86_64-6.1-module)
