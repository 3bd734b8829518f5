# Exact sums while everything that can come between two instructions does; fewer of them where a
# sanitizer makes each a hundred times as long.
set(storm_scale)
if(CMAKE_C_FLAGS MATCHES "-fsanitize=(thread|memory)")
  set(storm_scale ENVIRONMENT STORM_SCALE=0.1)
endif()
set(storm_sources)
foreach(file engine words bits sequences products txn locks lists)
  list(APPEND storm_sources ${CMAKE_CURRENT_SOURCE_DIR}/storm_${file}.c)
endforeach()
percpu_test(test_storm LABELS storm ${storm_scale} SOURCES test_storm.c ${storm_sources})
percpu_test(test_storm_threads LABELS storm ${storm_scale} SOURCES test_storm_threads.c)
percpu_test(test_events_storm LABELS storm SOURCES test_events_storm.c)
percpu_test_variant(self test_events_storm LABELS storm ENVIRONMENT ${percpu_no_libc})
percpu_test_variant(shared test_events_storm LABELS storm ENVIRONMENT ${percpu_shared})

# Elsewhere the matrix has these.
if(PERCPU_STATIC_TESTS)
  foreach(program test_storm test_storm_threads)
    percpu_test_variant(self ${program} LABELS storm ENVIRONMENT ${percpu_no_libc})
    percpu_test_variant(shared ${program} LABELS storm ENVIRONMENT ${percpu_shared})
  endforeach()
endif()

add_subdirectory(matrix)
