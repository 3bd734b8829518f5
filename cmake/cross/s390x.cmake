# IBM Z; Debian's packages: gcc-s390x-linux-gnu and libc6-dev-s390x-cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
