/* SPDX-License-Identifier: MIT */
/*
 * The pseudo-code of every restartable sequence: what each one means, in a form that can be read,
 * run and explored.
 *
 * A program is an array of steps. One step stands for one instruction: it touches memory at most
 * once. pseudo.c holds the programs; they read like C:
 *
 *	ARM                       rseq_cs = descriptor
 *	LOAD_CPU          start:  cpu = cpu_id
 *	LEAVE_UNLESS_BELOW        if (cpu >= bound) leave UNAVAILABLE
 *	SLOT(P, BASE)             p = base + cpu * stride
 *	LOAD(SEEN, P)             seen = *p
 *	...
 *	COMMIT(P, NEXT)           *p = next            the last instruction of the range
 *	DONE(SEEN)        post:   return DONE, seen
 *
 * Two users: explore.c runs programs against each other in every interleaving; pseudo_run() runs
 * one program once, undisturbed, and says what a real sequence must have done to the same memory.
 */
#ifndef PERCPU_TEST_PSEUDO_H
#define PERCPU_TEST_PSEUDO_H

#include <stddef.h>
#include <stdint.h>

/* The closed set. */
enum pseudo_op {
	PSEUDO_ADD,          /* *p += value */
	PSEUDO_AND,          /* *p &= value */
	PSEUDO_OR,           /* *p |= value */
	PSEUDO_ADD_RETURN,   /* *p += value, the sum is the result */
	PSEUDO_XCHG,         /* *p = value, the previous value is the result */
	PSEUDO_CMPXCHG,      /* if (*p == expect) *p = value; the value seen is the result */
	PSEUDO_CMPXCHG2,     /* if (*p == expect && *p2 == expect2) *p = value */
	PSEUDO_STORE_COMMIT, /* if (*p == expect) { *q = value2; *p = value; } */
	PSEUDO_COPY_COMMIT,  /* if (*p == expect) { copy count bytes to q; *p = value; } */
	/* Lists: the word behind *p has all bits set while the list is closed; else it is 0. */
	PSEUDO_LIST_POP,  /* head = *p; if (head) *p = *head; head is the result */
	PSEUDO_LIST_PUSH, /* *last = *p; *p = node */
	PSEUDO_LIST_TAKE, /* head = *p; if (head) *p = 0; head is the result */
	/* Stacks: *p is the top, the word behind it the limit, then items; all in bytes. */
	PSEUDO_STACK_POP,   /* next = *p - count; if (next < limit) take item next; *p = next */
	PSEUDO_STACK_PUSH,  /* if (*p < limit) { put value to item *p; *p += count; } */
	PSEUDO_VALUES_POP,  /* next = *p - room; if (next < limit) copy to source; *p = next */
	PSEUDO_VALUES_PUSH, /* next = *p + room; if (next <= limit) copy from source; *p = next */
	/* Locks: *p is held, the word behind it closed. */
	PSEUDO_LOCK, /* if (held == 0 && closed == 0) held = value */
	PSEUDO_SEQUENCES,
	/* Transactions, with their bodies: one commit of each kind. */
	PSEUDO_TXN_ADD = PSEUDO_SEQUENCES, /* *p += value, the sum is the result */
	PSEUDO_TXN_TWO,  /* *p++; q[*p & 1] = value2, the other copy is the result */
	PSEUDO_TXN_COPY, /* as COPY_COMMIT */
	PSEUDO_OPS,
	/* What a drainer does in another CPU's slot: no sequences. */
	PSEUDO_LIST_DRAIN,  /* close, fence, head = *p, *p = 0, open */
	PSEUDO_STACK_DRAIN, /* the same with the top */
	PSEUDO_LOCK_TAKE    /* closed = value, fence; held is the result: 0, or wait for that one */
};

/* How a call ends. Refused, unavailable and aborted change nothing that anybody looks at. */
enum pseudo_answer {
	PSEUDO_DONE = 1,    /* committed */
	PSEUDO_REFUSED,     /* the word differed; empty, full or closed */
	PSEUDO_UNAVAILABLE, /* this thread has no CPU slot now */
	PSEUDO_ABORTED      /* aborted too often */
};

