# 32-bit MIPS, big-endian; Debian's packages: gcc-mips-linux-gnu and libc6-dev-mips-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR mips)
set(CMAKE_C_COMPILER mips-linux-gnu-gcc)
