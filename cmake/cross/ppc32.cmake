# 32-bit PowerPC, big-endian; Debian's packages: gcc-powerpc-linux-gnu and libc6-dev-powerpc-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc)
set(CMAKE_C_COMPILER powerpc-linux-gnu-gcc)
