// SPDX-License-Identifier: GPL-2.0
/*
 * What each way promises, under interrupts: a task, a softirq on top of it and a hardirq on top of
 * both add one to the same variable. A way that promises to be exact has to be; the unprotected
 * ones may lose counts, and how many is reported.
 *
 * The timer and its softirq run on the task's CPU, where the task stays for the whole storm of one
 * way (a fraction of a second). The ways that need preemption off for their per-CPU form need it
 * not here: no other task has this variable.
 */
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "compat.h"
#include "percpu_local.h"
#include "ways.h"

#define INTERVAL_NS (100 * NSEC_PER_USEC)
#define LIMIT_NS (5ULL * NSEC_PER_SEC)
#define BATCH 1000

struct storm_way {
	const char *name;
	bool exact;
	void (*batch)(unsigned int n);
};

/* Each context writes its own count; they are read when the storm is over. */
static struct {
	const struct storm_way *way;
	struct hrtimer timer;
	unsigned long softirq, hardirq;
} storm;

static struct trivalue variable;

/* this_cpu is tried on a variable of its own, the rest on one that is found without a CPU. */
static DEFINE_PER_CPU(long, copy);

/*
 * What is not protected by being one instruction, as it is on x86: with a pause that interrupts
 * like to come in.
 */
static __always_inline void count_slowly(long *p)
{
	long seen = READ_ONCE(*p);

	cpu_relax();
	WRITE_ONCE(*p, seen + 1);
}

static __always_inline void count_with_interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	count_slowly(&variable.value[0]);
	local_irq_restore(flags);
}

static __always_inline void count_by_cmpxchg(void)
{
	long seen, was = READ_ONCE(variable.value[0]);

	do {
		seen = was;
		was = cmpxchg_local(&variable.value[0], seen, seen + 1);
	} while (was != seen);
}

#define STORM_BATCH(name, statement)                                                               \
	static void name##_batch(unsigned int n)                                                   \
	{                                                                                          \
		do {                                                                               \
			statement;                                                                 \
		} while (--n);                                                                     \
	}

STORM_BATCH(unprotected, count_slowly(&variable.value[0]))
STORM_BATCH(preempt_off, {
	preempt_disable();
	count_slowly(&variable.value[0]);
	preempt_enable();
})
STORM_BATCH(atomic_long, atomic_long_inc((atomic_long_t *)&variable))
STORM_BATCH(irqsave, count_with_interrupts_off())
STORM_BATCH(trivalue, count_slowly(&variable.value[context_depth()]))
STORM_BATCH(local_t, local_inc((local_t *)&variable))
STORM_BATCH(local_t_return, local_add_return(1, (local_t *)&variable))
STORM_BATCH(this_cpu, this_cpu_inc(copy))
STORM_BATCH(cmpxchg_local, count_by_cmpxchg())
#undef STORM_BATCH

static const struct storm_way ways[] = {
	{"unprotected", false, unprotected_batch},
	{"preempt_disable", false, preempt_off_batch},
	{"atomic_long", true, atomic_long_batch},
	{"irqsave", true, irqsave_batch},
	{"trivalue", true, trivalue_batch},
	{"local_t", true, local_t_batch},
	{"local_t add_return", true, local_t_return_batch},
	{"this_cpu", true, this_cpu_batch},
	{"cmpxchg_local", true, cmpxchg_local_batch},
};

static void in_softirq_context(struct tasklet_struct *unused)
{
	storm.way->batch(1);
	storm.softirq++;
}

static DECLARE_TASKLET(tasklet, in_softirq_context);

static enum hrtimer_restart in_hardirq_context(struct hrtimer *timer)
{
	storm.way->batch(1);
	WRITE_ONCE(storm.hardirq, storm.hardirq + 1);
	tasklet_schedule(&tasklet);
	hrtimer_forward_now(timer, ns_to_ktime(INTERVAL_NS));
	return HRTIMER_RESTART;
}

static unsigned long total(void)
{
	unsigned long sum = trivalue_read(&variable);
	int cpu;

	for_each_possible_cpu(cpu) sum += (unsigned long)per_cpu(copy, cpu);
	return sum;
}

static void clear(void)
{
	int cpu;

	memset(&variable, 0, sizeof(variable));
	for_each_possible_cpu(cpu) per_cpu(copy, cpu) = 0;
	storm.softirq = storm.hardirq = 0;
}

static int run_way(const struct storm_way *way, struct storm_line *line)
{
	u64 start = ktime_get_ns();
	int err = 0;

	storm.way = way;
	clear();
	line->way = way->name;
	line->exact = way->exact;
	pin();
	hrtimer_start(&storm.timer, ns_to_ktime(INTERVAL_NS), HRTIMER_MODE_REL_PINNED_HARD);
	while (!err && READ_ONCE(storm.hardirq) < storm_interrupts &&
	       ktime_get_ns() - start < LIMIT_NS) {
		way->batch(BATCH);
		line->task += BATCH;
		err = breathe();
	}
	hrtimer_cancel(&storm.timer);
	tasklet_kill(&tasklet);
	unpin();
	line->softirq = storm.softirq;
	line->hardirq = storm.hardirq;
	line->found = total() + (unsigned long)planted;
	line->calm = !line->softirq || !line->hardirq;
	return err;
}

int storm_run(struct results *r)
{
	unsigned int i;
	int err = 0;

	BUILD_BUG_ON(ARRAY_SIZE(ways) != STORM_LINES);
	if (!storm_interrupts)
		return 0;
	hrtimer_setup(&storm.timer, in_hardirq_context, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	for (i = 0; !err && i < ARRAY_SIZE(ways); i++) {
		err = run_way(&ways[i], &r->storm[i]);
		r->nstorm++;
	}
	return err;
}
