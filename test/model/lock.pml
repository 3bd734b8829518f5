/* SPDX-License-Identifier: MIT */
/*
 * The lock of one CPU slot as src/lock.c has it: the owner, who takes it on its CPU by a sequence,
 * and takers from other CPUs, who close it, fence, and sleep while it is held. For spin;
 * test/test_lock_model.sh runs it.
 *
 * The machine: the owner's stores to held go to memory through a queue, in order, each at any
 * later moment (as on x86; weaker CPUs keep this order, too, as the unlock is a release). Its loads
 * see the queue, then memory. Takers use atomics, which empty a queue first, so they have none.
 * The fence empties the queue and aborts the sequence, if the owner is inside one.
 *
 *	-DNO_TAKER_FENCE    the taker looks at held without a fence: two are inside
 *	-DNO_ABORT          the fence empties the queue and aborts nothing: two are inside
 *	-DNO_SLEEPER_FENCE  the sleeper looks again without a fence: it is never woken
 *	-DFAILURES=n        so many fences of takers fail: such a taker abandons the slot, which the
 *	                    owner finds closed and the next taker takes
 *	-DSLEEP_ON_ABANDONED  with that: takers sleep until the slot is free: they are never woken
 *
 * Everybody goes in ROUNDS times and an owner who is refused goes elsewhere, to a shared slot.
 * Exclusion is an assertion; that nobody sleeps for ever is that everybody gets through.
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define TAKERS 2
#ifndef FAILURES
#define FAILURES 0
#endif

/* What closed can be. */
#define FREE 0
#define TAKEN 1
#define ABANDONED 2

bit held;
byte closed;
byte waiters, wakes;
byte failures;

chan queue = [2] of { bit };
bit youngest;    /* what the owner sees while the queue holds something */
bit in_sequence; /* the owner is between the first and the last instruction of one */
bit aborted;

byte inside, through;

active proctype queue_to_memory()
{
	bit value;

end:
	do
	:: atomic { queue?value -> held = value }
	od
}

inline empty_queue()
{
	do
	:: nempty(queue) -> queue?held
	:: empty(queue) -> break
	od
}

inline fence()
{
	atomic {
		empty_queue();
#ifndef NO_ABORT
		if
		:: in_sequence -> aborted = 1
		:: else
		fi
#endif
	}
}

inline critical_section()
{
	atomic { inside++; assert(inside == 1) };
	inside--
}

inline wake_if_any(seen_waiters)
{
	if
	:: seen_waiters != 0 -> wakes++
	:: else
	fi
}

active proctype owner()
{
	bit seen_closed, seen_held;
	byte seen_waiters, rounds;

	do
	:: rounds == ROUNDS -> break
	:: else ->
again:		atomic { in_sequence = 1; aborted = 0 };
		seen_closed = (closed != FREE);
		atomic {
			if
			:: nempty(queue) -> seen_held = youngest
			:: empty(queue) -> seen_held = held
			fi
		};
		atomic {
			nfull(queue) || aborted || seen_closed || seen_held;
			in_sequence = 0;
			if
			:: aborted -> goto again
			:: !aborted && (seen_closed || seen_held) -> goto refused
			:: else -> queue!1; youngest = 1
			fi
		};
		critical_section();
		atomic { nfull(queue) -> queue!0; youngest = 0 };
		seen_waiters = waiters;
		wake_if_any(seen_waiters);
refused:	rounds++
	od;
	through++
}

/* One turn of waiting: returns when it was woken, or need not sleep. */
inline sleep_unless(free, fenced)
{
	atomic { waiters++; seen_wakes = wakes };
#ifndef NO_SLEEPER_FENCE
	if
	:: fenced -> fence()
	:: else
	fi;
#endif
	if
	:: free
	:: else -> wakes != seen_wakes
	fi;
	waiters--
}

#ifdef SLEEP_ON_ABANDONED
#define closed_to_nobody (closed == FREE)
#else
#define closed_to_nobody (closed != TAKEN)
#endif

active [TAKERS] proctype taker()
{
	byte seen_wakes, seen_waiters, rounds;
	bit claimed;

	do
	:: rounds == ROUNDS -> break
	:: else ->
		claimed = 0;
		do
		:: atomic { closed != TAKEN -> closed = TAKEN; claimed = 1 }; break
		:: closed == TAKEN -> sleep_unless(closed_to_nobody, false)
		od;
		if
		:: atomic { failures < FAILURES -> failures++ };
			closed = ABANDONED;
			goto leave
		:: true
		fi;
#ifndef NO_TAKER_FENCE
		fence();
#endif
		do
		:: held == 0 -> break
		:: held != 0 -> sleep_unless(held == 0, true)
		od;
		critical_section();
		closed = FREE;
leave:		seen_waiters = waiters;
		wake_if_any(seen_waiters);
		rounds++
	od;
	through++
}

ltl everybody_gets_through { <> (through == TAKERS + 1) }
