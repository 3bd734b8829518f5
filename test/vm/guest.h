/* SPDX-License-Identifier: MIT */
/*
 * What the first programs of guests share: they print a line for each step, "@ STEP: ok" or "@ STEP:
 * NAME OF ERROR", and switch off after the line "@ done". Included by one source per program.
 */
#ifndef PERCPU_VM_GUEST_H
#define PERCPU_VM_GUEST_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

/* status: 0 or an errno. */
static int say(const char *step, int status)
{
	printf("@ %s: %s\n", step, status ? strerrorname_np(status) : "ok");
	fflush(stdout);
	return status;
}

/* 0 or an errno. */
static int mount_proc_and_sys(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
		return errno;
	return 0;
}

/* Returns if the kernel refuses. */
static void switch_off(void)
{
	printf("@ done\n");
	fflush(stdout);
	/* The console is emptied by the driver while the program ends. */
	sync();
	reboot(RB_POWER_OFF);
}

#endif
