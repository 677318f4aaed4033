# tests/<module>/<name>_test.c is one program under ctest, linked with the static library and cmocka; <name>_test.sh and
# <name>_test.py are scripts that find the command and the tools through their environment. All run in the repository's root.
# Labels: the module, and "slow" for what is named <name>_slow_test: left out under sanitizers.

set(test_environment
  "LITHE=$<$<TARGET_EXISTS:lithe_command>:$<TARGET_FILE:lithe_command>>"
  "LITHE_BUILD_DIR=${CMAKE_CURRENT_BINARY_DIR}"
  "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1"
  "TSAN_OPTIONS=allocator_may_return_null=1:halt_on_error=1"
  "UBSAN_OPTIONS=print_stacktrace=1")
if(LITHE_SANITIZE MATCHES "address")
  list(APPEND test_environment "LITHE_SANITIZED=address")
elseif(LITHE_SANITIZE MATCHES "thread")
  list(APPEND test_environment "LITHE_SANITIZED=thread")
endif()

function(lithe_test_properties name module source)
  set(labels ${module})
  if(source MATCHES "_slow_test\\.")
    list(APPEND labels slow)
  endif()
  # One test may use many threads: with two at a time a small machine is busy, not drowned.
  set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} LABELS "${labels}" TIMEOUT 600
                       ENVIRONMENT "${test_environment}" SKIP_RETURN_CODE 77)
endfunction()

if(LITHE_BUILD_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
  file(GLOB test_sources CONFIGURE_DEPENDS tests/*/*_test.c)
  file(GLOB test_scripts CONFIGURE_DEPENDS tests/*/*_test.sh tests/*/*_test.py)
  # tests/support/*.c is shared by all: a library, so that a test only links what it calls.
  file(GLOB support CONFIGURE_DEPENDS tests/support/*.c)
  set(test_support)
  if(support)
    set(test_support lithe_test_support)
    add_library(lithe_test_support STATIC ${support})
    target_include_directories(lithe_test_support PRIVATE src tests)
    target_link_libraries(lithe_test_support PRIVATE lithe_flags PkgConfig::CMOCKA PUBLIC lithe_static)
  endif()
  foreach(source IN LISTS test_sources test_scripts)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(module ${folder} NAME)
    get_filename_component(file ${source} NAME_WE)
    set(name ${module}_${file})
    if(source MATCHES "\\.c$")
      file(GLOB support CONFIGURE_DEPENDS ${folder}/support*.c) # shared by the tests of the module
      add_executable(${name} ${source} ${support})
      set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
      target_include_directories(${name} PRIVATE src tests)
      target_link_libraries(${name} PRIVATE lithe_flags ${test_support} lithe_static PkgConfig::CMOCKA)
      add_test(NAME ${name} COMMAND ${name})
    elseif(source MATCHES "\\.py$")
      add_test(NAME ${name} COMMAND python3 ${source})
    else()
      add_test(NAME ${name} COMMAND sh ${source})
    endif()
    lithe_test_properties(${name} ${module} ${source})
  endforeach()
endif()

# tests/fuzz/<name>_fuzz.c: a libFuzzer program in the preset "fuzz", else a replay of tests/fuzz/corpus/<name>/ as a test.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" subject ${name})
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus/${subject})
  if(LITHE_FUZZ)
    add_executable(${name} ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${source} tests/fuzz/replay_main.c)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fuzz)
  target_include_directories(${name} PRIVATE src tests)
  target_link_libraries(${name} PRIVATE lithe_flags lithe_static)
  if(LITHE_FUZZ)
    add_test(NAME fuzz_${subject} COMMAND ${name} -runs=0 ${corpus})
  else()
    add_test(NAME fuzz_${subject} COMMAND ${name} ${corpus})
  endif()
  lithe_test_properties(fuzz_${subject} fuzz ${source})
endforeach()
