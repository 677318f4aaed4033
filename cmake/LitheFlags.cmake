# What every file of ours is compiled with; not passed on to those who link the library.
#
# -ffp-contract=off: results must not depend on whether a compiler fuses a multiplication with an addition; where a kernel
# wants the fused operation it asks for it by name. -fno-math-errno only lets sqrt and the like be inlined.
add_library(lithe_flags INTERFACE)
target_compile_features(lithe_flags INTERFACE c_std_17)
set(CMAKE_C_EXTENSIONS OFF)
target_compile_options(lithe_flags INTERFACE
  -Wall -Wextra -Wconversion -Wstrict-prototypes
  -ffp-contract=off -fno-math-errno -fvisibility=hidden)
if(LITHE_WERROR)
  target_compile_options(lithe_flags INTERFACE -Werror)
endif()

if(LITHE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LITHE_FUZZ needs clang: use the preset \"fuzz\"")
  endif()
  target_compile_options(lithe_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(lithe_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LITHE_SANITIZE)
  set(sanitize -fsanitize=${LITHE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(lithe_flags INTERFACE ${sanitize})
  target_link_options(lithe_flags INTERFACE ${sanitize})
endif()
