/* SPDX-License-Identifier: MIT */
/*
 * What a thread that takes the lock of a CPU slot by a sequence, without a barrier, may find under
 * it, on a CPU that makes loads early and in any order: src/lock.c, M2, where ARCH_LOADS_IN_ORDER is
 * 0. And what a sequence of a list may find (src/list.c, Q3). For spin; test/test_lock_model.sh runs
 * it.
 *
 * The machine: loads of the slot's CPU may be made at any time after its last full barrier, so a
 * word that will be loaded has an early value beside the one in memory: any that it had since that
 * barrier. A barrier (a change of threads, or a fence that somebody asked for) forgets early values;
 * a store replaces its own. Stores wait for the branches before them and go out in order, as each
 * order that matters between two of them is a release.
 *
 * Threads of the slot's CPU take the lock one after the other. Each adds 1 to a word under it, there,
 * or goes elsewhere with the lock held, adds and unlocks there, while the next one tries. A taker
 * from another CPU does the same. Nothing is lost if each finds what the one before him left.
 *
 * The same taker drains a list of one node while it has the slot closed. The threads, who found the
 * slot open in the sequence, find the node or an empty list: never a node that the taker has.
 *
 *	-DPLAIN_ZERO      who unlocks elsewhere leaves 0: what he wrote is lost
 *	-DNO_ACQUIRE      the slow path that takes such a slot has no barrier: the same
 *	-DNO_OPEN_FENCE   the taker opens the slot without a fence: the same
 *	-DONLY_LIST       threads use the list alone; then without that fence a node is there twice
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define NOBODY 2

byte held;              /* 0, 1, or NOBODY */
bit closed;
byte data;              /* under the lock */
bit head = 1;           /* a node is in the list */

byte early_held, early_data; /* the slot's CPU's */
bit early_closed, early_head = 1;
bit in_sequence, aborted;

byte added;             /* what data should be */

/* The CPU loads, early, whatever it likes. */
active proctype early_loads()
{
end:
	do
	:: early_held = held
	:: early_closed = closed
	:: early_data = data
	:: early_head = head
	od
}

inline barrier()
{
	early_held = held;
	early_closed = closed;
	early_data = data;
	early_head = head
}

/* Somebody else's, on the slot's CPU. */
inline fence()
{
	atomic { barrier(); aborted = in_sequence }
}

/* A store goes to memory; the CPU that made it sees nothing older. */
inline store(word, early, value)
{
	atomic { word = value; early = value }
}

inline add_here()
{
	assert(early_data == added);
	atomic { added++; store(data, early_data, early_data + 1) }
}

/* On another CPU, which has passed a barrier after everything that came before. */
inline add_elsewhere()
{
	assert(data == added);
	atomic { added++; data = data + 1 }
}

/* The holder went elsewhere with the lock: the switch is a barrier there and here. */
proctype holder_elsewhere()
{
	add_elsewhere();
#ifdef PLAIN_ZERO
	held = 0
#else
	held = NOBODY
#endif
}

/* One attempt to take the slot while held has a value: sets taken. */
inline sequence(value)
{
	atomic { in_sequence = 1; aborted = 0; taken = 0 };
	seen_closed = early_closed;
	seen_held = early_held;
	atomic {
		in_sequence = 0;
		if
		:: !aborted && !seen_closed && seen_held == value ->
			store(held, early_held, 1);
			taken = 1
		:: else
		fi
	}
}

/* Pop: the node is there, or the taker has it, too. */
inline use_the_list()
{
	atomic { in_sequence = 1; aborted = 0 };
	seen_closed = early_closed;
	seen_head = early_head;
	atomic {
		in_sequence = 0;
		if
		:: !aborted && !seen_closed && seen_head ->
			assert(head);
			store(head, early_head, 0)
		:: else
		fi
	}
}

active proctype cpu()
{
	byte seen_held, rounds;
	bit seen_closed, seen_head, taken;

	do
	:: rounds == ROUNDS -> break
	:: else ->
		use_the_list();
#ifndef ONLY_LIST
		sequence(0);
		if
		:: taken
		:: else ->
			sequence(NOBODY);
#ifndef NO_ACQUIRE
			atomic {
				if
				:: taken -> barrier()
				:: else
				fi
			}
#endif
		fi;
		if
		:: !taken
		:: taken -> add_here(); store(held, early_held, 0)
		:: taken -> atomic { run holder_elsewhere(); barrier() }
		fi;
#endif
		/* Another thread comes, or the same goes on. */
		if
		:: atomic { barrier() }
		:: true
		fi;
		rounds++
	od
}

active proctype taker()
{
	closed = 1;
	fence();
	held != 1;
	add_elsewhere();
	head = 0;
#ifndef NO_OPEN_FENCE
	fence();
#endif
	closed = 0
}
