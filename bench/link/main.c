/* SPDX-License-Identifier: MIT */
/*
 * The child of the linkage rows: serves the loop that this program was linked with, or, called
 * with "plugin", the one in the shared library that lies beside it. With "exit" it ends at once.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "link.h"

#define PLUGIN "percpu-bench-plugin.so"

typedef const struct link_loop *get_loop(void);

static const struct link_loop *plugin_loop(void)
{
	char path[4096 + sizeof(PLUGIN)], *slash;
	ssize_t n = readlink("/proc/self/exe", path, 4096);
	get_loop *get;
	void *plugin;

	if (n < 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, PLUGIN);
	plugin = dlopen(path, RTLD_NOW);
	*(void **)&get = plugin ? dlsym(plugin, LINK_LOOP_NAME) : NULL;
	if (!get)
		fprintf(stderr, "percpu bench: %s\n", dlerror());
	return get ? get() : NULL;
}

static const struct bench_method *only_method(const struct bench_request *request, const void *arg)
{
	(void)request;
	return arg;
}

int main(int argc, char **argv)
{
	int plugin = argc > 1 && !strcmp(argv[1], "plugin");
	const struct link_loop *loop = plugin ? plugin_loop() : percpu_bench_link_loop();
	struct bench_method method = {.name = "percpu add", .param = argc > 1 ? argv[1] : ""};

	if (argc > 1 && !strcmp(argv[1], "exit"))
		return 0;
	if (!loop)
		return 1;
	method.loop = loop->loop;
	method.total = loop->total;
	return bench_serve(only_method, &method);
}
