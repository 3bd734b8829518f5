/* SPDX-License-Identifier: MIT */
/* percpu stress, built with mistakes (stress.h): as "percpu stress" without the rest. */
#include "cli.h"

int main(int argc, char **argv)
{
	return cli_close_output(cmd_stress(argc, argv));
}
