# Read by ctest at its start, for each guest: its plan has the names of its tests. Each test looks up
# what the guest has printed; a guest without a plan becomes one test that fails.
set(plan)
if(EXISTS "${guest_work}/plan")
  file(STRINGS "${guest_work}/plan" plan)
endif()
if(NOT plan)
  add_test(${guest_name}.has_a_plan sh ${guest_judge} ${guest_source} ${guest_work} plan)
  set_tests_properties(${guest_name}.has_a_plan PROPERTIES LABELS "${guest_labels}")
endif()
foreach(line IN LISTS plan)
  string(REGEX REPLACE "\\|.*" "" test "${line}")
  add_test(${guest_name}.${test} sh ${guest_judge} ${guest_source} ${guest_work} ${test} ${guest_proven})
  set_tests_properties(${guest_name}.${test} PROPERTIES
    LABELS "${guest_labels}" TIMEOUT 60 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED ${guest_name})
endforeach()
