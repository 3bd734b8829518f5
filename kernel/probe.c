// SPDX-License-Identifier: GPL-2.0
/*
 * Short loops on one hot variable, timed in cycles as well: cmpxchg against holding off
 * interrupts, and the ways to count an event.
 *
 * Each loop does its operation n times and returns how many of them it can prove: a final value,
 * or n where the state of interrupts is as the operation leaves it.
 */
#include <linux/atomic.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/percpu.h>

#include "percpu_local.h"
#include "ways.h"

#define LOOP noinline __aligned(64)

static unsigned long word;
static DEFINE_PER_CPU_ALIGNED(struct trivalue, event);

static LOOP unsigned long cmpxchg_local_loop(unsigned long n)
{
	unsigned long i;

	WRITE_ONCE(word, 0);
	for (i = 0; i < n; i++)
		cmpxchg_local(&word, i, i + 1);
	return READ_ONCE(word);
}

static LOOP unsigned long cmpxchg_loop(unsigned long n)
{
	unsigned long i;

	WRITE_ONCE(word, 0);
	for (i = 0; i < n; i++)
		cmpxchg(&word, i, i + 1);
	return READ_ONCE(word);
}

static LOOP unsigned long save_loop(unsigned long n)
{
	unsigned long outer, flags, i, proved;

	local_irq_save(outer);
	for (i = 0; i < n; i++)
		local_irq_save(flags);
	proved = irqs_disabled() ? n : 0;
	local_irq_restore(outer);
	return proved;
}

static LOOP unsigned long restore_loop(unsigned long n)
{
	unsigned long flags, i;

	local_save_flags(flags);
	for (i = 0; i < n; i++)
		local_irq_restore(flags);
	return irqs_disabled() ? 0 : n;
}

static LOOP unsigned long save_restore_loop(unsigned long n)
{
	unsigned long flags, i, proved = 0;

	for (i = 0; i < n; i++) {
		local_irq_save(flags);
		proved++;
		local_irq_restore(flags);
	}
	return irqs_disabled() ? 0 : proved;
}

static LOOP unsigned long empty_loop(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		barrier();
	return i;
}

static const struct probe cmpxchg_probes[] = {{"cmpxchg_local", cmpxchg_local_loop},
					      {"cmpxchg", cmpxchg_loop},
					      {"local_irq_save", save_loop},
					      {"local_irq_restore", restore_loop},
					      {"local_irq_save, restore", save_restore_loop},
					      {"empty loop", empty_loop},
					      {}};

/* Load, add, store: three steps on every CPU, so that an interrupt between them loses a count. */
static __always_inline void count(long *p)
{
	WRITE_ONCE(*p, READ_ONCE(*p) + 1);
}

/* One loop per way to count; each starts and ends with the per-CPU event counter. */
#define EVENT_LOOP(name, type, statement)                                                          \
	static LOOP unsigned long name(unsigned long n)                                            \
	{                                                                                          \
		struct trivalue *cell = raw_cpu_ptr(&event);                                       \
		unsigned long i, flags __maybe_unused;                                             \
		type *p __maybe_unused = (type *)cell;                                             \
                                                                                                   \
		*cell = (struct trivalue){};                                                       \
		for (i = 0; i < n; i++) {                                                          \
			statement;                                                                 \
		}                                                                                  \
		return trivalue_read(cell);                                                        \
	}

EVENT_LOOP(unprotected_loop, long, count(p))
EVENT_LOOP(preempt_loop, long, {
	preempt_disable();
	count(p);
	preempt_enable();
})
EVENT_LOOP(irq_loop, long, {
	local_irq_save(flags);
	count(p);
	local_irq_restore(flags);
})
EVENT_LOOP(atomic_loop, atomic_long_t, atomic_long_inc(p))
EVENT_LOOP(local_loop, local_t, local_inc(p))
EVENT_LOOP(trivalue_loop, struct trivalue, trivalue_inc(p))
EVENT_LOOP(this_cpu_loop, long, this_cpu_inc(event.value[0]))
#undef EVENT_LOOP

static const struct probe event_probes[] = {
	{"unprotected", unprotected_loop}, {"preempt_disable", preempt_loop},
	{"local_irq_save", irq_loop},      {"atomic_long_inc", atomic_loop},
	{"local_inc", local_loop},         {"trivalue", trivalue_loop},
	{"this_cpu_inc", this_cpu_loop},   {}};

/* A table is one or two lists of probes; its first probe is the baseline. */
static const struct table {
	const char *name;
	const struct probe *probes, *more;
} tables[] = {
	{"kernel_cmpxchg", cmpxchg_probes, bare_probes},
	{"kernel_event", event_probes, NULL},
};

static unsigned int count_probes(const struct probe *probe)
{
	unsigned int n = 0;

	while (probe && probe[n].name)
		n++;
	return n;
}

unsigned int probe_rows(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		n += count_probes(tables[i].probes) + count_probes(tables[i].more);
	return n;
}

static void measure(const struct probe *probe, unsigned int round, struct row *row)
{
	struct spell spell = {.ops = repetitions};
	unsigned long proved;
	cycles_t cycles;
	u64 start;

	pin();
	probe->loop(repetitions);
	start = ktime_get_ns();
	cycles = get_cycles();
	proved = probe->loop(repetitions);
	spell.cycles = get_cycles() - cycles;
	spell.ns = ktime_get_ns() - start;
	unpin();
	spell.wall_ns = spell.ns;
	results_check(row, repetitions, proved + (unsigned long)planted);
	results_record(row, round, &spell);
}

/* The kernel's debugging objects to switching on what is on already. */
static bool works(const struct probe *probe, bool bare)
{
	if (bare)
		return bare_probes_work();
	return probe->loop != restore_loop || !IS_ENABLED(CONFIG_DEBUG_IRQFLAGS);
}

static void add_rows(struct results *r, const char *table, const struct probe *probe,
		     unsigned int base, bool bare)
{
	for (; probe && probe->name; probe++) {
		struct row *row = results_add(r, table, probe->name, "", base);

		row->cycles = true;
		row->absent = !works(probe, bare);
	}
}

static int run_table(struct results *r, const struct table *table)
{
	unsigned int first = r->nrows, own = count_probes(table->probes), n, i, round;
	int err = 0;

	add_rows(r, table->name, table->probes, first, false);
	add_rows(r, table->name, table->more, first, true);
	n = r->nrows - first;
	for (round = 0; !err && round < r->rounds; round++) {
		for (i = 0; !err && i < n; i++) {
			unsigned int at = (i + round) % n;
			const struct probe *probe =
				at < own ? &table->probes[at] : &table->more[at - own];

			if (!r->rows[first + at].absent)
				measure(probe, round, &r->rows[first + at]);
			err = breathe();
		}
	}
	return err;
}

int probe_run(struct results *r)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(tables); i++)
		err = run_table(r, &tables[i]);
	return err;
}
