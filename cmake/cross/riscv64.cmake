# 64-bit RISC-V; Debian's packages: gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
