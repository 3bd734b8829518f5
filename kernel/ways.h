/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways to change a variable that belongs to one CPU, each with inc, add, add_return and read.
 *
 *	way          a variable is   contexts on its CPU that may change it
 *	plain        a long          one only (the floor: nothing is protected)
 *	atomic_long  atomic_long_t   any, and other CPUs
 *	irqsave      a long          any but NMI
 *	trivalue     three longs     task, softirq, hardirq; not NMI. A task must not be preempted by
 *	                             another that changes it: hence trivalue_off
 *	local_t      local_t         any, NMI too; preemption between finding the CPU's copy and
 *	                             changing it must be ruled out: hence local_t_off
 *	this_cpu     a long          any; finds the copy and changes it at once
 *
 * The _off ways switch preemption off around the operation. trivalue has no add_return: it is
 * measured as it was in 2008, as an add with interrupts off followed by a sum.
 */
#ifndef WAYS_H
#define WAYS_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/local.h>

#define ADD_AMOUNT 1234
#define ADD_RETURN_AMOUNT 7

struct trivalue {
	long value[3];
};

/* barrier(): each operation is done, in memory, before the next; other ways imply it. */
static __always_inline void plain_change(long *p, long n)
{
	*p += n;
	barrier();
}

static __always_inline unsigned long plain_inc(long *p)
{
	plain_change(p, 1);
	return 0;
}

static __always_inline unsigned long plain_add(long *p)
{
	plain_change(p, ADD_AMOUNT);
	return 0;
}

static __always_inline unsigned long plain_add_return(long *p)
{
	long sum = *p + ADD_RETURN_AMOUNT;

	*p = sum;
	barrier();
	return (unsigned long)sum;
}

static __always_inline unsigned long plain_read(long *p)
{
	return (unsigned long)READ_ONCE(*p);
}

static __always_inline unsigned long atomic_long_way_inc(atomic_long_t *p)
{
	atomic_long_inc(p);
	return 0;
}

static __always_inline unsigned long atomic_long_way_add(atomic_long_t *p)
{
	atomic_long_add(ADD_AMOUNT, p);
	return 0;
}

static __always_inline unsigned long atomic_long_way_add_return(atomic_long_t *p)
{
	return (unsigned long)atomic_long_add_return(ADD_RETURN_AMOUNT, p);
}

static __always_inline unsigned long atomic_long_way_read(atomic_long_t *p)
{
	return (unsigned long)atomic_long_read(p);
}

static __always_inline unsigned long irqsave_inc(long *p)
{
	unsigned long flags;

	local_irq_save(flags);
	plain_change(p, 1);
	local_irq_restore(flags);
	return 0;
}

static __always_inline unsigned long irqsave_add(long *p)
{
	unsigned long flags;

	local_irq_save(flags);
	plain_change(p, ADD_AMOUNT);
	local_irq_restore(flags);
	return 0;
}

static __always_inline unsigned long irqsave_add_return(long *p)
{
	unsigned long flags, sum;

	local_irq_save(flags);
	sum = plain_add_return(p);
	local_irq_restore(flags);
	return sum;
}

static __always_inline unsigned long irqsave_read(long *p)
{
	return plain_read(p);
}

/* 0 in a task, 1 in a softirq, 2 in a hardirq; the compiler reads preempt_count once. */
static __always_inline unsigned int context_depth(void)
{
	if (in_hardirq())
		return 2;
	return in_serving_softirq() ? 1 : 0;
}

static __always_inline unsigned long trivalue_inc(struct trivalue *p)
{
	plain_change(&p->value[context_depth()], 1);
	return 0;
}

static __always_inline unsigned long trivalue_add(struct trivalue *p)
{
	plain_change(&p->value[context_depth()], ADD_AMOUNT);
	return 0;
}

static __always_inline unsigned long trivalue_read(struct trivalue *p)
{
	return plain_read(&p->value[0]) + plain_read(&p->value[1]) + plain_read(&p->value[2]);
}

static __always_inline unsigned long trivalue_add_return(struct trivalue *p)
{
	unsigned long flags;

	local_irq_save(flags);
	plain_change(&p->value[context_depth()], ADD_RETURN_AMOUNT);
	local_irq_restore(flags);
	return trivalue_read(p);
}

static __always_inline unsigned long local_t_inc(local_t *p)
{
	local_inc(p);
	return 0;
}

static __always_inline unsigned long local_t_add(local_t *p)
{
	local_add(ADD_AMOUNT, p);
	return 0;
}

static __always_inline unsigned long local_t_add_return(local_t *p)
{
	return (unsigned long)local_add_return(ADD_RETURN_AMOUNT, p);
}

static __always_inline unsigned long local_t_read(local_t *p)
{
	return (unsigned long)local_read(p);
}

static __always_inline unsigned long this_cpu_way_inc(long *p)
{
	this_cpu_inc(*(long __percpu __force *)p);
	return 0;
}

static __always_inline unsigned long this_cpu_way_add(long *p)
{
	this_cpu_add(*(long __percpu __force *)p, ADD_AMOUNT);
	return 0;
}

static __always_inline unsigned long this_cpu_way_add_return(long *p)
{
	return (unsigned long)this_cpu_add_return(*(long __percpu __force *)p, ADD_RETURN_AMOUNT);
}

static __always_inline unsigned long this_cpu_way_read(long *p)
{
	return (unsigned long)this_cpu_read(*(long __percpu __force *)p);
}

/* `way` once more with preemption off around it. */
#define WAY_OFF(way, type, op)                                                                     \
	static __always_inline unsigned long way##_off_##op(type *p)                               \
	{                                                                                          \
		unsigned long result;                                                              \
                                                                                                   \
		preempt_disable();                                                                 \
		result = way##_##op(p);                                                            \
		preempt_enable();                                                                  \
		return result;                                                                     \
	}

WAY_OFF(trivalue, struct trivalue, inc)
WAY_OFF(trivalue, struct trivalue, add)
WAY_OFF(trivalue, struct trivalue, add_return)
WAY_OFF(trivalue, struct trivalue, read)
WAY_OFF(local_t, local_t, inc)
WAY_OFF(local_t, local_t, add)
WAY_OFF(local_t, local_t, add_return)
WAY_OFF(local_t, local_t, read)
#undef WAY_OFF

#endif
