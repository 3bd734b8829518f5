# 32-bit MIPS, little-endian; Debian's packages: gcc-mipsel-linux-gnu and libc6-dev-mipsel-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR mips)
set(CMAKE_C_COMPILER mipsel-linux-gnu-gcc)
