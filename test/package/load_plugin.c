/* SPDX-License-Identifier: MIT */
/* Loads the plugin named on the command line and lets it count. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	long long (*count)(int);

	if (!plugin) {
		fprintf(stderr, "dlopen: %s\n", argc == 2 ? dlerror() : "no name");
		return 1;
	}
	*(void **)&count = dlsym(plugin, "plugin_count");
	return count && count(1000) == 1000 && count(1000) == 2000 ? 0 : 1;
}
