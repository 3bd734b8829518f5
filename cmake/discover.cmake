# Read by ctest at its start, for each test program: asks the program for its tests. A program that
# is not there or cannot list its tests becomes one test that fails and shows why.
execute_process(COMMAND ${test_program} --list
  OUTPUT_VARIABLE test_names RESULT_VARIABLE test_result ERROR_QUIET)
string(STRIP "${test_names}" test_names)
string(REPLACE "\n" ";" test_names "${test_names}")

if(NOT test_result EQUAL 0)
  add_test(${test_prefix}lists_its_tests${test_suffix} ${test_program} --list)
  set(test_names)
elseif(NOT test_names)
  add_test(${test_prefix}has_tests${test_suffix} ${CMAKE_COMMAND} -E false)
endif()

foreach(test_name IN LISTS test_names)
  if(test_exclude AND test_name MATCHES "${test_exclude}")
    continue()
  endif()
  set(test_full_name ${test_prefix}${test_name}${test_suffix})
  add_test(${test_full_name} ${test_wrapper} ${test_program} ${test_name})
  set_tests_properties(${test_full_name} PROPERTIES
    LABELS "${test_labels}" ENVIRONMENT "${test_environment}" TIMEOUT ${test_timeout}
    SKIP_RETURN_CODE 77)
endforeach()
