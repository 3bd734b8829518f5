# 64-bit PowerPC, little-endian; Debian's packages: gcc-powerpc64le-linux-gnu and libc6-dev-ppc64el-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
