# The real model of the everyday suite (tests/golden/smollm2_slow_test.c): made once in the cache folder, skipped without a network.
if(NOT TEST golden_smollm2_slow_test)
  return()
endif()
add_test(NAME golden_bundle COMMAND sh scripts/golden/everyday-bundle.sh)
set_tests_properties(golden_bundle PROPERTIES WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} LABELS "golden;slow" TIMEOUT 900
                     SKIP_RETURN_CODE 77 FIXTURES_SETUP everyday_bundle)
set_property(TEST golden_smollm2_slow_test APPEND PROPERTY FIXTURES_REQUIRED everyday_bundle)
