/* SPDX-License-Identifier: MIT */
/*
 * percpu stress txn: transactions, with a commit of one word, of two, and of a copy.
 *
 *	one      number + 1                         each number once in its slot
 *	two      number + 1, and its check into     the check that is found belongs to the number
 *	         the copy that number & 1 will say
 *	copy     the same with a structure          all of the structure belongs to the number
 */
#include "stress.h"

#include <errno.h>
#include <string.h>

#define PAYLOAD 12

struct states {
	unsigned long one;
	unsigned long two, check[2];
	unsigned long copy, payload[2][PAYLOAD];
};

enum { ONE, TWO, COPY, SERIES };
enum { TURN };

static int prepare(struct stress_run *run)
{
	run->object = percpu_new(struct states);
	return run->object ? 0 : -ENOMEM;
}

/* Of number 0: 0, as the memory is. */
static unsigned long check_of(unsigned long number, unsigned i)
{
	return number ? (unsigned long)stress_mix(number + i) : 0;
}

static void refused(struct stress_context *context)
{
	context->aborts++;
	context->retries++;
}

static void done(struct stress_context *context, unsigned series, unsigned slot,
		 unsigned long number)
{
	stress_number(context, series, slot, number);
	context->amount++;
}

static void commit_one(struct stress_context *context, struct states *states)
{
	unsigned long number = 0;
	unsigned slot = 0;

	PERCPU_TXN(txn)
	{
		const struct states *here = percpu_txn_ptr(&txn, states);

		slot = txn.slot;
		number = here->one;
		if (!percpu_txn_commit(&txn, &here->one, number + 1))
			refused(context);
	}
	if (!stress_mistake(context, 1))
		done(context, ONE, slot, number);
}

static void commit_two(struct stress_context *context, struct states *states)
{
	unsigned long number = 0, check = 0;
	unsigned slot = 0;

	PERCPU_TXN(txn)
	{
		const struct states *here = percpu_txn_ptr(&txn, states);
		unsigned long next;

		slot = txn.slot;
		number = here->two;
		check = here->check[number & 1];
		next = number + 1;
		if (!percpu_txn_commit2(&txn, &here->two, next, &here->check[next & 1],
					check_of(next, 0)))
			refused(context);
	}
	if (stress_mistake(context, 2))
		check++;
	if (check != check_of(number, 0))
		stress_wrong(context->run, "slot %u: number %lu has the check of another", slot,
			     number);
	done(context, TWO, slot, number);
}

static void commit_copy(struct stress_context *context, struct states *states)
{
	unsigned long number = 0, seen[PAYLOAD], next[PAYLOAD];
	unsigned slot = 0;

	memset(seen, 0, sizeof(seen));
	PERCPU_TXN(txn)
	{
		const struct states *here = percpu_txn_ptr(&txn, states);

		slot = txn.slot;
		number = here->copy;
		for (unsigned i = 0; i < PAYLOAD; i++) {
			seen[i] = here->payload[number & 1][i];
			next[i] = check_of(number + 1, i);
		}
		if (!percpu_txn_commit_copy(&txn, &here->copy, number + 1,
					    here->payload[(number + 1) & 1], next, sizeof(next)))
			refused(context);
	}
	if (stress_mistake(context, 3))
		seen[PAYLOAD - 1]++;
	for (unsigned i = 0; i < PAYLOAD; i++)
		if (seen[i] != check_of(number, i))
			stress_wrong(context->run, "slot %u: copy %lu is mixed with another", slot,
				     number);
	done(context, COPY, slot, number);
}

static void operate(struct stress_context *context)
{
	static void (*const commits[])(struct stress_context *,
				       struct states *) = {commit_one, commit_two, commit_copy};

	commits[context->kept[TURN]++ % SERIES](context, context->run->object);
}

static unsigned long given(struct stress_run *run, unsigned series, unsigned slot)
{
	const struct states *states = percpu_ptr((struct states *)run->object, slot);

	return __atomic_load_n(series == ONE   ? &states->one
			       : series == TWO ? &states->two
					       : &states->copy,
			       __ATOMIC_RELAXED);
}

static uint64_t total(struct stress_run *run)
{
	uint64_t sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		for (unsigned series = 0; series < SERIES; series++)
			sum += given(run, series, slot);
	return sum;
}

static void finish(struct stress_run *run)
{
	(void)percpu_free(run->object);
}

const struct stress_kind stress_txn = {
	.name = "txn",
	.title = "transactions: each number once, with what belongs to it",
	.series = SERIES,
	.prepare = prepare,
	.operate = operate,
	.total = total,
	.given = given,
	.finish = finish,
};
