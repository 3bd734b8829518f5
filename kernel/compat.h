/* SPDX-License-Identifier: GPL-2.0 */
/* What older kernels spell differently. */
#ifndef COMPAT_H
#define COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

static inline bool preempt_model_lazy(void)
{
	return false;
}
#endif

#endif
