# 32-bit ARM, version 7, with floating point in hardware; Debian's packages: gcc-arm-linux-gnueabihf and libc6-dev-armhf-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