enum pseudo_reg {
	/* Arguments: no step writes them. */
	R_ZERO,
	R_BASE,  /* address of the word in the slot of CPU 0 */
	R_BASE2, /* the same of the second word: p2 of cmpxchg2, q of the others */
	R_VALUE,
	R_VALUE2,
	R_EXPECT,
	R_EXPECT2,
	R_NODE,   /* first pushed node */
	R_LAST,   /* last one */
	R_ONES,   /* all of its bits */
	R_SOURCE, /* copied from, or to by PSEUDO_VALUES_POP */
	R_COUNT,  /* bytes copied; of an item of PSEUDO_STACK_POP and PUSH */
	R_ROOM,   /* bytes from one value to the next */
	R_SHARED, /* index of the shared slot */
	R_ONE,
	R_ARGS,
	/* Working registers: undefined at the begin, lost by nothing but the end of the call. */
	R_CPU = R_ARGS,
	R_P,
	R_Q,
	R_SEEN,
	R_NEXT,
	R_I,
	R_ALL,
	R_WORK = R_ALL - R_ARGS
};

enum pseudo_kind {
	K_ARM,                 /* rseq_cs = descriptor */
	K_LOAD_CPU,            /* a = cpu_id */
	K_LEAVE_UNLESS_BELOW,  /* if (a >= bound) leave UNAVAILABLE */
	K_SLOT,                /* a = b + c * stride */
	K_ADDRESS,             /* a = b + c */
	K_SECOND,              /* a = address of the word behind b */
	K_LOAD,                /* a = *b */
	K_STORE,               /* *a = b */
	K_LOAD_BYTE,           /* a = b[c], bytes */
	K_STORE_BYTE,          /* a[c] = b, bytes */
	K_COPY,                /* a = b */
	K_ADD,                 /* a = b + c */
	K_SUBTRACT,            /* a = b - c */
	K_AND,                 /* a = b & c */
	K_OR,                  /* a = b | c */
	K_INCREMENT,           /* a = a + 1 */
	K_REFUSE_IF_DIFFERENT, /* if (a != b) leave REFUSED, c */
	K_REFUSE_IF_EQUAL,     /* if (a == b) leave REFUSED, c */
	K_REFUSE_UNLESS_BELOW, /* if (a >= b) leave REFUSED, c */
	K_REFUSE_UNLESS_ABOVE, /* if (a <= b) leave REFUSED, c */
	K_REFUSE_IF_ABOVE,     /* if (a > b) leave REFUSED, c */
	K_GOTO_IF_EQUAL,       /* if (a == b) goto target */
	K_GOTO,                /* goto target */
	K_COMMIT,              /* *a = b, the last instruction of the range */
	K_COMMIT_ADD,          /* *a += b in one instruction without a lock */
	K_COMMIT_AND,          /* *a &= b likewise */
	K_COMMIT_OR,           /* *a |= b likewise */
	K_ATOMIC_STORE_IF,     /* if (*a == b) *a = c; else { b = *a; goto target } */
	K_FENCE,               /* every other thread that is in its range is aborted */
	K_DONE,                /* return DONE, a */
	K_CLEAR,               /* rseq_cs = 0 */
	K_CHANGE,              /* rseq_cs = second descriptor, the last instruction of the range */
	K_GOTO_UNLESS_ARMED,   /* if (rseq_cs != descriptor a) goto target */
	K_ABORTED              /* return ABORTED */
};

struct pseudo_step {
	uint8_t kind;    /* enum pseudo_kind */
	uint8_t a, b, c; /* enum pseudo_reg */
	int8_t target;   /* of a goto, relative to this step */
};

#define PSEUDO_STEPS 24

/* Where an abort goes: this index, or on with the next instruction (a planted mistake). */
#define PSEUDO_CONTINUE (-1)

