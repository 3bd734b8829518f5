# 64-bit MIPS, big-endian; Debian's packages: gcc-mips64-linux-gnuabi64 and libc6-dev-mips64-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR mips64)
set(CMAKE_C_COMPILER mips64-linux-gnuabi64-gcc)
