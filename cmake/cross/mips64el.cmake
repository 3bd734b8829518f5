# 64-bit MIPS, little-endian; Debian's packages: gcc-mips64el-linux-gnuabi64 and libc6-dev-mips64el-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR mips64)
set(CMAKE_C_COMPILER mips64el-linux-gnuabi64-gcc)
