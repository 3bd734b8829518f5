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

add_subdirectory(matrix)
