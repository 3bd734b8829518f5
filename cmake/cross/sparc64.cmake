# 64-bit SPARC; Debian's packages: gcc-sparc64-linux-gnu and libc6-dev-sparc64-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR sparc64)
set(CMAKE_C_COMPILER sparc64-linux-gnu-gcc)
