# 64-bit ARM; Debian's packages: gcc-aarch64-linux-gnu and libc6-dev-arm64-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
