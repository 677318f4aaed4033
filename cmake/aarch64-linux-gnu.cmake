# Cross build for 64-bit Arm Linux on Debian; tests run under qemu-user with every extension.
# Needs gcc-aarch64-linux-gnu, qemu-user and the libraries for arm64 (scripts/install-deps.sh --aarch64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# The libraries are those of Debian's arm64 packages: with the cross compiler's own copy, threads hang under qemu 7.2.
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/;-cpu;max")