struct pseudo_program {
	const char *name;
	struct pseudo_step step[PSEUDO_STEPS];
	uint8_t start;       /* first step of the range; 0 with post_commit 0: no range */
	uint8_t post_commit; /* the step behind its last */
	int8_t restart;      /* step that the abort handler goes to */
	/* Of transactions: the range that is armed by the commit of the first, if there is one. */
	uint8_t start2, post_commit2;
	uint8_t second; /* its descriptor, enum pseudo_descriptor */
};

/*
 * What rseq_cs can hold. A sequence has one descriptor of its own, which is DESCRIPTOR_FIRST to it;
 * all transactions begin with the same one, and are in the same range then (T3).
 */
enum pseudo_descriptor {
	DESCRIPTOR_NONE,
	DESCRIPTOR_FIRST,
	DESCRIPTOR_TWO,
	DESCRIPTOR_COPY,
	DESCRIPTOR_OTHER /* of something else */
};

static inline int pseudo_is_transaction(enum pseudo_op op)
{
	return op >= PSEUDO_SEQUENCES && op < PSEUDO_OPS;
}

extern const struct pseudo_program pseudo_programs[PSEUDO_OPS];

/*
 * What callers do on a shared slot, for the operations on one word. Name NULL: no such program.
 */
extern const struct pseudo_program pseudo_shared[PSEUDO_OPS];

/* The drainers and the taker, of the slot R_SHARED. */
extern const struct pseudo_program pseudo_list_drain, pseudo_stack_drain, pseudo_lock_take;

/* Memory at addresses origin .. origin + size - 1. */
struct pseudo_memory {
	uint64_t origin;
	size_t size;
	unsigned char *byte;
};

/* What one call runs with. The value of arg[R_ZERO] is 0. */
struct pseudo_env {
	struct pseudo_memory *memory;
	const uint64_t *arg; /* R_ARGS values */
	uint64_t cpu;        /* what cpu_id holds: (uint64_t)-1 is "not registered" */
	uint64_t bound;      /* number of CPU slots */
	uint64_t stride;     /* bytes between two of them */
	unsigned width;      /* bytes of a word: 1, 2, 4, 8 */
};

/* One call under way. */
struct pseudo_context {
	uint64_t reg[R_WORK]; /* R_CPU is reg[0] */
	uint8_t pc;
	uint8_t armed; /* rseq_cs, enum pseudo_descriptor */
	uint8_t half;  /* an unlocked read-modify-write has read, and has not written yet */
	uint8_t fault; /* touched memory that is not there */
};

struct pseudo_result {
	enum pseudo_answer answer;
	uint64_t value; /* sum, previous value, value seen, node; 0 where there is none */
};

/*
 * A transaction's program has its body between arming and range:
 *
 *	ARM                       rseq_cs = descriptor
 *	LOAD_CPU, SLOT, LOAD ...  begin, and the body
 *	UNLESS_ARMED      start:  if (rseq_cs != descriptor) goto refused
 *	COMMIT(P, NEXT)           *p = next            the last instruction of the range
 *	CLEAR             post:   rseq_cs = 0
 *	DONE(NEXT)
 *	CLEAR             refused and abort handler
 *	NOT_DONE                  begin again, or ABORTED
 *
 * The commit of another kind begins with CHANGE instead of COMMIT, and has a range of its own.
 */

/*
 * Runs one step (of a half-step instruction: one half). Returns 0 while the call goes on, or its
 * answer with *value set.
 */
int pseudo_step(const struct pseudo_program *program, const struct pseudo_env *env,
		struct pseudo_context *context, uint64_t *value);

/* 1: the kernel sends this context to its abort handler when it resumes it. */
int pseudo_in_range(const struct pseudo_program *program, const struct pseudo_context *context);

/* One undisturbed run of an operation. Answer 0: it touched memory that is not there. */
struct pseudo_result pseudo_run(enum pseudo_op op, const struct pseudo_env *env);

/* The step in words of C, into text. */
void pseudo_text(const struct pseudo_step *step, char *text, size_t size);

const char *pseudo_answer_name(int answer);

#endif
