/* SPDX-License-Identifier: MIT */
/*
 * Opens the shared library, lets it run sequences, and closes it. It must stay mapped: the kernel
 * reads the descriptor of a thread's last sequence at a later preemption, and the area of threads
 * that the library registered is in its thread-local storage.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*self_test)(char *, size_t);

	if (!library) {
		fprintf(stderr, "dlopen: %s\n", argc == 2 ? dlerror() : "no name");
		return 1;
	}
	*(void **)&self_test = dlsym(library, "percpu_self_test");
	if (!self_test || self_test(NULL, 0) == 1 || dlclose(library) != 0)
		return 1;
	if (!dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
		fprintf(stderr, "the library is gone after dlclose\n");
		return 1;
	}
	return 0;
}
