# 64-bit PowerPC, big-endian; Debian's packages: gcc-powerpc64-linux-gnu and libc6-dev-ppc64-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64)
set(CMAKE_C_COMPILER powerpc64-linux-gnu-gcc)
