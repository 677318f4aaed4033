# Kernels for instruction sets that this machine may lack, translated by SIMDe (libsimde-dev) and compared with C by the same harness:
# the everyday suite checks them without qemu and without AVX-512. tests/simde/<isa>/ holds the header that stands in for the
# compiler's intrinsics, tests/simde/as_<isa>.h what the harness sees of the machine.
include(CheckIncludeFile)
check_include_file(simde/arm/neon.h LITHE_HAS_SIMDE)
if(NOT LITHE_BUILD_TESTS OR NOT LITHE_HAS_SIMDE OR LITHE_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  return()
endif()

# SOURCES: the kernels, in place of the library's of the same names; PROGRAMS: of the harness.
function(lithe_add_simde_tests isa)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PROGRAMS")
  # Included by files of their own: the sources' native flags (LitheLibrary.cmake) must not apply here.
  set(wrappers)
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(name ${source} NAME)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/simde/${isa}/${name})
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n")
    list(APPEND wrappers ${wrapper})
  endforeach()
  add_library(simde_${isa} OBJECT ${wrappers})
  target_include_directories(simde_${isa} BEFORE PRIVATE tests/simde/${isa} src include)
  # Warnings are the native builds' business; SIMDe's own are nobody's.
  target_compile_options(simde_${isa} PRIVATE -O2 -w -Werror=implicit-function-declaration -mavx2 -mfma -mf16c -ffp-contract=off
                         -fno-math-errno)
  set_target_properties(simde_${isa} PROPERTIES C_STANDARD 17)
  foreach(program IN LISTS arg_PROGRAMS)
    set(name simde_${isa}_${program})
    add_executable(${name} tests/cpu/${program}.c tests/simde/main.c $<TARGET_OBJECTS:simde_${isa}>)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE src tests tests/cpu)
    target_compile_options(${name} PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/tests/simde/as_${isa}.h)
    target_link_libraries(${name} PRIVATE lithe_flags lithe_static PkgConfig::CMOCKA)
    add_test(NAME ${name} COMMAND ${name})
    lithe_test_properties(${name} simde tests/cpu/${program}.c)
  endforeach()
endfunction()

file(GLOB simde_arm_sources CONFIGURE_DEPENDS src/cpu/arm/*.c)
lithe_add_simde_tests(arm SOURCES ${simde_arm_sources} PROGRAMS kernels_linear_test kernels_attention_test vec_test)

file(GLOB simde_x86_sources CONFIGURE_DEPENDS src/cpu/x86/*_avx512.c src/cpu/x86/*_avxvnni.c)
lithe_add_simde_tests(x86 SOURCES ${simde_x86_sources} PROGRAMS kernels_linear_test kernels_attention_test)
